"""Faces, web: what `/metrics` tells; nothing in it names a tenant, a label or a snapshot."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0, generate_latest

SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600)


class Metrics:
    """The figures of one process."""

    def __init__(self, opened: Callable[[], float] = lambda: 0) -> None:
        self.registry = CollectorRegistry()
        self.calls = Counter(
            "muniment_vault_calls",
            "Calls that were answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "muniment_vault_call_seconds",
            "How long calls took, bodies included.",
            ("route",),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.received = Counter(
            "muniment_vault_received_bytes", "Bytes of bodies that were taken.", registry=self.registry
        )
        self.sent = Counter(
            "muniment_vault_sent_bytes", "Bytes of snapshots that were given out.", registry=self.registry
        )
        self.kept = Counter(
            "muniment_vault_snapshots_kept", "Snapshots that were acknowledged.", registry=self.registry
        )
        self.deleted = Counter(
            "muniment_vault_snapshots_deleted", "Snapshots that were deleted.", registry=self.registry
        )
        self.busy = Gauge("muniment_vault_calls_under_way", "Calls under way.", registry=self.registry)
        self.tenants = Gauge("muniment_vault_tenants_open", "Vaults that are open.", registry=self.registry)
        self.tenants.set_function(opened)

    def text(self) -> bytes:
        """All of them, in Prometheus' text format."""
        return generate_latest(self.registry)


CONTENT_TYPE = CONTENT_TYPE_PLAIN_1_0_0
