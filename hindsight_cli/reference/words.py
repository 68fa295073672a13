"""What the reference says beyond the command tree: glossary, documents of commands, exit notes.

Data only; tests hold it against the tree, the error registry and the documents.
"""

from __future__ import annotations

GLOSSARY: dict[str, str] = {
    "anchor": "Something outside the memory that it speaks of and that can be looked at again: "
    "a file, a symbol, a command, a package version, a commit.",
    "applicability": "Where a memory holds: everywhere, in one project, below one path, or for "
    "one type of task.",
    "archive, restore": "To move a memory out of recall into cold storage, and to bring it back. "
    "Nothing is lost.",
    "consolidation": "The way from raw events to knowledge: cutting sessions into tasks, drawing "
    "lessons, joining what says the same, generalising over episodes. Working memory becomes "
    "episodic, episodic becomes semantic.",
    "episode": "The memory of one task: its goal and type, the path taken, the outcome, the "
    "reason of a failure, and the lessons.",
    "event": "One record of a transcript in common form: a prompt, a text, reasoning, a tool "
    "call, a tool result, an error, an interrupt or a compaction. Secrets are replaced before it "
    "is kept.",
    "evidence": "The link from a memory to the lines of the transcript it came from, with a short "
    "quote and a hash by which a change is noticed.",
    "forget": "To remove a memory and leave a tombstone.",
    "judge": "A language model that may be asked, if one is configured: to refine what the rules "
    "learned from a task, and for a second opinion on a memory. It fills slots of a form, and "
    "evidence outweighs it.",
    "key": "A text under which a memory can be found, such as its goal, a lesson or a name. "
    "A memory has several keys and one value.",
    "layer": "`working` is the live state of one session and expires, `episodic` is what "
    "happened, `semantic` is what holds in general.",
    "lesson": "A short claim that can be acted upon, drawn from an episode, with the "
    "circumstances in which it holds.",
    "memory": "Whatever recall can return: an episode, lesson, preference, decision, solution, "
    "fact, procedure or turn.",
    "quarantine": "Where things are held that look like an attempt to steer agents. No recall "
    "returns them; `hindsight audit` lists them, and a person releases or drops them.",
    "recall": "To find memories for a query, ranked, checked and labelled.",
    "scope": "Who may read a memory: `private` the agent that wrote it, `shared` the agents of "
    "its project, `global` all.",
    "source": "The part of hindsight that reads one family of transcripts, such as `claude-code` "
    "or `codex`.",
    "supersede": "A newer memory takes the place of an older one; both stay and name each other.",
    "sweep": "The pass that expires, fades, archives and purges by policy, with a reason for "
    "each decision.",
    "task": "A run of events with one goal. Its memory is the episode.",
    "tombstone": "The record that something was forgotten. It keeps the same statement from "
    "coming back on any path, however it is worded.",
    "transcript": "A file, or database, into which an agent writes its session.",
    "trust": "Where a memory comes from: `user`, `agent`, `tool`, `imported` or `external`.",
    "turn": "What the user or the assistant said, searchable as it was said.",
    "verify, verdict": "To check a memory again. The verdict is `valid`, `stale` or "
    "`contradicted`, with a confidence and a reason.",
}
"""The words of the product, each with one meaning."""

DOCUMENTS: dict[str, str] = {
    "show": "hindsight.memory/1",
    "watch": "hindsight.event/1",
    "audit quarantine": "hindsight.quarantine/1",
    "audit release": "hindsight.release/1",
    "audit drop": "hindsight.drop/1",
    "audit conflicts": "hindsight.conflicts/1",
    "audit resolve": "hindsight.resolve/1",
    "daemon": "hindsight.http/1",
    "daemon status": "hindsight.status/1",
    "daemon start": "hindsight.status/1",
    "daemon restart": "hindsight.status/1",
    "daemon stop": "hindsight.ack/1",
    "daemon logs": "hindsight.log/1",
    "daemon install": "hindsight.install/1",
    "model list": "hindsight.model/1",
    "model install": "hindsight.ack/1",
    "judge show": "hindsight.judge/1",
    "judge try": "hindsight.judge-try/1",
    "config show": "hindsight.config/1",
    "config get": "hindsight.config-value/1",
    "config set": "hindsight.config-value/1",
    "completion install": "hindsight.install/1",
    "completion show": "hindsight.text/1",
    "man install": "hindsight.install/1",
    "man show": "hindsight.text/1",
}
"""Which document a command prints with `--json`, where it is not named after the command."""

ANSWER_IS_NO: dict[str, str] = {
    "recall": "nothing was found, with `--require-match`",
    "remember": "refused, because it was forgotten before or waits for a person",
    "forget": "the question was answered with no",
    "audit": "`drop`: the question was answered with no",
    "daemon": "`status`: no daemon runs",
    "doctor": "a problem was found",
}
"""What exit code 1 means for a command."""

EXIT_CODES: dict[int, str] = {
    0: "success, also when there is nothing to show",
    1: "it ran, and the answer is no",
    2: "the command line does not make sense",
    65: "input that cannot be used",
    66: "no such memory, file or folder",
    69: "something that is needed is not there",
    70: "a bug of hindsight",
    73: "an output file cannot be created",
    74: "disk or store failed",
    75: "not now; try again",
    76: "client and daemon do not understand each other",
    77: "not permitted",
    78: "wrong configuration, or a store of a newer version",
    130: "interrupted",
}
"""Every exit code in a few words; 65 and above follow sysexits."""

SEE_ALSO: dict[str, tuple[str, ...]] = {
    "recall": ("list", "show", "why"),
    "ingest": ("recall", "daemon"),
    "remember": ("recall", "forget", "audit"),
    "audit": ("remember", "doctor"),
    "show": ("list", "why", "search"),
    "search": ("recall", "show"),
    "watch": ("ingest", "daemon"),
    "reindex": ("doctor", "consolidate"),
    "consolidate": ("working", "why", "watch"),
    "list": ("recall", "show"),
    "why": ("show", "list"),
    "working": ("recall", "watch"),
    "forget": ("unforget", "list", "remember"),
    "unforget": ("forget", "list"),
    "stats": ("doctor", "daemon"),
    "doctor": ("daemon", "stats"),
    "demo": ("recall", "ingest"),
    "daemon": ("doctor", "stats"),
    "model": ("config", "doctor"),
    "judge": ("config", "stats", "doctor"),
    "completion": ("man",),
    "man": ("completion",),
}
"""Commands whose pages are worth a look from another."""

ENVIRONMENT: dict[str, str] = {
    "FORCE_COLOR": "if set, colour also where no terminal is",
    "NO_COLOR": "if set, no colour",
    "PAGER": "the program that shows long output on a terminal; without it, none does",
    "XDG_CACHE_HOME": "where the cache folder lies, instead of `~/.cache`",
    "XDG_CONFIG_HOME": "where the configuration lies, instead of `~/.config`",
    "XDG_DATA_HOME": "where the store lies, instead of `~/.local/share`",
    "XDG_RUNTIME_DIR": "where the socket lies",
    "XDG_STATE_HOME": "where log and spool lie, instead of `~/.local/state`",
}
"""Environment variables of other people's standards that are honoured."""
