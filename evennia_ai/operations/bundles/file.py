"""The bundle file by which an assistant moves between games: a zip of JSON with hashes and counts.

The reader trusts nothing: names, sizes, hashes, counts and every line are checked before anything
is used. People and places are numbers of the file's own list `who.jsonl`, since an id means someone
else in another game. Only `record.jsonl`, the audit log, keeps the ids of the game it comes from:
it is stored unread, for people. Files may be long, so they are handled in steps of `game_thread`.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from typing import TypeVar

from pydantic import ValidationError

from evennia_ai.core.cards import png
from evennia_ai.core.cards.character_card import MOST_BYTES, CharacterCard
from evennia_ai.core.settings.assistant import AssistantSettings
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.goals import MOST_DEPTH
from evennia_ai.errors import ImportFileError
from evennia_ai.memory import lore
from evennia_ai.operations.bundles.parts import (
    CARD,
    FORMAT,
    MANIFEST,
    MEGABYTE,
    MEMBERS,
    MEMORIES,
    MOST_LINE,
    MOST_LINES,
    MOST_OF,
    MOST_PACKED,
    MOST_UNPACKED,
    MOST_WHO,
    PROFILES,
    RECORD,
    SETTINGS,
    STATE,
    WHO,
    Bundle,
    BundledState,
    Card,
    GoalsKept,
    Manifest,
    Member,
    MemoryLine,
    MemoryLines,
    Owned,
    Plain,
    ProfileLine,
    Strict,
    Who,
    check_directory,
)
from evennia_ai.runtime.game_thread import Steps

# Zip bombs: only these decompress no more than they are asked for. One read of bzip2 or LZMA gives
# a whole block, hundreds of megabytes from a few hundred bytes.
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# A fixed date, so that the same content always gives the same bytes.
_DATE = (1980, 1, 1, 0, 0, 0)
# A NUL as JSON escapes it; after an odd number of backslashes `u0000` is plain text.
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
M = TypeVar("M", bound=Strict)
# Bytes and lines handled in one step, which takes a few milliseconds.
PIECE, AT_ONCE = 1 << 17, 50


# ---- writing -----------------------------------------------------------------------------------


def json_of(value: object) -> bytes:
    """Plain data as the JSON of a member of the zip."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode(
        "utf-8", "replace"
    )


def lines_of(values: Iterable[object]) -> bytes:
    """Plain data as JSON lines."""
    return b"".join(json_of(value) + b"\n" for value in values)


def write_bundle(head: Mapping[str, object], members: Mapping[str, bytes]) -> Steps[bytes]:
    """Write the file from a head (the manifest without `files` and `format`) and its members.

    Raises:
        ImportFileError: no game would read it: it is too large, or its head is not valid.
    """
    if sum(map(len, members.values())) > MOST_UNPACKED:
        raise ImportFileError(f"it has more than {MOST_UNPACKED // MEGABYTE} MB")
    files = {}
    for name, raw in members.items():
        files[name] = {
            "sha256": (yield from _hashing(raw)),
            "bytes": len(raw),
            "count": _count(name, raw),
        }
    manifest = json_of({"format": FORMAT, **head, "files": files})
    _parse(Manifest, MANIFEST, manifest)
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in {MANIFEST: manifest, **members}.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            with archive.open(info, "w") as member:
                for piece in _pieces(raw):
                    member.write(piece)
                    yield
        archive.comment = _hash(manifest).encode()
    if stream.tell() > MOST_PACKED:
        raise ImportFileError(f"its file has more than {MOST_PACKED // MEGABYTE} MB")
    return stream.getvalue()


def _pieces(raw: bytes) -> Iterator[memoryview]:
    whole = memoryview(raw)
    return (whole[start : start + PIECE] for start in range(0, len(raw), PIECE))


def _hashing(raw: bytes) -> Steps[str]:
    digest = sha256()
    for piece in _pieces(raw):
        digest.update(piece)
        yield
    return digest.hexdigest()


def _hash(raw: bytes) -> str:
    return sha256(raw).hexdigest()


def _count(name: str, raw: bytes) -> int:
    return raw.count(b"\n") if name.endswith(".jsonl") else 1


# ---- reading -----------------------------------------------------------------------------------


def read_bundle(raw: bytes) -> Steps[Bundle]:
    """Read and check a file completely.

    Raises:
        ImportFileError: something is wrong; the text says what and where.
    """
    if len(raw) > MOST_PACKED:
        raise ImportFileError(f"the file has more than {MOST_PACKED // MEGABYTE} MB")
    check_directory(raw)
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            return (yield from _reading(archive))
    except ImportFileError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        # RuntimeError is what an encrypted zip gives, and NotImplementedError an unknown version.
        problem = one_line(str(error), 200) or type(error).__name__
        raise ImportFileError(f"it is not a zip file that can be read: {problem}") from None


