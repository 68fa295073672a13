"""Asking the configured language model: within the day's budget, on the record, redacted.

Everything that goes to a judge goes through `Judging.fill`. What it costs is written down before
the answer is used, so that a restart forgets nothing; an answer that passed its rules is kept, so
that the same question is never paid for twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Generic, Literal, TypeVar

import msgspec
from msgspec import Struct

from hindsight_daemon.clock import Clock
from hindsight_daemon.config import JudgeSettings
from hindsight_daemon.errors import (
    BudgetSpent,
    ConfigProblem,
    HindsightError,
    JudgeRefused,
    JudgeUnavailable,
    PermissionProblem,
)
from hindsight_daemon.ingest.redact import redact
from hindsight_daemon.judge.choose import make_judge
from hindsight_daemon.judge.fence import RULE, fenced, new_tag
from hindsight_daemon.judge.port import Answer, Judge, Prompt
from hindsight_daemon.judge.schema import BadAnswer, read_answer, schema_of
from hindsight_daemon.judge.tokens import estimate
from hindsight_daemon.model import Record
from hindsight_daemon.store.port import JudgeUse, Store, WriteBatch

T = TypeVar("T", bound=Struct)
Purpose = Literal["distil", "verify", "try", "check"]

_FIXED_TAG = "data-000000"
_PAUSES_S = (30.0, 120.0, 600.0, 1800.0)


class Question(Record, frozen=True, kw_only=True):
    """What is asked: `system` with `{fence}` for the rule about fences, `data` to be fenced."""

    name: str
    system: str
    data: str


class Filled(Struct, Generic[T], frozen=True):
    """An answer that passed its rules; tokens are 0 where it was kept from before."""

    value: T
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    is_kept: bool = False


class Judging:
    """The judge with its budget and ledger; without one, `judge` is None.

    `problem` says why there is none although one was asked for, `trouble` how the last call
    failed.
    """

    def __init__(self, settings: JudgeSettings, store: Store, clock: Clock, folder: Path) -> None:
        self.settings = settings
        self.wanted = asyncio.Event()
        self.judge: Judge | None = None
        self.problem = ""
        self.trouble = ""
        self._store = store
        self._clock = clock
        self._reserved = 0
        self._failed_in_a_row = 0
        self._paused_until: datetime | None = None
        try:
            self.judge = make_judge(settings, folder)
        except (ConfigProblem, PermissionProblem) as exc:
            self.problem = f"{exc.message}; {exc.hint}" if exc.hint else exc.message

    @property
    def distils(self) -> bool:
        """Whether tasks are to be shown to the judge."""
        return self.judge is not None and self.settings.distil

    def in_words(self) -> str:
        """Return which model is asked and whether what it is shown leaves this machine."""
        if self.judge is None:
            return "none"
        goes = "on this machine" if self.judge.is_local else "transcripts leave this machine"
        return f"{self.judge.model} at {self.judge.where}, {goes}"

    def pause_s(self) -> float:
        """Return for how long the judge had better be left alone after failures; 0 if not."""
        if self._paused_until is None:
            return 0.0
        return max(0.0, (self._paused_until - self._clock.now()).total_seconds())

    def today(self) -> str:
        """Return the ISO date of the budget's day, which is UTC's."""
        return self._clock.now().date().isoformat()

    async def left(self) -> int:
        """Return how many tokens of today's budget are left, calls under way taken off."""
        return max(0, await self._balance())

    async def _balance(self) -> int:
        used = await self._store.judge_use(self.today())
        spent = sum(use.tokens_in + use.tokens_out for use in used if use.day == self.today())
        return self.settings.tokens_per_day - spent - self._reserved

    def prompt(self, question: Question, cls: type[Struct], tag: str = "") -> Prompt:
        """Return the very prompt that is sent: redacted, fenced by a tag nobody can guess."""
        tag = tag or new_tag()
        system, _ = redact(question.system)
        data, _ = redact(question.data)
        return Prompt(
            system=system.replace("{fence}", RULE.format(tag=tag)),
            text=fenced(data, tag),
            schema=schema_of(cls),
            name=question.name,
            max_output_tokens=self.settings.max_output_tokens,
        )

    def need(self) -> Judge:
        """Return the judge; raises `ConfigProblem` if there is none."""
        if self.judge is None:
            raise ConfigProblem(
                self.problem or "no language model is configured",
                hint="see `[judge]` in `man 5 hindsight-config`",
            )
        return self.judge

    async def fill(
        self,
        purpose: Purpose,
        question: Question,
        cls: type[T],
        rules: Callable[[T], T],
        *,
        timeout_s: float | None = None,
        keep: bool = True,
    ) -> Filled[T]:
        """Ask and return the answer as `cls`, after `rules`, which raise `BadAnswer`.

        Raises `ConfigProblem` without a judge, `BudgetSpent`, `JudgeUnavailable`, and
        `JudgeRefused` for an answer that is none.
        """
        judge = self.need()
        key = self._key(judge, question, cls)
        if keep and (kept := await self._store.judge_answer(key)) is not None:
            # The rules may have grown since, in this case it is asked anew.
            with contextlib.suppress(BadAnswer, msgspec.ValidationError):
                value = rules(msgspec.json.decode(kept, type=cls))
                return Filled(value=value, model=judge.model, is_kept=True)
        prompt = self.prompt(question, cls)
        answer = await self._ask(judge, purpose, prompt, timeout_s or self.settings.timeout_s)
        try:
            if answer.is_cut:
                raise BadAnswer(f"the answer was cut off after {answer.tokens_out} tokens")
            value = read_answer(answer.text, cls)
            checked = rules(value)
        except BadAnswer as exc:
            await self._record(purpose, answer, is_failure=True)
            raise JudgeRefused(str(exc)) from exc
        answers = {key: msgspec.json.encode(value).decode()} if keep else {}
        await self._record(purpose, answer, answers=answers)
        return Filled(
            value=checked,
            model=answer.model,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
        )

    def _key(self, judge: Judge, question: Question, cls: type[Struct]) -> str:
        prompt = self.prompt(question, cls, _FIXED_TAG)
        parts = (judge.where, judge.model, question.name, prompt.system, prompt.text)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    async def _ask(
        self, judge: Judge, purpose: Purpose, prompt: Prompt, timeout_s: float
    ) -> Answer:
        asked = estimate(prompt.system + prompt.text)
        cost = asked + prompt.max_output_tokens
        # Taken before anything is awaited on, so that two callers cannot both see it free.
        self._reserved += cost
        try:
            balance = await self._balance()
            if balance < 0:
                raise BudgetSpent(
                    f"a call may cost {cost} tokens, and of today's "
                    f"{self.settings.tokens_per_day} only {max(0, balance + cost)} are left"
                )
            answer = await judge.ask(prompt, timeout_s=timeout_s)
        except (JudgeUnavailable, JudgeRefused) as exc:
            # What timed out or was refused may have been read, and read is paid for.
            was_read = exc.detail.get("reason", "timeout") == "timeout"
            answer = Answer(
                text="", tokens_in=asked if was_read else 0, tokens_out=0, model=judge.model
            )
            await self._record(purpose, answer, is_failure=True)
            self._note(exc)
            raise
        finally:
            self._reserved -= cost
        self._failed_in_a_row, self._paused_until, self.trouble = 0, None, ""
        return answer

    def _note(self, failure: HindsightError) -> None:
        self.trouble = failure.message
        if not isinstance(failure, JudgeUnavailable):
            return
        pause_s = _PAUSES_S[min(self._failed_in_a_row, len(_PAUSES_S) - 1)]
        wished_s = failure.detail.get("retry_after_s") or 0.0
        self._failed_in_a_row += 1
        self._paused_until = self._clock.now() + timedelta(
            seconds=min(max(pause_s, wished_s), 86_400.0)
        )

    async def _record(
        self,
        purpose: Purpose,
        answer: Answer,
        *,
        is_failure: bool = False,
        answers: dict[str, str] | None = None,
    ) -> None:
        use = JudgeUse(
            day=self.today(),
            purpose=purpose,
            model=answer.model,
            calls=1,
            failures=int(is_failure),
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
        )
        await self._store.commit(WriteBatch(judge_use=(use,), judge_answers=answers or {}))

    async def close(self) -> None:
        """Release connections."""
        if self.judge is not None:
            await self.judge.close()
