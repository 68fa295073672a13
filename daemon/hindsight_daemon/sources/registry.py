"""The list of all transcript families, and how an unknown transcript finds its own.

A new family is a module here and a line in `SOURCES`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from hindsight_daemon.errors import BadInput, UsageProblem
from hindsight_daemon.sources import (
    aider,
    amp,
    antigravity,
    chat_exports,
    chat_messages,
    claude_code,
    claude_export,
    cline,
    codex,
    codex_document,
    continue_dev,
    copilot_cli,
    copilot_visualstudio,
    copilot_vscode,
    cursor_agent,
    cursor_db,
    cursor_store,
    factory_droid,
    gemini_cli,
    generic_lines,
    goose,
    goose_db,
    gptme,
    grok_build,
    hermes,
    iflow,
    kimi,
    kiro,
    markdown_text,
    mistral_vibe,
    opencode,
    opencode_tree,
    openhands,
    pi,
    qwen_code,
    specstory_md,
    swe_agent,
    warp,
    zed,
)
from hindsight_daemon.sources.json_text import decode_json
from hindsight_daemon.sources.port import Source

SOURCES: tuple[Source, ...] = (
    iflow.SOURCE,
    claude_code.SOURCE,
    claude_export.SOURCE,
    codex.SOURCE,
    codex_document.SOURCE,
    gemini_cli.SOURCE,
    gemini_cli.DOCUMENT,
    qwen_code.SOURCE,
    copilot_cli.SOURCE,
    pi.OPENCLAW,
    pi.SOURCE,
    kimi.SOURCE,
    grok_build.SOURCE,
    factory_droid.SOURCE,
    antigravity.SOURCE,
    goose.SOURCE,
    cursor_agent.SOURCE,
    cursor_agent.TEXT,
    gptme.SOURCE,
    mistral_vibe.SOURCE,
    cline.ROO,
    cline.KILO,
    cline.SOURCE,
    cline.STORE,
    continue_dev.SOURCE,
    amp.SOURCE,
    openhands.SOURCE,
    openhands.DOCUMENT,
    swe_agent.SOURCE,
    swe_agent.MINI,
    copilot_vscode.SOURCE,
    copilot_vscode.LOG,
    copilot_visualstudio.SOURCE,
    aider.SOURCE,
    specstory_md.SOURCE,
    chat_exports.CHATGPT,
    chat_exports.CLAUDE_AI,
    chat_exports.SHAREGPT_LINES,
    chat_exports.SHAREGPT,
    generic_lines.SOURCE,
    chat_messages.SOURCE,
    chat_messages.LINES,
    opencode.SOURCE,
    opencode_tree.SOURCE,
    goose_db.SOURCE,
    cursor_db.SOURCE,
    cursor_store.SOURCE,
    zed.SOURCE,
    kiro.SOURCE,
    hermes.SOURCE,
    warp.SOURCE,
    markdown_text.SOURCE,
)
"""All families; on equal scores the earlier one wins."""

THRESHOLD = 0.5
"""Score below which a transcript is refused instead of guessed."""
CERTAIN = 0.9
"""Score from which no other family is asked; folders of thousands of files are looked through."""


_WHERE_LISTED = "`hindsight doctor sources` lists the names"
_NEAR = 3


def source_named(name: str) -> Source:
    """Return a family by name; raises `UsageProblem` that gives the nearest names."""
    for source in SOURCES:
        if source.name == name:
            return source
    near = near_names(name)
    said = f"did you mean {' or '.join(f'`{one}`' for one in near)}? " if near else ""
    raise UsageProblem(f"there is no source `{name}`", hint=f"{said}{_WHERE_LISTED}")


def near_names(name: str) -> list[str]:
    """Return the few names of families that look or begin like `name`, the nearest first."""
    names = [source.name for source in SOURCES]
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    alike = difflib.get_close_matches(wanted, names, _NEAR, cutoff=0.6)
    begun = [one for one in names if len(wanted) > 1 and one.startswith(wanted)]
    return list(dict.fromkeys([*alike[:1], *begun, *alike[1:]]))[:_NEAR]


def is_current(name: str, parser_version: int) -> bool:
    """Tell whether what was read under these is what would be read today.

    False too for a family that is not known here: another version of hindsight read it.
    """
    return any(
        source.name == name and source.parser_version == parser_version for source in SOURCES
    )


def is_read_whole(name: str) -> bool:
    """Tell whether the transcripts of a family are documents, read anew whenever they change."""
    return any(source.name == name and source.container == "document" for source in SOURCES)


def families_by_root(env: Mapping[str, str], home: Path) -> dict[Path, tuple[Source, ...]]:
    """Return the folders where agents keep transcripts, each with the families that live there.

    Below such a folder only what one of its families `matches` is a transcript; other files there
    (settings, indices, outputs) may look like chats or prose without being any.
    """
    found: dict[Path, tuple[Source, ...]] = {}
    for source in SOURCES:
        for root in source.roots(env, home):
            found[root] = (*found.get(root, ()), source)
    return found


def sniff(head: str, path: str) -> tuple[Source, float]:
    """Return the family that a transcript's beginning fits best, and how well (0 to 1).

    Raises `BadInput` that says what was seen if none fits.
    """
    best, found = 0.0, SOURCES[0]
    for source in SOURCES:
        confidence = source.score(head, path)
        if confidence > best:
            best, found = confidence, source
        if best >= CERTAIN:
            break
    if best >= THRESHOLD:
        return found, best
    raise BadInput(
        f"`{path}` is no transcript of a known kind: {_describe(head)}",
        hint=f"name the kind with `--source` ({_WHERE_LISTED}) or convert it to JSON Lines, "
        "see `man hindsight-ingest`",
    )


def _describe(head: str) -> str:
    """Say in a few words what a text begins with."""
    begin = head.strip()
    first = begin.split("\n", 1)[0]
    try:
        value = decode_json(first)
    except ValueError:
        value = None
    if isinstance(value, dict):
        keys = ", ".join(f"`{key[:40]}`" for key in list(value)[:8])
        return f"its first line is a JSON object with the keys {keys or '(none)'}"
    if isinstance(value, list):
        return "its first line is a JSON list without messages"
    if begin.startswith(("{", "[")):
        return "it begins like a JSON document without messages, or a damaged one"
    return f"it begins with the text `{first[:60]}`"
