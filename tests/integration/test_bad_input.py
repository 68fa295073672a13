"""Whatever is handed in: a clear word, the right exit code, valid JSON, and nothing lost.

Everything goes through the console command in a process of its own, as a person or cron runs it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_daemon import launch
from hindsight_daemon.paths import Paths, resolve_paths
from tests.support.claude_lines import fixed_migration
from tests.support.harness import end_daemon, kill_hard, wait_until

KEPT = "The staging database listens on port 5433"
CANARY = "hunter2-canary-7f3d"
COMMAND = [sys.executable, "-m", "hindsight_cli"]
WITHOUT_ROOTS_RIGHTS = [
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
]


@pytest.fixture
def paths() -> Iterator[Paths]:
    """Give the places of this test; a daemon that was started there is ended."""
    found = resolve_paths()
    yield found
    end_daemon(found)


class Told:
    """What a command line came to."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        assert "Traceback" not in self.out + self.err

    @property
    def document(self) -> dict[str, Any]:
        """The JSON on stdout, which must be all there is."""
        assert self.out.count("\n") == 1, self.out
        found: dict[str, Any] = json.loads(self.out)
        return found


def hindsight(*argv: str, stdin: bytes = b"", prefix: tuple[str, ...] = (), **env: str) -> Told:
    """Run a command line to its end."""
    done = subprocess.run(
        [*prefix, *COMMAND, *argv],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=100,
        env={**os.environ, **env},
    )
    return Told(done)


def refused(*argv: str, code: int, error: str, message: str, hint: str = "", **env: Any) -> None:
    """Check that a command line is refused, for people and for scripts."""
    told = hindsight(*argv, **env)
    assert told.code == code, (argv, told.out, told.err)
    first, _, rest = told.err.partition("\n")
    assert first.startswith("error: "), told.err
    assert message in first
    assert rest.startswith("\nhint: "), told.err
    assert hint in rest
    for_scripts = hindsight(*argv, "--json", **env)
    assert for_scripts.code == code
    if for_scripts.document["schema"] == "hindsight.error/1":
        found = for_scripts.document
        assert (found["code"], message in found["message"]) == (error, True)
    else:
        (file,) = for_scripts.document["files"]
        assert (file["error_code"], message in file["error"]) == (error, True)


def turn(text: str, session: str = "s1") -> str:
    """Return a line of a generic transcript."""
    return json.dumps({"role": "user", "text": text, "session": session}) + "\n"


def test_files_that_are_no_transcripts_are_refused_by_name(paths: Paths, tmp_path: Path) -> None:
    hindsight("remember", KEPT)
    contents = {
        "empty.jsonl": (b"", 66, "input.missing", "is empty"),
        "prog.bin": (bytes(range(256)) * 40, 65, "input.invalid", "is a binary file"),
        "zeros.jsonl": (bytes(100_000), 65, "input.invalid", "is a binary file"),
        "unknown.json": (b'{"a": {"b": [1, 2]}}', 65, "input.invalid", "the keys `a`"),
        "unknown.jsonl": (b'{"x": 1}\n{"y": 2}\n', 65, "input.invalid", "no transcript"),
        "numbers.json": (b"[1, 2, 3]", 65, "input.invalid", "no transcript"),
        "wide.jsonl": ("宽".encode("utf-16"), 65, "input.invalid", "UTF-16"),
    }
    for name, (data, code, error, message) in contents.items():
        file = tmp_path / name
        file.write_bytes(data)
        refused("ingest", str(file), code=code, error=error, message=message)
        assert hindsight("ingest", str(file)).out == ""
    (tmp_path / "folder" / "below").mkdir(parents=True)
    folder = str(tmp_path / "folder")
    refused("ingest", folder, code=66, error="input.missing", message="holds no transcripts")
    missing = str(tmp_path / "none")
    refused("ingest", missing, code=66, error="input.missing", message="does not exist")
    known = str(tmp_path / "unknown.json")
    usage: dict[str, Any] = {"code": 2, "error": "usage.invalid", "message": "`kodex`"}
    refused("ingest", "--source", "kodex", known, **usage, hint="did you mean `codex`")
    assert KEPT in hindsight("list").out
    assert paths.journal_file.exists()


