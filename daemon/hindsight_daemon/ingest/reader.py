"""Bytes of a transcript as numbered lines with their ranges, in bounded memory.

Opens files for the rest of `ingest`; refuses what is no transcript with errors that say why.
Knows nothing of any transcript family.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from hindsight_daemon.errors import BadInput, NoInput, PermissionProblem
from hindsight_daemon.model import Record
from hindsight_daemon.sources.port import RawLine

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
HEAD_BYTES = 64 * 1024
_CHUNK_BYTES = 256 * 1024
_BOM = b"\xef\xbb\xbf"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP_MAGIC = b"\x1f\x8b"
_SQLITE_MAGIC = b"SQLite format 3\x00"
_BINARY_SHARE = 0.1
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\x1b\x08")


class TooLong(Record, frozen=True, kw_only=True):
    """A line beyond `MAX_LINE_BYTES` that was passed over."""

    number: int
    byte_start: int
    byte_end: int


class Head(Record, frozen=True, kw_only=True):
    """The beginning of a transcript as text; `has_line` tells that a whole line is in it."""

    text: str
    has_line: bool


class OpenTranscript:
    """A transcript open for reading, unpacked if it is compressed; use as a context manager.

    `is_packed` tells that offsets count unpacked bytes; `facts` is the state of the file itself.
    A file with `is_database` is not for this class to read.
    """

    def __init__(self, path: Path, label: str) -> None:
        self.path = path
        self.label = label
        self._raw = _open_regular(path, label)
        self.facts = os.fstat(self._raw.fileno())
        magic = self._raw.read(len(_SQLITE_MAGIC)) or b""
        self._raw.seek(0)
        self.is_database = magic == _SQLITE_MAGIC
        self.packing = ""
        self.beginning = b""
        if magic[:4] == _ZSTD_MAGIC:
            self.packing = "zstd"
        elif magic[:2] == _GZIP_MAGIC:
            self.packing = "gzip"

    def __enter__(self) -> OpenTranscript:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    @property
    def is_packed(self) -> bool:
        """Whether the file is compressed."""
        return bool(self.packing)

    def stream(self, offset: int = 0) -> BinaryIO:
        """Return the unpacked bytes from `offset`; one stream at a time."""
        self._raw.seek(0)
        if self.packing == "zstd":
            unpacker = zstandard.ZstdDecompressor(max_window_size=2**27)
            unpacked: BinaryIO = unpacker.stream_reader(
                self._raw, read_across_frames=True, closefd=False
            )
        elif self.packing == "gzip":
            unpacked = gzip.GzipFile(fileobj=self._raw)  # type: ignore[assignment]
        else:
            self._raw.seek(offset)
            return self._raw
        remaining = offset
        while remaining and (skipped := self.read(unpacked, min(remaining, _CHUNK_BYTES))):
            remaining -= len(skipped)
        return unpacked

    def read(self, stream: BinaryIO, size: int) -> bytes:
        """Read up to `size` bytes; raises `BadInput` if compressed data are damaged."""
        try:
            return stream.read(size)
        except (zstandard.ZstdError, EOFError, gzip.BadGzipFile, zlib.error) as exc:
            raise BadInput(
                f"`{self.label}` is a damaged {self.packing} file: {exc}",
                hint="unpack it by hand to see what can be saved",
            ) from exc
        except OSError as exc:
            raise BadInput(f"cannot read `{self.label}`: {exc.strerror or exc}") from exc

    def prefix(self, offset: int) -> bytes:
        """Return the bytes that `checkpoint.prefix_hash` covers for this offset.

        Leaves the stream where it is. Of a packed file only the beginning counts.
        """
        if self.is_packed:
            return self.beginning[: min(offset, 4096)]
        descriptor = self._raw.fileno()
        begin = os.pread(descriptor, min(offset, 4096), 0)
        return begin + os.pread(descriptor, min(64, offset), max(0, offset - 64))


def read_head(transcript: OpenTranscript) -> Head:
    """Read the beginning that `sniff` decides by; raises `BadInput` for binary files."""
    stream = transcript.stream()
    data = b""
    wanted = HEAD_BYTES + 1
    while chunk := transcript.read(stream, wanted):
        data += chunk
        if len(data) > HEAD_BYTES:
            # A first line beyond the usual size (pasted pictures, tool lists) is taken whole.
            if b"\n" in chunk or b"\n" in data[:HEAD_BYTES] or len(data) > MAX_LINE_BYTES:
                break
            wanted = len(data)
    transcript.beginning = data[:4096]
    is_whole = len(data) <= HEAD_BYTES
    first_line_end = data.find(b"\n") + 1
    if first_line_end:
        data = data[: max(HEAD_BYTES, first_line_end)]
    _refuse_binary(data, transcript.label)
    data = data.removeprefix(_BOM)
    end = data.rfind(b"\n")
    has_line = end >= 0
    if not is_whole and has_line:
        data = data[: end + 1]
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\x00", "")
    return Head(text=text, has_line=has_line)


def read_lines(
    transcript: OpenTranscript, offset: int, number: int, *, final: bool
) -> Iterator[tuple[RawLine | TooLong, int | None]]:
    """Yield the lines from `offset`, which follows line `number`, each with where the next begins.

    A last line without newline is left for the next read unless `final`; it comes with None.
    """
    stream = transcript.stream(offset)
    parts: list[bytes] = []
    size = 0
    start = position = offset
    while chunk := transcript.read(stream, _CHUNK_BYTES):
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            number += 1
            piece_end = position + end
            if size + end - begin > MAX_LINE_BYTES:
                skipped = TooLong(number=number, byte_start=start, byte_end=piece_end)
                yield skipped, piece_end + 1
            else:
                parts.append(chunk[begin:end])
                data = b"".join(parts) if len(parts) > 1 else parts[0]
                yield _raw_line(number, start, data), piece_end + 1
            parts, size = [], 0
            begin, start = end + 1, piece_end + 1
        rest = chunk[begin:] if begin else chunk
        size += len(rest)
        if size <= MAX_LINE_BYTES:
            parts.append(rest)
        else:
            parts = []
        position += len(chunk)
    if final and size:
        number += 1
        if size > MAX_LINE_BYTES:
            yield TooLong(number=number, byte_start=start, byte_end=start + size), None
        else:
            yield _raw_line(number, start, b"".join(parts)), None


def read_document(transcript: OpenTranscript) -> RawLine:
    """Return a whole file as one line; raises `BadInput` beyond `MAX_DOCUMENT_BYTES`."""
    stream = transcript.stream()
    parts: list[bytes] = []
    size = 0
    while chunk := transcript.read(stream, _CHUNK_BYTES):
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_DOCUMENT_BYTES:
            raise BadInput(
                f"`{transcript.label}` is one document of more than "
                f"{MAX_DOCUMENT_BYTES // 2**20} MiB",
                hint="convert it to JSON Lines, which may be of any size",
            )
    return _raw_line(1, 0, b"".join(parts))


def _raw_line(number: int, start: int, data: bytes) -> RawLine:
    if data.endswith(b"\r"):
        data = data[:-1]
    if start == 0 and data.startswith(_BOM):
        start, data = len(_BOM), data[len(_BOM) :]
    return RawLine(
        number=number,
        byte_start=start,
        byte_end=start + len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        text=data.decode("utf-8", "replace"),
    )


def _open_regular(path: Path, label: str) -> BinaryIO:
    # O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError as exc:
        raise NoInput(f"there is no file `{label}`") from exc
    except PermissionError as exc:
        raise PermissionProblem(
            f"`{label}` may not be read by you", hint=f"check `ls -l {label}`"
        ) from exc
    except OSError as exc:
        raise BadInput(f"cannot open `{label}`: {exc.strerror}") from exc
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb", buffering=0)
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise BadInput(f"`{label}` is a folder, not a transcript")
    raise BadInput(
        f"`{label}` is a pipe or device, not a file",
        hint="pipe it into `hindsight ingest -`",
    )


def _refuse_binary(data: bytes, label: str) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput(
            f"`{label}` is UTF-16 text, UTF-8 is needed",
            hint=f"iconv -f UTF-16 -t UTF-8 {label} | hindsight ingest -",
        )
    sample = data[:8192]
    if sample.startswith(_SQLITE_MAGIC):
        raise BadInput(f"`{label}` is a SQLite database, not a text")
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    if controls + broken > _BINARY_SHARE * max(len(sample), 1) + 4:
        raise BadInput(f"`{label}` is a binary file, not a transcript")
