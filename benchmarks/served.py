"""Measurements of a served vault: memory while many upload, and throughput beside another server.

    python -m benchmarks.served memory [UPLOADS] [MIB]      peak resident size of `muniment serve`
    python -m benchmarks.served throughput [MIB] [ROUNDS]   beside nginx dav, or rclone, where there is one

Bytes do not deflate, as a tar.gz has them.  Both servers have the same folder's file system, the same
client and the same connection; rounds are interleaved and the median of their ratios is told.  The
other server neither syncs nor reads back, hashes or asks for a token, so its time is a floor.
"""

from __future__ import annotations

import http.client
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from tests.vault.load import Process
from tests.vault.table_client import TableClient

T = TypeVar("T")

CHUNK = 10 << 20


def resident(pid: int) -> tuple[float, float]:
    """Resident size and its peak, in MiB."""
    said = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(said["VmRSS"].split()[0]) / 1024, int(said["VmHWM"].split()[0]) / 1024


def memory(uploads: int, mib: int) -> None:
    """So many tenants upload so many MiB at once, in chunks of 10 MiB."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as place:
        server = Process(Path(place) / "home", MUNIMENT_SERVE_SNAPSHOT_BYTES=str(1 << 40))
        server.begin()
        assert server.process is not None
        tokens = [server.token(f"u-{number}") for number in range(uploads)]
        block = random.Random(1).randbytes(CHUNK)
        TableClient(server.port, tokens[0]).list()
        idle = resident(server.process.pid)[0]
        wrong: list[object] = []

        def work(number: int) -> None:
            client = TableClient(server.port, tokens[number])
            total = mib << 20
            upload = client.reserve(total).json["upload_id"]
            at = 0
            while at < total:
                size = min(CHUNK, total - at)
                # Each tenant's bytes are its own, and no chunk is like another.
                part = b"%16d%16d" % (number, at) + block[32:size]
                done = client.chunk(upload, at, part, total)
                at += size
                if done.status not in (201, 202):
                    wrong.append(done)
                    return

        begun = time.perf_counter()
        threads = [threading.Thread(target=work, args=(number,)) for number in range(uploads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - begun
        print(f"uploads {uploads} x {mib} MiB  failed {len(wrong)}  {uploads * mib / took:.0f} MiB/s")
        print(f"resident MiB: idle {idle:.0f}, peak {resident(server.process.pid)[1]:.0f}")
        server.end(signal.SIGTERM)


def put(port: int, path: str, data: bytes) -> None:
    """What a WebDAV client does."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("PUT", path, body=data)
    assert connection.getresponse().read() is not None
    connection.close()


def fetch(port: int, path: str) -> int:
    """Take a file in 1 MiB reads."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    answer, size = connection.getresponse(), 0
    while part := answer.read(1 << 20):
        size += len(part)
    connection.close()
    return size


def nginx(place: Path) -> tuple[subprocess.Popen[bytes], int]:
    """nginx with its dav module, on a port of its own."""
    port = random.randrange(20000, 30000)
    (place / "files").mkdir()
    os.chmod(place, 0o755)
    (place / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {place}/pid; error_log {place}/log;\n"
        "events {}\nhttp { access_log off; client_max_body_size 0; client_body_temp_path "
        f"{place}/body; proxy_temp_path {place}/p; fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u;"
        f" scgi_temp_path {place}/s;\nserver {{ listen 127.0.0.1:{port}; root {place}/files;"
        " location / { dav_methods PUT DELETE; } } }\n"
    )
    process = subprocess.Popen(["nginx", "-p", str(place), "-c", str(place / "nginx.conf")])
    return process, port


def rclone(place: Path) -> tuple[subprocess.Popen[bytes], int]:
    """`rclone serve webdav`, on a port of its own."""
    port = random.randrange(20000, 30000)
    (place / "files").mkdir()
    process = subprocess.Popen(
        ["rclone", "serve", "webdav", "--addr", f"127.0.0.1:{port}", str(place / "files")],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RCLONE_CONFIG": str(place / "none")},
    )
    return process, port


def until_it_answers(port: int) -> None:
    """A server that has just been begun takes a moment."""
    for _ in range(200):
        try:
            put(port, "/first", b"x")
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the other server does not answer")


def worked(pid: int) -> float:
    """Seconds of processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(pid: int, act: Callable[[], T]) -> tuple[float, float, T]:
    """Seconds that an act takes, seconds of the server's processor, and what the act gives."""
    before, begun = worked(pid), time.perf_counter()
    found = act()
    return time.perf_counter() - begun, worked(pid) - before, found


def throughput(mib: int, rounds: int) -> None:
    """The same bytes to both servers, one after the other."""
    begin = nginx if shutil.which("nginx") else rclone if shutil.which("rclone") else None
    if begin is None:
        raise SystemExit("neither nginx nor rclone is installed")
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as text:
        place = Path(text)
        (place / "other").mkdir()
        other, port = begin(place / "other")
        server = Process(place / "home")
        server.begin()
        try:
            until_it_answers(port)
            client = TableClient(server.port, server.token("u"))
            data = random.Random(2).randbytes(mib << 20)
            up: list[float] = []
            down: list[float] = []
            cpu: list[tuple[float, float]] = []
            assert server.process is not None
            pid = server.process.pid
            for number in range(rounds):
                theirs, _, _ = timed(other.pid, partial(put, port, f"/f{number}", data))
                ours, up_cpu, answer = timed(pid, partial(client.create, b"%8d" % number + data[8:]))
                name = answer.json["backup_id"]
                up.append(ours / theirs)
                theirs_down, _, _ = timed(other.pid, partial(fetch, port, f"/f{number}"))
                ours_down, down_cpu, _ = timed(pid, partial(client.get, name))
                cpu.append((up_cpu, down_cpu))
                down.append(ours_down / theirs_down)
                client.delete(name)
                print(
                    f"  up {mib / ours:.0f} and {mib / theirs:.0f} MiB/s,"
                    f" down {mib / ours_down:.0f} and {mib / theirs_down:.0f} MiB/s"
                )
            print(
                f"{begin.__name__}, {mib} MiB, {rounds} rounds: time as a multiple of its time:"
                f" up {statistics.median(up):.2f}, down {statistics.median(down):.2f}"
            )
            spent = [statistics.median(one) for one in zip(*cpu, strict=True)]
            print(f"of a processor: up {mib / spent[0]:.0f} MiB/s, down {mib / spent[1]:.0f} MiB/s")
        finally:
            server.end(signal.SIGTERM)
            other.terminate()
            other.wait()


if __name__ == "__main__":
    act, *rest = sys.argv[1:] or ["memory"]
    numbers = [int(one) for one in rest]
    if act == "memory":
        memory(*(numbers or [20, 450]))
    else:
        throughput(*(numbers or [200, 5]))
