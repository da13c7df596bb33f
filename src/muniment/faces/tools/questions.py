"""Faces, tools: questions that are out with a person: each answer counts once, for the call it was asked in.

In the newer era of the protocol the server names its question in an interim result and the client
calls again with the answer.  That answer is believed only with the token that went out with the
question, so that no call brings along a yes to what nobody was asked.
"""

from __future__ import annotations

import os

from muniment.digest import Digest
from muniment.ids import Entropy

OPEN_MOST = 256
"""Questions that are out at once; of more the oldest is forgotten, and then asked again."""


class Questions:
    """The questions of one server, as long as it runs."""

    def __init__(self, entropy: Entropy = os.urandom) -> None:
        self._entropy = entropy
        self._open: dict[str, tuple[Digest, Digest]] = {}

    def put(self, call: Digest, shown: Digest) -> str:
        """A question about `shown` goes out within this call; gives the token of its answer."""
        while len(self._open) >= OPEN_MOST:
            del self._open[next(iter(self._open))]
        token = self._entropy(16).hex()
        self._open[token] = (call, shown)
        return token

    def take(self, token: str | None, call: Digest) -> Digest | None:
        """What the question of this token was about, once; None when it is no question of this call.

        >>> from muniment.digest import sha256
        >>> questions = Questions()
        >>> token = questions.put(sha256(b"call"), sha256(b"plan"))
        >>> questions.take(token, sha256(b"call")) == sha256(b"plan"), questions.take(token, sha256(b"call"))
        (True, None)
        """
        asked, shown = self._open.pop(token or "", (None, None))
        return shown if asked == call else None
