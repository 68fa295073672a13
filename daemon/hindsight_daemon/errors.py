"""Every error a person or script can meet, with its stable code, exit code and remedy.

Importable from everywhere; imports nothing of ours.

HindsightError
├── UsageProblem          usage.invalid          2
├── BadInput              input.invalid         65
├── NotFound              memory.not_found      66
├── NoInput               input.missing         66
├── AmbiguousId           memory.ambiguous      66
├── Tombstoned            memory.tombstoned      1
├── DaemonUnavailable     daemon.unavailable    69
│   └── DaemonStartFailed daemon.start_failed   69
├── UnsupportedPlatform   platform.unsupported  69
├── EmbedderUnavailable   embedder.unavailable  69
├── JudgeUnavailable      judge.unavailable     69
├── JudgeRefused          judge.refused         65
├── BudgetSpent           judge.budget_spent    75
├── Bug                   internal.bug          70
├── StoreCorrupt          store.corrupt         74
├── StorageFailed         store.io              74
├── DiskFull              store.disk_full       74
├── OutputFailed          output.failed         73
├── Busy                  daemon.busy           75
│   └── DaemonStarting    daemon.starting       75
├── DeadlineExceeded      daemon.timeout        75
├── ProtocolMismatch      protocol.mismatch     76
├── BadFrame              protocol.bad_frame    76
├── PermissionProblem     permission.denied     77
├── ConfigProblem         config.invalid        78
└── StoreTooNew           store.too_new         78
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

RPC_PARSE_ERROR = -32700
RPC_INVALID_REQUEST = -32600
RPC_UNKNOWN_METHOD = -32601
RPC_INVALID_PARAMS = -32602
RPC_INTERNAL = -32603
RPC_APPLICATION = -32000


class HindsightError(Exception):
    """Base of all reported errors: a message, a hint for the next step and facts about it."""

    code: ClassVar[str] = "internal.error"
    exit_code: ClassVar[int] = 70
    rpc_code: ClassVar[int] = RPC_APPLICATION
    retryable: ClassVar[bool] = False
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str = "", **detail: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.detail = detail


class UsageProblem(HindsightError):
    """The command line or the parameters of a call do not make sense."""

    code = "usage.invalid"
    exit_code = 2
    rpc_code = RPC_INVALID_PARAMS
    default_hint = "see `hindsight --help`"


class BadInput(HindsightError):
    """Input was read but cannot be understood."""

    code = "input.invalid"
    exit_code = 65
    default_hint = "see `man hindsight-ingest` for the forms that can be read"


class NotFound(HindsightError):
    """No memory has this id."""

    code = "memory.not_found"
    exit_code = 66
    default_hint = "`hindsight list` shows the ids there are"


class NoInput(HindsightError):
    """A named file or folder does not exist or holds nothing to read."""

    code = "input.missing"
    exit_code = 66
    default_hint = "check the path"


class AmbiguousId(HindsightError):
    """An id prefix fits several memories."""

    code = "memory.ambiguous"
    exit_code = 66
    default_hint = "give more characters of the id"


class Tombstoned(HindsightError):
    """The text was forgotten before and stays gone."""

    code = "memory.tombstoned"
    exit_code = 1
    default_hint = "`hindsight list --tombstones` shows what was forgotten"


class DaemonUnavailable(HindsightError):
    """The daemon does not answer and cannot be started."""

    code = "daemon.unavailable"
    exit_code = 69
    default_hint = "`hindsight doctor` says why"


class DaemonStartFailed(DaemonUnavailable):
    """The daemon was spawned and ended before it was ready."""

    code = "daemon.start_failed"
    default_hint = "`hindsight daemon logs` shows its last words"


class UnsupportedPlatform(HindsightError):
    """The operating system lacks what the daemon needs."""

    code = "platform.unsupported"
    exit_code = 69
    default_hint = "on Windows, run hindsight inside WSL"


class EmbedderUnavailable(HindsightError):
    """A model that was asked for is not there or cannot be loaded."""

    code = "embedder.unavailable"
    exit_code = 69
    default_hint = "`hindsight model list` shows what can be used"


class JudgeUnavailable(HindsightError):
    """The language model that is configured cannot be asked now."""

    code = "judge.unavailable"
    exit_code = 69
    default_hint = "`hindsight doctor` asks it and says what is wrong"


class JudgeRefused(HindsightError):
    """The language model refused the question, or its answer is none that may be used."""

    code = "judge.refused"
    exit_code = 65
    default_hint = "`hindsight judge try` shows what it is asked and what it answers"


class BudgetSpent(HindsightError):
    """The tokens that a day may cost are spent."""

    code = "judge.budget_spent"
    exit_code = 75
    retryable = True
    default_hint = "`hindsight stats --cost` shows on what; `judge.tokens_per_day` is the bound"


class Bug(HindsightError):
    """Something went wrong that is our fault; the log holds the incident."""

    code = "internal.bug"
    exit_code = 70
    rpc_code = RPC_INTERNAL
    default_hint = "`hindsight daemon logs` holds the traceback"


class StoreCorrupt(HindsightError):
    """Stored data are damaged and could not be repaired from the journal."""

    code = "store.corrupt"
    exit_code = 74
    default_hint = "`hindsight doctor` names what is damaged"


class StorageFailed(HindsightError):
    """The store could not be read or written."""

    code = "store.io"
    exit_code = 74
    default_hint = "check the disk and the permissions of the data folder"


class DiskFull(StorageFailed):
    """There is no room for a write; what was acknowledged before is safe."""

    code = "store.disk_full"
    default_hint = "free some space, then try again"


class OutputFailed(HindsightError):
    """A file that was asked for cannot be created."""

    code = "output.failed"
    exit_code = 73
    default_hint = "check the path and its permissions"


class Busy(HindsightError):
    """The daemon has more work than it accepts."""

    code = "daemon.busy"
    exit_code = 75
    retryable = True
    default_hint = "try again in a moment"


class DaemonStarting(Busy):
    """The daemon is up but still loads its store."""

    code = "daemon.starting"


class DeadlineExceeded(HindsightError):
    """No answer came within the time allowed."""

    code = "daemon.timeout"
    exit_code = 75
    retryable = True
    default_hint = "try again, or raise `--timeout`"


class ProtocolMismatch(HindsightError):
    """Client and daemon share no protocol version."""

    code = "protocol.mismatch"
    exit_code = 76
    default_hint = "`hindsight daemon restart`"


class BadFrame(HindsightError):
    """A line on the socket is not a message of this protocol."""

    code = "protocol.bad_frame"
    exit_code = 76
    rpc_code = RPC_INVALID_REQUEST
    default_hint = "see `man 7 hindsight-protocol`"


class PermissionProblem(HindsightError):
    """A file, folder or socket belongs to somebody else or is open to others."""

    code = "permission.denied"
    exit_code = 77
    default_hint = "check owner and mode of the path"


class ConfigProblem(HindsightError):
    """The configuration file is not valid; names file, line and key."""

    code = "config.invalid"
    exit_code = 78
    default_hint = "`hindsight config edit` opens the file"


class StoreTooNew(HindsightError):
    """The store was written by a newer version and is not opened."""

    code = "store.too_new"
    exit_code = 78
    default_hint = "upgrade hindsight; a store is never migrated downwards"


def error_classes() -> Iterator[type[HindsightError]]:
    """Yield every error class, base excluded, parents first."""
    queue = list(HindsightError.__subclasses__())
    while queue:
        cls = queue.pop(0)
        yield cls
        queue.extend(cls.__subclasses__())


def error_from_wire(code: str, message: str, hint: str, detail: dict[str, Any]) -> HindsightError:
    """Rebuild an error that came over the socket; unknown codes become `HindsightError`."""
    for cls in error_classes():
        if cls.code == code:
            return cls(message, hint=hint, **detail)
    return HindsightError(message, hint=hint, **detail)
