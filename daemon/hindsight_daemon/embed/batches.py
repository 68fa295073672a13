"""Cuts texts and groups them so that a model call stays within a bounded amount of memory.

Pure. Attention memory grows with batch size times length squared, so long texts go in small groups.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_BATCH = 32
MAX_BATCH_TOKENS = 2048
"""Padded tokens of one call: 32 texts of 64 tokens, or 4 of 512; more is no faster on a CPU."""

_CHARS_A_TOKEN = 8
_BYTES_A_TOKEN = 3


def clip(text: str, max_tokens: int) -> str:
    """Return as much of the text as `max_tokens` can cover in any language, and not much more.

    The tokenizer cuts exactly; this keeps it from splitting megabytes first.
    """
    return text[: max_tokens * _CHARS_A_TOKEN]


def estimate_tokens(text: str, max_tokens: int) -> int:
    """Return about how many tokens a text has: one for 3 bytes of UTF-8, a Chinese character."""
    return min(max_tokens, len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN + 2)


def group_by_length(texts: Sequence[str], max_tokens: int) -> list[list[int]]:
    """Return groups of indices into `texts`, each of similar length and within the bounds."""
    tokens = [estimate_tokens(text, max_tokens) for text in texts]
    groups: list[list[int]] = []
    for index in sorted(range(len(texts)), key=lambda n: -tokens[n]):
        group = groups[-1] if groups else []
        # The first of a group is its longest, to which the others are padded.
        if not group or len(group) >= min(MAX_BATCH, MAX_BATCH_TOKENS // tokens[group[0]]):
            group = []
            groups.append(group)
        group.append(index)
    return groups
