"""Where each agent keeps its transcripts, and the variables that move them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hindsight_daemon.ingest.discover import default_roots, find_transcripts, is_at_home
from hindsight_daemon.sources.registry import SOURCES, families_by_root
from tests.support.transcripts import lines

CLAUDE = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": "hi"}}

PLACES: list[tuple[str, str, dict[str, str]]] = [
    ("claude-code", "/h/.claude/projects/-w/1.jsonl", {}),
    ("claude-code", "/h/.claude/projects/-w/1/subagents/agent-a.jsonl", {}),
    ("claude-code", "/h/.claude/projects/-w/1/subagents/workflows/w/agent-a.jsonl", {}),
    ("claude-code", "/h/.config/claude/projects/-w/1.jsonl", {}),
    ("claude-code", "/c/projects/-w/1.jsonl", {"CLAUDE_CONFIG_DIR": "/c"}),
    ("claude-code", "/d/projects/x/1.jsonl", {"CLAUDE_CONFIG_DIR": "/c, /d"}),
    ("claude-code", "/c/projects/named/1.jsonl", {"CLAUDE_CONFIG_DIR": "/c"}),
    ("codex", "/h/.codex/sessions/2026/08/01/rollout-2026-1.jsonl", {}),
    ("codex", "/h/.codex/archived_sessions/rollout-2026-1.jsonl.zst", {}),
    ("codex", "/x/sessions/2026/08/01/rollout-1.jsonl", {"CODEX_HOME": "/x"}),
    ("codex-document", "/h/.codex/sessions/rollout-2025-04-20-1.json", {}),
    ("codex-document", "/x/sessions/rollout-2025-04-20-1.json", {"CODEX_HOME": "/x"}),
    ("gemini-cli", "/h/.gemini/tmp/app/chats/session-1.jsonl", {}),
    ("gemini-cli", "/h/.gemini/tmp/app/chats/parent/child.jsonl", {}),
    ("gemini-cli-document", "/h/.gemini/tmp/9ab/chats/session-1.json", {}),
    ("gemini-cli", "/g/.gemini/tmp/app/chats/s.jsonl", {"GEMINI_CLI_HOME": "/g"}),
    ("antigravity", "/h/.gemini/antigravity-cli/brain/1/.system_generated/logs/transcript.jsonl",
     {}),
    ("opencode", "/h/.local/share/opencode/opencode.db", {}),
    ("opencode", "/h/.local/share/opencode/opencode-dev.db", {}),
    ("opencode", "/h/.local/share/kilo/kilo.db", {}),
    ("opencode", "/x/opencode/opencode.db", {"XDG_DATA_HOME": "/x"}),
    ("opencode", "/mine/sessions.db", {"OPENCODE_DB": "/mine/sessions.db"}),
    ("opencode-tree", "/h/.local/share/opencode/storage/session/p/ses_1.json", {}),
    ("copilot-cli", "/h/.copilot/session-state/1/events.jsonl", {}),
    ("copilot-cli", "/h/.copilot/session-state/1.jsonl", {}),
    ("copilot-cli", "/x/session-state/1/events.jsonl", {"COPILOT_HOME": "/x"}),
    ("copilot-vscode", "/h/.config/Code/User/workspaceStorage/1/chatSessions/2.json", {}),
    ("copilot-vscode-log", "/h/.config/Code/User/workspaceStorage/1/chatSessions/2.jsonl", {}),
    ("copilot-vscode",
     "/h/.config/VSCodium/User/globalStorage/emptyWindowChatSessions/2.json", {}),
    ("pi", "/h/.pi/agent/sessions/--w--/1_2.jsonl", {}),
    ("pi", "/h/.omp/agent/sessions/--w--/1_2.jsonl", {}),
    ("pi", "/x/sessions/--w--/1_2.jsonl", {"PI_CODING_AGENT_DIR": "/x"}),
    ("openclaw", "/h/.openclaw/agents/main/sessions/1.jsonl", {}),
    ("qwen-code", "/h/.qwen/projects/-w/chats/1.jsonl", {}),
    ("qwen-code", "/h/.qwen/tmp/9ab/chats/1.jsonl", {}),
    ("iflow", "/h/.iflow/projects/-w/session-1.jsonl", {}),
    ("cline", "/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json",
     {}),
    ("cline",
     "/h/.vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json",
     {}),
    ("cline", "/h/.cline/data/tasks/1/ui_messages.json", {}),
    ("cline", "/x/data/tasks/1/ui_messages.json", {"CLINE_DIR": "/x"}),
    ("cline-store", "/h/.cline/data/sessions/1/1.messages.json", {}),
    ("cline-store", "/y/sessions/1/1.messages.json", {"CLINE_DIR": "/x", "CLINE_DATA_DIR": "/y"}),
    ("roo-code",
     "/h/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1/ui_messages.json", {}),
    ("kilo-code",
     "/h/.config/Code/User/globalStorage/kilocode.kilo-code/tasks/1/ui_messages.json", {}),
    ("cursor", "/h/.cursor/projects/w/agent-transcripts/1/1.jsonl", {}),
    ("cursor", "/h/.cursor/projects/w/agent-transcripts/1/subagents/2.jsonl", {}),
    ("cursor-text", "/h/.cursor/projects/w/agent-transcripts/1.txt", {}),
    ("cursor-store", "/h/.cursor/chats/9ab/1/store.db", {}),
    ("cursor-db", "/h/.config/Cursor/User/globalStorage/state.vscdb", {}),
    ("aider", "/repo/.aider.chat.history.md",
     {"AIDER_CHAT_HISTORY_FILE": "/repo/.aider.chat.history.md"}),
    ("aider", "/repo/talk.md", {"AIDER_CHAT_HISTORY_FILE": "/repo/talk.md"}),
    ("goose-db", "/h/.local/share/goose/sessions/sessions.db", {}),
    ("goose", "/h/.local/share/goose/sessions/20260101_1.jsonl", {}),
    ("goose-db", "/x/data/sessions/sessions.db", {"GOOSE_PATH_ROOT": "/x"}),
    ("amp", "/h/.local/share/amp/threads/T-1.json", {}),
    ("amp", "/x/amp/threads/T-1.json", {"XDG_DATA_HOME": "/x"}),
    ("openhands", "/h/.openhands/conversations/1/events/event-00001-ab.json", {}),
    ("openhands", "/x/1/events/event-00001-ab.json", {"OPENHANDS_CONVERSATIONS_DIR": "/x"}),
    ("openhands", "/h/.openhands/sessions/1/events/1.json", {}),
    ("mini-swe-agent", "/h/.config/mini-swe-agent/last.traj.json", {}),
    ("continue", "/h/.continue/sessions/1.json", {}),
    ("continue", "/x/sessions/1.json", {"CONTINUE_GLOBAL_DIR": "/x"}),
    ("zed", "/h/.local/share/zed/threads/threads.db", {}),
    ("zed", "/h/Library/Application Support/Zed/threads/threads.db", {}),
    ("kimi", "/h/.kimi/sessions/9ab/1/wire.jsonl", {}),
    ("grok-build", "/h/.grok/sessions/%2Fw/1/chat_history.jsonl", {}),
    ("factory-droid", "/h/.factory/sessions/-w/1.jsonl", {}),
    ("hermes", "/h/.hermes/state.db", {}),
    ("gptme", "/h/.local/share/gptme/logs/2026-06-13-x/conversation.jsonl", {}),
    ("mistral-vibe", "/h/.vibe/logs/session/1/messages.jsonl", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "env"), PLACES)
def test_a_transcript_in_its_usual_or_its_named_place_is_at_home_there(
    name: str, path: str, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    home, file = Path("/h"), Path(path)
    assert any(file.is_relative_to(root) for root in default_roots(env, home))
    assert is_at_home(file, families_by_root(env, home))
    (source,) = [one for one in SOURCES if one.name == name]
    assert source.matches(file)
    assert any(file.is_relative_to(root) for root in source.roots(env, home))


@pytest.mark.parametrize(
    "path",
    [
        "/h/.claude/projects/-w/memory/notes.jsonl",
        "/h/.claude/projects/-w/1/tool-results/x.jsonl",
        "/h/.claude/projects/-w/1/subagents/workflows/w/journal.jsonl",
        "/h/.gemini/tmp/app/logs.json",
        "/h/.continue/sessions/sessions.json",
        "/h/.cline/data/sessions/1/1.json",
        "/h/.openhands/conversations/1/base_state.json",
    ],
)
def test_what_agents_keep_beside_their_transcripts_is_none(path: str) -> None:
    assert not is_at_home(Path(path), families_by_root({}, Path("/h")))


def test_a_named_history_makes_no_transcripts_of_what_lies_below_its_folder() -> None:
    env = {"AIDER_CHAT_HISTORY_FILE": "/h/.aider.chat.history.md"}
    families = families_by_root(env, Path("/h"))
    assert is_at_home(Path("/h/exports/chat.jsonl"), families)
    assert not is_at_home(Path("/h/chat.jsonl"), families)


def test_transcripts_that_hide_are_found_in_a_folder_and_other_hidden_files_are_not(
    tmp_path: Path,
) -> None:
    aider = tmp_path / "repo/.aider.chat.history.md"
    aider.parent.mkdir(parents=True)
    aider.write_text(
        "\n# aider chat started at 2026-01-05 09:30:00\n\n> Aider v0.86.1\n#### fix it\n\nDone.\n",
        encoding="utf-8",
    )
    story = tmp_path / "repo/.specstory/history/2026-01-30_18-58-14Z-x.md"
    story.parent.mkdir(parents=True)
    story.write_text(
        "<!-- Generated by SpecStory -->\n\n# x\n\n_**User**_\n\nfix it\n\n---\n\n"
        "_**Agent (model)**_\n\nDone.\n",
        encoding="utf-8",
    )
    step = {
        "step_index": 0,
        "source": "USER_EXPLICIT",
        "type": "USER_INPUT",
        "status": "DONE",
        "created_at": "2026-01-01T00:00:00Z",
        "content": "<USER_REQUEST>fix it</USER_REQUEST>",
    }
    brain = lines(tmp_path / "brain/1/.system_generated/logs/transcript.jsonl", step)
    lines(tmp_path / "repo/.hidden.jsonl", CLAUDE)
    lines(tmp_path / "repo/.cache/1.jsonl", CLAUDE)
    assert {one.path for one in find_transcripts(tmp_path)} == {aider, story, brain}
