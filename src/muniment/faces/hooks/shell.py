"""Faces, hooks: which files a shell command would write, as far as its text tells.  Pure.

This reads the command as a shell would split it, without running any of it: quotes, redirections,
here-documents, subshells, `cd`, variables that are set in it or known.  It is no shell.  What a script does
that it calls, what a variable holds that nobody knows, what a loop puts together, it can not see.
"""

from __future__ import annotations

import os
import re

from muniment.faces.hooks.programs import ACTS, REMOVE, WRITE, plain_words, script, unwrapped

TEXT_MAX = 256 << 10
"""Signs of a command that are looked at."""

DEPTH_MAX = 6
"""How deep commands inside commands are followed."""

UNKNOWN = "\ue010"
"""Stands in a word for what is not known, such as an unset variable."""

_ANY = {"*": "\ue000", "?": "\ue001", "[": "\ue002"}
_PLAIN = str.maketrans({mark: sign for sign, mark in _ANY.items()})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)", re.DOTALL)
_REDIRECT = re.compile(r"(?:\d+|&)?(?:>>|>\||>&|<>|>)|\d*(?:<<<|<<-?|<&|<)")
_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "\n", "(", ")")
_KEYWORDS = frozenset(
    {"if", "then", "elif", "else", "fi", "do", "done", "while", "until", "!", "{", "}", "time", "coproc"}
)
_PATCH = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\r?$", re.MULTILINE)


def glob_of(path: str) -> str:
    """A path with the signs that a shell would expand as they were typed."""
    return path.translate(_PLAIN)


def has_wild(name: str) -> bool:
    """Whether a name holds signs that a shell would expand."""
    return any(mark in name for mark in _ANY.values())


def patched(patch: str) -> list[tuple[str, str]]:
    """What a patch in the form of Codex writes and removes, by path.

    >>> patched("*** Begin Patch\\n*** Update File: a\\n*** Move to: b\\n*** End Patch")
    [('write', 'a'), ('remove', 'a'), ('write', 'b')]
    """
    found: list[tuple[str, str]] = []
    for act, path in _PATCH.findall(patch):
        if act == "Move to" and found:
            found.append((REMOVE, found[-1][1]))
        found.append((REMOVE if act == "Delete File" else WRITE, path))
    return found


def touched(command: str, cwd: str, known: dict[str, str]) -> list[tuple[str, str]]:
    """What a command writes, removes and links, each by an absolute path that is not resolved yet.

    `known` are variables with their values; a path of which a part is not known is left out.

    >>> touched("cd sub && echo hi > a.txt", "/w", {})
    [('write', '/w/sub/a.txt')]
    """
    reader = _Reader(cwd, dict(known), 0)
    reader.run(command[:TEXT_MAX])
    return reader.found


