"""Cuts the events of sessions into tasks, streaming.

Pure; imports records and the wording of follow-ups. A task starts at a human prompt and takes
in the follow-ups that serve the same goal (acknowledgements, "continue", corrections, reports
that it still fails). Memory is bounded: long texts keep head and tail, long tasks keep their
first and latest events, and only so many sessions are open at once.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator

from msgspec import structs

from hindsight_daemon.engine.followups import continues
from hindsight_daemon.engine.sentences import without_blocks
from hindsight_daemon.engine.task import Task
from hindsight_daemon.model import Event

MAX_TEXT_CHARS = 12_000
MAX_HEAD_EVENTS = 200
MAX_TAIL_EVENTS = 1_800
MAX_OPEN_SESSIONS = 64


def segment(events: Iterable[Event]) -> Iterator[Task]:
    """Yield the tasks of these events, each as soon as it is complete.

    Events of a session must come in order of `seq`; sessions may interleave. The last task of a
    session is yielded at the end of the stream, with `is_ended` telling whether an end marker
    was seen.
    """
    open_tasks: OrderedDict[str, _OpenTask] = OrderedDict()
    for event in events:
        if event.is_synthetic and event.tool is not None:
            continue  # what a memory was asked and answered teaches nothing
        session = _session_of(event, open_tasks)
        task = open_tasks.get(session)
        if _starts_task(event) and (task is None or not task.takes(event)):
            if task is not None:
                yield task.close(reaction=event.text, is_ended=True)
            task = open_tasks[session] = _OpenTask(event, session)
        elif task is None:
            if event.kind != "tool_call" or event.is_sidechain:
                continue
            task = open_tasks[session] = _OpenTask(event, session)
        task.add(event)
        open_tasks.move_to_end(session)
        if len(open_tasks) > MAX_OPEN_SESSIONS:
            _, oldest = open_tasks.popitem(last=False)
            yield oldest.close()
    for task in open_tasks.values():
        yield task.close()


def is_human_prompt(event: Event) -> bool:
    """Tell whether a person typed this event in the main line of a session."""
    return (
        event.kind == "prompt"
        and event.role == "user"
        and not event.is_synthetic
        and not event.is_sidechain
        and bool(without_blocks(event.text[:MAX_TEXT_CHARS]))
    )


def clipped(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """Return the text with its middle left out if it is longer than `limit` characters.

    The tail is kept longer than the head because outputs end with what went wrong.
    """
    if len(text) <= limit:
        return text
    head = limit // 3
    return text[:head] + "\n[…]\n" + text[-(limit - head) :]


def _starts_task(event: Event) -> bool:
    return is_human_prompt(event)


def _session_of(event: Event, open_tasks: OrderedDict[str, _OpenTask]) -> str:
    parent = event.parent_session_id
    return parent if parent and event.is_sidechain and parent in open_tasks else event.session_id


class _OpenTask:
    """A task while its events still come in."""

    def __init__(self, first: Event, session_id: str) -> None:
        self._first = first
        self._session_id = session_id
        self._head: list[Event] = []
        self._tail: deque[Event] = deque(maxlen=MAX_TAIL_EVENTS)
        self._digest = hashlib.sha256()
        self._last_said = ""
        self._has_acted = False
        self._interrupted = False
        self._ended = False
        self._sizes: dict[str, int] = {}

    def takes(self, prompt: Event) -> bool:
        return continues(
            prompt.text, goal=self._first.text, last_said=self._last_said, acted=self._has_acted
        )

    def add(self, event: Event) -> None:
        self._digest.update(f"{event.id}\0{event.kind}\0".encode("utf-8", "surrogatepass"))
        self._digest.update(event.text.encode("utf-8", "surrogatepass"))
        if event.tool is not None:
            self._digest.update(f"\0{event.tool.exit_code}{event.tool.is_error}".encode())
        if not event.is_sidechain:
            if event.kind == "interrupt":
                self._interrupted = True
            elif event.kind in ("text", "tool_call"):
                self._interrupted = False
            if event.kind == "text" and event.role == "assistant":
                self._last_said = event.text[-2000:]
            self._ended = event.ends_turn or (self._ended and event.kind != "prompt")
        self._has_acted = self._has_acted or event.kind == "tool_call"
        kept = _shortened(event)
        if self._replaces(kept):
            return
        if len(self._head) < MAX_HEAD_EVENTS:
            self._head.append(kept)
        else:
            self._tail.append(kept)

    def _replaces(self, event: Event) -> bool:
        """Put a text that has grown in the place of its shorter form."""
        if event.kind not in ("text", "reasoning"):
            return False
        for kept in (self._tail, self._head):
            for index in range(len(kept) - 1, max(-1, len(kept) - 40), -1):
                if kept[index].id == event.id:
                    kept[index] = event
                    return True
        return False

    def close(self, *, reaction: str = "", is_ended: bool = False) -> Task:
        first = self._first
        is_prompt = first.kind == "prompt"
        return Task(
            id=_task_id(self._session_id, first.id),
            session_id=self._session_id,
            agent=first.agent,
            events=(*self._head, *self._tail),
            goal=without_blocks(clipped(first.text, 4000)) if is_prompt else "",
            reaction=without_blocks(clipped(reaction, 2000)),
            is_interrupted=self._interrupted,
            is_ended=is_ended or self._ended or self._interrupted,
            content_hash=self._digest.hexdigest(),
        )


def _task_id(session_id: str, event_id: str) -> str:
    seed = f"{session_id}\0{event_id}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(seed).hexdigest()[:32]


def _shortened(event: Event) -> Event:
    tool = event.tool
    if tool is not None and len(tool.arguments) > MAX_TEXT_CHARS * 2:
        tool = structs.replace(tool, arguments=clipped(tool.arguments, MAX_TEXT_CHARS * 2))
    if tool is event.tool and len(event.text) <= MAX_TEXT_CHARS:
        return event
    return structs.replace(event, text=clipped(event.text), tool=tool)
