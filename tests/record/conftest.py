"""What the tests of `record` share: a clock of their own, a workspace, ledgers; properties are not timed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
