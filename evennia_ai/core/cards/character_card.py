"""Character cards, versions 1 to 3, as JSON or in a PNG file: read whole, and given back whole.

A card is kept as the texts that stood in the file. What nobody changed here goes out as it came
in, unknown fields and `extensions` too, to the byte.
"""

from __future__ import annotations

import binascii
import json
import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evennia_ai.core.cards import png
from evennia_ai.core.text.cleaning import one_line, sendable
from evennia_ai.core.text.reading import is_deep
from evennia_ai.errors import ImportFileError

MOST_BYTES = 8 * 1024 * 1024
DEEPEST = 60
# Objects and lists of a card; each takes many times the two letters that it may be written with.
MOST_PARTS = 100_000
# As text chunks of a picture call them. The newer one goes first where both are there.
CCV3, CHARA = "ccv3", "chara"
V2, V3 = "chara_card_v2", "chara_card_v3"
SPECS = (None, "chara_card_v1", V2, V3)
_HEAD = ("spec", "spec_version")
# What a card of version 3 has to have.
_OF_V3: Mapping[str, Any] = {
    **dict.fromkeys(("name", "description", "personality", "scenario", "first_mes"), ""),
    **dict.fromkeys(("mes_example", "creator_notes", "system_prompt", "creator"), ""),
    **dict.fromkeys(("post_history_instructions", "character_version"), ""),
    "alternate_greetings": [],
    "tags": [],
    "group_only_greetings": [],
    "extensions": {},
}
TEXTS = tuple(name for name, default in _OF_V3.items() if default == "")


@dataclass(frozen=True, slots=True)
class CharacterCard:
    """A card.

    Attributes:
        chara: its JSON text of version 1 or 2, as it stood in the file; "" where none did.
        ccv3: the same of version 3.
        picture: the PNG file that it came in, with the texts in it; b"" where it came as JSON.
        data: the fields as they count: those of version 3 where there is one.
    """

    chara: str = ""
    ccv3: str = ""
    picture: bytes = b""
    data: Mapping[str, Any] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Read the fields.

        Raises:
            ImportFileError: something in it is wrong; the text names the field.
        """
        object.__setattr__(self, "data", _fields(_parsed(self.ccv3 or self.chara)))

    def text(self, name: str) -> str:
        """A field that is a text; "" where it is not there."""
        return self.data.get(name) or ""

    @property
    def name(self) -> str:
        """The character's name, on one line."""
        return one_line(self.text("name"), 60)


def read_card(raw: bytes) -> CharacterCard:
    """A card from a file.

    Raises:
        ImportFileError: it is not a card, or is too long; the text says what is wrong and where.
    """
    if len(raw) > MOST_BYTES:
        raise ImportFileError(f"the file has more than {MOST_BYTES:,} bytes")
    if png.is_png(raw):
        return _read_png(raw)
    if raw.lstrip()[:1] not in (b"{", b"\xef"):
        raise ImportFileError("the file is neither JSON nor a PNG picture, which cards are")
    text = _decoded(raw, "the file")
    is_newest = _parsed(text).get("spec") == V3
    return CharacterCard(ccv3=text) if is_newest else CharacterCard(chara=text)


def _read_png(raw: bytes) -> CharacterCard:
    chunks = png.read_chunks(raw)
    texts: dict[str, str] = {}
    for chunk in chunks:
        keyword = png.keyword_of(chunk)
        if keyword in (CCV3, CHARA) and keyword not in texts:
            texts[keyword] = _decoded(_unpacked(png.text_of(chunk), keyword), f"the text {keyword}")
    if not texts:
        raise ImportFileError("the picture has no card in it: there is neither `ccv3` nor `chara`")
    return CharacterCard(texts.get(CHARA, ""), texts.get(CCV3, ""), png.write_chunks(chunks))