def test_damaged_lines_are_counted_and_named_and_the_rest_is_taken(
    paths: Paths, tmp_path: Path
) -> None:
    file = tmp_path / "mixed.jsonl"
    file.write_bytes(
        turn("first 第一").encode()
        + b'\xff\xfe{"role": "user", "text": "no"}\n'
        + b'{"role": "user", "text": "half \xe4\xb8 sign", "session": "s1"}\n'
        + b'{"role": "user", "text": "lone \\ud800 surrogate", "session": "s1"}\n'
        + turn("x" * 30_000_000).encode()
        + turn("last 最后").encode()
        + b'{"role": "user", "text": "torn'
    )
    told = hindsight("ingest", str(file), "--json")
    assert told.code == 0
    (report,) = told.document["files"]
    assert report["events"] == 4
    reasons = {skip["line"]: skip["reason"] for skip in report["skipped"]}
    assert "longer than" in reasons[5]
    assert {2, 5} <= set(reasons)
    found = hindsight("list", "--kind", "turn", "--json").document["memories"]
    assert {memory["text"] for memory in found} >= {"first 第一", "last 最后"}
    # The line that was being written is read when it is whole, and only then.
    with file.open("a", encoding="utf-8") as more:
        more.write(' no more", "session": "s1"}\n')
    assert hindsight("ingest", str(file), "--json").document["events"] == 1
    assert hindsight("ingest", str(file), "--json").document["events"] == 0
    assert hindsight("stats", "--json").document["daemon"]["rss_bytes"] < 600 * 2**20
    assert paths.lock_file.exists()


