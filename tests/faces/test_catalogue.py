"""Every sentence of the source stands in the catalogue of every language, and renders.

Each room has its own catalogue, `faces/i18n/locale/<language>/<room>.po`; a room that lacks one
or lacks a sentence is named here with all that is missing, ready to be copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from tests.faces.templates import NotLiteral, Sentence, collect, field_names, has_words, placeholders

from muniment.faces.i18n.language import Language
from muniment.faces.i18n.translate import LOCALES, Translator
from muniment.message import Message

TRANSLATED = [language for language in Language if language is not Language.ENGLISH]
FOUND = collect()
SENTENCES = [one for one in FOUND if isinstance(one, Sentence) and has_words(one.template)]
ROOMS = sorted({one.room for one in SENTENCES})
NEVER_TRANSLATED = {"invalid Session"}
"""Sentences that programs read as they are; every catalogue repeats them (spec 1)."""
CHINESE_SIGN = re.compile(r"[\u4e00-\u9fff]")


def key(one: Sentence) -> tuple[str, ...]:
    return (one.template,) if one.plural is None else (one.template, one.plural)


def read(language: Language, room: str) -> Catalog | None:
    path = LOCALES / language.locale / f"{room}.po"
    if not path.exists():
        return None
    with path.open("rb") as stream:
        return read_po(stream, locale=language.locale, abort_invalid=True)


def entries(catalogue: Catalog) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    for message in catalogue:
        if message.id:
            yield _all(message.id), _all(message.string)


def _all(texts: object) -> tuple[str, ...]:
    return tuple(str(text) for text in texts) if isinstance(texts, list | tuple) else (str(texts),)


EVERY_ROOM = [(language, room) for language in TRANSLATED for room in ROOMS]


def test_the_collection_sees_each_way_to_write_a_sentence() -> None:
    templates = {(one.template, one.plural) for one in SENTENCES}
    assert ("The command was not understood.", None) in templates  # class attribute
    assert ("no setting has this name", None) in templates  # say
    assert ("{count} day", "{count} days") in templates  # say_count


def test_collecting_a_source_tree(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "model.py").write_text(
        "class Bad(Error):\n    what = 'It {verb}.'\n    code = 'X'\n"
        "say('one ' 'two', x=1)\nsay_count('a', 'b', n)\nMessage(text)\nMessage(self.what, f)\n"
        "Setting('n', 1, text, 'About.')\nsay(f'{x}')\n"
    )
    found = collect(tmp_path)
    assert [one.place for one in found if isinstance(one, NotLiteral)] == [
        "room/model.py:6",
        "room/model.py:9",
    ]
    told = {(one.room, one.template, one.plural) for one in found if isinstance(one, Sentence)}
    assert told == {
        ("room", "It {verb}.", None),
        ("room", "one two", None),
        ("room", "a", "b"),
        ("room", "About.", None),
    }


def test_every_template_is_a_literal() -> None:
    places = [one.place for one in FOUND if isinstance(one, NotLiteral)]
    assert not places, f"templates that can not be collected: {places}"


@pytest.mark.parametrize(("language", "room"), EVERY_ROOM)
def test_nothing_is_missing(language: Language, room: str) -> None:
    catalogue = read(language, room)
    known = dict(entries(catalogue)) if catalogue is not None else {}
    said = [one for one in SENTENCES if one.room == room]
    missing = {key(one): one.place for one in said if not all(known.get(key(one), ("",)))}
    listed = "".join(_entry(ids, place) for ids, place in missing.items())
    assert not missing, f"{language.locale}/{room}.po lacks {len(missing)}:\n{listed}"


def _entry(ids: tuple[str, ...], place: str) -> str:
    names = ("msgid", "msgid_plural")
    lines = [f"{name} {_quoted(text)}" for name, text in zip(names, ids, strict=False)]
    return "\n".join([f"#: {place}", *lines, 'msgstr ""' if len(ids) == 1 else 'msgstr[0] ""']) + "\n\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


@pytest.mark.parametrize(
    "path", sorted(LOCALES.glob("*/*.po")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_catalogue_holds_what_the_source_says_and_nothing_else(path: Path) -> None:
    language = next(one for one in Language if one.locale == path.parent.name)
    catalogue = read(language, path.stem)
    assert catalogue is not None
    assert not catalogue.obsolete, "entries that are commented out"
    assert not catalogue.fuzzy
    said = {key(one) for one in SENTENCES if one.room == path.stem}
    left_over = [ids for ids, _ in entries(catalogue) if ids not in said]
    assert not left_over, f"no longer said in {path.stem}: {left_over}"
    for message in catalogue:
        assert not message.fuzzy or not message.id, f"fuzzy: {message.id}"
    for ids, texts in entries(catalogue):
        for text in texts:
            assert placeholders(text) == placeholders(ids[-1]), f"{ids[0]!r} became {text!r}"
            if ids[0] in NEVER_TRANSLATED:
                assert text == ids[0]
            elif language is Language.CHINESE and re.search("[a-z]{2}", re.sub(r"\{.*?\}|`.*?`", "", ids[0])):
                assert CHINESE_SIGN.search(text), f"not translated: {text!r}"


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_sentence_of_two_rooms_reads_the_same(language: Language) -> None:
    found: dict[tuple[str, ...], tuple[str, tuple[str, ...]]] = {}
    for room in ROOMS:
        catalogue = read(language, room)
        for ids, texts in entries(catalogue) if catalogue is not None else ():
            first, same = found.setdefault(ids, (room, texts))
            assert texts == same, f"{ids[0]!r} differs between {first} and {room}"


@pytest.mark.parametrize("language", Language)
def test_every_sentence_renders(language: Language) -> None:
    translator = Translator(language)
    for one in SENTENCES:
        names = {*field_names(one.template), *field_names(one.plural or "")}
        if one.plural is not None:
            names.discard("count")  # a plural gets it from its number, anything else as a fact
        facts: dict[str, object] = {name: f"<{name}>" for name in names}
        for count in (0, 1, 2) if one.plural is not None else (None,):
            text = translator.text(Message(one.template, facts, one.plural, count))
            english = one.template if one.plural is None or count == 1 else one.plural
            shown = {**facts, **({} if count is None else {"count": count})}
            if language is Language.ENGLISH:
                assert text == english.format_map(shown)
            # a translation may have one form for all numbers: that of the plural
            for name in field_names(english if language is Language.ENGLISH else one.plural or english):
                assert str(shown[name]) in text, one
