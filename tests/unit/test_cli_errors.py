"""From exceptions to what is told."""

from __future__ import annotations

import errno

import pytest
import typer

from hindsight_cli.errors import environment_problem, hint_of, usage_problem, with_better_hint
from hindsight_daemon.errors import AmbiguousId, DiskFull, NotFound, PermissionProblem, UsageProblem


def test_the_parser_s_complaint_becomes_one_plain_sentence() -> None:
    problem = usage_problem(typer.BadParameter("'x' is not a valid integer."))
    assert problem.message == "invalid value: `x` is not a valid integer"
    assert problem.exit_code == 2
    assert problem.hint == "`hindsight --help`"


def test_a_near_match_is_the_hint() -> None:
    problem = usage_problem(typer.BadParameter("No such command 'recal'. Did you mean 'recall'?"))
    assert problem.message.endswith("No such command `recal`")
    assert problem.hint == "did you mean `recall`?"


def test_a_usage_error_of_the_daemon_points_to_the_help_of_the_command() -> None:
    told = with_better_hint(UsageProblem("limit 0 is too low"), ["--json", "recall", "x"])
    assert told.hint == "`hindsight recall --help`"
    own = UsageProblem("not a time", hint="such as `7d`")
    assert with_better_hint(own, ["recall"]) is own


def test_an_ambiguous_id_is_told_with_what_it_may_mean() -> None:
    error = AmbiguousId("the id `01` fits several memories", ids=["01a", "01b"])
    assert hint_of(error).endswith("`01a`, `01b`")
    assert hint_of(NotFound("no memory")) == NotFound.default_hint


@pytest.mark.parametrize(
    ("number", "expected"),
    [(errno.ENOSPC, DiskFull), (errno.EACCES, PermissionProblem), (errno.EBADF, type(None))],
)
def test_what_the_system_refuses_is_no_bug_of_ours(number: int, expected: type) -> None:
    told = environment_problem(OSError(number, "refused", "/a/b"))
    assert isinstance(told, expected)
    if told is not None:
        assert told.message == "`/a/b`: refused"
