"""Which memories each agent session has been given in its prompts."""

from __future__ import annotations

from collections import OrderedDict

from hindsight_daemon.store.port import RecallRecord, Store

_SESSIONS_IN_MIND = 256
_RECALLS_LOOKED_AT = 2000
_MOST_OFFERS = 256


class Given:
    """Which memories each session was given; told by the journal after a restart."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._offers: OrderedDict[str, RecallRecord] = OrderedDict()
        self._by_session: OrderedDict[tuple[str, str], set[str]] = OrderedDict()

    async def to(self, agent: str, session_id: str) -> set[str]:
        """Return the ids that this agent's session has had; a session without id has none."""
        key = (agent, session_id)
        if not session_id:
            return set()
        if key not in self._by_session:
            former = await self._store.recalls(limit=_RECALLS_LOOKED_AT, session_id=session_id)
            given = {i for record in former if record.agent == agent for i in record.injected}
            self._by_session[key] = given
            while len(self._by_session) > _SESSIONS_IN_MIND:
                self._by_session.popitem(last=False)
        self._by_session.move_to_end(key)
        return self._by_session[key]

    def offer(self, record: RecallRecord) -> None:
        """Keep in mind what was answered until the agent has got it."""
        self._offers[record.recall_id] = record
        while len(self._offers) > _MOST_OFFERS:
            self._offers.popitem(last=False)

    async def accept(self, recall_id: str) -> RecallRecord | None:
        """Count an offer as given and return it; None if there is no such offer."""
        record = self._offers.pop(recall_id, None)
        if record is not None:
            (await self.to(record.agent, record.session_id)).update(record.injected)
        return record
