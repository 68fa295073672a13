"""What an asker is after, as weights of the arms.

Pure; imports its neighbours only. `auto` is what the measurements in `benchmarks/README.md` chose
and good for questions of any kind; the others are for callers that know better.
"""

from __future__ import annotations

from collections.abc import Mapping

from hindsight_daemon.engine.fusion import KEYWORD, RECENT, VECTOR, arm_weights
from hindsight_daemon.model import Record


class Profile(Record, frozen=True, kw_only=True):
    """Factors on the default weights, and what else a profile changes.

    With `turns_are_equal` turns need not answer clearly better than distilled memories; with
    `hops` names are followed to what depends on them.
    """

    keyword: float = 1.0
    vector: float = 1.0
    recent: float = 1.0
    turns_are_equal: bool = False
    hops: bool = True

    def weights(
        self, *, is_cjk: bool, is_passage: bool, factors: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the weight of each arm; `factors` are those of the settings.

        If they leave neither words nor meaning, they are taken for a mistake and ignored.
        """
        base = arm_weights(is_cjk=is_cjk, is_passage=is_passage)
        own = {KEYWORD: self.keyword, VECTOR: self.vector, RECENT: self.recent}
        found = {name: base[name] * own[name] * factors.get(name, 1.0) for name in base}
        return found if found[KEYWORD] or found[VECTOR] else base


PROFILES: dict[str, Profile] = {
    "auto": Profile(),
    "facts": Profile(keyword=1.2, vector=0.8, recent=2.0),
    "conversation": Profile(turns_are_equal=True, hops=False),
    "continuity": Profile(recent=8.0),
}
"""By name: anything; statements of which the newest holds; what was said; where work stopped."""