def _reading(archive: zipfile.ZipFile) -> Steps[Bundle]:
    manifest = yield from _manifest(archive)
    parts = dict[str, bytes]()
    for name, entry in manifest.files.items():
        parts[name] = yield from _member(archive, name, entry)
    state, who = _parse(BundledState, STATE, parts[STATE]), list[Who]()
    yield from _parse_lines(Who, WHO, parts[WHO], lambda _, line: who.append(line), MOST_WHO)
    memories = yield from _memories(parts.pop(MEMORIES), who)
    profiles = yield from _profiles(parts[PROFILES], who, len(memories))
    _check_state(state, who)
    return Bundle(
        manifest,
        _settings(parts[SETTINGS]),
        state,
        who,
        memories,
        profiles,
        _card(parts[CARD]) if CARD in parts else None,
        parts[RECORD],
        _hash("".join(entry.sha256 for entry in manifest.files.values()).encode()),
    )


def _without_nul(raw: bytes) -> bytes:
    # PostgreSQL stores no NUL in a text.
    without = _NUL.sub(rb"\1", raw) if rb"\u0000" in raw else raw
    if _NUL.search(without):
        raise ImportFileError("a text of it has NUL within NUL, which is not JSON")
    return without


def _names(archive: zipfile.ZipFile) -> set[str]:
    # By the zip's own directory: nothing is decompressed yet.
    infos = archive.infolist()
    names = {info.filename for info in infos}
    allowed = {MANIFEST, *MEMBERS}
    strange = next((info.filename for info in infos if info.filename not in allowed), None)
    if strange is not None:
        raise ImportFileError(f"it holds {one_line(strange, 80)!r}, which no assistant has")
    if len(names) != len(infos):
        raise ImportFileError("it holds a part twice")
    if MANIFEST not in names:
        raise ImportFileError(f"it holds no {MANIFEST}: it is not a file of an assistant")
    packed = next((info for info in infos if info.compress_type not in PACKINGS), None)
    if packed is not None:
        raise ImportFileError(f"{packed.filename} is not packed by deflate, as each part has to be")
    if sum(info.file_size for info in infos) > MOST_UNPACKED:
        raise ImportFileError(f"unpacked it has more than {MOST_UNPACKED // MEGABYTE} MB")
    return names


def _manifest(archive: zipfile.ZipFile) -> Steps[Manifest]:
    names = _names(archive)
    raw = yield from _unpacked(archive, MANIFEST, MEGABYTE)
    if archive.comment.decode("ascii", "replace") != _hash(raw):
        raise ImportFileError(f"{MANIFEST} is not as it was written")
    version = _json(MANIFEST, raw).get("format")
    if version != FORMAT:
        raise ImportFileError(
            f"{MANIFEST}.format is {one_line(repr(version), 40)}; this game reads {FORMAT}, so one"
            " of the two needs another version of evennia-ai"
        )
    manifest = _parse(Manifest, MANIFEST, raw)
    given, wanted = set(manifest.files), set(MEMBERS)
    if given | {MANIFEST} != names or wanted - {CARD} - given:
        raise ImportFileError(f"its parts are not those that {MANIFEST} names")
    return manifest


def _member(archive: zipfile.ZipFile, name: str, listed: Member) -> Steps[bytes]:
    raw = yield from _unpacked(archive, name, min(listed.bytes, MOST_OF.get(name, MOST_UNPACKED)))
    if len(raw) != listed.bytes or (yield from _hashing(raw)) != listed.sha256:
        raise ImportFileError(f"{name} is not as it was written: its hash is another")
    if _count(name, raw) != listed.count:
        raise ImportFileError(f"{name} has {_count(name, raw)} lines; {listed.count} were written")
    return raw


def _unpacked(archive: zipfile.ZipFile, name: str, most: int) -> Steps[bytes]:
    # Counted while it is decompressed: the sizes in the zip's own headers may be lies.
    raw = BytesIO()
    with archive.open(name) as stream:
        while piece := stream.read(PIECE):
            raw.write(piece)
            if raw.tell() > most:
                raise ImportFileError(f"{name} has more than the {most:,} bytes that it may have")
            yield
    return raw.getvalue()


def _json(name: str, raw: bytes) -> Plain:
    try:
        value = json.loads(_without_nul(raw))
    except (ValueError, RecursionError) as error:
        raise ImportFileError(f"{name} is not JSON: {one_line(str(error), 200)}") from None
    if not isinstance(value, dict):
        raise ImportFileError(f"{name} is not a mapping")
    return value


def _settings(raw: bytes) -> Plain:
    values = _json(SETTINGS, raw)
    odd = next((name for name in values if name not in AssistantSettings.model_fields), None)
    if odd is not None:
        raise ImportFileError(f"{SETTINGS} has {one_line(odd, 60)!r}, which is not a setting here")
    return values


def _parse(kind: type[M], place: str, raw: bytes) -> M:
    try:
        return kind.model_validate_json(_without_nul(raw))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, (place, *first["loc"])))
        raise ImportFileError(f"{one_line(where, 120)}: {one_line(first['msg'], 200)}") from None


