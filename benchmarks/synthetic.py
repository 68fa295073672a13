"""Made-up memories, vectors, queries and transcripts of any size, the same for the same seed.

Words follow a Zipf distribution and vectors lie in clusters, because uniform noise would flatter
both kinds of index.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight_daemon.clock import id_from
from hindsight_daemon.engine.terms import terms_text
from hindsight_daemon.model import Key, Memory

START = datetime(2026, 1, 1, tzinfo=UTC)
PROJECT = "bench"
_VOCABULARY = 8000
_CLUSTERS = 300
_SYLLABLES = [c + v for c in "bcdfgklmnprstvz" for v in ("a", "e", "i", "o", "u", "an", "or")]


class Words:
    """A vocabulary with Zipf frequencies; each call draws further words."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        made: dict[str, None] = {}
        while len(made) < _VOCABULARY:
            size = self._random.randint(2, 4)
            made["".join(self._random.choices(_SYLLABLES, k=size))] = None
        self._words = list(made)
        self._weights = np.cumsum(1.0 / np.arange(10, _VOCABULARY + 10)).tolist()

    def sentence(self, low: int = 12, high: int = 28) -> str:
        """Return a sentence of `low` to `high` words."""
        size = self._random.randint(low, high)
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=size))

    def query(self) -> str:
        """Return a question of a few words."""
        return self.sentence(4, 7)


def vectors(count: int, dimension: int, seed: int = 7) -> npt.NDArray[np.float32]:
    """Return unit vectors in clusters, shape (count, dimension)."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((_CLUSTERS, dimension), dtype=np.float32)
    found = centres[generator.integers(0, _CLUSTERS, count)]
    found = found + 0.7 * generator.standard_normal((count, dimension), dtype=np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return np.round(found, 4).astype(np.float32)


def memories(
    count: int, words: Words, found: npt.NDArray[np.float32] | None, embedder: str
) -> Iterator[tuple[Memory, Key]]:
    """Yield facts with one key each, with vectors if there are any."""
    for number in range(count):
        at = START + timedelta(seconds=30 * number)
        text = words.sentence()
        memory = Memory(
            id=id_from(at, f"bench:{number}"),
            layer="semantic",
            kind="fact",
            text=text,
            created_at=at,
            updated_at=at,
            lang="en",
            project=PROJECT,
            trust="user",
            confidence=0.8,
        )
        yield (
            memory,
            Key(
                id=f"{memory.id}:0",
                memory_id=memory.id,
                key_kind="text",
                text=text,
                terms=terms_text(text),
                created_at=at,
                kind="fact",
                layer="semantic",
                project=PROJECT,
                vector=None if found is None else tuple(found[number].tolist()),
                embedder="" if found is None else embedder,
                confidence=0.8,
                lang="en",
            ),
        )


def claude_code_transcripts(folder: Path, size_bytes: int, words: Words) -> list[Path]:
    """Write Claude Code sessions of about 250 kB each, `size_bytes` in all; return their paths."""
    paths: list[Path] = []
    written = 0
    while written < size_bytes:
        path = folder / f"{len(paths):08d}-0000-4000-8000-000000000000.jsonl"
        with path.open("w", encoding="utf-8") as out:
            session_bytes = 0
            for record in _session(path.stem, words, START + timedelta(hours=len(paths))):
                line = json.dumps(record, separators=(",", ":")) + "\n"
                out.write(line)
                session_bytes += len(line)
                if session_bytes >= min(250_000, size_bytes - written):
                    break
        written += session_bytes
        paths.append(path)
    return paths


def _session(session_id: str, words: Words, at: datetime) -> Iterator[dict[str, Any]]:
    # The mix of a working day: a prompt, then rounds of tool calls with output, then an answer.
    parent: str | None = None
    number = 0

    def record(kind: str, role: str, content: Any) -> dict[str, Any]:
        nonlocal parent, number
        number += 1
        uuid = f"{number:08d}-{session_id[:8]}"
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"msg_{uuid}", "model": "claude-x"}
        made = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": session_id,
            "cwd": "/work/bench",
            "gitBranch": "main",
            "version": "2.1.230",
            "isSidechain": False,
            "userType": "external",
            "timestamp": (at + timedelta(seconds=5 * number)).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "message": message,
        }
        parent = uuid
        return made

    while True:
        yield record("user", "user", words.sentence(20, 60))
        for _ in range(6):
            call_id = f"toolu_{session_id[:8]}_{number}"
            arguments = {"command": f"grep -rn {words.sentence(1, 1)} src"}
            call = {"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments}
            yield record("assistant", "assistant", [call])
            output = "\n".join(words.sentence(6, 14) for _ in range(20))
            result = {"type": "tool_result", "tool_use_id": call_id, "content": output}
            yield record("user", "user", [result])
        yield record("assistant", "assistant", [{"type": "text", "text": words.sentence(40, 120)}])
