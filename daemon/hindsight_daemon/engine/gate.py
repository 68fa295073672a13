"""Decides which tasks are worth an episode at all.

Pure; imports records and `actions`. Most of a transcript is not worth remembering: single-step
chatter, warm-ups, harness noise, stubs of slash commands, questions answered by reading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.actions import Action
from hindsight_daemon.engine.followups import is_acknowledgement
from hindsight_daemon.engine.screen import is_junk
from hindsight_daemon.engine.task import Task

_SLASH = re.compile(r"^/[a-z][\w:-]*(?:\s|$)")
_WARM_UP = re.compile(
    r"^(?:warm-?up|ping|test(?:ing)?|hello(?: world)?|hi|say (?:hi|hello|ok)|reply with (?:ok"
    r"|exactly).*|预热)[.!]*$",
    re.I,
)
_INJECTED = re.compile(
    r"^(?:<(?!hindsight)[a-z-]+>|Caveat:|\[Request interrupted|This session is being continued"
    r"|Stop hook feedback|# AGENTS\.md instructions)"
)


def gate(task: Task, actions: Sequence[Action], *, drafts: int) -> str:
    """Return why the task makes no episode; empty if it does.

    A task that taught something always passes unless its prompt was not a person's.
    """
    goal = task.goal.strip()
    if _INJECTED.match(goal):
        return "harness noise"
    if _WARM_UP.match(goal):
        return "warm-up"
    if drafts:
        return ""
    if not goal:
        return "no human prompt"
    if _SLASH.match(goal) and len(goal.split()) < 4:
        return "slash-command stub"
    if is_acknowledgement(goal) or (len(goal) < 24 and is_junk(goal)):
        return "chatter"
    done = [action for action in actions if action.state != "noise"]
    if not done:
        return "conversation without action"
    changed = any(action.is_edit and action.state != "failed" for action in done)
    ran = [a for a in done if a.command is not None and a.command.role != "read"]
    if not changed and not ran:
        return "only looked around"
    return "single step" if len(done) < 2 else ""