def _card(raw: bytes) -> Card:
    # Checked as if it were exported: a card that cannot be given back later is refused now.
    card = _parse(Card, CARD, raw)
    try:
        picture = b64decode(card.picture, validate=True)
        if len(picture) > MOST_BYTES:
            raise ImportFileError(f"its picture has more than {MOST_BYTES:,} bytes")
        CharacterCard(card.chara, card.ccv3, picture)
        if picture:
            png.read_chunks(picture)
    except ImportFileError as error:
        raise ImportFileError(f"{CARD}: {error}") from None
    except ValueError:
        raise ImportFileError(f"{CARD}: its picture is not base64") from None
    return card


def _parse_lines(
    kind: type[M], name: str, raw: bytes, take: Callable[[str, M], object], most: int = MOST_LINES
) -> Steps[list[bytes]]:
    # `take` gets each line with the words that say where it is, for messages.
    if raw.count(b"\n") > most:
        raise ImportFileError(f"{name} has more than {most:,} lines")
    if raw and not raw.endswith(b"\n"):
        raise ImportFileError(f"{name} does not end with the end of a line")
    lines = list[bytes]()
    for number, line in enumerate(BytesIO(raw), 1):
        place = f"{name} line {number}"
        if len(line) > MOST_LINE:
            raise ImportFileError(f"{place} has more than {MOST_LINE:,} bytes")
        take(place, _parse(kind, place, line))
        lines.append(_without_nul(line))
        if not number % AT_ONCE:
            yield
    return lines


# ---- dangling references and duplicates ---------------------------------------------------------


def _memories(raw: bytes, who: Sequence[Who]) -> Steps[MemoryLines]:
    count = raw.count(b"\n")

    def check(place: str, line: MemoryLine) -> None:
        _check_who(place, who, ref_of(line.audience), line.audience)
        for ref in (line.person, line.place):
            _check_who(place, who, ref or 0)
        if any(cited > count for cited in line.cites):
            raise ImportFileError(f"{place}.cites names a line there is not")
        try:
            lore.terms_of(line.terms)
            json.dumps(line.terms, allow_nan=False)  # no database stores a NaN
        except ValueError:
            raise ImportFileError(f"{place}.terms cannot be read") from None

    return MemoryLines((yield from _parse_lines(MemoryLine, MEMORIES, raw, check)))


def _profiles(raw: bytes, who: Sequence[Who], memories: int) -> Steps[list[ProfileLine]]:
    profiles = dict[int, ProfileLine]()

    def take(place: str, profile: ProfileLine) -> None:
        _check_who(place, who, profile.who)
        if profile.who in profiles:
            raise ImportFileError(f"{place} is of {profile.who}, as a line before is")
        profiles[profile.who] = profile
        for item in profile.attributes:
            _check_who(place, who, ref_of(item.audience), item.audience)
        if profile.consolidated > memories:
            raise ImportFileError(f"{place}.consolidated names a line there is not")

    yield from _parse_lines(ProfileLine, PROFILES, raw, take)
    return list(profiles.values())


def _check_state(state: BundledState, who: Sequence[Who]) -> None:
    _check_goals(state.goals)
    owned: tuple[Owned, ...] = (*state.notes, *state.projects.slots.values())
    for ref in (*state.unremembered, *state.muted_by, *(each.person for each in owned)):
        _check_who(STATE, who, ref)


def _check_goals(goals: GoalsKept) -> None:
    """Refuse goals that are not a tree: a number used twice, a cycle, or too much depth.

    A parent may be missing, since parts of a closed goal outlive it; numbers are never used again.
    """
    depths = dict[int, int]()
    for goal in sorted(goals.goals, key=lambda goal: goal.id):
        place = f"{STATE}.goals: goal {goal.id}"
        if goal.id in depths:
            raise ImportFileError(f"{place} is there twice")
        if goal.id > goals.count:
            raise ImportFileError(f"{place} is none of the {goals.count} that there have been")
        if goal.parent is not None and goal.parent >= goal.id:
            raise ImportFileError(f"{place} is a part of {goal.parent}, which is not before it")
        depths[goal.id] = depths.get(goal.parent or 0, 0) + 1
        if depths[goal.id] > MOST_DEPTH:
            raise ImportFileError(f"{place} is more than {MOST_DEPTH} deep")


def ref_of(audience: str) -> int:
    """The number in `who.jsonl` that an audience names; 0 for everybody and nobody."""
    return int(audience.partition(":")[2] or 0)


OF_AUDIENCE = {"account": "person", "object": "person", "mask": "person"}


def _check_who(place: str, who: Sequence[Who], ref: int, audience: str = "") -> None:
    if ref > len(who):
        raise ImportFileError(f"{place} names number {ref} of {WHO}, which has {len(who)}")
    if ref and audience:
        kind = who[ref - 1].kind
        if audience.partition(":")[0] != OF_AUDIENCE.get(kind, kind):
            raise ImportFileError(f"{place}.audience is {audience!r}, but that is a {kind}")