class _Reader:
    """Goes through a command from left to right, and knows where it would stand."""

    def __init__(self, cwd: str, known: dict[str, str], depth: int) -> None:
        self.cwd = cwd
        self.known = known
        self.depth = depth
        self.found: list[tuple[str, str]] = []
        self._left: list[str] = []

    def run(self, text: str) -> None:
        words: list[str] = []
        documents: list[tuple[str, bool]] = []
        body = ""
        at, end = 0, len(text)
        while at < end:
            sign = text[at]
            if sign in " \t\r":
                at += 1
                continue
            if text.startswith("\\\n", at):
                at += 2
                continue
            if sign == "#":
                at = _until(text, at, "\n")
                continue
            redirect = _REDIRECT.match(text, at)
            if redirect and not text.startswith(("<(", ">("), at):
                at = self._redirect(text, redirect, documents)
                continue
            operator = next((each for each in _OPERATORS if text.startswith(each, at)), None)
            if operator is None:
                word, at = self._word(text, at)
                words.append(word)
                continue
            at += len(operator)
            if operator == "\n" and documents:
                body, at = _documents(text, at, documents)
                documents = []
            self._simple(words, body)
            words, body = [], ""
            if operator == "(":
                self._left.append(self.cwd)
            elif operator == ")" and self._left:
                self.cwd = self._left.pop()
        self._simple(words, body)

    def _redirect(self, text: str, found: re.Match[str], documents: list[tuple[str, bool]]) -> int:
        operator = found[0].lstrip("0123456789")
        at = found.end()
        while at < len(text) and text[at] in " \t":
            at += 1
        if at >= len(text):
            return at
        word, at = self._word(text, at)
        if operator in ("<<", "<<-"):
            documents.append((glob_of(word), operator == "<<-"))
        elif ">" in operator and not (operator.endswith(">&") and (word.isdigit() or word == "-")):
            self._note(WRITE, word)
        return at

    def _word(self, text: str, at: int) -> tuple[str, int]:
        """One word with its quotes taken off and its variables put in, and where it ends."""
        out: list[str] = []
        end = len(text)
        if text[at] == "~" and (at + 1 >= end or text[at + 1] in "/ \t\n;&|)"):
            out.append(self.known.get("HOME", UNKNOWN))
            at += 1
        while at < end:
            sign = text[at]
            if sign in " \t\r\n;|&()" or (sign in "<>" and not text.startswith(("<(", ">("), at)):
                break
            if sign == "\\":
                out.append("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2])
                at += 2
            elif sign == "'":
                close = _until(text, at + 1, "'")
                out.append(text[at + 1 : close])
                at = close + 1
            elif sign == '"':
                inner, at = self._quoted(text, at + 1)
                out.append(inner)
            elif text.startswith("$'", at):
                close = _until(text, at + 2, "'")
                out.append(text[at + 2 : close] if "\\" not in text[at + 2 : close] else UNKNOWN)
                at = close + 1
            elif sign in "$`" or text.startswith(("<(", ">("), at):
                value, at = self._expansion(text, at)
                out.append(value)
            else:
                out.append(_ANY.get(sign, sign))
                at += 1
        return "".join(out), at

    def _quoted(self, text: str, at: int) -> tuple[str, int]:
        out: list[str] = []
        while at < len(text) and text[at] != '"':
            if text[at] == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
                out.append("" if text[at + 1] == "\n" else text[at + 1])
                at += 2
            elif text[at] in "$`":
                value, at = self._expansion(text, at)
                out.append(value)
            else:
                out.append(text[at])
                at += 1
        return "".join(out), at + 1

    def _expansion(self, text: str, at: int) -> tuple[str, int]:
        """What a variable or a command in a word stands for, and where it ends."""
        if text[at] == "`":
            close = _until(text, at + 1, "`")
            self._inner(text[at + 1 : close])
            return UNKNOWN, close + 1
        if text.startswith("$((", at):
            return UNKNOWN, _closing(text, at + 1)
        if text[at + 1 : at + 2] == "(":
            close = _closing(text, at + 1)
            self._inner(text[at + 2 : close - 1])
            return (self.cwd if text[at + 2 : close - 1].strip() == "pwd" else UNKNOWN), close
        if text[at + 1 : at + 2] == "{":
            close = _until(text, at, "}")
            name = text[at + 2 : close]
            return (self._value(name) if _NAME.fullmatch(name) else UNKNOWN), close + 1
        found = _NAME.match(text, at + 1)
        if found is None:
            special = text[at + 1 : at + 2]
            return (UNKNOWN, at + 2) if special and special in "@*#?$!-0123456789" else ("$", at + 1)
        return self._value(found[0]), found.end()

    def _value(self, name: str) -> str:
        return self.cwd if name == "PWD" else self.known.get(name, UNKNOWN)

    def _inner(self, text: str, cwd: str | None = None) -> None:
        """A command inside the command."""
        if self.depth < DEPTH_MAX:
            inner = _Reader(cwd or self.cwd, dict(self.known), self.depth + 1)
            inner.run(text)
            self.found += inner.found

    def _note(self, kind: str, word: str) -> None:
        if word and UNKNOWN not in word and UNKNOWN not in self.cwd:
            self.found.append((kind, os.path.join(self.cwd, word)))

    # What each program does with its arguments

    def _simple(self, words: list[str], body: str) -> None:
        """One command with its words; `body` is the here-document that it is given."""
        while words and (words[0] in _KEYWORDS or _ASSIGNED.fullmatch(words[0])):
            assigned = _ASSIGNED.fullmatch(words.pop(0))
            if assigned is not None:
                self.known[assigned[1]] = assigned[2]
        words = unwrapped(words)
        if not words:
            return
        name, given = os.path.basename(words[0]), words[1:]
        if name in ("cd", "pushd"):
            self._change(given)
        elif name in ("export", "declare", "local", "readonly", "typeset"):
            for each in given:
                assigned = _ASSIGNED.fullmatch(each)
                if assigned is not None:
                    self.known[assigned[1]] = assigned[2]
        elif name in ("bash", "sh", "zsh", "dash", "ksh"):
            text = script(given)
            if text is not None:
                self._inner(glob_of(text))
            elif body and not plain_words(given):
                self._inner(body)
        elif name == "eval":
            self._inner(glob_of(" ".join(given)))
        elif name in ("apply_patch", "applypatch"):
            for kind, path in patched(body or "\n".join(given)):
                self._note(kind, path)
        else:
            acts = ACTS.get(name)
            for kind, path in acts(given) if acts else ():
                self._note(kind, path)

    def _change(self, given: list[str]) -> None:
        names = [each for each in given if not each.startswith("-") or each == "-"]
        place = names[0] if names else self.known.get("HOME", UNKNOWN)
        self.cwd = UNKNOWN if place == "-" or UNKNOWN in place else os.path.join(self.cwd, place)


def _until(text: str, at: int, sign: str) -> int:
    found = text.find(sign, at)
    return len(text) if found < 0 else found


def _closing(text: str, at: int) -> int:
    """Behind the bracket that closes the one at a position; quotes inside are passed over."""
    depth = 0
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 1
        elif sign == "'":
            at = _until(text, at + 1, "'")
        elif sign == '"':
            at += 1
            while at < len(text) and text[at] != '"':
                at += 2 if text[at] == "\\" else 1
        elif sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(text) + 1


def _documents(text: str, at: int, wanted: list[tuple[str, bool]]) -> tuple[str, int]:
    """The last of the here-documents that begin at a position, and where they end."""
    body = ""
    for delimiter, tabs in wanted:
        start = at
        while at < len(text):
            close = _until(text, at, "\n")
            line = text[at:close]
            if (line.lstrip("\t") if tabs else line) == delimiter:
                break
            at = close + 1
        body = text[start:at]
        at = min(_until(text, at, "\n") + 1, len(text))
    return body, at
