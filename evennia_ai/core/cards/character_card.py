"""Character cards, versions 1 to 3, as JSON or in a PNG file, read and written without loss.

A card is stored as the JSON texts of its file. Parts that nobody changed are exported byte for
byte, unknown fields and `extensions` included.
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
# Objects and lists in a card; in memory each takes many times the two characters it is written
# with.
MOST_PARTS = 100_000
# Keywords of the PNG text chunks. If both are there, the newer format counts.
CCV3, CHARA = "ccv3", "chara"
V2, V3 = "chara_card_v2", "chara_card_v3"
SPECS = (None, "chara_card_v1", V2, V3)
_HEAD = ("spec", "spec_version")
# The fields required by version 3.
_V3_DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(("name", "description", "personality", "scenario", "first_mes"), ""),
    **dict.fromkeys(("mes_example", "creator_notes", "system_prompt", "creator"), ""),
    **dict.fromkeys(("post_history_instructions", "character_version"), ""),
    "alternate_greetings": [],
    "tags": [],
    "group_only_greetings": [],
    "extensions": {},
}
TEXTS = tuple(name for name, default in _V3_DEFAULTS.items() if default == "")


@dataclass(frozen=True, slots=True)
class CharacterCard:
    """A character card.

    Attributes:
        chara: JSON text of version 1 or 2 as in the file; "" if it has none.
        ccv3: JSON text of version 3, likewise.
        picture: the PNG file it came in, text chunks included; b"" if it came as JSON.
        data: the effective fields: those of version 3 if there is one.
    """

    chara: str = ""
    ccv3: str = ""
    picture: bytes = b""
    data: Mapping[str, Any] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Parse the fields.

        Raises:
            ImportFileError: a field is invalid; the text names it.
        """
        # The dataclass is frozen.
        object.__setattr__(self, "data", _fields(_parsed(self.ccv3 or self.chara)))

    def text(self, name: str) -> str:
        """A text field; "" if it is missing."""
        return self.data.get(name) or ""

    @property
    def name(self) -> str:
        """The character's name, on one line."""
        return one_line(self.text("name"), 60)


def read_card(raw: bytes) -> CharacterCard:
    """Read a card from a file.

    Raises:
        ImportFileError: it is not a card, or too large; the text says what is wrong and where.
    """
    if len(raw) > MOST_BYTES:
        raise ImportFileError(f"the file has more than {MOST_BYTES:,} bytes")
    if png.is_png(raw):
        return _read_png(raw)
    # JSON begins with a brace, or with the first byte of a UTF-8 byte order mark before it.
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


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _finite_float(digits: str) -> float:
    value = float(digits)
    return value if math.isfinite(value) else _reject_constant(digits[:20])


def _parsed(text: str) -> dict[str, Any]:
    # Counted before parsing, which would already have built all of them in memory.
    if text.count("{") + text.count("[") > MOST_PARTS:
        raise ImportFileError(f"the card has more than {MOST_PARTS:,} objects and lists")
    try:
        card = json.loads(text, parse_constant=_reject_constant, parse_float=_finite_float)
        if is_deep(card, DEEPEST + 1):
            # As if json itself had given up, so that both are reported alike.
            raise RecursionError
    except RecursionError:
        raise ImportFileError(f"the card is nested more than {DEEPEST} deep") from None
    except ValueError as error:
        raise ImportFileError(f"the card is not JSON: {one_line(str(error), 200)}") from None
    if not isinstance(card, dict):
        raise ImportFileError("the card's JSON is not an object in braces")
    return card


def _fields(card: Mapping[str, object]) -> Mapping[str, Any]:
    spec = card.get("spec")
    if spec not in SPECS:
        raise ImportFileError(f"spec is {_excerpt(spec)}; it must be {V2} or {V3}, or be left out")
    is_nested = _is_nested(card)
    data = card.get("data") if is_nested else card
    if not isinstance(data, dict):
        raise ImportFileError(f"data is {_excerpt(data)}; it must be an object in braces")
    where = "data." if is_nested else ""
    for name in TEXTS:
        if not isinstance(data.get(name) or "", str):
            raise ImportFileError(f"{where}{name} is {_excerpt(data[name])}; it must be text")
    if not (data.get("name") or "").strip():
        raise ImportFileError(f"{where}name is missing; a card has a name")
    _check_book(data.get("character_book"), f"{where}character_book")
    return data


def _is_nested(card: Mapping[str, object]) -> bool:
    """True if the fields are in `data`, as they are since version 2."""
    return card.get("spec") in (V2, V3)


def _check_book(book: object, where: str) -> None:
    if book is None:
        return
    if not isinstance(book, dict):
        raise ImportFileError(f"{where} is {_excerpt(book)}; it must be an object in braces")
    entries = book.get("entries") or []
    if not isinstance(entries, list):
        raise ImportFileError(f"{where}.entries is {_excerpt(entries)}; it must be a list")
    for number, entry in enumerate(entries):
        _check_entry(entry, f"{where}.entries[{number}]")


def _check_entry(entry: object, where: str) -> None:
    if not isinstance(entry, dict):
        raise ImportFileError(f"{where} is {_excerpt(entry)}; it must be an object in braces")
    if not isinstance(content := entry.get("content") or "", str):
        raise ImportFileError(f"{where}.content is {_excerpt(content)}; it must be text")
    for name in ("keys", "secondary_keys"):
        keys = entry.get(name) or []
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise ImportFileError(f"{where}.{name} is {_excerpt(keys)}; it must be a list of texts")


def _excerpt(value: object) -> str:
    return one_line(json.dumps(value, default=str), 80)


# ---- writing -----------------------------------------------------------------------------------


def _to_json(card: Mapping[str, object]) -> str:
    text = json.dumps(card, ensure_ascii=False)
    # A lone surrogate cannot be encoded; with ASCII escapes it can be written.
    return text if sendable(text) == text else json.dumps(card)


def changed(card: CharacterCard, **fields: Any) -> CharacterCard:
    """The card with some fields replaced, in each version it has; all else stays the same."""
    put = partial(_with_fields, fields=fields)
    chara, ccv3 = (put(text) if text else "" for text in (card.chara, card.ccv3))
    return CharacterCard(chara, ccv3, card.picture)


def _with_fields(text: str, fields: Mapping[str, object]) -> str:
    card = _parsed(text)
    if _is_nested(card):
        card["data"].update(fields)
        # Some programs repeat the fields of version 1 beside `data`; keep them in step.
        card.update({name: value for name, value in fields.items() if name in card})
    else:
        card.update(fields)
    return _to_json(card)


def new_card(**fields: Any) -> CharacterCard:
    """A card of version 3 with these fields."""
    data = {**_V3_DEFAULTS, **fields}
    return CharacterCard(ccv3=_to_json({"spec": V3, "spec_version": "3.0", "data": data}))


def as_json(card: CharacterCard) -> bytes:
    """The card as a JSON file, in its newest version."""
    return (card.ccv3 or card.chara).encode()


def as_png(card: CharacterCard) -> bytes:
    """The card as a PNG file in both versions, the missing one converted from the other.

    If the file would become too large to be read back, the converted version is left out.
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
    return _to_json({**_parsed(card.ccv3), "spec": V2, "spec_version": "2.0"})


def _as_v3(card: CharacterCard) -> str:
    whole = _parsed(card.chara)
    beside = whole if _is_nested(whole) else {}
    own = {name: value for name, value in card.data.items() if name not in _HEAD or beside}
    data = {**_V3_DEFAULTS, **own}
    return _to_json({**beside, "spec": V3, "spec_version": "3.0", "data": data})
