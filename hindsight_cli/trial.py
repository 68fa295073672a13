"""A throw-away home with a daemon of its own, for the demo: made, used, gone without a trace.

Changes `os.environ` of this process while it lasts, since daemons are started from it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hindsight_cli import lifecycle
from hindsight_daemon.errors import HindsightError, OutputFailed
from hindsight_daemon.locations import locate
from hindsight_daemon.paths import Paths, ensure_private_dir, resolve_paths

_KEPT = ("HINDSIGHT_EMBED_MODEL",)
_CONFIG = """\
[watch]
enabled = false

[daemon]
idle_exit_s = 120.0
"""


@contextlib.contextmanager
def temporary_home() -> Iterator[Paths]:
    """Give the places of an empty home; at the end its daemon is stopped and all is removed.

    Models that were converted before are shared by a link, so that nobody waits for them twice,
    and the person's choice of an embedder holds here too.
    """
    former = {name: value for name, value in os.environ.items() if name.startswith("HINDSIGHT_")}
    models = Path(locate(dict(os.environ))["cache_dir"]) / "models"
    # Below /tmp whatever TMPDIR says: the socket's path must stay short.
    try:
        root = Path(tempfile.mkdtemp(prefix="hindsight-demo-", dir="/tmp"))
    except OSError as exc:
        raise OutputFailed(f"cannot make a folder in `/tmp`: {exc.strerror}") from exc
    try:
        for name in former:
            if name not in _KEPT:
                del os.environ[name]
        os.environ["HINDSIGHT_HOME"] = str(root)
        paths = resolve_paths()
        _furnish(paths, models)
        yield paths
    finally:
        with contextlib.suppress(HindsightError):
            lifecycle.stop(resolve_paths())
        shutil.rmtree(root, ignore_errors=True)
        os.environ.pop("HINDSIGHT_HOME", None)
        os.environ.update(former)


def _furnish(paths: Paths, models: Path) -> None:
    try:
        ensure_private_dir(paths.config_file.parent)
        paths.config_file.write_text(_CONFIG, encoding="utf-8")
        if models.is_dir():
            ensure_private_dir(paths.cache_dir)
            paths.models_dir.symlink_to(models)
    except OSError as exc:
        raise OutputFailed(f"cannot prepare `{paths.config_file}`: {exc.strerror}") from exc