@pytest.mark.usefixtures("paths")
def test_a_pipe_that_never_ends_is_refused_as_a_file_and_followed_as_a_stream(
    tmp_path: Path,
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refused("ingest", str(pipe), code=65, error="input.invalid", message="pipe", hint="ingest -")
    log = tmp_path / "growing.jsonl"
    log.write_text(turn("said at once"), encoding="utf-8")
    with (
        subprocess.Popen(["tail", "-f", str(log)], stdout=subprocess.PIPE) as tail,
        subprocess.Popen(
            [*COMMAND, "ingest", "-", "--json"], stdin=tail.stdout, stdout=subprocess.PIPE
        ) as reader,
    ):

        def count() -> int:
            return int(hindsight("stats", "--json").document["events"])

        wait_until(lambda: count() == 1, "the first line was read")
        with log.open("a", encoding="utf-8") as more:
            more.write(turn("said later"))
        wait_until(lambda: count() == 2, "the second line was read while the stream is open")
        reader.send_signal(signal.SIGINT)
        out, _ = reader.communicate(timeout=60)
        tail.kill()
    assert reader.returncode == 130
    assert json.loads(out)["events"] == 2


@pytest.mark.skipif(
    os.getuid() == 0 and shutil.which("setpriv") is None, reason="root may read everything"
)
@pytest.mark.usefixtures("paths")
def test_what_may_not_be_read_is_skipped_with_the_reason(tmp_path: Path) -> None:
    prefix = tuple(WITHOUT_ROOTS_RIGHTS) if os.getuid() == 0 else ()
    closed, fine = tmp_path / "closed.jsonl", tmp_path / "fine.jsonl"
    closed.write_text(turn("closed"), encoding="utf-8")
    fine.write_text(turn("fine"), encoding="utf-8")
    closed.chmod(0)
    told = hindsight("ingest", str(closed), prefix=prefix)
    assert told.code == 77
    assert "may not be read by you\n\nhint: " in told.err
    both = hindsight("ingest", str(closed), str(fine), prefix=prefix)
    assert both.code == 0
    assert "1 event  1 session" in both.out
    assert both.err.startswith("warning: ")
    closed.chmod(0o600)
    assert hindsight("ingest", str(closed), "--json", prefix=prefix).document["events"] == 1


def test_ids_and_options_that_make_no_sense_are_refused(paths: Paths) -> None:
    hindsight("remember", KEPT)
    hindsight("remember", "The VPN gateway is vpn7.example.org")
    missing: dict[str, Any] = {
        "code": 66,
        "error": "memory.not_found",
        "message": "no memory has the id `zz9`",
    }
    for argv in (("show", "zz9"), ("why", "zz9"), ("forget", "zz9", "--yes")):
        refused(*argv, **missing, hint="hindsight list")
    ambiguous: dict[str, Any] = {"code": 66, "error": "memory.ambiguous", "message": "`01`"}
    refused("show", "01", **ambiguous, hint="more characters")
    refused("forget", "01", "--yes", **ambiguous)
    usage: dict[str, Any] = {"code": 2, "error": "usage.invalid"}
    refused("recall", "x", "--limit", "0", **usage, message="limit 0", hint="hindsight recall")
    refused("recall", "x", "--budget", "0", **usage, message="budget of 0", hint="hindsight recall")
    refused("recall", "x", "--since", "nonsense", **usage, message="`nonsense`", hint="`7d`")
    refused("recall", "x", "--kind", "rumour", **usage, message="`rumour`")
    refused("list", "--limit", "0", **usage, message="limit 0", hint="hindsight list")
    refused("list", "--before", "newest", **usage, message="`newest`")
    refused("recal", "x", **usage, message="`recal`", hint="did you mean `recall`?")
    refused("remember", "x", "--ttl", "never", **usage, message="`never`")
    assert len(hindsight("list", "--json").document["memories"]) == 2
    assert launch.is_lock_held(paths)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('[embed]\nthreads = "two"\n', ":2: `embed.threads`: expected `int`", "config edit"),
        ("[embed]\nthread = 2\n", ":2: `embed.thread`: no such key", "`embed.threads`"),
        ("[embd]\nthreads = 2\n", ":1: `embd`: no such section", "`[embed]`"),
        ("\n[watch]\nroots = [1]\n", ":3: `watch.roots[0]`: expected `str`", "config edit"),
        ("[recall]\nfusion = 'most'\n", ":2: `recall.fusion`: `most` is none of", "config edit"),
        ("nonsense\n", ":1: ", "config edit"),
    ],
)
def test_a_wrong_setting_is_named_with_file_line_and_key(
    paths: Paths, text: str, message: str, hint: str
) -> None:
    paths.config_file.parent.mkdir(parents=True)
    paths.config_file.write_text(text, encoding="utf-8")
    wrong: dict[str, Any] = {"code": 78, "error": "config.invalid", "hint": hint}
    wrong["message"] = f"{paths.config_file}{message}"
    for argv in (("config", "validate"), ("stats",), ("recall", "x"), ("remember", "x")):
        refused(*argv, **wrong)
    assert hindsight("daemon", "status").code == 1
    assert "hint: " in hindsight("doctor").out


def test_without_a_daemon_writes_wait_reads_go_on_and_the_reason_is_named(paths: Paths) -> None:
    hindsight("remember", KEPT)
    kill_hard(paths)
    alone: dict[str, Any] = {"HINDSIGHT_NO_AUTOSTART": "1"}
    found = hindsight("recall", "staging port", **alone)
    assert found.code == 0
    assert KEPT in found.out
    assert "HINDSIGHT_NO_AUTOSTART is set: reading the store directly" in found.err
    kept = hindsight("remember", "The VPN gateway is vpn7.example.org", "--json", **alone)
    assert (kept.code, kept.document["outcome"]) == (0, "spooled")
    unavailable: dict[str, Any] = {
        "code": 69,
        "error": "daemon.unavailable",
        "hint": "hindsight daemon start",
    }
    refused("forget", KEPT[:3], "--dry-run", **unavailable, message="no daemon answers", **alone)
    texts = [memory["text"] for memory in hindsight("list", "--json").document["memories"]]
    wait_until(lambda: "vpn7" in hindsight("list").out, "the next daemon drained the spool")
    assert KEPT in texts


