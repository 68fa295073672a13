"""What a failing command says, and which later run shows that it was fixed.

Pure; imports records, `actions` and `commands`. The *telling line* is the one line of an output
that a person would paste into a search box.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from hindsight_daemon.engine.actions import Action
from hindsight_daemon.engine.commands import Command, covers
from hindsight_daemon.engine.prefilter import Prefilter, folded
from hindsight_daemon.model import Record


class Fix(Record, frozen=True, kw_only=True):
    """A failure and the run that showed it gone.

    `failures` are the runs with this error, first to last; `resolved_by` is the next run of the
    command without it; `confirmed_by` the run that passed at last; `between` the other actions
    since the last failure, `tried` those between the failures.
    """

    command: Command
    failures: tuple[Action, ...]
    resolved_by: Action
    confirmed_by: Action
    between: tuple[Action, ...]
    tried: tuple[Action, ...] = ()
    error: str = ""
    hangs: bool = False
    test_ids: tuple[str, ...] = ()


class DeadEnd(Record, frozen=True, kw_only=True):
    """A command that failed several times and was never seen to pass."""

    command: Command
    failures: tuple[Action, ...]
    tried: tuple[Action, ...]
    error: str = ""


class Substitute(Record, frozen=True, kw_only=True):
    """A command that does not exist here, and the one that did the job instead."""

    failed: Action
    worked: Action
    error: str


def substitutes_of(actions: Sequence[Action], *, within: int = 4) -> tuple[Substitute, ...]:
    """Return wrong commands with the right one that soon followed, nothing edited between."""
    found: list[Substitute] = []
    for position, failed in enumerate(actions):
        if failed.state != "failed" or failed.command is None or not was_missing(failed):
            continue
        for later in actions[position + 1 : position + 1 + within]:
            if later.is_edit:
                break
            if later.state != "ok" or later.command is None or later.command.role == "read":
                continue
            if _stands_in(later.command, failed.command):
                error = telling_line(failed.output, failed.call.cwd)
                found.append(Substitute(failed=failed, worked=later, error=error))
                break
    return tuple(found)


def was_missing(action: Action) -> bool:
    """Tell whether a command failed because it, or what it was asked for, does not exist."""
    return action.state == "failed" and bool(_NO_SUCH.search(action.output[:3000]))


def _stands_in(later: Command, failed: Command) -> bool:
    if later.key == failed.key:
        return False  # the same command: a failure→fix pair
    if failed.verifies and later.role == failed.role:
        return True
    shared = set(later.targets) & set(failed.targets)
    return bool(shared) or (later.verifies == failed.verifies and later.program == failed.program)


def fixes_of(actions: Sequence[Action]) -> tuple[Fix, ...]:
    """Return the failure→fix pairs of a task in order of their first failure."""
    found: list[Fix] = []
    for runs in _runs_by_command(actions):
        found.extend(_fixes_of_runs(actions, runs))
    return tuple(sorted(found, key=lambda fix: fix.failures[0].index))


def dead_ends_of(actions: Sequence[Action], *, tries: int = 3) -> tuple[DeadEnd, ...]:
    """Return the commands that failed at least `tries` times with edits between, to the end."""
    found: list[DeadEnd] = []
    for runs in _runs_by_command(actions):
        tail: list[Action] = []
        for run in runs:
            tail = [] if run.state == "ok" else [*tail, run]
        failed = [run for run in tail if run.state == "failed"]
        if len(failed) < tries or any(_passed_later(actions, run) for run in failed[-1:]):
            continue
        tried = _between(actions, failed[0], failed[-1], failed)
        error = telling_line(failed[-1].output, failed[-1].call.cwd)
        command = failed[-1].command
        if error and command is not None and any(action.is_edit for action in tried):
            found.append(DeadEnd(command=command, failures=tuple(failed), tried=tried, error=error))
    return tuple(found)


def telling_line(output: str, cwd: str = "") -> str:
    """Return the line of an output that names the error best; empty if none does."""
    best, best_score = "", 0
    lines = _ANSI.sub("", output).splitlines()
    for position, raw in enumerate(lines[:_MAX_LINES]):
        line = _clean(raw[:_MAX_LINE_CHARS], cwd)
        if len(line) < 6:
            continue
        small = folded(line)
        score = next(
            (w for w, form, rare in _GUARDED if rare.is_in(small) and form.search(line)), 0
        )
        if not score or _NOT_TELLING.search(line):
            continue
        if score and re.match(r"\s*E {2,}", raw):
            score += 2
        if score and len(line) > 240:
            score -= 2
        # The last line of a traceback tells most; elsewhere the first error causes the others.
        later_wins = bool(_EXCEPTION.match(line)) and _in_traceback(lines, position)
        if score > best_score or (score == best_score and later_wins and score > 0):
            best, best_score = line, score
    return _clip(best)


def is_hang(action: Action) -> bool:
    """Tell whether the run ended by a timeout rather than by itself."""
    tool = action.result.tool if action.result is not None else None
    code = tool.exit_code if tool is not None else None
    if tool is not None and tool.status == "timeout":
        return True
    return bool(
        _HANG.search(action.output[:400]) or _HANG.search(action.output[-600:])
    ) or code in (
        124,
        143,
    )


@lru_cache(maxsize=256)
def test_ids(output: str) -> tuple[str, ...]:
    """Return the ids of the tests that a test runner reports as failed, at most eight."""
    found: list[str] = []
    for form in _TEST_IDS:
        found.extend(match.strip() for match in form.findall(output))
    return tuple(dict.fromkeys(found))[:8]


_NO_SUCH = re.compile(
    r"command not found|Missing script|No rule to make target|[Uu]nknown (?:command|option"
    r"|subcommand|argument|target)"
    r"|is not recognized|[Nn]o such (?:command|option|subcommand|target)|is not a (?:git|docker"
    r"|npm) command"
    r"|unrecognized (?:arguments|option)|invalid option|unexpected argument|Unsupported URL Type"
    r"|找不到命令|未找到命令"
    r"|Command \"[\w:-]+\" not found|not a valid (?:command|target)"
    r"|no such file or directory: .*(?:gradlew|mvnw)|error: no such subcommand"
)
_MAX_LINES = 4000
_MAX_LINE_CHARS = 600
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_EXCEPTION = re.compile(
    r"(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Failure)\b(?::|$|\s*\[|\s+at\b)"
)
_HANG = re.compile(
    r"\btimed out\b|\btimeout (?:of|exceeded|after|\(?>)|deadline exceeded|\bhung\b|执行超时"
    r"|超时退出|无响应",
    re.I,
)
_TELLING: tuple[tuple[int, re.Pattern[str]], ...] = (
    (9, _EXCEPTION),
    (9, re.compile(r"error(?: TS\d+|\[E\d+\])|: (?:fatal )?error:? \S|\bORA-\d+|\bSQLSTATE")),
    (9, re.compile(r"ECONNREFUSED|EADDRINUSE|ENOENT|EACCES|ERR_[A-Z_]{4,}|\bE[A-Z]{4,}\b: ")),
    (8, re.compile(r"^(?:fatal|panic|FATAL|ERROR|Error|error|ERR!)\b[:!\]\s]+\S")),
    (8, re.compile(r"command not found|No such file or directory|Permission denied|not recognized"
                   r"|[Cc]annot find module|No module named|is not installed|[Uu]nknown option"
                   r"|already in use|[Cc]onnection refused|[Cc]ould not (?:connect|resolve|find)"
                   r"|No matching distribution|unrecognized arguments|undefined: "
                   r"|undefined reference"
                   r"|does not exist|[Cc]annot (?:connect|find|open|resolve|import)"
                   r"|[Uu]nresolved")),
    (8, re.compile(
        r"(?:错误|异常|失败|无法|找不到|不存在|拒绝|超时|未找到|不支持).{2,}")),
    (7, re.compile(
        r"^(?:assert|AssertionError|Expected|expected)\b.{4,}"
        r"|Expected .* (?:received|got|but)")),
    (7, re.compile(r"^FAILED \S+(?:::| - )|^--- FAIL: |^● ")),
    (6, re.compile(r"\b(?:fatal|panic|exception|segmentation fault|killed|out of memory|denied"
                   r"|refused|invalid|unsupported|incompatible|mismatch|missing"
                   r"|conflict)\b", re.I)),
    (5, re.compile(r"timed? ?out|deadline exceeded|hung", re.I)),
    (4, re.compile(r"\b(?:error|failed|failure|cannot|could not|unable to|not found)\b", re.I)),
    (3, re.compile(r"\b[1-9]\d* (?:failed|failing|errors?)\b")),
)  # fmt: skip
_GUARDED = tuple((weight, form, Prefilter([form])) for weight, form in _TELLING)
_NOT_TELLING = re.compile(
    r"^Exit code:? \d+$|│|·{3,}|Process exited|^Wall time|^Chunk ID|A complete log of this run"
    r"|^Traceback \("
    r"|During handling of the above|^=+ .* =+$|^-+ .* -+$|^\s*File \"|^at \S+ ?\(|^Error: Exit code"
    r"|ELIFECYCLE|^npm ERR! (?:code|path|command|errno)|^Original token count|^errors?:?$|\^{3,}"
    r"|^0 errors|^Found \d+ errors?|error: could not compile|For more information about this error"
    r"|^make(?:\[\d+\])?: \*\*\*|^FAILED \((?:failures|errors)|short test summary|^\[?\d+/\d+\]?$"
    r"|^Command timed out|^error Command failed with|recipe for target|if you believe this is",
    re.I,
)  # fmt: skip
_INNER_ERROR = re.compile(r"(?<=\S )((?:fatal error|[Ee]rror|ERROR): [^:]{3,60}(?:: [^:]{1,60})?)$")
"""What a long line wraps around: `goal … failed: compiling: error: invalid target release: 17`."""
_ORNAMENT = "│┃|⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ✖✗✘×●•"
_PREFIX = re.compile(
    r"^(?:(?:/bin/)?(?:ba|z|da)?sh: (?:line \d+: |\d+: )?|E {2,}|npm (?:ERR!|error) |\[(?:ERROR"
    r"|error|ERR)\] |(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d\S* "
    r"|Output: |stderr \| |> |\S{1,20}\s+\| |✗ |× |✘ |error  ?(?=\S+\s))+"
)
_TEST_IDS = (
    re.compile(r"^FAILED (\S+::\S+)", re.M),
    re.compile(r"--- FAIL: (\S+)"),
    re.compile(r"^test (\S+) \.\.\. FAILED", re.M),
    re.compile(r"^\s*● (.+ › .+)$", re.M),
    re.compile(r"^(?:ERROR|FAIL): (\w+) \(", re.M),
    re.compile(r"^ *(?:FAIL|❯|×) +(\S+\.(?:test|spec)\.\w+(?: > .+)?)", re.M),
)
_LOCATION = re.compile(r"^(?P<path>[\w./@-]+\.\w{1,5})[:(]\d+(?:[:,]\d+)?\)?:?\s*(?:-\s*)?")


def _clean(line: str, cwd: str) -> str:
    text = _PREFIX.sub("", line.strip().lstrip(_ORNAMENT).strip())
    if cwd:
        text = text.replace(cwd.rstrip("/") + "/", "")
    return " ".join(text.split())


def _clip(line: str, limit: int = 140) -> str:
    if len(line) <= limit:
        return line
    if (inner := _INNER_ERROR.search(line)) is not None:
        return inner.group(1)
    cut = line[:limit].rsplit(" ", 1)[0].rstrip(" ,;:(")
    return (cut or line[:limit]) + "…"


def _in_traceback(lines: Sequence[str], position: int) -> bool:
    return any("Traceback (most" in line for line in lines[max(0, position - 60) : position])


def _same_error(one: str, other: str) -> bool:
    return re.sub(r"\d+|0x[0-9a-f]+", "#", one) == re.sub(r"\d+|0x[0-9a-f]+", "#", other)


def _runs_by_command(actions: Sequence[Action]) -> list[list[Action]]:
    """Group the judged shell runs: a run joins the group whose first command it relates to."""
    groups: list[list[Action]] = []
    for action in actions:
        command = action.command
        if command is None or action.state in ("noise", "unknown"):
            continue
        if command.role == "read" and not command.asks_service:
            continue
        for group in groups:
            first = group[0].command
            if first is not None and _related(command, first, action, group):
                group.append(action)
                break
        else:
            groups.append([action])
    return groups


def _related(command: Command, first: Command, action: Action, group: Sequence[Action]) -> bool:
    if command.key == first.key or covers(command, first):
        return True
    if not command.verifies or (command.program, command.subcommand) != (
        first.program,
        first.subcommand,
    ):
        return False
    if covers(first, command):
        # A narrower run belongs here if a failure of the wider one spoke of its target.
        named = " ".join(run.output for run in group if run.state == "failed")
        parts = {t.split("::")[0] for t in command.targets}
        return bool(parts) and any(part and part in named for part in parts)
    shared = set(test_ids(action.output)) & {i for run in group for i in test_ids(run.output)}
    return bool(shared)


def _passed_later(actions: Sequence[Action], failed: Action) -> bool:
    return failed.command is not None and any(
        later.index > failed.index
        and later.state == "ok"
        and later.command is not None
        and covers(later.command, failed.command)
        for later in actions
    )


def _fixes_of_runs(actions: Sequence[Action], runs: Sequence[Action]) -> list[Fix]:
    found: list[Fix] = []
    streak: list[Action] = []
    for run in runs:
        if run.state == "failed":
            streak.append(run)
            continue
        if streak and run.command is not None:
            found.extend(_fixes_of_streak(actions, streak, run))
        streak = []
    # The last error may still stand, but those before it are gone.
    if streak:
        found.extend(_fixes_of_streak(actions, streak, None))
    return found


def _fixes_of_streak(
    actions: Sequence[Action], streak: Sequence[Action], passed: Action | None
) -> list[Fix]:
    cwd = streak[0].call.cwd
    groups: list[tuple[str, list[Action]]] = []
    for run in streak:
        error = telling_line(run.output, cwd)
        if groups and (_same_error(groups[-1][0], error) or not error):
            groups[-1][1].append(run)
        else:
            groups.append((error, [run]))
    found: list[Fix] = []
    for number, (error, failed) in enumerate(groups):
        resolved = groups[number + 1][1][0] if number + 1 < len(groups) else passed
        command = failed[0].command
        if command is None or resolved is None or not (error or passed):
            continue
        found.append(
            Fix(
                command=command,
                failures=tuple(failed),
                resolved_by=resolved,
                confirmed_by=passed if passed is not None else resolved,
                between=_between(actions, failed[-1], resolved, streak),
                tried=_between(actions, failed[0], failed[-1], streak),
                error=error,
                hangs=any(is_hang(run) for run in failed),
                test_ids=test_ids(failed[0].output),
            )
        )
    return found


def _between(
    actions: Sequence[Action], start: Action, end: Action, runs: Sequence[Action]
) -> tuple[Action, ...]:
    indexes = {run.index for run in runs}
    return tuple(
        action
        for action in actions
        if start.index < action.index < end.index
        and action.index not in indexes
        and action.state != "noise"
    )
