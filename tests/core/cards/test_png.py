"""PNG files as chunks: valid, damaged, and malicious."""

import contextlib
import random
import struct
import tracemalloc
import zlib
from base64 import b64encode

import pytest

from evennia_ai.core.cards import png
from evennia_ai.core.cards.character_card import as_png, new_card, read_card
from evennia_ai.core.cards.png import Chunk
from evennia_ai.errors import ImportFileError

MUTATIONS = 1_000
MOST_HELD = 32 * 1024 * 1024
CARD = as_png(new_card(name="Edda", description="Edda copies charts. " * 40))
BOMB = zlib.compress(b"0" * (png.LONGEST_TEXT * 16), 9)
SHORT = zlib.compress(b"short")


def chunk(kind: bytes, data: bytes) -> bytes:
    return png.write_chunks([Chunk(kind, data)])[len(png.SIGNATURE) :]


def picture(*texts: bytes) -> bytes:
    """A picture with these chunks before its end."""
    head, pixels, end = png.plain_picture()
    return b"".join([png.SIGNATURE, chunk(*head), chunk(*pixels), *texts, chunk(*end)])


def test_chunks_are_written_as_they_were_read() -> None:
    assert CARD == png.write_chunks(png.read_chunks(CARD))
    assert CARD == png.write_chunks(png.read_chunks(CARD + b"more"))


def test_a_plain_picture_is_one() -> None:
    """The size in the header and the pixels agree."""
    header, pixels, _ = png.plain_picture()
    width, height = struct.unpack_from(">2I", header.data)
    assert (width // 8 + 1) * height == len(zlib.decompress(pixels.data))


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"GIF89a", "does not begin as a PNG file does"),
        (png.SIGNATURE, "cut off at byte 8"),
        (CARD[:-12], "it has no IEND"),
        (png.SIGNATURE + chunk(b"IDAT", b""), "begins with 'IDAT', not with IHDR"),
        (png.SIGNATURE + struct.pack(">I4s4x", 2**31, b"IHDR"), "claims 2,147,483,648 bytes"),
        (CARD.replace(b"IHDR", b"IHDS"), "has another checksum"),
    ],
)
def test_what_is_damaged_is_refused(raw: bytes, told: str) -> None:
    with pytest.raises(ImportFileError, match=told):
        png.read_chunks(raw)


@pytest.mark.parametrize(
    ("kind", "rest", "text"),
    [
        (b"tEXt", b"short", b"short"),
        (b"zTXt", b"\0" + SHORT, b"short"),
        (b"iTXt", b"\0\0en\0k\0short", b"short"),
        (b"iTXt", b"\1\0\0\0" + SHORT, b"short"),
        (b"zTXt", b"\0" + BOMB, "has more than 5,592,409 bytes"),
        (b"iTXt", b"\1\0\0\0" + BOMB, "has more than 5,592,409 bytes"),
        (b"tEXt", b"0" * (png.LONGEST_PACKED + 1), "has more than 5,592,409 bytes"),
        (b"zTXt", b"\0" + SHORT[:-6], "is cut off"),
        (b"zTXt", b"\0nothing", "cannot be decompressed"),
        (b"zTXt", b"", "is cut off"),
        (b"iTXt", b"", b""),
    ],
)
def test_texts(kind: bytes, rest: bytes, text: bytes | str) -> None:
    piece = Chunk(kind, b"Chara\0" + rest)
    assert "chara" == png.keyword_of(piece)
    if isinstance(text, bytes):
        assert text == png.text_of(piece)
        return
    with pytest.raises(ImportFileError, match=text):
        png.text_of(piece)


def test_keywords() -> None:
    assert ["", "", "a" * 79] == [
        png.keyword_of(Chunk(kind, b"a" * length + b"\0x"))
        for kind, length in ((b"IDAT", 3), (b"tEXt", 80), (b"tEXt", 79))
    ]


def test_texts_take_the_place_of_others_so_called() -> None:
    first = png.with_texts(png.plain_picture(), [("chara", b"1"), ("title", b"2")])
    then = png.with_texts(first, [("chara", b"3")])
    assert [b"IHDR", b"IDAT", b"tEXt", b"tEXt", b"IEND"] == [each.kind for each in then]
    assert [b"title\x002", b"chara\x003"] == [each.data for each in then[2:4]]


@pytest.mark.parametrize(
    "raw",
    [
        picture(chunk(b"tEXt", b"") * 600_000),
        picture(chunk(b"zTXt", b"chara\0\0" + BOMB)),
        b'{"name": "E", "character_book": {"entries": [' + b"{}," * 1_000_000 + b"{}]}}",
    ],
    ids=["chunks", "bomb", "entries"],
)
def test_what_is_made_to_grow_does_not(raw: bytes) -> None:
    tracemalloc.start()
    try:
        with contextlib.suppress(ImportFileError):
            read_card(raw)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert MOST_HELD > peak


def _mutated(chance: random.Random, seeds: list[bytes]) -> bytes:
    """A file with bytes changed, doubled, cut out or cut off."""
    raw = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 4)):
        place, length = chance.randrange(len(raw) or 1), chance.randint(1, 40)
        match chance.randrange(5):
            case 0:
                raw[place : place + length] = chance.randbytes(length)
            case 1:
                del raw[place : place + length]
            case 2:
                raw[place:place] = raw[place : place + length]
            case 3:
                raw[place : place + 4] = struct.pack(">I", chance.choice((0, 2**31, 2**32 - 1)))
            case _:
                del raw[max(1, place) :]
    if chance.random() < 0.5:  # a file with right checksums is read further
        return _checked(bytes(raw))
    return bytes(raw)


def _checked(raw: bytes) -> bytes:
    """The file with its checksums corrected, as far as it has chunks."""
    parts, place = [raw[:8]], 8
    while place + 12 <= len(raw):
        (length,) = struct.unpack_from(">I", raw, place)
        body = raw[place + 4 : place + 8 + length]
        parts.append(struct.pack(">I", max(0, len(body) - 4)) + body)
        parts.append(struct.pack(">I", zlib.crc32(body)))
        place += 12 + length
    return b"".join(parts)


def test_a_thousand_mutated_cards_neither_crash_nor_grow() -> None:
    """Each is read or refused with a sentence, in less than 32 MiB."""
    packed = b64encode(b'{"name": "Edda"}')
    seeds = [
        CARD,
        picture(chunk(b"zTXt", b"chara\0\0" + zlib.compress(packed))),
        picture(chunk(b"zTXt", b"chara\0\0" + BOMB)),
        picture(chunk(b"iTXt", b"ccv3\0\1\0\0\0" + BOMB)),
        picture(chunk(b"tEXt", b"chara\0" + b64encode(b"[" * 100_000))),
        picture(chunk(b"tEXt", b"ccv3\0" + packed), chunk(b"tEXt", b"chara\0" + packed)),
    ]
    chance, outcomes = random.Random(20), list[str]()
    tracemalloc.start()
    try:
        for _ in range(MUTATIONS):
            try:
                outcomes.append(read_card(_mutated(chance, seeds)).name)
            except ImportFileError as error:
                outcomes.append(f"refused: {error}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert MOST_HELD > peak
    refused = [outcome for outcome in outcomes if outcome.startswith("refused: the ")]
    assert 0 < len(refused) < len(outcomes)
    assert [] == [each for each in outcomes if not each or each == "refused: "]
