"""Room `job`: the container runtime `docker`: what is particular to it.

It has no step between making a container and starting its program, so that there is no network
is its own word (`inspected`) until the kernel's table was seen while the program ran (`observed`).
"""

from __future__ import annotations

from muniment.job.container_argv import Dialect
from muniment.job.tool_run import Engine

DOCKER = Dialect(
    engine=Engine.DOCKER,
    install="apt-get install docker.io, or Docker's own packages",
    version=("version", "--format", "{{.Server.Version}}"),
    create=(),
    init=(),
    start=("start", "--attach"),
    remove=("rm", "--force", "--volumes"),
    maps_caller_to_root=False,
    no_container=("no such container", "no such object"),
    no_image=("no such image", "no such object"),
    unknown=("manifest unknown", "not found: name unknown", "repository does not exist"),
    denied=(
        "unauthorized",
        "no basic auth credentials",
        "authentication required",
        "incorrect username or password",
        "access denied",
        "access to the resource is denied",
    ),
    corrupt=("verification failed", "unexpected eof", "does not match", "invalid checksum", "archive/tar"),
    unreachable=(
        "connection refused",
        "no such host",
        "i/o timeout",
        "no route to host",
        "network is unreachable",
        "connection reset",
        "tls handshake",
        "awaiting headers",
    ),
)
"""The service runs as root, so the container is told whose the outputs shall be."""
