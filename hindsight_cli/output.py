"""The only module that writes to the terminal: results to stdout, talk to stderr.

Decides colour and width, wraps and aligns, asks questions, shows progress. Rich is imported only
for a progress bar on a terminal. Bytes are UTF-8 whatever the locale says, so that Chinese text
survives `LC_ALL=C`; what cannot be encoded is replaced, never a crash. (The hot path writes its
answer through `recall_text`, which keeps the same rules.)
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

import msgspec

from hindsight_cli.recall_text import printable, text_width, wrap, write_recall
from hindsight_cli.work_text import work_text
from hindsight_daemon.errors import OutputFailed
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.documents import RecallResult
from hindsight_daemon.protocol.params import Progress

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
_MAX_WIDTH = 100
_ELLIPSIS = "…"
_LEAST_ROOM = 12
_BAR_WIDTH = 16


def plain(text: str) -> str:
    """Return text on one line, without control characters that could drive a terminal."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def clip(text: str, width: int) -> str:
    """Shorten text to `width` columns, marking the cut; 0 means whole."""
    if not width or text_width(text) <= width:
        return text
    used, kept = 0, []
    for character in text:
        used += text_width(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + _ELLIPSIS


def pad(text: str, width: int) -> str:
    """Fill text with blanks up to `width` columns."""
    return text + " " * max(0, width - text_width(text))


def wants_colour(choice: str, env: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Decide on colour: the flag, then NO_COLOR, FORCE_COLOR and TERM, then the terminal."""
    if choice != "auto":
        return choice == "always"
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR"):
        return True
    return is_terminal and env.get("TERM") != "dumb"


def encode_document(document: Document) -> str:
    """Return a document as one line of JSON."""
    try:
        return msgspec.json.encode(document).decode()
    except UnicodeEncodeError:
        # A lone surrogate, such as from a file name that is not UTF-8.
        return json.dumps(msgspec.to_builtins(document), ensure_ascii=True)


class ReaderGone(Exception):
    """Whoever read our output has closed it: it has seen enough.

    Not a `BrokenPipeError`, which Typer would take for its own and turn into exit code 1.
    """


class Output:
    """Where a command's results and talk go.

    Args:
        is_json: Print documents as JSON and keep everything else off stdout.
        is_quiet: Suppress notes and progress; errors are still told.
        verbosity: 0, or more for what only the curious want to know.
        colour: `auto`, `always` or `never`.
    """

    def __init__(
        self,
        *,
        is_json: bool = False,
        is_quiet: bool = False,
        verbosity: int = 0,
        colour: str = "auto",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.is_json = is_json
        self.is_quiet = is_quiet
        self.verbosity = verbosity
        self._colour = colour
        self._env = os.environ if env is None else env

    @property
    def is_terminal(self) -> bool:
        """Tell whether stdout is a terminal."""
        return _is_terminal(sys.stdout)

    @property
    def can_ask(self) -> bool:
        """Tell whether a person sits at both ends of a question."""
        return _is_terminal(sys.stdin) and _is_terminal(sys.stderr) and not self.is_json

    @property
    def width(self) -> int:
        """Columns to wrap to; 0, which means not at all, if stdout is no terminal."""
        return min(_MAX_WIDTH, shutil.get_terminal_size().columns) if self.is_terminal else 0

    def style(self, text: str, *names: str) -> str:
        """Return text for stdout in the given styles, if stdout is to be coloured."""
        return self._styled(text, names, sys.stdout)

    def _styled(self, text: str, names: Sequence[str], stream: IO[str] | None) -> str:
        is_terminal = _is_terminal(stream)
        if not text or not wants_colour(self._colour, self._env, is_terminal=is_terminal):
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"

    def document(self, document: Document) -> None:
        """Print a document as JSON."""
        _write(sys.stdout, encode_document(document) + "\n")

    def json_line(self, fields: dict[str, Any]) -> None:
        """Print one line of JSON Lines."""
        self.lines([_json_line(fields)])

    def result(self, document: Document, lines: Callable[[], Sequence[str]]) -> None:
        """Print a result: the document with `--json`, else the lines made by `lines`."""
        if self.is_json:
            self.document(document)
        else:
            self.lines(lines())

    def recall(self, result: RecallResult, form: str) -> None:
        """Print a recall as `text`, `context` or `json`."""
        if sys.stdout is None:
            raise OutputFailed("standard output is closed", stream="stdout")
        try:
            write_recall(
                msgspec.to_builtins(result),
                "json" if self.is_json else form,
                colour=wants_colour(self._colour, self._env, is_terminal=self.is_terminal),
                width=self.width,
                quiet=self.is_quiet,
            )
        except OSError as exc:
            raise _output_failed(sys.stdout, exc) from exc

    def lines(self, lines: Sequence[str]) -> None:
        """Print lines to stdout."""
        if lines:
            _write(sys.stdout, "".join(line + "\n" for line in lines))

    def paged(self, lines: Sequence[str]) -> None:
        """Print lines to stdout; through `$PAGER` if they are more than a terminal shows."""
        try:
            command = shlex.split(self._env.get("PAGER", ""))
        except ValueError:
            command = []
        is_long = self.is_terminal and len(lines) >= shutil.get_terminal_size().lines
        if not (is_long and command and _page(command, lines, self._env)):
            self.lines(lines)

    def log_lines(
        self, lines: Sequence[dict[str, Any]], readable: Callable[[dict[str, Any]], str]
    ) -> None:
        """Print lines of a log as they come: JSON Lines with `--json`, else for reading."""
        as_text = readable if not self.is_json else _json_line
        self.lines([as_text(fields) for fields in lines])

    def wrapped(self, text: str, indent: str = "") -> list[str]:
        """Return text as indented lines that fit the terminal; whole lines elsewhere."""
        text = printable(text)
        width = self.width
        body = wrap(text, max(20, width - len(indent))) if width else text.splitlines()
        return [(indent + line).rstrip() for line in body or [""]]

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], *, is_cut: bool = True
    ) -> list[str]:
        """Return rows in aligned columns; `is_cut` makes the last one fit a terminal.

        Headings are for people: they are left out when stdout is no terminal. On a terminal too
        narrow for the columns, the last one stands wrapped below the others.
        """
        if not rows:
            return []
        cells = [[plain(cell) for cell in row] for row in rows]
        shown = [list(headings), *cells] if self.is_terminal else cells
        widths = [max(text_width(row[n]) for row in shown) for n in range(len(headings) - 1)]
        room = self.width - sum(widths) - 2 * len(widths) if self.width else 0
        needed = _LEAST_ROOM if is_cut else max(text_width(row[-1]) for row in shown)
        if self.width and room < needed:
            return self._stacked(cells, is_cut=is_cut)
        lines = []
        for number, row in enumerate(shown):
            *first, last = row
            padded = [pad(cell, width) for cell, width in zip(first, widths, strict=True)]
            line = "  ".join([*padded, clip(last, room if is_cut else 0)]).rstrip()
            is_heading = number == 0 and self.is_terminal
            lines.append(self.style(line, "bold") if is_heading else line)
        return lines

    def _stacked(self, cells: Sequence[Sequence[str]], *, is_cut: bool) -> list[str]:
        lines = []
        for *first, last in cells:
            lines += self.wrapped("  ".join(cell for cell in first if cell))
            lines += ["  " + clip(last, self.width - 2)] if is_cut else self.wrapped(last, "  ")
        return lines

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Return names and values in two columns; pairs without value are left out."""
        told = [(name, printable(value)) for name, value in pairs if value]
        width = max((text_width(name) for name, _ in told), default=0)
        lines = []
        for name, value in told:
            room = self.width - width - 2
            body = wrap(value, max(20, room)) if self.width else [" ".join(value.split())]
            lines.append(f"{self.style(pad(name, width), 'dim')}  {body[0]}")
            lines.extend(" " * (width + 2) + line for line in body[1:])
        return lines

    def note(self, text: str) -> None:
        """Tell something on stderr, unless quiet."""
        if not self.is_quiet:
            _write_error(f"{self._styled('note:', ['cyan'], sys.stderr)} {printable(text)}\n")

    def say(self, text: str) -> None:
        """Tell plain text on stderr, unless quiet."""
        if not self.is_quiet:
            _write_error(printable(text) + "\n")

    def warn(self, text: str) -> None:
        """Tell of something that may need attention."""
        if not self.is_quiet:
            _write_error(f"{self._styled('warning:', ['yellow'], sys.stderr)} {printable(text)}\n")

    def error(self, message: str, hint: str = "") -> None:
        """Tell of a failure and, if known, of the next step."""
        text = f"{self._styled('error:', ['red'], sys.stderr)} {printable(message)}\n"
        if hint:
            text += f"\n{self._styled('hint:', ['cyan'], sys.stderr)} {printable(hint)}\n"
        _write_error(text)

    def talk(self, lines: Sequence[str]) -> None:
        """Tell lines that were made by `table` or `pairs` on stderr, such as before a question."""
        _write_error("".join(line + "\n" for line in lines))

    def raw_error(self, text: str) -> None:
        """Write text to stderr as it is, such as a traceback."""
        _write_error(text)

    def confirm(self, question: str) -> bool:
        """Ask a yes-or-no question on stderr; anything but yes is no."""
        _write_error(f"{printable(question)} [y/N] ")
        answer = sys.stdin.readline() if sys.stdin is not None else ""
        return answer.strip().lower() in ("y", "yes", "是", "好")

    def _shows_work(self) -> bool:
        is_watched = _is_terminal(sys.stderr) and self._env.get("TERM") != "dumb"
        return is_watched and not (self.is_quiet or self.is_json or self.verbosity)

    @contextlib.contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Show a line on stderr while the block runs, if a person watches."""
        if not self._shows_work():
            yield
            return
        _write_error(self._styled(text, ["dim"], sys.stderr))
        try:
            yield
        finally:
            _write_error("\r\x1b[K")

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Callable[[Progress], None] | None]:
        """Show a progress bar on stderr while the block runs, if a person watches."""
        if not self._shows_work():
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        colour = wants_colour(self._colour, self._env, is_terminal=True)
        console = Console(stderr=True, no_color=not colour, highlight=False)
        told = TextColumn("{task.fields[told]}")
        columns = (TextColumn("{task.description}"), BarColumn(_BAR_WIDTH), told)
        # Rates count from where the work first moved, so that no waiting before it spoils them.
        stage, began_at, before = what, 0.0, 0
        with Bars(*columns, console=console, transient=True) as bars:
            bar = bars.add_task(what, total=None, told="")

            def advance(progress: Progress) -> None:
                nonlocal stage, began_at, before
                if progress.stage != stage or not before:
                    stage, began_at, before = progress.stage, time.monotonic(), progress.done
                bars.update(
                    bar,
                    description=progress.stage,
                    completed=progress.done,
                    total=progress.total or None,
                    told=work_text(progress, progress.done - before, time.monotonic() - began_at),
                )

            yield advance


def _page(command: Sequence[str], lines: Sequence[str], env: Mapping[str, str]) -> bool:
    """Show lines in a pager; False if it could not be started."""
    import subprocess

    # Keep colours, leave the text on the screen, and quit at once where it fits after all.
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env={"LESS": "FRX", **env})
    except OSError:
        return False
    with contextlib.suppress(OSError, KeyboardInterrupt):
        pager.communicate("".join(line + "\n" for line in lines).encode("utf-8", "replace"))
    while True:
        # Ctrl-C belongs to the pager, which has the terminal.
        with contextlib.suppress(KeyboardInterrupt):
            pager.wait()
            return True


def _json_line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _is_terminal(stream: IO[Any] | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _write(stream: IO[str] | None, text: str) -> None:
    if stream is None or stream.closed:
        raise OutputFailed("standard output is closed", stream="stdout")
    try:
        buffer = getattr(stream, "buffer", None)
        if buffer is None:
            stream.write(text)
        else:
            stream.flush()
            buffer.write(text.encode("utf-8", "replace"))
        stream.flush()
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as exc:
        raise _output_failed(stream, exc) from exc


def _output_failed(stream: IO[str] | None, exc: OSError) -> OutputFailed:
    # What is still buffered would fail again, noisily, when the interpreter ends.
    silence(stream)
    return OutputFailed(f"cannot write the result: {exc.strerror}", stream="stdout")


def _write_error(text: str) -> None:
    # Nobody is left to be told that telling failed.
    with contextlib.suppress(OSError, OutputFailed, ReaderGone):
        _write(sys.stderr, text)


def silence(stream: IO[str] | None) -> None:
    """Point a stream's descriptor at nothing, so that flushing it at exit cannot fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())  # type: ignore[union-attr]
        os.close(null)


def make_streams_safe() -> None:
    """Let whatever else prints (such as `--help`) write UTF-8 and never fail on a character."""
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(encoding="utf-8", errors="replace")
