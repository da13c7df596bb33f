"""Handoff room: the little that is read out of a worker's prose: unfinished work, and git claims.

Pure and deliberately narrow: prose is never evidence, it can only make the parent ask for more.
"""

from __future__ import annotations

import re

_PROGRESS = re.compile(
    r"(?ix)^\W*(?:"
    r"(?:still\s+|currently\s+|now\s+)?(?:working|running|processing|investigating|looking|waiting|continuing)\b"
    r"|(?:i\s+am|i'm|i’m|we\s+are|we're)\s+(?:\w+\s+)?(?:working|starting|running|processing|going\s+to|about\s+to)\b"
    r"|(?:i|we)\s+(?:will|shall|plan\s+to|intend\s+to)\b|(?:i|we)['’]ll\b|let\s+me\b"
    r"|(?:work\s+|task\s+)?(?:is\s+)?in\s+progress\b|to\s+be\s+(?:continued|done)\b|tbd\b|todo\b|wip\b|pending\b"
    r"|(?:started|begun|starting)\b|will\s+(?:report|follow|continue|finish)\b|more\s+to\s+(?:come|follow)\b"
    r"|(?:almost|nearly)\s+(?:done|finished)\b|acknowledged\b|received\b|understood\b|on\s+it\b"
    r"|正在|仍在|还在|稍后|我将|我会|我马上|马上|待续|进行中|处理中|未完待续|收到|好的|开始(?:处理|执行|着手)"
    r")"
)
_BARE = re.compile(
    r"(?i)\W*(?:done|ok(?:ay)?|finished|complete[d]?|success|all good|完成|已完成|好了|搞定)\W*"
)
_CLAIM = {
    "committed": re.compile(r"(?i)\bcommitted\b|已提交|提交了"),
    "pushed": re.compile(r"(?i)\bpushed\b|已推送|推送了"),
}
_ENDS = re.compile(r"[.!?;。！？；\n]")
_BEFORE = 96
"""Characters before a claim in which a denial of it is sought; beyond it none would be found."""
_DENIED = re.compile(
    r"(?i)(?:\b(?:not|never|no|nothing|none|without|cannot|can't|wasn't|isn't|to\s+be|should\s+be|must\s+be|un)\b"
    r"|n't\b|没有|未|尚未|不)[\w\s,'’-]{0,24}$"
)


def is_progress_note(conclusion: str) -> bool:
    """Whether a conclusion only announces work, or says nothing but that it is done.

    >>> is_progress_note("Still working on the parser."), is_progress_note("The parser reads all 40 files.")
    (True, False)
    """
    return _BARE.fullmatch(conclusion) is not None or (
        len(conclusion) < 600 and _PROGRESS.match(conclusion) is not None
    )


def claims_in(text: str) -> set[str]:
    """Which of `committed` and `pushed` a text says of something; a denial says nothing.

    >>> sorted(claims_in("Committed and pushed.")), claims_in("It was not committed.")
    (['committed', 'pushed'], set())
    """
    found: set[str] = set()
    for kind, pattern in _CLAIM.items():
        for match in pattern.finditer(text):
            sentence = _ENDS.split(text[max(0, match.start() - _BEFORE) : match.start()])[-1]
            if not _DENIED.search(sentence):
                found.add(kind)
                break
    return found
