"""Completion scripts, tried in the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hindsight_cli.app import root_command
from hindsight_cli.reference.completions import FILES, scripts
from hindsight_cli.reference.tree import read_tree
from hindsight_daemon.model import LAYERS, MEMORY_KINDS, STATUSES
from tests.support.sample_app import command

ROOT = read_tree(root_command())
COMMANDS = {one.name for one in ROOT.commands}

FAKE = """\
#!/bin/sh
# Answers as `hindsight __ids PREFIX` does.
[ "$1" = __ids ] || exit 9
printf '%s\\t%s\\n' 019c1f0e 'fact: the port is 5433' 019c1faa 'lesson: [do] it'
echo noise >&2
"""


@pytest.fixture
def shells(tmp_path: Path) -> Path:
    """Write the scripts and a program `hindsight` that knows two ids; return the folder."""
    for name, text in scripts(ROOT).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = tmp_path / "bin" / "hindsight"
    program.parent.mkdir()
    program.write_text(FAKE, encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


def run_shell(name: str, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    bare = {"bash": ["--norc", "--noprofile"], "fish": ["--no-config"], "zsh": ["-f"]}[name]
    return subprocess.run(
        [program, *bare, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
    )


def bash(folder: Path, *typed: str) -> set[str]:
    """Complete the last of the words that bash has split."""
    words = " ".join("'" + word + "'" for word in ("hindsight", *typed))
    script = f"""
source ./hindsight.bash
COMP_WORDS=({words}); COMP_CWORD={len(typed)}
$(complete -p hindsight | sed 's/.*-F \\([^ ]*\\) .*/\\1/') hindsight
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = run_shell("bash", script, folder)
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.split("\n")) - {""}


def fish(folder: Path, line: str) -> set[str]:
    """Complete a line in fish; descriptions are cut off."""
    done = run_shell("fish", f"source ./hindsight.fish; complete -C '{line}'", folder)
    assert (done.returncode, done.stderr) == (0, "")
    return {one.partition("\t")[0] for one in done.stdout.splitlines()}


def zsh(folder: Path, line: str) -> str:
    """Press TAB behind a line in an interactive zsh and return the line afterwards."""
    script = f"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; stty -echo; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D
accept() {{ print -r -- "<<$BUFFER>>"; BUFFER=; zle accept-line }}; zle -N accept
bindkey "^I" complete-word "^X" accept; zstyle ":completion:*" menu no; print REA""DY'
zpty -r -m shell out '*READY*'
zpty -w -n shell {line!r}$'\\t\\x18'
zpty -r -m shell out '*<<*>>*'
print -r -- "${{${{out##*<<}}%%>>*}}"
zpty -d shell
"""
    done = run_shell("zsh", script, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("shell", FILES)
@pytest.mark.parametrize("tree", [root_command, command], ids=["hindsight", "sample"])
def test_scripts_are_valid_in_their_shell(shell: str, tree: object, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / FILES[shell]
    file.write_text(scripts(read_tree(tree()))[FILES[shell]], encoding="utf-8")  # type: ignore[operator]
    done = subprocess.run(
        [program, "-n", str(file)], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_and_option_is_in_every_script() -> None:
    made = scripts(ROOT)
    for one in ROOT.walk()[1:]:
        for name in (name for option in one.options for name in option.names):
            fish_name = f"-l {name[2:]} " if name.startswith("--") else f"-s {name[1:]} "
            assert name in made[FILES["bash"]] and name in made[FILES["zsh"]]
            assert fish_name in made[FILES["fish"]]
        assert "/" + "/".join(one.path) in made[FILES["bash"]]


def test_scripts_start_the_program_for_ids_only() -> None:
    for text in scripts(ROOT).values():
        started = [line for line in text.splitlines() if "__ids" in line]
        assert len(started) == 1
        assert all("2>/dev/null" in line and "</dev/null" in line for line in started)
        assert "python -m" not in text.replace("`python -m hindsight_cli.reference", "")


def test_bash_completes_commands(shells: Path) -> None:
    assert bash(shells, "") == COMMANDS
    assert bash(shells, "re") == {name for name in COMMANDS if name.startswith("re")}
    assert bash(shells, "--color", "never", "daem") == {"daemon"}
    assert "logs" in bash(shells, "daemon", "--json", "")
    assert bash(shells, "recall", "daemon", "lo") == set()


def test_bash_completes_options_of_the_command_at_hand(shells: Path) -> None:
    assert bash(shells, "recall", "--exp") == {"--explain"}
    assert bash(shells, "daemon", "--timeout", "3", "logs", "--fol") == {"--follow"}
    assert bash(shells, "show", "--exp") == set()
    assert {"--json", "-q", "--help"} <= bash(shells, "stats", "-")
    assert bash(shells, "recall", "--", "--exp") == set()


def test_bash_completes_fixed_words(shells: Path) -> None:
    assert bash(shells, "recall", "--kind", "") == set(MEMORY_KINDS)
    assert bash(shells, "recall", "--layer", "=", "epi") == {"episodic"}
    assert bash(shells, "list", "--status", "=") == set(STATUSES)
    assert bash(shells, "recall", "-k", "lesson", "--layer", "") == set(LAYERS)
    assert bash(shells, "remember", "--scope", "g") == {"global"}
    assert bash(shells, "recall", "--limit", "") == set()


def test_bash_completes_files_and_folders(shells: Path) -> None:
    (shells / "a b.jsonl").touch()
    (shells / "a dir").mkdir()
    assert bash(shells, "ingest", "a") == {"a b.jsonl", "a dir"}
    assert bash(shells, "recall", "--project", "a") == {"a dir"}


@pytest.mark.parametrize("verb", ["show", "why", "forget"])
def test_bash_completes_ids_through_the_program(shells: Path, verb: str) -> None:
    assert bash(shells, verb, "019") == {"019c1f0e", "019c1faa"}


def test_bash_stays_silent_when_the_program_is_not_there(shells: Path) -> None:
    (shells / "bin" / "hindsight").unlink()
    assert bash(shells, "show", "019") == set()


def test_fish_completes_like_bash(shells: Path) -> None:
    assert fish(shells, "hindsight re") == {n for n in COMMANDS if n.startswith("re")}
    assert fish(shells, "hindsight --color never daem") == {"daemon"}
    assert "logs" in fish(shells, "hindsight daemon --json ")
    assert fish(shells, "hindsight recall --exp") == {"--explain"}
    assert fish(shells, "hindsight recall --kind ") == set(MEMORY_KINDS)
    assert fish(shells, "hindsight recall --layer=epi") == {"--layer=episodic"}
    assert fish(shells, "hindsight show 019") == {"019c1f0e", "019c1faa"}
    assert fish(shells, "hindsight recall --limit ") == set()


def test_zsh_completes_like_bash(shells: Path) -> None:
    assert zsh(shells, "hindsight reca") == "hindsight recall"
    assert zsh(shells, "hindsight --color never daem") == "hindsight --color never daemon"
    assert zsh(shells, "hindsight daemon --json log") == "hindsight daemon --json logs"
    assert zsh(shells, "hindsight recall --expl") == "hindsight recall --explain"
    assert zsh(shells, "hindsight recall --kind=les") == "hindsight recall --kind=lesson"
    assert zsh(shells, "hindsight show 019c1fa") == "hindsight show 019c1faa"
    assert zsh(shells, "hindsight forget 019c1f0e 019c1fa") == "hindsight forget 019c1f0e 019c1faa"
