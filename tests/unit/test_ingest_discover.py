"""Finding transcripts in folders, default places, projects of working folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hindsight_daemon.errors import NoInput
from hindsight_daemon.ingest.discover import (
    default_roots,
    find_transcripts,
    is_transcript_name,
    project_of,
)


def transcript(path: Path, ts: str = "2026-01-01T00:00:00Z") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"type": "user", "uuid": path.name, "sessionId": "s", "timestamp": ts}
    path.write_text(json.dumps({**record, "message": {"content": "hi"}}) + "\n")
    return path


def test_a_folder_gives_its_transcripts_oldest_first(tmp_path: Path) -> None:
    late = transcript(tmp_path / "a.jsonl", "2026-03-01T00:00:00Z")
    early = transcript(tmp_path / "sub" / "with space 中文:x" / "b.jsonl", "2026-01-01T00:00:00Z")
    (tmp_path / "README.md").write_text("# Just a readme\n\nwith words\n")
    (tmp_path / "data.jsonl").write_text('{"x": 1}\n')
    transcript(tmp_path / ".git" / "c.jsonl")
    transcript(tmp_path / "node_modules" / "d.jsonl")
    found = find_transcripts(tmp_path)
    assert [one.path for one in found] == [early, late]
    assert {one.source for one in found} == {"claude-code"}


def test_links_are_followed_only_to_files_inside(tmp_path: Path) -> None:
    outside = transcript(tmp_path / "outside" / "secret.jsonl")
    root = tmp_path / "root"
    inside = transcript(root / "real.jsonl")
    (root / "escape.jsonl").symlink_to(outside)
    (root / "folder").symlink_to(outside.parent)
    (root / "loop").symlink_to(root)
    (root / "gone.jsonl").symlink_to(root / "nowhere.jsonl")
    assert [one.path for one in find_transcripts(root)] == [inside]


def test_of_a_packed_and_a_plain_copy_the_plain_one_counts(tmp_path: Path) -> None:
    plain = transcript(tmp_path / "rollout-1.jsonl")
    (tmp_path / "rollout-1.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd broken")
    assert [one.path for one in find_transcripts(tmp_path)] == [plain]


def test_a_named_file_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "anything.bin"
    file.write_text("x")
    assert [one.path for one in find_transcripts(file)] == [file]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="no file or folder"):
        find_transcripts(tmp_path / "missing")
    with pytest.raises(NoInput, match="holds no transcripts"):
        find_transcripts(tmp_path)


def test_default_roots_follow_the_environment(tmp_path: Path) -> None:
    usual = {
        tmp_path / ".claude/projects",
        tmp_path / ".config/claude/projects",
        tmp_path / ".codex/sessions",
        tmp_path / ".codex/archived_sessions",
    }
    assert usual <= set(default_roots({}, tmp_path))
    moved = set(default_roots({"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x"}, tmp_path))
    assert {Path("/c/projects"), Path("/x/sessions"), Path("/x/archived_sessions")} <= moved
    assert not usual & moved


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/h/.claude/projects/-w/1af7.jsonl", True),
        ("/h/.codex/sessions/2026/08/01/rollout-1.jsonl.zst", True),
        ("/h/.claude/projects/-w/s/tool-results/x.png", False),
        ("/h/a.db", False),
    ],
)
def test_names_tell_what_may_be_a_transcript(name: str, expected: bool) -> None:
    assert is_transcript_name(Path(name)) is expected


def test_the_project_is_the_top_of_the_repository(tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)
    (repository / ".git").mkdir()
    assert project_of(str(deep)) == str(repository)
    assert project_of(str(repository)) == str(repository)


def test_a_work_tree_belongs_to_its_main_repository(tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    (repository / ".git" / "worktrees" / "wt").mkdir(parents=True)
    for name, target in [("wt", repository / ".git/worktrees/wt"), ("rel", None)]:
        tree = tmp_path / name
        tree.mkdir()
        pointer = target or os.path.relpath(repository / ".git/worktrees/wt", tree)
        (tree / ".git").write_text(f"gitdir: {pointer}\n")
        assert project_of(str(tree)) == str(repository)


def test_a_submodule_is_its_own_project(tmp_path: Path) -> None:
    module = tmp_path / "repo" / "lib"
    module.mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "modules" / "lib").mkdir(parents=True)
    (module / ".git").write_text("gitdir: ../.git/modules/lib\n")
    assert project_of(str(module)) == str(module)


def test_a_folder_that_is_gone_or_foreign_stands_for_itself(tmp_path: Path) -> None:
    for cwd in (str(tmp_path / "gone"), "C:\\Users\\me\\app", "", "relative"):
        assert project_of(cwd) == cwd