def _unpacked(packed: bytes, keyword: str) -> bytes:
    try:
        return b64decode(packed.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise ImportFileError(f"the text {keyword} is not base64, as that of a card is") from None


def _decoded(raw: bytes, where: str) -> str:
    if len(raw) > png.LONGEST_TEXT:
        raise ImportFileError(f"{where} has more than {png.LONGEST_TEXT:,} bytes of JSON")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ImportFileError(f"{where} is not UTF-8 at byte {error.start}") from None


# ---- reading -----------------------------------------------------------------------------------


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _number(digits: str) -> float:
    value = float(digits)
    return value if math.isfinite(value) else _refuse(digits[:20])


def _parsed(text: str) -> dict[str, Any]:
    # Counted before it is parsed, which would build all of them first.
    if text.count("{") + text.count("[") > MOST_PARTS:
        raise ImportFileError(f"the card has more than {MOST_PARTS:,} objects and lists")
    try:
        read = json.loads(text, parse_constant=_refuse, parse_float=_number)
        if is_deep(read, DEEPEST + 1):
            raise RecursionError
    except RecursionError:
        raise ImportFileError(f"the card is nested more than {DEEPEST} deep") from None
    except ValueError as error:
        raise ImportFileError(f"the card is not JSON: {one_line(str(error), 200)}") from None
    if not isinstance(read, dict):
        raise ImportFileError("the card's JSON is not an object in braces")
    return read


def _fields(card: Mapping[str, object]) -> Mapping[str, Any]:
    """The fields of a card, those that are used here being what they have to be."""
    spec = card.get("spec")
    if spec not in SPECS:
        raise ImportFileError(f"spec is {_shown(spec)}; it must be {V2} or {V3}, or be left out")
    is_nested = _is_nested(card)
    data = card.get("data") if is_nested else card
    if not isinstance(data, dict):
        raise ImportFileError(f"data is {_shown(data)}; it must be an object in braces")
    where = "data." if is_nested else ""
    for name in TEXTS:
        if not isinstance(data.get(name) or "", str):
            raise ImportFileError(f"{where}{name} is {_shown(data[name])}; it must be text")
    if not (data.get("name") or "").strip():
        raise ImportFileError(f"{where}name is missing; a card has a name")
    _check_book(data.get("character_book"), f"{where}character_book")
    return data


def _is_nested(card: Mapping[str, object]) -> bool:
    """True where the fields stand in `data`, as they do since the second version."""
    return card.get("spec") in (V2, V3)


def _check_book(book: object, where: str) -> None:
    if book is None:
        return
    if not isinstance(book, dict):
        raise ImportFileError(f"{where} is {_shown(book)}; it must be an object in braces")
    entries = book.get("entries") or []
    if not isinstance(entries, list):
        raise ImportFileError(f"{where}.entries is {_shown(entries)}; it must be a list")
    for number, entry in enumerate(entries):
        _check_entry(entry, f"{where}.entries[{number}]")


def _check_entry(entry: object, where: str) -> None:
    if not isinstance(entry, dict):
        raise ImportFileError(f"{where} is {_shown(entry)}; it must be an object in braces")
    if not isinstance(content := entry.get("content") or "", str):
        raise ImportFileError(f"{where}.content is {_shown(content)}; it must be text")
    for name in ("keys", "secondary_keys"):
        keys = entry.get(name) or []
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise ImportFileError(f"{where}.{name} is {_shown(keys)}; it must be a list of texts")


def _shown(value: object) -> str:
    return one_line(json.dumps(value, default=str), 80)


# ---- writing -----------------------------------------------------------------------------------


def _written(card: Mapping[str, object]) -> str:
    text = json.dumps(card, ensure_ascii=False)
    # Half a character can only be written as an escape.
    return text if sendable(text) == text else json.dumps(card)


def changed(card: CharacterCard, **fields: Any) -> CharacterCard:
    """A card with other values for some fields, in each version that it has; the rest as it was."""
    put = partial(_put, fields=fields)
    chara, ccv3 = (put(text) if text else "" for text in (card.chara, card.ccv3))
    return CharacterCard(chara, ccv3, card.picture)


def _put(text: str, fields: Mapping[str, object]) -> str:
    card = _parsed(text)
    if _is_nested(card):
        card["data"].update(fields)
        # Some programs write the first version's fields once more beside `data`.
        card.update({name: value for name, value in fields.items() if name in card})
    else:
        card.update(fields)
    return _written(card)


def new_card(**fields: Any) -> CharacterCard:
    """A card of version 3 with these fields."""
    data = {**_OF_V3, **fields}
    return CharacterCard(ccv3=_written({"spec": V3, "spec_version": "3.0", "data": data}))


def as_json(card: CharacterCard) -> bytes:
    """A card as a JSON file: the newest version that it has."""
    return (card.ccv3 or card.chara).encode()


def as_png(card: CharacterCard) -> bytes:
    """A card in a PNG file, in both versions; one that it does not have is made of the other.

    The one that is made is left out where there is no room for it, as nobody could read the file.
    """
    both = {CHARA: card.chara or _as_v2(card), CCV3: card.ccv3 or _as_v3(card)}
    whole = _picture_with(card, both)
    is_short = all(len(text.encode()) <= png.LONGEST_TEXT for text in both.values())
    if is_short and len(whole) <= MOST_BYTES:
        return whole
    own = {CHARA: card.chara, CCV3: card.ccv3}
    return _picture_with(card, {keyword: text for keyword, text in own.items() if text})


def _picture_with(card: CharacterCard, texts: Mapping[str, str]) -> bytes:
    chunks = png.read_chunks(card.picture) if card.picture else png.plain_picture()
    packed = [(keyword, b64encode(text.encode())) for keyword, text in texts.items()]
    return png.write_chunks(png.with_texts(chunks, packed))


def _as_v2(card: CharacterCard) -> str:
    return _written({**_parsed(card.ccv3), "spec": V2, "spec_version": "2.0"})


def _as_v3(card: CharacterCard) -> str:
    whole = _parsed(card.chara)
    beside = whole if _is_nested(whole) else {}
    own = {name: value for name, value in card.data.items() if name not in _HEAD or beside}
    data = {**_OF_V3, **own}
    return _written({**beside, "spec": V3, "spec_version": "3.0", "data": data})
