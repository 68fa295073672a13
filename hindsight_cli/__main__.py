"""Entry of `hindsight`: looks at argv first, so that the hot commands skip the command tree."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one command line; returns the exit code."""
    argv = sys.argv[1:]
    if argv[:1] == ["recall"]:
        from hindsight_cli import fastpath

        try:
            code = fastpath.recall(argv[1:])
        except KeyboardInterrupt:
            return 130
        if code is not None:
            return code
    if argv[:1] == ["__ids"]:
        from hindsight_cli import complete_ids

        return complete_ids.main(argv[1:])
    if argv in (["--version"], ["-V"]):
        from hindsight_daemon.version import VERSION

        try:
            sys.stdout.write(f"hindsight {VERSION}\n")
            sys.stdout.flush()
        except (OSError, AttributeError):
            pass  # closed or full: the command tree says so properly
        else:
            return 0
    from hindsight_cli.app import run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
