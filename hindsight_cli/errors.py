"""From an exception to what a person or script sees, and to the exit code.

Prints nothing: `app.run` hands the result to `Output`.
"""

from __future__ import annotations

import errno
import traceback
import uuid
from datetime import UTC, datetime

import typer

from hindsight_cli.verbs import VERBS
from hindsight_daemon.errors import (
    AmbiguousId,
    Bug,
    DiskFull,
    HindsightError,
    PermissionProblem,
    UsageProblem,
)
from hindsight_daemon.paths import Paths, ensure_private_dir
from hindsight_daemon.protocol.documents import ErrorDocument

EXIT_INTERRUPTED = 130

# Typer bundles its own copy of click or uses the real one, depending on its version; its public
# `BadParameter` leads to the base classes of either.
PARSE_ERROR: type[Exception] = next(
    cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException"
)


def usage_problem(exc: Exception) -> UsageProblem:
    """Turn a parser's complaint into our own form: one line, no period, a hint to the help."""
    format_message = getattr(exc, "format_message", None)
    message = str(format_message() if callable(format_message) else exc).strip().rstrip(".")
    message = " ".join(message.split()).replace("'", "`")
    message, _, near = message.partition(". Did you mean ")
    context = getattr(exc, "ctx", None)
    command = context.command_path if context is not None else "hindsight"
    hint = f"did you mean {near}" if near else f"`{command} --help`"
    return UsageProblem(message[:1].lower() + message[1:], hint=hint)


def with_better_hint(error: HindsightError, argv: list[str]) -> HindsightError:
    """Point a usage error that says no more than the general help to the help of its command."""
    verb = next((word for word in argv if not word.startswith("-")), "")
    if isinstance(error, UsageProblem) and error.hint == error.default_hint and verb in VERBS:
        return UsageProblem(error.message, hint=f"`hindsight {verb} --help`", **error.detail)
    return error


def hint_of(error: HindsightError) -> str:
    """Return the next step; for an ambiguous id with the ids it may mean."""
    ids = error.detail.get("ids")
    if not isinstance(error, AmbiguousId) or not isinstance(ids, list | tuple) or not ids:
        return error.hint
    return f"{error.hint}, such as {', '.join(f'`{one}`' for one in ids)}"


def document_of(error: HindsightError) -> ErrorDocument:
    """Return the error as the document that `--json` prints."""
    return ErrorDocument(
        code=error.code,
        message=error.message,
        hint=error.hint,
        retryable=error.retryable,
        detail={name: _simple(value) for name, value in error.detail.items()},
    )


def _simple(value: object) -> object:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [_simple(item) for item in value]
    return str(value)


def environment_problem(exc: OSError) -> HindsightError | None:
    """Return what the system's refusal means, None if it rather means a bug of ours."""
    where = f"`{exc.filename}`: " if exc.filename else ""
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{where}{exc.strerror}")
    if exc.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return PermissionProblem(f"{where}{exc.strerror}")
    return None


def is_call_for_help(exc: Exception) -> bool:
    """Tell whether the parser only wants the help of a group shown that got no command."""
    return type(exc).__name__ == "NoArgsIsHelpError"


def bug_from(exc: BaseException, paths: Paths | None) -> Bug:
    """Describe an unexpected exception; its traceback goes to a file in the state folder."""
    incident = uuid.uuid4().hex[:8]
    where = _keep(exc, incident, paths)
    return Bug(
        f"unexpected {type(exc).__name__}: {exc} (incident {incident})",
        hint=f"the traceback is in `{where}`" if where else "run it again with `--verbose`",
        incident=incident,
    )


def _keep(exc: BaseException, incident: str, paths: Paths | None) -> str:
    if paths is None:
        return ""
    text = "".join(traceback.format_exception(exc))
    try:
        file = ensure_private_dir(paths.state_dir) / "cli-errors.log"
        with file.open("a", encoding="utf-8", errors="replace") as log:
            log.write(f"{datetime.now(UTC).isoformat()} incident {incident}\n{text}\n")
    except (OSError, HindsightError):
        return ""
    return str(file)
