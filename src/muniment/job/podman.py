"""Room `job`: the container runtime `podman`: what is particular to it."""

from __future__ import annotations

from muniment.job.container_argv import Dialect
from muniment.job.tool_run import Engine

PODMAN = Dialect(
    engine=Engine.PODMAN,
    install="apt-get install podman, or dnf install podman",
    version=("info", "--format", "{{.Version.Version}}"),
    create=(
        # Without these it would add writable places of its own, the image's volumes among them, ...
        "--read-only-tmpfs=false",
        "--image-volume=ignore",
        "--systemd=false",
        # ... a socket of the service manager, and the variables of a proxy, password included.
        "--sdnotify=ignore",
        "--http-proxy=false",
    ),
    init=("init",),
    start=("start", "--attach", "--sig-proxy=false"),
    remove=("rm", "--force", "--volumes"),
    maps_caller_to_root=True,
    no_container=("no such container", "no such object"),
    no_image=("image not known", "no such object", "no such image"),
    unknown=("manifest unknown", "name unknown", "repository name not known"),
    denied=("unauthorized", "authentication required", "invalid username/password", "access denied"),
    corrupt=("digest did not match", "does not match", "unexpected eof", "invalid checksum"),
    unreachable=(
        "connection refused",
        "no such host",
        "i/o timeout",
        "no route to host",
        "network is unreachable",
        "connection reset",
        "tls handshake",
    ),
)
"""Rootless or not, root in the container is whoever called."""
