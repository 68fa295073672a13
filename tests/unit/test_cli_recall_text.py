"""How a recall reads on terminals of several widths and in pipes."""

from __future__ import annotations

from typing import Any

from hindsight_cli.recall_text import lines_of, text_width, wrap

TEXT = (
    "当 `go test ./internal/order/...` 失败，报错「dial tcp 127.0.0.1:6379: connect: refused」时，"
    "把地址改为从环境变量 `REDIS_ADDR` 读取（见 docker compose）。"
)


def memory(**changes: Any) -> dict[str, Any]:
    """Return a recalled memory as JSON values."""
    return {
        "id": "019cfeb4-279a-7ca9-a0a3-5e168c59d5de",
        "short_id": "019cfeb4",
        "kind": "solution",
        "text": TEXT,
        "status": "unverified",
        "confidence": 0.8,
        "trust": "agent",
        "project": "/home/lin/mall-server",
        "created_at": "2026-03-18T02:09:00Z",
        "source": {"agent": "claude-code", "transcript": "/t.jsonl", "quote": "失败的原因" * 30},
        **changes,
    }


def test_every_line_of_a_recall_fits_a_narrow_terminal() -> None:
    scores = {
        "arms": {"keyword": {"rank": 1, "score": 7.1}, "recent": {"rank": 3, "score": 1.7e9}},
        "weights": {"importance": 1.03, "kind": 0.85, "confidence": 1.06},
        "fused": 0.95,
        "final": 1.04,
        "key": "why does the order test fail " * 9,
    }
    for width in (40, 80):
        lines = lines_of({"memories": [memory(scores=scores)]}, width=width, colour=False)
        assert max(text_width(line) for line in lines) <= width
        assert "…" in "".join(lines)
    assert "1700000000" not in "".join(lines)


def test_no_line_of_chinese_begins_with_a_closing_mark() -> None:
    for width in range(20, 60):
        lines = wrap(TEXT, width)
        assert not [line for line in lines if line[0] in "，。、」）"], width
        assert not [line for line in lines if line[-1] in "「（"], width
        assert "".join(lines).replace(" ", "") == TEXT.replace(" ", "")


def test_indentation_of_quoted_code_survives_wrapping() -> None:
    assert wrap("def f():\n    return 1\n\tx = 2", 20) == ["def f():", "    return 1", "    x = 2"]
    assert wrap("    " + "x" * 30, 20) == ["    " + "x" * 16, "x" * 14]


def test_a_quote_that_repeats_the_text_is_left_out() -> None:
    same = memory(kind="turn", source={"agent": "codex", "quote": TEXT[:40]})
    (_, _, small) = lines_of({"memories": [same]}, width=0, colour=False)
    assert small.strip() == "019cfeb4 · 2026-03-18 · codex · mall-server · unverified 0.80"
    assert "失败的原因" in lines_of({"memories": [memory()]}, width=0, colour=False)[2]


def test_what_could_drive_a_terminal_is_not_printed() -> None:
    evil = "red \x1b[31m \x1b]0;title\x07 \u202e end"
    told = memory(text=evil, speaker="\x1b[2J", source={"agent": "a", "quote": "\x1b[1m"})
    for width in (0, 80):
        shown = "".join(lines_of({"memories": [told]}, width=width, colour=False))
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert lines_of({"memories": [memory(text="👨\u200d👩")]}, width=0, colour=False)[1].endswith(
        "👨\u200d👩"
    )
