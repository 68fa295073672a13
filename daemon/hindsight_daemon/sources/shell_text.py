"""How agents write the end of a shell command into its output.

For `sources` only; pure functions. Looks at the edges of an output only, where agents write, not
at what the command itself printed between.
"""

from __future__ import annotations

import re

_ENDING = re.compile(
    r"(?:^|\n|\\n|<|\[)\s*(?:Command (?:exited|failed) with (?:exit )?code:?|"
    r"exited with exit code|exit code:|The command completed with exit code|"
    r"Process exited with code|Return ?code:|\[Process exited with code)\s*(-?\d+)",
    re.IGNORECASE,
)
_TIMED_OUT = re.compile(r"(?:^|\n)[^\n]{0,40}timed out after \d+", re.IGNORECASE)
_TAIL_CHARS = 320
_HEAD_CHARS = 80


def stated_exit_code(text: str) -> int | None:
    """Return the exit code that an agent wrote at the end or the beginning of an output."""
    found = _ENDING.findall(text[-_TAIL_CHARS:]) or _ENDING.findall(text[:_HEAD_CHARS])
    try:
        return int(found[-1]) if found else None
    except ValueError:
        return None


def states_timeout(text: str) -> bool:
    """Tell whether an agent wrote at the end of an output that it stopped the command."""
    return bool(_TIMED_OUT.search(text[-_TAIL_CHARS:]))
