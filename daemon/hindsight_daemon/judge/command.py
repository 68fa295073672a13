"""A judge that is a command: the prompt on its stdin, the answer on its stdout.

Made for `claude -p`, `codex exec -`, `llm` and the like. The command runs by itself (no shell), in
a folder of ours, in a process group of its own that ends with the call, one at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from hindsight_daemon.errors import JudgeRefused, JudgeUnavailable
from hindsight_daemon.judge.port import Answer, Prompt
from hindsight_daemon.judge.tokens import estimate

OWN_SESSION_VARIABLE = "HINDSIGHT_OWN_SESSION"
"""Set for the command, so that what runs inside it can tell that hindsight itself asks."""
_MAX_OUTPUT_BYTES = 2 * 1024 * 1024
_SAID_CHARS = 300


class CommandJudge:
    """Runs a command for every question."""

    is_local = False  # nobody can tell where a command sends what it reads
    is_key_exposed = False

    def __init__(self, command: Sequence[str], folder: Path, model: str = "") -> None:
        self._command = tuple(command)
        self._folder = folder
        self._one_at_a_time = asyncio.Lock()
        program = Path(self._command[0]).name
        self.model = model or program
        self.where = f"the command {program}"

    async def ask(self, prompt: Prompt, *, timeout_s: float) -> Answer:
        """Return the answer; raises `JudgeUnavailable` or `JudgeRefused`."""
        schema = json.dumps(prompt.schema, ensure_ascii=False)
        text = (
            f"{prompt.system}\n\nAnswer with one JSON object and nothing else, by this JSON "
            f"schema:\n{schema}\n\n{prompt.text}\n"
        )
        async with self._one_at_a_time:
            status, output, errors = await self._run(text, timeout_s)
        said = " ".join(errors.decode("utf-8", "replace").split())[-_SAID_CHARS:]
        if status != 0:
            raise JudgeUnavailable(
                f"`{self._command[0]}` ended with status {status}{f': {said}' if said else ''}",
                hint="try the command by hand",
                reason="broken",
            )
        if len(output) > _MAX_OUTPUT_BYTES:
            raise JudgeRefused(f"`{self._command[0]}` wrote more than {_MAX_OUTPUT_BYTES} bytes")
        answer = output.decode("utf-8", "replace").strip()
        if not answer:
            raise JudgeRefused(f"`{self._command[0]}` wrote nothing")
        return Answer(
            text=answer,
            tokens_in=estimate(text),
            tokens_out=estimate(answer),
            model=self.model,
            is_estimated=True,
        )

    async def close(self) -> None:
        """Nothing is held between calls."""

    async def _run(self, text: str, timeout_s: float) -> tuple[int, bytes, bytes]:
        program = shutil.which(self._command[0])
        if program is None:
            raise JudgeUnavailable(
                f"there is no command `{self._command[0]}`",
                hint="name it by its full path in `judge.command`",
                reason="denied",
            )
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *self._command[1:],
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._folder,
                env={**os.environ, OWN_SESSION_VARIABLE: "1"},
                start_new_session=True,
            )
        except OSError as exc:
            raise JudgeUnavailable(
                f"`{self._command[0]}` cannot be run: {exc.strerror}", reason="denied"
            ) from exc
        try:
            async with asyncio.timeout(timeout_s):
                output, errors = await _converse(process, text.encode("utf-8", "replace"))
        except TimeoutError as exc:
            raise JudgeUnavailable(
                f"`{self._command[0]}` gave no answer within {timeout_s:g} s",
                reason="timeout",
            ) from exc
        finally:
            await _end(process)
        return process.returncode or 0, output, errors


async def _converse(process: asyncio.subprocess.Process, text: bytes) -> tuple[bytes, bytes]:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    stdin = process.stdin

    async def tell() -> None:
        # A command may answer without reading to the end.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stdin.write(text)
            await stdin.drain()
        stdin.close()

    _, output, errors, _ = await asyncio.gather(
        tell(), _bounded(process.stdout), _bounded(process.stderr), process.wait()
    )
    return output, errors


async def _bounded(stream: asyncio.StreamReader) -> bytes:
    """Read to the end, keeping no more than what makes clear that it is too much."""
    kept = bytearray()
    while piece := await stream.read(1 << 16):
        if len(kept) <= _MAX_OUTPUT_BYTES:
            kept += piece
    return bytes(kept)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the command and whatever it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    # Closes the pipes that a descendant might still hold open.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
