"""A working set over a store in memory, for tests of use cases that need no daemon."""

from __future__ import annotations

from hindsight_daemon.config import EmbedSettings, Settings
from hindsight_daemon.embed.host import ModelHost
from hindsight_daemon.service.gate import Gate
from hindsight_daemon.service.services import Services
from tests.support.fake_store import FakeStore
from tests.support.store_builders import FixedClock, test_paths


def services_in_memory(store: FakeStore | None = None) -> Services:
    """Return services without a model, whose clock stands still until it is moved."""
    settings = Settings(embed=EmbedSettings(model="none"))
    paths = test_paths()
    models = ModelHost(settings.embed, paths.models_dir)
    return Services(store or FakeStore(), models, Gate(()), settings, paths, FixedClock())
