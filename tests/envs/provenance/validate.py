"""Envs: asks the public validator of crates, without network; run by the interpreter of its environment.

The RO-Crate 1.1 context, which it would fetch, lies in an earlier release of rocrate; an adapter
puts it into the validator's cache.  Prints, for each crate, the issues as severity and message.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
from pathlib import Path
from typing import Any

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def fill(cache: str) -> None:
    """Put the context into the cache as if it had been fetched."""
    adapters: Any = importlib.import_module("requests.adapters")
    requests: Any = importlib.import_module("requests")
    responses: Any = importlib.import_module("urllib3")
    cached: Any = importlib.import_module("requests_cache")
    rocrate: Any = importlib.import_module("rocrate")
    context = (Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld").read_bytes()
    head = {"Content-Type": "application/ld+json"}

    class Here(adapters.BaseAdapter):  # type: ignore[misc]
        def send(self, request: Any, **_: Any) -> Any:
            answer = requests.Response()
            answer.status_code, answer.url, answer.request = 200, request.url, request
            answer.headers.update(head)
            answer.raw = responses.HTTPResponse(
                body=io.BytesIO(context), status=200, headers=head, preload_content=False
            )
            return answer

        def close(self) -> None:
            return

    session = cached.CachedSession(cache_name=cache, expire_after=-1, backend="sqlite")
    session.mount("https://", Here())
    session.get(CONTEXT, headers={"Accept": "application/ld+json"}).raise_for_status()
    session.close()


def issues(crate: str, cache: str) -> list[list[str]]:
    """What the validator has against one crate."""
    services: Any = importlib.import_module("rocrate_validator.services")
    models: Any = importlib.import_module("rocrate_validator.models")
    settings = models.ValidationSettings(
        rocrate_uri=crate,
        profile_identifier="process-run-crate",
        requirement_severity=models.Severity.RECOMMENDED,
        offline=True,
        cache_path=cache,
    )
    found = services.validate(settings).get_issues()
    return [[one.severity.name, one.message or ""] for one in found]


if __name__ == "__main__":
    place, *crates = sys.argv[1:]
    fill(place)
    if crates:
        json.dump({crate: issues(crate, place) for crate in crates}, sys.stdout)
