"""PNG files as chunks, and their text chunks, read within bounds and written without loss.

Pictures are never decoded. Whatever lengths a file claims, memory is bounded by a few times its
size, and a compressed text by LONGEST_PACKED.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evennia_ai.errors import ImportFileError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Bytes.
LONGEST_TEXT = 4 * 1024 * 1024
# The same in base64, which is how a card is stored in a picture.
LONGEST_PACKED = LONGEST_TEXT * 4 // 3 + 4
# The limit of the PNG specification.
LONGEST_KEYWORD = 79
# Pictures have a few hundred chunks; a million empty ones would take 20 times the file's size.
MOST_CHUNKS = 20_000
# Bytes around a chunk's data: length, type and checksum of four bytes each.
_CHUNK_OVERHEAD = 12
_WIDTH, _HEIGHT = 400, 600
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")


class Chunk(NamedTuple):
    """A chunk of a PNG file: its type, four letters, and its data."""

    kind: bytes
    data: bytes


def is_png(raw: bytes) -> bool:
    """True if the bytes begin like a PNG file."""
    return raw.startswith(SIGNATURE)


def read_chunks(raw: bytes) -> list[Chunk]:
    """All chunks of a PNG file from IHDR to IEND; anything behind is ignored.

    Raises:
        ImportFileError: it is not a PNG file, or it is damaged; the text says where.
    """
    if not is_png(raw):
        raise ImportFileError("the file does not begin as a PNG file does")
    chunks: list[Chunk] = []
    place = len(SIGNATURE)
    while not chunks or chunks[-1].kind != b"IEND":
        chunk = _chunk_at(raw, place)
        if not chunks and chunk.kind != b"IHDR":
            raise ImportFileError(
                f"the PNG file begins with {_kind_text(chunk.kind)}, not with IHDR"
            )
        if len(chunks) >= MOST_CHUNKS:
            raise ImportFileError(f"the PNG file has more than {MOST_CHUNKS:,} chunks")
        chunks.append(chunk)
        place += len(chunk.data) + _CHUNK_OVERHEAD
    return chunks


def _chunk_at(raw: bytes, place: int) -> Chunk:
    if len(raw) - place < _CHUNK_OVERHEAD:
        raise ImportFileError(f"the PNG file is cut off at byte {place}: it has no IEND")
    length, kind = struct.unpack_from(">I4s", raw, place)
    if length > len(raw) - place - _CHUNK_OVERHEAD:
        raise ImportFileError(
            f"the PNG file is cut off: {_kind_text(kind)} at byte {place} claims {length:,} bytes"
        )
    end = place + 8 + length
    (checksum,) = struct.unpack_from(">I", raw, end)
    if zlib.crc32(raw[place + 4 : end]) != checksum:
        raise ImportFileError(
            f"the PNG file is damaged: {_kind_text(kind)} at byte {place} has another checksum"
        )
    return Chunk(kind, raw[place + 8 : end])


def _kind_text(kind: bytes) -> str:
    return repr(kind)[1:]


def write_chunks(chunks: Iterable[Chunk]) -> bytes:
    """Build a PNG file from chunks."""
    parts = [SIGNATURE]
    for kind, data in chunks:
        parts += [struct.pack(">I", len(data)), kind, data]
        parts.append(struct.pack(">I", zlib.crc32(data, zlib.crc32(kind))))
    return b"".join(parts)


def keyword_of(chunk: Chunk) -> str:
    """The keyword of a text chunk in lower case; "" for any other chunk."""
    if chunk.kind not in _TEXTS:
        return ""
    keyword = chunk.data[: LONGEST_KEYWORD + 1].partition(b"\0")[0]
    return keyword.decode("latin-1").casefold() if len(keyword) <= LONGEST_KEYWORD else ""


def text_of(chunk: Chunk) -> bytes:
    """The text of a chunk after its keyword, decompressed if necessary.

    Raises:
        ImportFileError: it is damaged, or longer than any card.
    """
    keyword, _, rest = chunk.data.partition(b"\0")
    name = f"the text {keyword.decode('latin-1')!r}"
    if chunk.kind == b"tEXt":
        return _bounded(rest, name)
    if chunk.kind == b"zTXt":
        return _decompressed(rest[1:], name)
    # iTXt: compression flag and method, then language and translated keyword, each ended by a zero.
    flag, rest = rest[:1], rest[2:]
    for _ in ("language", "translated keyword"):
        rest = rest.partition(b"\0")[2]
    return _decompressed(rest, name) if flag == b"\1" else _bounded(rest, name)


def _bounded(text: bytes, name: str) -> bytes:
    if len(text) > LONGEST_PACKED:
        raise ImportFileError(f"{name} has more than {LONGEST_PACKED:,} bytes")
    return text


def _decompressed(packed: bytes, name: str) -> bytes:
    inflater = zlib.decompressobj()
    try:
        # One byte more than allowed reveals a text that is too long, without decompressing all of
        # it.
        text = inflater.decompress(packed, LONGEST_PACKED + 1)
    except zlib.error as error:
        raise ImportFileError(f"{name} cannot be decompressed: {error}") from None
    if len(text) <= LONGEST_PACKED and not inflater.eof:
        raise ImportFileError(f"{name} is cut off")
    return _bounded(text, name)


def with_texts(chunks: Sequence[Chunk], texts: Iterable[tuple[str, bytes]]) -> list[Chunk]:
    """The chunks of a picture with texts before IEND, in place of those with the same keywords."""
    text_chunks = [Chunk(b"tEXt", keyword.encode() + b"\0" + text) for keyword, text in texts]
    called = {keyword_of(chunk) for chunk in text_chunks}
    others = [chunk for chunk in chunks if keyword_of(chunk) not in called]
    return [*others[:-1], *text_chunks, others[-1]]


def plain_picture() -> list[Chunk]:
    """A white picture, for a card without one."""
    # One bit per pixel; each line begins with the byte of its filter type.
    line = b"\0" + b"\xff" * (_WIDTH // 8)
    header = struct.pack(">2I5B", _WIDTH, _HEIGHT, 1, 0, 0, 0, 0)
    pixels = zlib.compress(line * _HEIGHT, 9)
    return [Chunk(b"IHDR", header), Chunk(b"IDAT", pixels), Chunk(b"IEND", b"")]
