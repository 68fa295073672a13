"""Says in a few words what an edit changed, where the assistant did not say it itself.

Pure; imports `actions` and `wording`. Reads the old and new text of edit calls and the added and
removed lines of patches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action, arguments_of
from hindsight_daemon.engine.wording import clip, code

MAX_LINE_CHARS = 70


def described_change(
    edits: Sequence[Action],
    commands: Sequence[Action],
    *,
    chinese: bool,
    hints: Sequence[str] = (),
) -> str:
    """Return an imperative clause for these edits and commands; may be empty.

    Of an edit of many lines it shows the new one that names most of the `hints`.
    """
    for action in edits:
        old, new = changed_lines(action)
        where = code(action.files[0]) if action.files else ""
        if not where or len(old) > 1 or len(new) > 1:
            continue
        if old and new:
            old, new = _essential(old[0], new[0])
            if max(len(old[0]), len(new[0])) > MAX_LINE_CHARS:
                continue
            return (
                f"在 {where} 中把 {code(old[0])} 改为 {code(new[0])}"
                if chinese
                else f"in {where} replace {code(old[0])} by {code(new[0])}"
            )
        if new and len(new[0]) <= MAX_LINE_CHARS:
            return (
                f"在 {where} 中加入 {code(new[0])}" if chinese else f"add {code(new[0])} to {where}"
            )
        if old and len(old[0]) <= MAX_LINE_CHARS:
            return (
                f"从 {where} 中删除 {code(old[0])}"
                if chinese
                else f"remove {code(old[0])} from {where}"
            )
    lines = [a.command.display for a in commands if a.command is not None]
    brief = [line for line in lines if len(line) <= 80][-2:] or [
        clip(line, 80) for line in lines[-1:]
    ]
    shown = [code(line) for line in brief]
    if shown:
        return (
            ("先运行 " + "、".join(shown)) if chinese else "run " + " and ".join(shown) + " first"
        )
    if (telling := _telling_line(edits, hints)) is not None:
        where, line = telling
        return (
            f"修改 {code(where)}（改后有 {code(line)}）"
            if chinese
            else (f"change {code(where)} to have {code(line)}")
        )
    files = list(dict.fromkeys(path for action in edits for path in action.files))[:2]
    if files:
        names = ("、" if chinese else " and ").join(code(path) for path in files)
        return f"修改 {names}" if chinese else f"change {names}"
    return ""


def _telling_line(edits: Sequence[Action], hints: Sequence[str]) -> tuple[str, str] | None:
    """Return a file and the new line of it that names most of the hints, none if none does."""
    wanted = {hint.casefold() for hint in hints}
    best: tuple[int, str, str] | None = None
    for action in edits if wanted else ():
        for line in _differing(action)[1] if action.files else ():
            if not 8 <= len(line) <= MAX_LINE_CHARS or _COMMENT.match(line):
                continue
            score = len({word.casefold() for word in _WORD.findall(line)} & wanted)
            if score and (best is None or score > best[0]):
                best = score, action.files[0], line
    return best[1:] if best is not None else None


_COMMENT = re.compile(r"#|//|/?\*|--|<!--|\"\"\"|import |from |\W*$")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")


def changed_lines(action: Action) -> tuple[list[str], list[str]]:
    """Return the removed and added lines of one edit that are short enough to be shown."""
    removed, added = _differing(action)
    if any(len(line) > 2 * MAX_LINE_CHARS or len(line) < 3 for line in (*removed, *added)):
        return ["", ""], ["", ""]
    if removed == added:
        return ["", ""], ["", ""]  # only white space, which a code span does not show
    return removed, added


def _differing(action: Action) -> tuple[list[str], list[str]]:
    """Return the lines that an edit takes out and puts in, without indentation."""
    arguments = arguments_of(action)
    old_text, new_text = _texts(arguments)
    if isinstance(old_text, str) and isinstance(new_text, str):
        old, new = old_text.splitlines(), new_text.splitlines()
    else:
        old, new = _patch_lines(action, arguments)
    removed = [line.strip() for line in old if line.strip() and line not in new]
    added = [line.strip() for line in new if line.strip() and line not in old]
    return removed, added


_TEXT_FIELDS = (("old_string", "new_string"), ("old_str", "new_str"), ("old", "new"))
_SEARCH_BLOCK = re.compile(
    r"^[-<]{5,} ?SEARCH[^\n]*\n(?::start_line:.*\n-+\n)?(.*?)^={5,}\n(.*?)^[+>]{5,} ?REPLACE",
    re.S | re.M,
)


def _texts(arguments: dict[str, object]) -> tuple[object, object]:
    """Return the text an edit takes out and the one it puts in, None if it is told otherwise."""
    for old, new in _TEXT_FIELDS:
        if old in arguments and new in arguments:
            return arguments[old], arguments[new]
    diff = arguments.get("diff")
    blocks = _SEARCH_BLOCK.findall(diff) if isinstance(diff, str) else []
    return blocks[0] if len(blocks) == 1 else (None, None)


def _essential(old: str, new: str) -> tuple[list[str], list[str]]:
    """Cut what two long lines share at both ends, at the borders of words."""
    if len(old) + len(new) <= 80:
        return [old], [new]
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    while start and not old[start - 1].isspace():
        start -= 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    while end and not old[len(old) - end].isspace():
        end -= 1
    shorter = old[start : len(old) - end].strip(" ;,"), new[start : len(new) - end].strip(" ;,")
    return ([shorter[0]], [shorter[1]]) if all(shorter) else ([old], [new])


def _patch_lines(action: Action, arguments: dict[str, object]) -> tuple[list[str], list[str]]:
    texts = [str(value) for value in arguments.values() if "*** Begin Patch" in str(value)]
    raw = action.call.tool.arguments if action.call.tool is not None else ""
    patch = texts[0] if texts else (raw if "*** Begin Patch" in raw else action.line)
    lines = patch.splitlines()
    old = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
    new = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    return (old, new) if old or new else (["", ""], ["", ""])
