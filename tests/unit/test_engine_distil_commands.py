"""Commands and failures: what is the same command, what verifies, what an error says."""

from __future__ import annotations

import pytest

from hindsight_daemon.engine.actions import actions_of
from hindsight_daemon.engine.commands import covers, decisive, parse
from hindsight_daemon.engine.failures import fixes_of, telling_line
from tests.support.event_builders import Session


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pytest tests/test_a.py", "cd /w/app && pytest -x -q tests/test_a.py 2>&1 | tail -20"),
        ("pytest tests/test_a.py", "uv run --frozen pytest /w/app/tests/test_a.py --tb=short"),
        ("pytest tests/test_a.py", "timeout 60 python3 -m pytest ./tests/test_a.py"),
        ("pytest tests/test_a.py", "DB=x .venv/bin/pytest tests/test_a.py:12"),
        ("npm test", "bash -lc 'npm run test -- --watch=false'"),
        ("cargo test", "RUST_LOG=debug cargo test --all-features 2>&1 | grep FAILED"),
        ("tsc", "npx tsc --noEmit"),
    ],
)
def test_dressing_does_not_make_another_command(one: str, other: str) -> None:
    first, second = decisive(one, "/w/app"), decisive(other, "/w/app")
    assert first is not None
    assert second is not None
    assert first.key == second.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pytest tests/test_a.py", "pytest tests/test_b.py"),
        ("npm test", "npm run build"),
        ("pnpm --filter api test", "pnpm --filter web test"),
        ("docker compose up -d db", "docker compose up -d redis"),
        ("pip install a", "pip install b"),
    ],
)
def test_other_targets_make_another_command(one: str, other: str) -> None:
    first, second = decisive(one), decisive(other)
    assert first is not None
    assert second is not None
    assert first.key != second.key


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("pytest -q", "test"),
        ("python manage.py test shop", "test"),
        ("go test ./...", "test"),
        ("./gradlew :app:testDebugUnitTest", "test"),
        ("pnpm --filter web test:unit", "test"),
        ("docker compose exec app pytest tests", "test"),
        ("node --test", "test"),
        ("npm run build", "build"),
        ("make", "build"),
        ("cargo clippy -- -D warnings", "check"),
        ("npm run typecheck", "check"),
        ("ruff check . && mypy src", "check"),
        ("git commit -m 'a; b && c'", "commit"),
        ("git status", "read"),
        ("cat a.txt | grep pytest", "read"),
        ("pytest --version", "read"),
        ("npm install left-pad", "other"),
        ("python script.py", "other"),
    ],
)
def test_commands_are_told_apart_by_what_they_do(line: str, role: str) -> None:
    command = decisive(line)
    assert command is not None
    assert command.role == role


def test_quotes_and_heredocs_hide_separators() -> None:
    line = "git commit -m 'a && b' && cat > f <<'EOF'\nrm -rf x; pytest\nEOF\npytest -q"
    assert [command.program for command in parse(line)] == ["git", "cat", "pytest"]


@pytest.mark.parametrize("line", ["", "   ", "'", "&& ||", "echo 'open", "| |", "$(", "\\"])
def test_broken_shell_lines_are_no_problem(line: str) -> None:
    assert isinstance(parse(line), tuple)


def test_a_wider_run_covers_a_narrower_one() -> None:
    whole, part = decisive("pytest"), decisive("pytest tests/test_a.py::test_x")
    assert whole is not None
    assert part is not None
    assert covers(whole, part)
    assert not covers(part, whole)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n"
            "    import yaml\nModuleNotFoundError: No module named 'yaml'",
            "ModuleNotFoundError: No module named 'yaml'",
        ),
        (
            "== FAILURES ==\n>       assert total == 12\nE       AssertionError: assert 10 == 12\n"
            "FAILED tests/test_tax.py::test_rate - AssertionError\n1 failed, 3 passed in 0.1s",
            "AssertionError: assert 10 == 12",
        ),
        (
            "   Compiling x\nerror[E0382]: borrow of moved value: `s`\n --> src/m.rs:3:5\n"
            "error: could not compile `x` due to 1 previous error",
            "error[E0382]: borrow of moved value: `s`",
        ),
        (
            "> tsc\n\nsrc/a.ts(3,7): error TS2322: 'A' is not assignable to 'B'.",
            "src/a.ts(3,7): error TS2322: 'A' is not assignable to 'B'.",
        ),
        ("npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://r/x",
         "404 Not Found - GET https://r/x"),
        ("bash: line 1: pnpm: command not found", "pnpm: command not found"),
        ("fatal: not a git repository (or any of the parent directories): .git",
         "fatal: not a git repository (or any of the parent directories): .git"),
        ("\x1b[31mError: listen EADDRINUSE: address already in use :::3000\x1b[0m",
         "Error: listen EADDRINUSE: address already in use :::3000"),
        ("正在构建…\n错误：找不到模块 lodash\n构建结束", "错误：找不到模块 lodash"),
        ("everything is fine\nbye", ""),
    ],
)  # fmt: skip
def test_the_telling_line_is_the_one_to_search_for(output: str, line: str) -> None:
    assert telling_line(output, "/w/app") == line


def test_a_pipe_does_not_hide_a_failing_test() -> None:
    session = Session().user("x").run("pytest 2>&1 | tail -1", "2 failed, 3 passed in 1.0s", 0)
    assert [action.state for action in actions_of(session.task())] == ["failed"]


def test_grep_without_a_match_is_no_failure() -> None:
    session = Session().user("x").run("grep -rn foo src", "", 1)
    assert [action.state for action in actions_of(session.task())] == ["noise"]


def test_a_refused_permission_is_no_failure_of_the_project() -> None:
    text = "The user doesn't want to proceed with this tool use."
    session = Session().user("x").run("make deploy", text, 1)
    assert [action.state for action in actions_of(session.task())] == ["noise"]


def test_every_error_of_a_streak_is_paired_with_its_own_fix() -> None:
    session = (
        Session()
        .user("get the tests green")
        .run("pytest", "E   ConnectionError: refused", 1)
        .run("docker compose up -d db", "started")
        .run("pytest", "E   KeyError: 'rate'", 1)
        .edit("tax.py")
        .run("pytest", "4 passed")
    )
    first, second = fixes_of(actions_of(session.task()))
    assert first.error == "ConnectionError: refused"
    assert [a.line for a in first.between] == ["docker compose up -d db"]
    assert second.error == "KeyError: 'rate'"
    assert [a.files for a in second.between] == [("tax.py",)]


def test_a_failure_that_never_passed_is_no_fix() -> None:
    session = Session().user("x").run("pytest", "E   KeyError: 1", 1).edit("a.py")
    assert fixes_of(actions_of(session.task())) == ()
