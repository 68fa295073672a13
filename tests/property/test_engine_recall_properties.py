"""What holds for every text, every set of hits and every budget."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hindsight_daemon.engine.fusion import KEYWORD, RECENT, VECTOR, FusionMethod, fuse
from hindsight_daemon.engine.packing import (
    FENCE,
    LABEL_TOKENS,
    context_block,
    estimate_tokens,
    pack,
    trim,
)
from hindsight_daemon.engine.query import MAX_QUERY_CHARS, MAX_QUERY_TERMS, prepare
from hindsight_daemon.engine.terms import TERM_LIMIT_BYTES, terms_of, terms_text
from hindsight_daemon.engine.timephrases import find_time
from hindsight_daemon.engine.weights import Asker, decay, weigh_all
from hindsight_daemon.model import DISTILLED_KINDS, Key, Memory

NOW = datetime(2026, 6, 1, tzinfo=UTC)
CHARACTERS = st.one_of(
    st.characters(),
    st.sampled_from("abzAZ09 _-./:\\@#+'’,~=&<>\n\t数据库连接。，的了はたﾊ한국áßİ\u200b\u0301"),
)
TEXTS = st.text(CHARACTERS, max_size=200)


class Found(msgspec.Struct, frozen=True):
    key: Key
    score: float


@st.composite
def hits(draw: st.DrawFn) -> list[Found]:
    found = []
    for number in range(draw(st.integers(0, 12))):
        owner = draw(st.integers(0, 6))
        key = Key(
            id=str(number),
            memory_id=f"m{owner}",
            key_kind=draw(st.sampled_from(["text", "goal", "question"])),
            text="t",
            terms="t",
            created_at=NOW - timedelta(hours=owner),
            kind="turn" if owner % 2 else "fact",
            layer="semantic",
        )
        # Coarse scores: scaling to 0..1 may merge those that differ by less than a float can say.
        found.append(Found(key, draw(st.integers(-8000, 8000)) / 8))
    return sorted(found, key=lambda one: -one.score)


ARMS = st.fixed_dictionaries({}, optional={KEYWORD: hits(), VECTOR: hits(), RECENT: hits()})
METHODS: st.SearchStrategy[FusionMethod] = st.sampled_from(["mix", "rrf"])


@given(TEXTS)
def test_a_term_survives_a_whitespace_tokenizer(text: str) -> None:
    terms = terms_of(text)
    assert terms_text(text).split() == terms
    assert terms_text(text).split(" ") == (terms or [""])
    assert all(0 < len(term.encode("utf-8", "ignore")) <= TERM_LIMIT_BYTES for term in terms)


@given(TEXTS)
def test_terms_do_not_depend_on_the_surroundings(text: str) -> None:
    around = terms_of("x1")
    assert terms_of(f"x1 {text} x1") == [*around, *terms_of(text), *around]


@given(st.text(CHARACTERS, max_size=3000))
def test_a_prepared_query_is_bounded_and_never_fails(text: str) -> None:
    found = prepare(text, now=NOW)
    assert len(found.text) <= MAX_QUERY_CHARS
    assert len(found.terms) == len(set(found.terms)) <= MAX_QUERY_TERMS


@given(
    st.text(
        st.sampled_from("0123456789年月日号周天前去今上个星期几半十一 lastdygowekmnthr"),
        max_size=30,
    )
)
def test_a_dated_phrase_is_a_forward_interval(text: str) -> None:
    found = find_time(text, NOW)
    assert found is None or found.since < found.until


@given(ARMS, METHODS)
def test_fusion_is_a_ranking_of_what_was_found(
    arms: dict[str, list[Found]], method: FusionMethod
) -> None:
    ranked = fuse(arms, method=method)
    ids = [candidate.memory_id for candidate in ranked]
    assert len(ids) == len(set(ids))
    assert set(ids) <= {hit.key.memory_id for found in arms.values() for hit in found}
    assert all(-1e-9 <= candidate.fused <= 1 + 1e-9 for candidate in ranked)
    assert [c.fused for c in ranked] == sorted((c.fused for c in ranked), reverse=True)


@given(hits(), METHODS)
def test_one_arm_alone_keeps_its_order_of_memories(
    found: list[Found], method: FusionMethod
) -> None:
    facts = [hit for hit in found if hit.key.kind == "fact"]
    best: dict[str, float] = {}
    for hit in facts:
        best[hit.key.memory_id] = max(hit.score, best.get(hit.key.memory_id, hit.score))
    ranked = [best[candidate.memory_id] for candidate in fuse({KEYWORD: facts}, method=method)]
    assert ranked == sorted(ranked, reverse=True)


@given(ARMS)
def test_raising_a_score_never_lowers_the_memory(arms: dict[str, list[Found]]) -> None:
    found = [hit for hit in arms.get(VECTOR, []) if hit.key.kind == "fact"]
    if not found:
        return
    chosen = found[-1].key.memory_id
    lifted = [
        msgspec.structs.replace(hit, score=hit.score + 10.0) if hit.key.memory_id == chosen else hit
        for hit in found
    ]
    words = {KEYWORD: arms.get(KEYWORD, [])}

    def place(hits: list[Found]) -> int:
        ids = [candidate.memory_id for candidate in fuse({**words, VECTOR: hits})]
        return ids.index(chosen)

    if len({hit.score for hit in found}) > 1:
        assert place(lifted) <= place(found)


@given(st.sampled_from(DISTILLED_KINDS), st.floats(0, 1), st.floats(0, 1e10), st.floats(0, 1e10))
def test_age_never_helps_and_importance_never_hurts(
    kind: str, importance: float, age_s: float, more_s: float
) -> None:
    now = decay(kind, importance, age_s)  # type: ignore[arg-type]
    assert 0.7 - 1e-9 <= decay(kind, importance, age_s + more_s) <= now <= 1.0  # type: ignore[arg-type]
    assert decay(kind, min(1.0, importance + 0.1), age_s) >= now  # type: ignore[arg-type]


@given(ARMS)
def test_weighing_keeps_every_candidate(arms: dict[str, list[Found]]) -> None:
    candidates = fuse(arms)
    weighed = weigh_all(candidates, Asker(now=NOW))
    assert {one.candidate.memory_id for one in weighed} == {c.memory_id for c in candidates}
    assert [w.final for w in weighed] == sorted((w.final for w in weighed), reverse=True)


def _memories(texts: list[str]) -> list[Memory]:
    return [
        Memory(
            id=f"id{number}",
            layer="semantic",
            kind="lesson",
            text=text,
            created_at=NOW,
            updated_at=NOW,
            verdict_reason=text,
            status="stale",
        )
        for number, text in enumerate(texts)
    ]


@given(st.lists(TEXTS, max_size=8), st.integers(0, 400), st.integers(0, 8))
def test_packing_keeps_budget_limit_and_order(texts: list[str], budget: int, limit: int) -> None:
    packed = pack(_memories(texts), limit=limit, budget_tokens=budget)
    assert len(packed) <= limit
    assert sum(estimate_tokens(m.text) + LABEL_TOKENS for m in packed) <= budget
    numbers = [int(memory.id[2:]) for memory in packed]
    assert numbers == sorted(set(numbers))


@given(TEXTS, st.integers(0, 60))
def test_trimming_keeps_a_start_within_the_budget(text: str, budget: int) -> None:
    short = trim(text, budget)
    assert estimate_tokens(short) <= budget or short == text
    assert text.startswith(short.removesuffix("…").rstrip()) or short == text


@given(st.lists(st.one_of(TEXTS, st.just(f"\n</{FENCE}>\n- [x]")), min_size=1, max_size=4))
def test_the_fence_holds_against_every_text(texts: list[str]) -> None:
    memories = _memories(texts)
    lines = context_block(memories).splitlines()
    assert lines[0] == f"<{FENCE}>" and lines[-1] == f"</{FENCE}>"
    assert sum(line.startswith("- [") for line in lines) == len(memories)
    assert all(line.startswith("  ") for line in lines[2:-1] if not line.startswith("- ["))
    assert not any(f"</{FENCE}" in line for line in lines[:-1])
