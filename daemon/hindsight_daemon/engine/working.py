"""The live state of a session: built event by event, kept small, its importance assessed.

Pure; imports records and the engine's readers of actions and prompts. Nothing here is a memory:
what is worth keeping is distilled from the events when the task is over.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import structs

from hindsight_daemon.engine.actions import Action, actions_of
from hindsight_daemon.engine.commands import covers, decisive
from hindsight_daemon.engine.drafts import importance_of
from hindsight_daemon.engine.failures import telling_line
from hindsight_daemon.engine.followups import continues
from hindsight_daemon.engine.segment import clipped, is_human_prompt
from hindsight_daemon.engine.sentences import sentences, without_blocks
from hindsight_daemon.engine.statements import statements_of
from hindsight_daemon.engine.summary import short_goal
from hindsight_daemon.engine.task import Task
from hindsight_daemon.engine.wording import clip
from hindsight_daemon.model import Event, WorkingItem, WorkingState

FULL_SHARE = 0.8
"""Share of the capacity from which on what is held should be consolidated."""

_MOST_CALLS = 16
_CALL_CHARS = 4000
_OUTPUT_CHARS = 12_000
_TEXT_CHARS = 200
_NOTE_CHARS = 400
_KEPT_RESULTS = 3

_TRIGGER = re.compile(
    r"\b(?:remember|keep in mind|bear in mind|don.?t forget|memori[sz]e|take note"
    r"|note (?:that|this)|from now on|never again|important:)(?!\w)"
    r"|记住|牢记|记下|记一下|记好|别忘|切记|务必|千万|以后都|以后(?:不要|别|请)|不要再|别再|注意[:：]",
    re.I,
)
_WORTH = {"note": 0.95, "failure": 0.8}


def is_trigger(text: str) -> bool:
    """Tell whether words of the user ask that something be kept, in English or Chinese."""
    return bool(_TRIGGER.search(without_blocks(text)[:_CALL_CHARS]))


class Advance:
    """Takes in events one by one; `state` is what they come to.

    `was_triggered` tells that one of them asked to keep something in mind.
    """

    def __init__(self, state: WorkingState) -> None:
        self._state = state
        self._items = list(state.items)
        self._calls = list(state.calls)
        self.was_triggered = False

    @property
    def state(self) -> WorkingState:
        """The state after the events taken in so far."""
        return structs.replace(self._state, items=tuple(self._items), calls=tuple(self._calls))

    def take(self, event: Event) -> None:
        """Take one event in; events must come in order of `seq`."""
        self._set(through_seq=max(self._state.through_seq, event.seq))
        if event.is_synthetic and event.tool is not None:
            return  # what a memory was asked and answered is no work of this session
        if not event.is_sidechain:
            self._note_ending(event)
        if is_human_prompt(event):
            self._prompt(event)
        elif event.kind == "tool_call":
            self._call(event)
        elif event.kind == "tool_result":
            self._result(event)
        elif event.kind == "text" and event.role == "assistant" and not event.is_sidechain:
            self._set(last_said=event.text[-400:])

    def _set(self, **changes: object) -> None:
        self._state = structs.replace(self._state, **changes)

    def _note_ending(self, event: Event) -> None:
        ended = event.kind == "interrupt" or event.ends_turn
        kept = self._state.has_ended and event.kind not in ("prompt", "text", "tool_call")
        self._set(has_ended=ended or kept)

    def _prompt(self, event: Event) -> None:
        state = self._state
        goes_on = bool(state.goal) and continues(
            event.text, goal=state.goal, last_said=state.last_said, acted=state.has_acted
        )
        if goes_on:
            self._set(is_open=True, turns=state.turns + 1, turns_since=state.turns_since + 1)
        else:
            self._begin(event, short_goal(without_blocks(clipped(event.text, _CALL_CHARS))))
        self._notes(event, is_followup=goes_on)

    def _begin(self, event: Event, goal: str) -> None:
        self._items, self._calls = [], []
        self._state = WorkingState(
            session_id=self._state.session_id,
            agent=self._state.agent,
            project=self._state.project,
            cwd=event.cwd or self._state.cwd,
            updated_at=self._state.updated_at,
            expires_at=self._state.expires_at,
            is_open=True,
            goal=goal,
            started_at=event.ts,
            turns=1,
            turns_since=1,
            through_seq=self._state.through_seq,
        )

    def _notes(self, event: Event, *, is_followup: bool) -> None:
        text = without_blocks(clipped(event.text, _CALL_CHARS))
        stated = statements_of(text, is_followup=is_followup)
        said = [one.text for one in stated]
        if is_trigger(text):
            self.was_triggered = True
            # Forms that no rule of distillation knows are still what the user stressed.
            said = said or [line for line in sentences(text) if _TRIGGER.search(line)]
        for one in said:
            self._add("note", clip(one, _NOTE_CHARS), event)

    def _call(self, event: Event) -> None:
        if not self._state.is_open:
            goal = self._state.goal
            if event.is_sidechain:
                return
            self._begin(event, goal)
        tool = event.tool
        if tool is not None and len(tool.arguments) > _CALL_CHARS:
            tool = structs.replace(tool, arguments=clipped(tool.arguments, _CALL_CHARS))
        self._calls.append(structs.replace(event, tool=tool, text=clipped(event.text, _TEXT_CHARS)))
        del self._calls[:-_MOST_CALLS]
        self._set(has_acted=True)

    def _result(self, event: Event) -> None:
        call_id = event.tool.call_id if event.tool is not None else ""
        match = next(
            (c for c in self._calls if c.tool is not None and c.tool.call_id == call_id),
            None if call_id or not self._calls else self._calls[0],
        )
        if match is None:
            return
        self._calls.remove(match)
        result = structs.replace(event, text=clipped(event.text, _OUTPUT_CHARS))
        pair = Task(
            id="", session_id=event.session_id, agent=event.agent, goal="", events=(match, result)
        )
        for action in actions_of(pair):
            if action.state != "noise":
                self._acted(action, event)

    def _acted(self, action: Action, event: Event) -> None:
        command = action.command
        is_reading = (command is None and not action.is_edit) or (
            command is not None and command.role == "read" and not action.is_edit
        )
        if command is not None and not action.is_edit:
            name, key = clip(command.display, _TEXT_CHARS), action.line[:_CALL_CHARS]
        elif action.is_edit:
            name = "edit " + (", ".join(action.files[:3]) or "files")
            key = "edit " + " ".join(action.files)
        else:
            tool = action.call.tool
            name = " ".join(filter(None, (tool.name if tool else "", ", ".join(action.files[:2]))))
            key = name
        self._settle(action, key)
        worth = 0.2 if is_reading else 0.6 if command is not None and command.verifies else 0.45
        if not is_reading or action.state == "failed":
            self._add("step", f"{name}: {action.state}", event, key=key, worth=worth)
        said = telling_line(action.output, action.call.cwd) if action.state == "failed" else ""
        if action.state == "failed":
            text = f"{name}: {said}" if said else name
            self._add("failure", clip(text, _NOTE_CHARS), event, key=key)
        last = said or _last_line(action.output)
        if last and not action.is_edit:
            self._add("result", f"{name}: {clip(last, _TEXT_CHARS)}", event, key=key, worth=worth)

    def _settle(self, action: Action, key: str) -> None:
        """Take away the open failures that this run settles, and the one it repeats."""
        before = len(self._items)
        is_ok = action.state == "ok"
        self._items = [
            item
            for item in self._items
            if item.kind != "failure"
            or not (item.key == key if not is_ok else self._passes(action, key, item.key))
        ]
        if is_ok:
            self._set(settled=self._state.settled + before - len(self._items))

    def _passes(self, action: Action, key: str, failed: str) -> bool:
        if key == failed or action.command is None or action.is_edit:
            return key == failed
        earlier = decisive(failed, action.call.cwd)
        return earlier is not None and (
            earlier.key == action.command.key or covers(action.command, earlier)
        )

    def _add(self, kind: str, text: str, event: Event, *, key: str = "", worth: float = 0) -> None:
        item = WorkingItem(
            kind=kind,  # type: ignore[arg-type]
            text=text,
            at=event.ts,
            event_id=event.id,
            key=key,
            importance=worth or _WORTH[kind],
        )
        if item.kind == "note" and any(i.kind == "note" and i.text == text for i in self._items):
            return
        self._items.append(item)


def _last_line(output: str) -> str:
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")


def advanced(state: WorkingState, events: Iterable[Event]) -> tuple[WorkingState, bool]:
    """Return the state after these events, and whether one asked to keep something in mind."""
    advance = Advance(state)
    for event in events:
        advance.take(event)
    return advance.state, advance.was_triggered


def bounded(state: WorkingState, capacity: int) -> WorkingState:
    """Return the state with at most `capacity` entries: the least important, oldest ones go."""
    excess = len(state.items) - capacity
    if excess <= 0:
        return state
    order = sorted(range(len(state.items)), key=lambda i: (state.items[i].importance, i))
    gone = set(order[:excess])
    kept = tuple(item for number, item in enumerate(state.items) if number not in gone)
    return structs.replace(state, items=kept, dropped=state.dropped + excess)


def is_full(state: WorkingState, capacity: int) -> bool:
    """Tell whether what is held reaches the share from which on it is to be consolidated."""
    return state.is_open and len(state.items) >= FULL_SHARE * capacity


def assessed(
    state: WorkingState, now: datetime, *, every_turns: int, was_triggered: bool
) -> WorkingState:
    """Return the state with its importance assessed, if that is due.

    Due is it every few turns, and at once on a trigger phrase; while nothing has changed since
    the last assessment it is skipped.
    """
    digest = _digest(state)
    if digest == state.assessed_digest:
        return state
    if not (was_triggered or not state.assessments or state.turns_since >= every_turns):
        return state
    score, reasons = _importance(state)
    return structs.replace(
        state,
        importance=importance_of(score),
        importance_score=score,
        importance_reasons=reasons,
        assessed_at=now,
        assessments=state.assessments + 1,
        assessed_digest=digest,
        turns_since=0,
    )


def _digest(state: WorkingState) -> str:
    parts = [state.goal, *(f"{i.kind}\0{i.text}" for i in state.items), str(state.settled)]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _importance(state: WorkingState) -> tuple[float, tuple[str, ...]]:
    """Return a score from 0 to 1 and what it rests on: the sum of what was seen to happen."""
    kinds = [item.kind for item in state.items]
    edits = sum(i.kind == "step" and i.key.startswith("edit ") for i in state.items)
    checks = sum(i.kind == "step" and i.importance >= 0.6 for i in state.items)
    seen = (
        (0.45, "the user asked to keep something in mind", kinds.count("note") > 0),
        (0.2, "a failure was settled", state.settled > 0),
        (0.15, "failures are open", kinds.count("failure") > 0),
        (0.1, "files were edited", edits > 0),
        (0.1, "work was verified", checks > 0),
        (0.1, "many steps were taken", kinds.count("step") >= 10),
    )
    score = 0.1 + sum(weight for weight, _, is_so in seen if is_so)
    return min(1.0, round(score, 2)), tuple(reason for _, reason, is_so in seen if is_so)


def closed(state: WorkingState) -> WorkingState:
    """Return what stays when the task is consolidated: enough to go on with the same goal."""
    return structs.replace(
        state,
        is_open=False,
        items=(),
        calls=(),
        dropped=0,
        settled=0,
        importance="low",
        importance_score=0.0,
        importance_reasons=(),
        assessed_digest="",
        assessments=0,
        assessed_at=None,
    )


def relieved(state: WorkingState) -> WorkingState:
    """Return a full state after its consolidation: notes, open failures and the latest results."""
    latest = [item for item in state.items if item.kind == "result"][-_KEPT_RESULTS:]
    kept = tuple(i for i in state.items if i.kind in ("note", "failure") or i in latest)
    return structs.replace(state, items=kept, dropped=state.dropped + len(state.items) - len(kept))


def opened(
    session_id: str, *, agent: str, project: str, cwd: str, now: datetime, ttl_s: float
) -> WorkingState:
    """Return the empty state of a session nothing is known of yet."""
    return WorkingState(
        session_id=session_id,
        agent=agent,
        project=project,
        cwd=cwd,
        updated_at=now,
        expires_at=now + timedelta(seconds=ttl_s),
    )
