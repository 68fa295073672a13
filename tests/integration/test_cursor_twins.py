"""A conversation of Cursor's is told once, though lines and a database both hold it."""

from __future__ import annotations

import json
from pathlib import Path

from hindsight_daemon.client import Client
from tests.support.databases import database, put
from tests.support.harness import running_daemon
from tests.support.transcripts import lines

TABLE = "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"


def _editor(path: Path, conversation: str, *said: str) -> Path:
    opened = database(path, (TABLE,))
    headers = [{"bubbleId": f"b{n}", "type": 1 + n % 2} for n in range(len(said))]
    composer = {"composerId": conversation, "fullConversationHeadersOnly": headers}
    put(opened, "cursorDiskKV", key=f"composerData:{conversation}", value=json.dumps(composer))
    for number, text in enumerate(said):
        bubble = json.dumps({"type": 1 + number % 2, "text": text})
        put(opened, "cursorDiskKV", key=f"bubbleId:{conversation}:b{number}", value=bubble)
    opened.close()
    return path


def _lines(folder: Path, conversation: str, *said: str) -> Path:
    roles = ("user", "assistant")
    records = [
        {"role": roles[n % 2], "message": {"content": [{"type": "text", "text": text}]}}
        for n, text in enumerate(said)
    ]
    return lines(folder / f"agent-transcripts/{conversation}/{conversation}.jsonl", *records)


def _turns(client: Client, text: str) -> list[str]:
    found = client.recall(text, kinds=("turn",), all_projects=True).memories
    return sorted(memory.session_id for memory in found if text in memory.text)


def test_lines_give_way_to_the_editor_and_later_forms_to_the_first(home: Path) -> None:
    projects = home.parent / "home/.cursor/projects/w"
    editor = home.parent / "home/.config/Cursor/User/globalStorage/state.vscdb"
    _editor(editor, "c1", "Why is the parser slow?", "It sorts twice.")
    both = _lines(projects, "c1", "Why is the parser slow?", "It sorts twice.")
    alone = _lines(projects, "c2", "Where is the lexer?", "In the core folder.")
    copy = _editor(home.parent / "copy/state.vscdb", "c2", "Where is the lexer?", "In the core.")
    with running_daemon() as client:
        assert client.ingest((str(both),)).events == 0
        assert client.ingest((str(editor),)).events > 0
        assert client.ingest((str(both), str(editor))).events == 0
        assert _turns(client, "parser slow") == ["composer:c1"]

        assert client.ingest((str(alone),)).events == 2
        assert client.ingest((str(copy),)).events == 0
        with alone.open("a", encoding="utf-8") as more:
            more.write(json.dumps({"role": "user", "message": {"content": "And the lexer tests?"}}))
            more.write("\n")
        assert client.ingest((str(alone),)).events == 1
        assert len(_turns(client, "lexer")) == 2
