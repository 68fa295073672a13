"""What the operating system says of this process: memory, and giving it back."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import sys
from pathlib import Path


def rss_bytes() -> int:
    """Return resident memory; on macOS the peak, since the present value needs a native call."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def trim_memory() -> None:
    """Collect garbage and hand free heap pages back to the system where the C library can."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
