"""How benchmark figures are printed and saved, and what they were taken on."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hindsight_daemon.version import VERSION


def machine() -> dict[str, Any]:
    """Return what the figures were taken on, with the load at the moment."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return {
        "hindsight": VERSION,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "load_1min": round(load, 2),
        "python_loop_s": round(_loop_s(), 3),
    }


def _loop_s() -> float:
    """Return the processor time of ten million additions: how fast this machine is just now."""
    started, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - started


def save(path: str, document: Mapping[str, Any]) -> None:
    """Write a JSON document to a file."""
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    Path(path).write_text(text, encoding="utf-8")


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as a Markdown table with the first column flush left."""
    cells = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = [
        "| "
        + " | ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in cells
    ]
    rule = "|" + "|".join(
        "-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)
    )
    return "\n".join([lines[0], rule + "|", *lines[1:]])


def progress(text: str) -> None:
    """Say on stderr what is going on."""
    print(text, file=sys.stderr, flush=True)
