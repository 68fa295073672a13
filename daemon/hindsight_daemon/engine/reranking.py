"""What a cross-encoder reads of a candidate, and what its opinion counts.

Pure; imports records only. A cross-encoder trained on web search knows words and paraphrase, and
nothing of who speaks, when, or which turn only asks: by itself it orders turns worse than the
score it is given, mixed with it better than either (figures in `benchmarks/README.md`).
"""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_daemon.engine.fusion import Candidate

DEPTH = 50
"""Candidates it reads at most, however fast it is."""

MODEL_WEIGHT = 0.35
"""Share of its opinion; the rest is the score from before."""

_PASSAGE_CHARS = 1200


def passage(candidate: Candidate, text: str) -> str:
    """Return what to read: a turn with the turn before it, of a long memory the piece found."""
    if candidate.context:
        return candidate.context
    if candidate.key.kind == "turn" or len(text) > _PASSAGE_CHARS:
        return candidate.key.text[:_PASSAGE_CHARS]
    return text


def mixed(finals: Sequence[float], scores: Sequence[float]) -> list[int]:
    """Return the positions of what was read, best first.

    `finals` (descending) are the scores from before, `scores` those of the model, as many. Both
    are scaled to 0..1 over what was read; equals keep their order.
    """
    if not scores:
        return []
    low, high = min(scores), max(scores)
    best = max(finals) or 1.0
    spread = (high - low) or 1.0
    worth = [
        (1.0 - MODEL_WEIGHT) * final / best + MODEL_WEIGHT * (score - low) / spread
        for final, score in zip(finals, scores, strict=True)
    ]
    return sorted(range(len(worth)), key=lambda n: (-worth[n], n))
