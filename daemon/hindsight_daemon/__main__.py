"""Entry of `hindsight-daemon`: foreground by nature; a spawner passes a readiness pipe."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from hindsight_daemon.config import load_settings
from hindsight_daemon.errors import HindsightError
from hindsight_daemon.launch import check_platform
from hindsight_daemon.paths import resolve_paths
from hindsight_daemon.version import VERSION


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hindsight-daemon", description="The daemon of hindsight, in the foreground."
    )
    parser.add_argument("--version", action="version", version=f"hindsight-daemon {VERSION}")
    parser.add_argument("--ready-fd", type=int, metavar="FD", help="report readiness on this pipe")
    parser.add_argument(
        "--stdio", action="store_true", help="serve one client read-only on standard input"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the daemon; returns the exit code."""
    options = _parser().parse_args(argv)
    if options.worker:
        from hindsight_daemon.service.worker_process import serve

        return serve()
    try:
        check_platform()
        paths = resolve_paths()
        settings = load_settings(paths.config_file)
    except HindsightError as exc:
        from hindsight_daemon.runtime.daemon import report_ready

        told = {"code": exc.code, "message": exc.message, "hint": exc.hint}
        report_ready(options.ready_fd, json.dumps(told).encode())
        sys.stderr.write(f"error: {exc.message}\n")
        return exc.exit_code
    if options.stdio:
        from hindsight_daemon.runtime.stdio import serve_stdio

        return asyncio.run(serve_stdio(paths, settings))
    from hindsight_daemon.runtime.daemon import run

    return run(paths, settings, ready_fd=options.ready_fd)


if __name__ == "__main__":
    sys.exit(main())
