"""Entry of `hindsight`: looks at argv first, so that the hot commands skip the command tree."""

from __future__ import annotations

import os
import sys

_CANNOT_CREATE = 73


def main() -> int:
    """Run one command line; returns the exit code."""
    code = _carry_out(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            # The interpreter would try again at its end and answer with a code of its own.
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
            code = code or _CANNOT_CREATE
    return code


def _carry_out(argv: list[str]) -> int:
    if argv[:1] == ["recall"]:
        from hindsight_cli import fastpath

        try:
            code = fastpath.recall(argv[1:])
        except KeyboardInterrupt:
            return 130
        if code is not None:
            return code
    if argv[:1] == ["hook"] and not {"-h", "--help"} & set(argv):
        from hindsight_cli import hook

        return hook.main(argv[1:])
    if argv[:1] == ["mcp"]:
        from hindsight_cli import relay

        code = relay.main(argv[1:])
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
        except AttributeError:
            pass  # closed: the command tree says so properly
        except OSError as exc:
            # Said at once: what is buffered would fail again on the way through the tree.
            from hindsight_cli.fastpath import cannot_write

            return cannot_write(exc)
        else:
            return 0
    from hindsight_cli.app import run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
