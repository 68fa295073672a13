"""The page on transcripts names only proofs that there are."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "transcripts.md"
_PROOF = re.compile(r"`([a-z]+/test_\w+\.py)::(test_\w+)`")


def test_every_proof_on_the_page_is_a_test() -> None:
    proofs = _PROOF.findall(PAGE.read_text(encoding="utf-8"))
    assert len(proofs) > 100
    missing = []
    for file, name in proofs:
        path = ROOT / "tests" / file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if not re.search(rf"^(async )?def {name}\(", text, re.MULTILINE):
            missing.append(f"{file}::{name}")
    assert missing == []


def test_every_row_on_the_page_says_something() -> None:
    rows = re.findall(r"^\|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    assert all(all(row) for row in cells)
    numbers = [int(row[0]) for row in cells if row[0].isdigit()]
    assert numbers == list(range(1, 41))
