"""Outcomes follow from evidence, strongest first."""

from __future__ import annotations

import pytest

from hindsight_daemon.engine.outcome import judge
from hindsight_daemon.model import ToolUse
from tests.support.event_builders import Session


def work() -> Session:
    return Session().user("fix the tax computation").edit("tax.py")


def test_a_pass_after_the_last_edit_is_success() -> None:
    verdict = judge(work().run("pytest", "4 passed").task())
    assert verdict.outcome == "success"
    assert verdict.verification_command == "pytest"
    assert verdict.reasons[0] == "`pytest` passed after the last edit"


def test_a_failure_after_the_last_edit_is_failure_with_its_reason() -> None:
    verdict = judge(work().run("pytest", "E   KeyError: 'rate'\n1 failed", 1).task())
    assert verdict.outcome == "failure"
    assert verdict.failure_reason == "KeyError: 'rate'"


def test_a_pass_before_the_last_edit_proves_nothing() -> None:
    verdict = judge(work().run("pytest", "4 passed").edit("tax.py").task())
    assert verdict.outcome == "unknown"


def test_documents_edited_after_the_pass_do_not_count() -> None:
    verdict = judge(work().run("pytest", "4 passed").edit("CHANGELOG.md").task())
    assert verdict.outcome == "success"


def test_one_check_that_passes_and_one_that_fails_is_partial() -> None:
    session = work().run("pytest", "4 passed").run("mypy src", "error: bad\nFound 1 error", 1)
    assert judge(session.task()).outcome == "partial"


def test_a_commit_after_the_last_edit_is_success() -> None:
    verdict = judge(work().run("git commit -am 'Fix tax'", "[main 1a2b3c4] Fix tax").task())
    assert verdict.outcome == "success"
    assert verdict.confidence < 0.9


def test_a_commit_that_was_reset_is_no_success() -> None:
    session = work().run("git commit -am 'Fix tax'", "ok").run("git reset --hard HEAD~1", "ok")
    assert judge(session.task()).outcome == "unknown"


@pytest.mark.parametrize("words", ["thanks, works!", "perfect", "谢谢，可以了", "搞定"])
def test_accepting_words_make_success_where_nothing_stronger_speaks(words: str) -> None:
    assert judge(work().say("Done.").user(words).task()).outcome == "success"


@pytest.mark.parametrize(
    "words",
    [
        "it still fails",
        "that's wrong, revert it",
        "no, same error as before",
        "还是报错",
        "不对，没解决",
    ],
)
def test_rejecting_words_make_failure_where_nothing_stronger_speaks(words: str) -> None:
    verdict = judge(work().say("Done.").user(words).task())
    assert verdict.outcome == "failure"
    assert verdict.failure_reason == words


def test_rejecting_words_weaken_a_verified_pass() -> None:
    session = work().run("pytest", "4 passed").say("Done.").user("it still shows the wrong sum")
    assert judge(session.task()).outcome == "partial"


def test_a_rejection_that_was_dealt_with_is_over() -> None:
    session = work().say("Done.").user("still wrong").edit("tax.py").run("pytest", "4 passed")
    assert judge(session.task()).outcome == "success"


def test_undoing_the_work_after_a_rejection_stays_a_failure() -> None:
    session = work().say("Done.").user("revert that").run("git checkout -- tax.py", "")
    assert judge(session.task()).outcome == "failure"


def test_a_streak_of_failing_actions_is_failure() -> None:
    session = Session().user("deploy it")
    for _ in range(3):
        session.run("kubectl apply -f app.yaml", "error: connection refused", 1)
    assert judge(session.task()).outcome == "failure"


def test_a_command_that_failed_and_passes_now_is_success() -> None:
    session = Session().user("import the data").run("python imp.py", "ValueError: bad row", 1)
    session.edit("imp.py").run("python imp.py", "done")
    assert judge(session.task()).outcome == "success"


def test_an_error_of_the_api_is_failure() -> None:
    session = work().add("assistant", "error", "API Error: 529 overloaded")
    assert judge(session.task()).outcome == "failure"


def test_a_reported_result_rules_over_all() -> None:
    session = work()
    tool = ToolUse(name="finish", call_id="f", arguments='{"task_completed": "partial"}')
    session.add("assistant", "tool_call", tool=tool)
    assert judge(session.task()).outcome == "partial"


def test_giving_up_is_failure() -> None:
    session = work().say("I was unable to reproduce the problem, so nothing changed.")
    assert judge(session.task()).outcome == "failure"


def test_a_check_that_ran_nothing_says_nothing() -> None:
    verdict = judge(work().run("pytest tests/none.py", "no tests ran in 0.01s", 5).task())
    assert verdict.outcome == "unknown"


def test_without_evidence_the_outcome_is_unknown() -> None:
    assert judge(work().say("Everything should work now.").task()).outcome == "unknown"


def test_an_interrupted_task_is_unknown_and_says_so() -> None:
    verdict = judge(work().interrupt().task())
    assert verdict.outcome == "unknown"
    assert verdict.failure_reason == "interrupted by the user"
