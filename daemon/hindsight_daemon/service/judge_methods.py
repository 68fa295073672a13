"""`judge.show`, `judge.try` and `judge.check`, and the cost that `store.stats` tells."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

import msgspec
from msgspec import Struct

from hindsight_daemon.engine.own_tail import OWN_SESSION_MARK
from hindsight_daemon.engine.slots import TaskSlots, usable
from hindsight_daemon.errors import (
    BudgetSpent,
    JudgeRefused,
    JudgeUnavailable,
    NoInput,
    UsageProblem,
)
from hindsight_daemon.judge.tokens import estimate
from hindsight_daemon.model import SessionState
from hindsight_daemon.protocol.documents import (
    Check,
    CostDay,
    CostView,
    DoctorResult,
    JudgeResult,
    JudgeTryResult,
)
from hindsight_daemon.protocol.params import JudgeTryParams, NoParams
from hindsight_daemon.service.call import Call, reporting
from hindsight_daemon.service.judged_tasks import JUDGE, Shot, checked, find_shot, question_about
from hindsight_daemon.service.judging import Question
from hindsight_daemon.service.services import Services

COST_DAYS = 30
_CHECK_TIMEOUT_S = 30.0
_NAME = "judge"


class ReadySlots(Struct, frozen=True, forbid_unknown_fields=True):
    """What the check of an endpoint asks for."""

    ready: Literal["yes"]


async def show(s: Services, _params: NoParams, _call: Call) -> JudgeResult:
    """Say what is configured, where prompts go, and how the queue and the budget stand."""
    judging, judge = s.judging, s.judging.judge
    held = await s.store.held(state="held")
    return JudgeResult(
        provider=judging.settings.provider,
        model=judge.model if judge else judging.settings.model,
        where=judge.where if judge else "",
        is_local=judge.is_local if judge else True,
        distils=judging.distils,
        problem=judging.problem,
        trouble=judging.trouble,
        paused_s=round(judging.pause_s(), 1),
        tokens_per_day=judging.settings.tokens_per_day,
        tokens_left=await judging.left(),
        waiting=len(await s.store.judge_jobs()),
        held=sum(one.what == JUDGE for one in held),
    )


async def cost(s: Services) -> CostView:
    """Return what was spent in the last days, and what is left of today's budget."""
    since = (s.clock.now() - timedelta(days=COST_DAYS)).date().isoformat()
    used = await s.store.judge_use(since)
    return CostView(
        tokens_per_day=s.judging.settings.tokens_per_day,
        tokens_left=await s.judging.left(),
        days=[
            CostDay(
                day=use.day,
                purpose=use.purpose,
                model=use.model,
                calls=use.calls,
                failures=use.failures,
                tokens_in=use.tokens_in,
                tokens_out=use.tokens_out,
            )
            for use in used
        ],
    )


async def try_(s: Services, params: JudgeTryParams, call: Call) -> JudgeTryResult:
    """Show one task to the judge and return what it fills in; nothing of it is stored."""
    state = await _session(s, params.session_id)
    events = tuple([e async for e in s.store.events_of(state.session_id)])
    shot = find_shot(state, events, "", s.judging.settings.max_prompt_tokens)
    if shot is None:
        raise NoInput(
            f"the session `{state.session_id}` holds no task worth an episode",
            hint="name another session; `hindsight list --kind episode` shows some",
        )
    question = question_about(shot)
    prompt = s.judging.prompt(question, TaskSlots)
    judge = s.judging.judge
    result = JudgeTryResult(
        session_id=state.session_id,
        goal=shot.episode.goal,
        system=prompt.system,
        prompt=prompt.text,
        tokens_estimated=estimate(prompt.system + prompt.text),
        where=judge.where if judge else "",
        is_local=judge.is_local if judge else True,
        model=judge.model if judge else "",
        rules=_of_rules(shot),
        dry_run=params.dry_run,
    )
    if params.dry_run:
        return result
    asking = s.judging.fill(
        "try", question, TaskSlots, lambda slots: checked(slots, shot.shown), keep=False
    )
    filled = await reporting(call, "judge", asking)
    slots, problems = usable(filled.value, shot.shown)
    result.answer = msgspec.to_builtins(slots)
    result.problems = list(problems)
    result.tokens_in, result.tokens_out = filled.tokens_in, filled.tokens_out
    return result


def _of_rules(shot: Shot) -> dict[str, Any]:
    episode = shot.episode
    return {
        "goal": episode.goal,
        "task_type": episode.task_type,
        "outcome": episode.verdict.outcome,
        "failure_reason": episode.verdict.failure_reason,
        "lessons": [{"kind": draft.kind, "text": draft.text} for draft in episode.drafts],
    }


async def _session(s: Services, prefix: str) -> SessionState:
    """Return the session that the beginning of an id names, or the newest one."""
    sessions = await s.store.sessions()
    if not sessions:
        raise NoInput("no session is known yet", hint="`hindsight ingest` reads transcripts")
    if not prefix:
        return sessions[0]
    found = [one for one in sessions if one.session_id.startswith(prefix)]
    exact = [one for one in found if one.session_id == prefix]
    if not found:
        raise NoInput(
            f"no session is called `{prefix}`", hint="`hindsight list --json` tells session ids"
        )
    if len(found) > 1 and not exact:
        raise UsageProblem(f"`{prefix}` fits several sessions", hint="give more of the id")
    return (exact or found)[0]


async def check(s: Services, _params: NoParams, call: Call) -> DoctorResult:
    """Ask the judge something small and say whether it answers, and where prompts go."""
    judging, judge = s.judging, s.judging.judge
    if judging.problem:
        return _one("problem", judging.problem)
    if judge is None:
        return _one("ok", "none is configured: nothing is sent to a language model")
    if s.read_only:
        return _one("warning", f"`{judge.model}` is not asked while no daemon runs")
    question = Question(
        name="ready",
        system=f"[{OWN_SESSION_MARK}]\nSay that you are ready.\n\n{{fence}}",
        data="Is the form understood? Then ready is yes.",
    )
    timeout_s = min(judging.settings.timeout_s, _CHECK_TIMEOUT_S)
    asking = judging.fill(
        "check", question, ReadySlots, lambda one: one, timeout_s=timeout_s, keep=False
    )
    try:
        await reporting(call, "judge", asking)
    except (JudgeUnavailable, JudgeRefused, BudgetSpent) as exc:
        return _one("problem", exc.message, exc.hint)
    checks = [Check(name=_NAME, status="ok", message=f"`{judge.model}` answers at {judge.where}")]
    if not judge.is_local:
        text = f"redacted transcripts leave this machine: they go to {judge.where}"
        checks.append(Check(name="privacy", status="warning", message=text, hint=_HINT))
    if judge.is_key_exposed:
        text = f"the key goes to {judge.where} without encryption"
        checks.append(
            Check(name="privacy", status="warning", message=text, hint="use an https address")
        )
    return DoctorResult(checks=checks)


_HINT = "`hindsight config set judge.provider none` ends it"


def _one(status: str, message: str, hint: str = "") -> DoctorResult:
    return DoctorResult(checks=[Check(name=_NAME, status=status, message=message, hint=hint)])
