"""The generic forms: our own lines, chat messages, Markdown; and how a family is chosen."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon.errors import BadInput, UsageProblem
from hindsight_daemon.ingest.transcript import TranscriptBatch, read_transcript
from hindsight_daemon.model import Event
from hindsight_daemon.sources.registry import SOURCES, THRESHOLD, sniff, source_named


def read(path: Path, text: str, **options: Any) -> list[TranscriptBatch]:
    path.write_text(text, encoding="utf-8")
    return list(read_transcript(path, **options))


def events_of(path: Path, text: str, **options: Any) -> list[Event]:
    return [event for batch in read(path, text, **options) for event in batch.events]


def lines(*records: Any) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records)


def test_generic_lines_keep_id_speaker_session_and_time(tmp_path: Path) -> None:
    (event,) = events_of(
        tmp_path / "x.jsonl",
        lines({"id": "D1:3", "session": "S1", "ts": "2023-05-08T13:56:00+02:00", "speaker": "Mel",
               "text": "我喜欢画画"}),
    )  # fmt: skip
    assert (event.external_id, event.session_id, event.speaker) == ("D1:3", "S1", "Mel")
    assert (event.kind, event.text) == ("text", "我喜欢画画")
    assert event.ts == datetime(2023, 5, 8, 11, 56, tzinfo=UTC)


def test_roles_and_speakers_tell_prompts_from_answers(tmp_path: Path) -> None:
    events = events_of(
        tmp_path / "x.jsonl",
        lines(
            {"role": "user", "text": "a"},
            {"role": "assistant", "content": "b"},
            {"speaker": "user", "text": "c"},
            {"speaker": "Assistant", "text": "d"},
            {"role": "system", "text": "e"},
            {"speaker": "", "text": "f"},
        ),
    )
    assert [(event.kind, event.role) for event in events] == [
        ("prompt", "user"),
        ("text", "assistant"),
        ("prompt", "user"),
        ("text", "assistant"),
        ("text", "system"),
        ("text", "user"),
    ]


def test_times_are_read_as_iso_seconds_or_milliseconds(tmp_path: Path) -> None:
    events = events_of(
        tmp_path / "x.jsonl",
        lines(
            {"text": "a", "ts": 1700000000},
            {"text": "b", "ts": 1700000000000},
            {"text": "c", "ts": "1700000000.0"},
            {"text": "d", "ts": "2023-11-14T22:13:20"},
            {"text": "e", "ts": "yesterday"},
            {"text": "f", "ts": {"no": 1}},
            {"text": "g", "ts": float("inf")},
            {"text": "h", "ts": float("nan")},
            {"text": "i", "ts": 10**400},
        ),
    )
    moment = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert [event.ts for event in events] == [moment] * 4 + [None] * 5


def test_tools_in_generic_lines_become_calls_and_results(tmp_path: Path) -> None:
    events = events_of(
        tmp_path / "x.jsonl",
        lines(
            {"role": "assistant", "text": "", "tool": {"name": "bash", "input": "make"}},
            {"role": "tool", "tool": "bash", "text": "error", "exit_code": 2},
            {"tool": {"name": "bash", "input": {"command": "ls"}, "output": "a", "exit_code": 0}},
        ),
    )
    assert [event.kind for event in events] == ["tool_call", "tool_result"] * 2
    found = [(e.tool.command, e.tool.exit_code, e.tool.is_error) for e in events if e.tool]
    assert found == [
        ("make", None, None),
        ("make", 2, True),
        ("ls", None, None),
        ("ls", 0, False),
    ]


def test_ids_of_generic_lines_depend_on_project_and_not_on_place(tmp_path: Path) -> None:
    text = lines({"id": "1", "session": "S", "text": "same words"})
    (here,) = events_of(tmp_path / "a.jsonl", text, project="p")
    (there,) = events_of(tmp_path / "b.jsonl", text, project="p")
    (other,) = events_of(tmp_path / "a.jsonl", text, project="q")
    assert here.id == there.id
    assert here.id != other.id


def test_a_line_without_text_is_reported(tmp_path: Path) -> None:
    (batch,) = read(tmp_path / "x.jsonl", lines({"text": "a"}, {"text": "b"}, {"role": "user"}))
    assert [skip.line for skip in batch.skipped] == [3]
    assert batch.skipped_total == 1


def test_a_session_given_by_the_user_wins(tmp_path: Path) -> None:
    (event,) = events_of(
        tmp_path / "x.jsonl", lines({"session": "S", "text": "a"}), session_id="mine"
    )
    assert event.session_id == "mine"


OPENAI = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "what day?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "date", "arguments": "{bad json"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "Monday"},
    {"role": "assistant", "content": "It is Monday."},
]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("doc.json", json.dumps(OPENAI, indent=1)),
        ("wrapped.json", json.dumps({"messages": OPENAI}, indent=1)),
        ("flat.json", json.dumps(OPENAI)),
        ("message-a-line.jsonl", lines(*OPENAI)),
        ("conversation-a-line.jsonl", lines({"messages": OPENAI})),
    ],
)
def test_chat_messages_are_read_in_every_container(tmp_path: Path, name: str, text: str) -> None:
    events = events_of(tmp_path / name, text)
    assert [event.kind for event in events] == [
        "text",
        "prompt",
        "tool_call",
        "tool_result",
        "text",
    ]
    assert events[0].is_synthetic
    assert events[1].text == "what day?"
    assert events[2].tool is not None
    assert events[2].tool.arguments == "{bad json"
    assert events[3].tool is not None
    assert events[3].tool.name == "date"
    assert len({event.session_id for event in events}) == 1
    assert len({event.id for event in events}) == 5


def test_anthropic_blocks_are_read(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}
    done = {"type": "tool_result", "tool_use_id": "t1", "content": "a", "is_error": False}
    events = events_of(
        tmp_path / "x.json",
        json.dumps(
            [
                {"role": "user", "content": "list"},
                {"role": "assistant", "content": [{"type": "text", "text": "Sure"}, use]},
                {"role": "user", "content": [done]},
            ]
        ),
    )
    assert [event.kind for event in events] == ["prompt", "text", "tool_call", "tool_result"]
    assert events[3].tool is not None
    assert (events[3].tool.command, events[3].tool.is_error) == ("ls", False)


def test_each_conversation_of_a_list_is_a_session(tmp_path: Path) -> None:
    talks = [
        {"id": "one", "conversations": [{"from": "human", "value": "q"}]},
        {"conversations": [{"from": "gpt", "value": "a"}]},
    ]
    events = events_of(tmp_path / "x.json", json.dumps(talks))
    assert [(event.kind, event.text) for event in events] == [("prompt", "q"), ("text", "a")]
    assert events[0].session_id == "one"
    assert events[1].session_id not in ("", "one")


def test_a_chatgpt_export_is_read_along_its_current_branch(tmp_path: Path) -> None:
    def node(parent: str | None, role: str, text: str) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        message = {"id": text, "author": {"role": role}, "content": content, "create_time": 1.7e9}
        return {"parent": parent, "children": [], "message": message}

    mapping = {
        "r": {"parent": None, "message": None},
        "a": node("r", "user", "first"),
        "b": node("a", "assistant", "dropped"),
        "c": node("a", "assistant", "kept"),
    }
    export = [{"title": "t", "id": "conv", "mapping": mapping, "current_node": "c"}]
    events = events_of(tmp_path / "conversations.json", json.dumps(export))
    assert [event.text for event in events] == ["first", "kept"]
    assert {event.session_id for event in events} == {"conv"}


def test_markdown_with_speakers_is_a_dialogue(tmp_path: Path) -> None:
    text = (
        "# Log\n\n## User\n\nfix it\n\n**Assistant:** done\n\n```\nUser: not a label\n```\n\n"
        "用户：谢谢\n助手：不客气\n"
    )
    events = events_of(tmp_path / "x.md", text)
    assert [(event.kind, event.text) for event in events] == [
        ("prompt", "fix it"),
        ("text", "done\n\n```\nUser: not a label\n```"),
        ("prompt", "谢谢"),
        ("text", "不客气"),
    ]


def test_markdown_without_speakers_is_a_document_in_portions(tmp_path: Path) -> None:
    paragraph = "Some words about the deployment of the service. " * 10
    text = f"# Deploy\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n\n# Undo\n\nx\n"
    events = events_of(tmp_path / "notes.md", text)
    assert [event.kind for event in events] == ["text"] * len(events)
    assert len(events) >= 3
    assert events[-1].text == "# Undo\n\nx"
    changed = events_of(tmp_path / "notes.md", text.replace("# Undo\n\nx", "# Undo\n\ny"))
    assert [event.id for event in changed[:-1]] == [event.id for event in events[:-1]]
    assert changed[-1].id != events[-1].id


@pytest.mark.parametrize(
    "text",
    [
        '{"accountKey":"d1","usedPercent":0}\n',
        "col1,col2\n1,2\n3,4\n",
        '{"a": \n',
        "[1, 2, 3]\n",
        '{"type":"heartbeat","data":{"sessionId":"s"},"id":"e1"}\n',
        '{"uuid":"q1","sessionId":"Q","type":"user","message":{"role":"user","bits":[]}}\n',
        "#!/bin/sh\necho hi\n",
    ],
)
def test_what_no_family_claims_is_refused_with_a_hint(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        list(read_transcript(path))
    assert str(path) in caught.value.message
    assert "--source" in caught.value.hint


def test_families_have_distinct_names_and_scores_are_shares() -> None:
    names = [source.name for source in SOURCES]
    assert len(set(names)) == len(names)
    for source in SOURCES:
        assert source_named(source.name) is source
        for head in ("", "{", "[]", "\x00", '{"type":"user"}\n', "中文\n"):
            assert 0.0 <= source.score(head, "x") <= 1.0
    with pytest.raises(UsageProblem):
        source_named("none-such")


def test_a_family_is_chosen_by_content_whatever_the_name() -> None:
    head = lines({"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": "x"}})
    source, confidence = sniff(head, "notes.txt")
    assert source.name == "claude-code"
    assert confidence >= THRESHOLD