def test_a_daemon_that_cannot_start_says_why(paths: Paths) -> None:
    paths.runtime_dir.mkdir(parents=True, mode=0o700)
    paths.socket.write_text("precious", encoding="utf-8")
    told = hindsight("remember", "x", "--json")
    assert told.code in (69, 75, 77)
    assert str(paths.socket) in told.document["message"]
    assert paths.socket.read_text(encoding="utf-8") == "precious"
    paths.socket.unlink()
    paths.runtime_dir.chmod(0o755)
    closed: dict[str, Any] = {
        "code": 77,
        "error": "permission.denied",
        "hint": f"chmod 700 {paths.runtime_dir}",
    }
    refused("remember", "x", **closed, message="is open to other users")
    paths.runtime_dir.chmod(0o700)
    assert hindsight("remember", KEPT).code == 0


def test_a_store_of_a_newer_version_is_left_alone_until_it_can_be_read(paths: Paths) -> None:
    hindsight("remember", KEPT)
    hindsight("daemon", "stop")
    with sqlite3.connect(paths.journal_file) as db:
        ours = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute("PRAGMA user_version = 999")
    db.close()
    too_new: dict[str, Any] = {
        "code": 78,
        "error": "store.too_new",
        "message": "version 999",
        "hint": "upgrade",
    }
    for argv in (("recall", "x"), ("remember", "x"), ("list",)):
        refused(*argv, **too_new)
    assert hindsight("doctor").code == 1
    with sqlite3.connect(paths.journal_file) as db:
        db.execute(f"PRAGMA user_version = {ours}")
    db.close()
    # The running daemon notices by itself.
    wait_until(lambda: KEPT in hindsight("list").out, "the store was opened after all")


@pytest.fixture
def small_home(home: Path) -> Iterator[Path]:
    """Mount a disk of 16 MB as HINDSIGHT_HOME, or skip."""
    home.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "tmpfs", str(home)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no `mount` here")
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield home
    end_daemon(resolve_paths())
    subprocess.run(["umount", "-l", str(home)], check=True)


def test_a_full_disk_refuses_writes_and_keeps_what_there_is(
    small_home: Path, tmp_path: Path
) -> None:
    reserve: dict[str, Any] = {"code": 74, "error": "store.disk_full", "hint": "free some space"}
    refused("remember", "x", **reserve, message="kept in reserve")
    hindsight("config", "set", "store.reserve_bytes", "0")
    hindsight("daemon", "restart")
    assert hindsight("remember", KEPT).code == 0
    filler = small_home / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 20))
        except OSError:
            pass
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(fixed_migration().text(), encoding="utf-8")
    refused("remember", "x", **reserve, message="no space left")
    refused("ingest", str(transcript), **reserve, message="no space left")
    piped = hindsight("ingest", "-", stdin=turn("y" * 9_000_000).encode())
    assert (piped.code, piped.err.startswith("error: cannot write")) == (74, True)
    assert KEPT in hindsight("list").out
    assert KEPT in hindsight("recall", "staging port").out
    filler.unlink()
    assert hindsight("remember", "kept afterwards").code == 0
    assert hindsight("ingest", str(transcript), "--json").document["episodes"] == 1
    assert KEPT in hindsight("list", "--limit", "500").out


def test_secrets_and_texts_stay_out_of_logs_and_files_are_closed(
    paths: Paths, tmp_path: Path
) -> None:
    session = tmp_path / "s.jsonl"
    said = "our gateway password is the usual one"
    session.write_text(
        turn(f"export API_TOKEN={CANARY}") + turn(f"{said}\nDB_PASSWORD={CANARY}"),
        encoding="utf-8",
    )
    hindsight("ingest", str(session))
    hindsight("remember", f"password={CANARY}")
    hindsight("ingest", "-", stdin=turn(f"secret: {CANARY}", "s2").encode())
    hindsight("recall", f"what is {said}")
    hindsight("daemon", "stop")
    root = paths.data_dir.parent
    files = [file for file in root.rglob("*") if file.is_file()]
    assert paths.journal_file in files
    assert [str(file) for file in files if CANARY.encode() in file.read_bytes()] == []
    assert said.encode() not in paths.log_file.read_bytes()
    for path in (*files, *(folder for folder in root.rglob("*") if folder.is_dir())):
        if paths.data_dir / "store" not in path.parents:  # closed by the folder above it
            assert path.stat().st_mode & 0o077 == 0, path
