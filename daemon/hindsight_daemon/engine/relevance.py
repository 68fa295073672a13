"""Where relevance falls off: "nothing relevant" is an answer.

Pure; imports records and terms only. Careful by design: a wrong cut hides a memory for good, a
missing one costs a line of output. A candidate is dropped only when both arms had their say and
neither has a reason for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hindsight_daemon.engine.fusion import KEYWORD, VECTOR, Candidate
from hindsight_daemon.model import Record


class Floor(Record, frozen=True, kw_only=True):
    """Cosine similarities of one embedder: below `noise` only words count, from `clear` on none.

    Defaults are for multilingual-e5-small. Its similarities crowd between 0.7 and 0.95 and differ
    by kind of text: a hint in a dialogue reaches its memory at 0.75, while unrelated texts of one
    style reach 0.85. No floor separates them, so this one only drops what is surely foreign (it
    loses under 1 % of the gold of every public set; see `benchmarks/README.md`).
    """

    noise: float = 0.70
    clear: float = 0.74


_FEW_WORDS = 0.25


def coverage(query_terms: Collection[str], candidate: Candidate) -> float:
    """Return the share of distinct query terms that the candidate's key holds; 0 without terms."""
    wanted = set(query_terms)
    if not wanted:
        return 0.0
    return len(wanted & set(candidate.key.terms.split())) / len(wanted)


def is_relevant(
    candidate: Candidate,
    query_terms: Collection[str],
    *,
    floor: Floor | None,
    had_vectors: bool,
) -> bool:
    """Tell whether a candidate has anything to do with the query.

    `floor` None means that the embedder's similarities are unknown: then only words can tell, and
    a candidate that the vector arm found stays.
    """
    vector = candidate.arms.get(VECTOR)
    covered = coverage(query_terms, candidate)
    if vector is None:
        if KEYWORD not in candidate.arms:
            # Recency alone is a reason only where there was nothing else to ask by.
            return not had_vectors and not query_terms
        waits = not candidate.key.embedder
        return not had_vectors or waits or covered > _FEW_WORDS
    if floor is None or vector.score >= floor.clear:
        return True
    if vector.score < floor.noise:
        return covered > _FEW_WORDS
    return covered > 0.0


def cut(
    candidates: Sequence[Candidate],
    query_terms: Collection[str],
    *,
    floor: Floor | None,
    had_vectors: bool,
) -> list[Candidate]:
    """Return the candidates that are relevant, in their order."""
    return [
        candidate
        for candidate in candidates
        if is_relevant(candidate, query_terms, floor=floor, had_vectors=had_vectors)
    ]
