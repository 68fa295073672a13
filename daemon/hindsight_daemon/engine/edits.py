"""Says in a few words what an edit changed, where the assistant did not say it itself.

Pure; imports `actions` and `wording`. Reads the old and new text of edit calls and the added and
removed lines of patches.
"""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action, arguments_of
from hindsight_daemon.engine.wording import clip, code

MAX_LINE_CHARS = 70


def described_change(edits: Sequence[Action], commands: Sequence[Action], *, chinese: bool) -> str:
    """Return an imperative clause for these edits and commands; may be empty."""
    for action in edits:
        old, new = changed_lines(action)
        where = code(action.files[0]) if action.files else ""
        if not where or len(old) > 1 or len(new) > 1:
            continue
        if old and new:
            old, new = _essential(old[0], new[0])
            return (
                f"在 {where} 中把 {code(old[0])} 改为 {code(new[0])}"
                if chinese
                else f"in {where} replace {code(old[0])} by {code(new[0])}"
            )
        if new:
            return (
                f"在 {where} 中加入 {code(new[0])}" if chinese else f"add {code(new[0])} to {where}"
            )
        if old:
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
    files = list(dict.fromkeys(path for action in edits for path in action.files))[:2]
    if files:
        names = ("、" if chinese else " and ").join(code(path) for path in files)
        return f"修改 {names}" if chinese else f"change {names}"
    return ""


def changed_lines(action: Action) -> tuple[list[str], list[str]]:
    """Return the removed and added lines of one edit that are short enough to be shown."""
    arguments = arguments_of(action)
    old_text, new_text = arguments.get("old_string"), arguments.get("new_string")
    if isinstance(old_text, str) and isinstance(new_text, str):
        old, new = old_text.splitlines(), new_text.splitlines()
    else:
        old, new = _patch_lines(action, arguments)
    removed = [line.strip() for line in old if line.strip() and line not in new]
    added = [line.strip() for line in new if line.strip() and line not in old]
    if any(len(line) > MAX_LINE_CHARS or len(line) < 3 for line in (*removed, *added)):
        return ["", ""], ["", ""]
    return removed, added


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
