"""How pending rows of one table become few table operations. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hindsight_daemon.store.outbox import Op, OutboxRow


class FoldPlan(msgspec.Struct, frozen=True):
    """One round for one table: new rows, rows that may exist, ids to delete.

    Every id occurs at most once in the whole plan.
    """

    add: tuple[OutboxRow, ...]
    upsert: tuple[OutboxRow, ...]
    remove: tuple[str, ...]


def plan_fold(rows: Sequence[OutboxRow], *, is_replay: bool) -> FoldPlan:
    """Reduce rows (in order, at least one) to the last word on each id.

    Only an id whose first row here is an `ADD` is known to be absent from the table, and only if
    this is no replay: after a crash the table may hold what the journal does not know it has.
    """
    first: dict[str, Op] = {}
    last: dict[str, OutboxRow] = {}
    for row in rows:
        first.setdefault(row.id, row.op)
        last[row.id] = row
    add: list[OutboxRow] = []
    upsert: list[OutboxRow] = []
    remove: list[str] = []
    for row_id, row in last.items():
        is_absent = first[row_id] is Op.ADD and not is_replay
        if row.op is Op.REMOVE:
            if not is_absent:
                remove.append(row_id)
        elif is_absent:
            add.append(row)
        else:
            upsert.append(row)
    return FoldPlan(tuple(add), tuple(upsert), tuple(remove))
