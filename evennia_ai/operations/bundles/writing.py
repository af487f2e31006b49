"""Export of an assistant, with all that it knows, into a bundle for another game.

A bundle holds every private word, so only an owner of the game may make one. Left out is what would
give the assistant rights, money or keys in the other game, and what has a meaning only in this one.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import Annotated, Any, TypeVar

from django.conf import settings as game_settings
from evennia.utils import logger
from evennia.utils.dbserialize import deserialize
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from evennia_ai import audit, emergency
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.rate_limits import HearingConfig
from evennia_ai.core.settings.assistant import AssistantSettings
from evennia_ai.core.settings.budget import OWN_NAME as OWN_BUDGET
from evennia_ai.core.settings.game import POWERS
from evennia_ai.core.settings.memory import SleepSchedule
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.autonomy import AutonomyConfig
from evennia_ai.errors import ImportFileError
from evennia_ai.memory_store import rows
from evennia_ai.models import CardFile, EntityProfile, Memory
from evennia_ai.operations.assistants.looks import LONGEST_DESC, MOST_ALIASES, look_of
from evennia_ai.operations.audit.log import current_log
from evennia_ai.operations.bundles import file, parts
from evennia_ai.operations.bundles.parts import Bundle
from evennia_ai.operations.bundles.people import Numbers
from evennia_ai.operations.files.exports import save_export
from evennia_ai.operations.naming import names_of, problem_of_name
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.settings.changing import signed
from evennia_ai.operations.settings.rows import UNSET, own_of
from evennia_ai.runtime import state
from evennia_ai.runtime.game_thread import GameBusyError, Steps, WaitingRoom, paced

T = TypeVar("T")
# Rows read in one step, which takes a few milliseconds.
AT_ONCE = 50
MOST_READINGS = 3  # attempts, where the assistant's state changes while it is read
# Bundles handled at the same time, since each may take hundreds of megabytes of memory.
MOST_AT_ONCE = 2
WAIT_SECONDS = 0.2  # between two looks for a free place
BUSY = "Too many assistants are being imported or exported right now; try again in a moment."
_ROOM = WaitingRoom()
ENDING = "zip"
# Not imported: modules inside the package do not import its top level.
VERSION = sys.modules["evennia_ai"].__version__
# Settings that do not travel: rights, money, limits of cost, models with their keys, and names of
# people or things of this game.
LEFT_OUT = frozenset(
    (
        *("assistant_key", "enabled", *POWERS, OWN_BUDGET, "confirm_by", "trigger_permissions"),
        *("trust_overrides", "channel_configs", "llm_provider", "llm_model", "llm_extra_params"),
        *("llm_fallback_models", "compact_model", "max_agent_hops"),
        *(SafetyConfig.NAME, AutonomyConfig.NAME),
    )
)
# Parts that do not travel of settings that otherwise do: how many turns a player may cause is for
# the new game to say; how an assistant gathers messages, and how long it listens, is its own.
LEFT_OUT_OF = {
    SleepSchedule.NAME: ("token_budget",),
    HearingConfig.NAME: (
        *("calls_per_player", "queued_per_player", "queued_turns", "pending_per_player"),
        "cooldown_seconds",
    ),
}
GONE = "{name} has been deleted in the meantime."
# State that a player may have changed, such as by forgetting, while the file was made.
KEPT = ("notes", "projects", "unremembered", "muted_by")
LONGEST_GAME = 255
NEVER_LISTS = ("never_rooms", "never_characters")


@dataclass(frozen=True, slots=True)
class Exported:
    """The outcome of an export.

    Attributes:
        path: path of the file; "" where it was not written to disk.
    """

    path: str
    bytes: int
    memories: Annotated[int, note("Number of memories, including lore of its own.")]
    people: int
    left_out: Annotated[
        list[str], note("Settings and parts of its appearance that are not exported.")
    ]


async def _run(steps: Steps[Result[T]], is_patient: bool) -> Result[T]:
    while True:
        try:
            with _ROOM.place(MOST_AT_ONCE):
                result: Result[T] = await paced(steps)
                return result
        except GameBusyError:
            if not is_patient:
                return Result.unavailable(BUSY)
        await deferLater(reactor, WAIT_SECONDS)


def moving(steps: Steps[Result[T]], *, is_patient: bool = False) -> Deferred[Result[T]]:
    """Run the steps of an import or export; only `MOST_AT_ONCE` of them run at the same time.

    Args:
        is_patient: wait for a free place; else the result is a refusal where there is none.
    """
    return Deferred.fromCoroutine(_run(steps, is_patient))


def export_assistant(script: AssistantScript, *, by: str = "") -> Deferred[Result[bytes]]:
    """Export an assistant, recorded in the audit log; the result's data is the file's content."""

    def steps() -> Steps[Result[bytes]]:
        return (yield from _packing(script, by)).map(lambda packed: packed[0])

    return moving(steps())


def _packing(script: AssistantScript, by: str) -> Steps[Result[tuple[bytes, Bundle]]]:
    name = str(script.key)
    try:
        raw, bundle = yield from _packed(script)
    except Exception as error:  # a game's own code may have stored anything in its attributes
        return _unpackable(script, name, error)
    if script.pk is None:
        return Result.conflict(GONE.format(name=name))
    with signed(by):
        audit.record("assistant_exported", script, bytes=len(raw))
    return Result(True, f"{name} with all it knows, {len(raw):,} bytes", (raw, bundle))


def _unpackable(script: AssistantScript, name: str, error: Exception) -> Result[Any]:
    if script.pk is None:
        return Result.conflict(GONE.format(name=name))
    if isinstance(error, ImportFileError):
        return Result.unavailable(f"{name} cannot be exported: {error}.")
    logger.log_trace(f"[assistant] {name} could not be put into a file")
    problem = one_line(repr(error), 200)
    return Result.unavailable(
        f"{name} cannot be exported: its stored data is damaged ({problem}); "
        "the game's log says where."
    )


def save_assistant(script: AssistantScript, *, by: str = "") -> Deferred[Result[Exported]]:
    """Export an assistant into a new file in the game's folder, for its owner's eyes alone."""

    def steps() -> Steps[Result[Exported]]:
        packed = yield from _packing(script, by)
        return _saved(script, *packed.data) if packed.ok else packed.as_refusal()

    return moving(steps())


def _saved(script: AssistantScript, raw: bytes, bundle: Bundle) -> Result[Exported]:
    saved = save_export(f"assistant-{script.key}", ENDING, raw)
    if not saved.ok:
        return saved.as_refusal()
    data = Exported(
        saved.data,
        len(raw),
        len(bundle.memories),
        sum(each.kind == "account" for each in bundle.who),
        bundle.manifest.left_out,
    )
    lacks = f" Not included: {', '.join(data.left_out)}." if data.left_out else ""
    message = (
        f"{script.key} and all it knows, including private words "
        f"({counted(data.memories, 'memories')}), is in {data.path}. "
        f"Anyone who has that file can read it.{lacks}"
    )
    return Result(True, message, data)


def _packed(script: AssistantScript) -> Steps[tuple[bytes, Bundle]]:
    """Make the file, and make it again where something was forgotten or changed meanwhile.

    Raises:
        ImportFileError: something changed during each attempt.
    """
    for _ in range(MOST_READINGS):
        before = _version_of_state(script)
        head, members = yield from _read_members(script)
        raw = yield from file.write_bundle(head, members)
        # Read back as the other game will read it: a file that no game accepts is never given out.
        bundle = yield from file.read_bundle(raw)
        if script.pk is None or _version_of_state(script) == before:
            return raw, bundle
    raise ImportFileError("its memories keep changing; try again in a moment")


def _version_of_state(script: AssistantScript) -> tuple[object, ...]:
    # Differs once something was forgotten, corrected, muted or derived from the journal.
    values = [deserialize(state.read(script, name)) for name in KEPT]
    return rows.epoch(script.pk), rows.consolidation_epoch(script.pk), values


def _read_members(script: AssistantScript) -> Steps[tuple[dict[str, Any], dict[str, bytes]]]:
    numbers = Numbers(script)
    memories, places = yield from _memories(script, numbers)
    profiles = yield from _profiles(script, numbers, places)
    known = _state(script, numbers)
    own, left_out = _settings(script)
    members = {
        parts.SETTINGS: file.json_of(own),
        parts.STATE: file.json_of(known),
        parts.WHO: file.lines_of(numbers.who),
        parts.MEMORIES: memories,
        parts.PROFILES: profiles,
        parts.RECORD: (yield from _record(script)),
    }
    card = CardFile.objects.filter(assistant=script.pk).first()
    if card is not None:
        picture = b64encode(bytes(card.picture)).decode()
        plain = {"chara": card.chara, "ccv3": card.ccv3, "picture": picture}
        members[parts.CARD] = file.json_of(plain)
    return _head(script, left_out), members


def _head(script: AssistantScript, left_out: list[str]) -> dict[str, Any]:
    lockout, desc = emergency.lockout_of(script), str(look_of(script).get("desc", ""))
    reason = lockout.reason if lockout is not None else ""
    body = str(script.obj.key) if script.obj is not None else ""
    names = sorted({*names_of(script)} - {str(script.key), body})
    aliases = [name for name in names if not problem_of_name(name)][:MOST_ALIASES]
    cut = (("desc", len(desc) > LONGEST_DESC), ("aliases", aliases != names))
    return {
        "version": VERSION,
        "game": one_line(str(game_settings.SERVERNAME), LONGEST_GAME),
        "exported_at": float(script.clock.seconds()),
        "name": str(script.key),
        "desc": desc[:LONGEST_DESC],
        "aliases": aliases,
        "stopped": (reason or "stopped")[:2000] if state.is_stopped(script) else None,
        "left_out": left_out + [f"a part of {name}" for name, is_cut in cut if is_cut],
    }


def travelling_part(name: str, value: object) -> Any:
    """A setting's value without the parts that do not travel."""
    left_out = LEFT_OUT_OF.get(name, ())
    if not left_out or not isinstance(value, Mapping):
        return value
    return {key: each for key, each in value.items() if key not in left_out}


def _settings(script: AssistantScript) -> tuple[dict[str, Any], list[str]]:
    own, left_out = dict[str, Any](), list[str]()
    for name in AssistantSettings.model_fields:
        value = own_of(script, name)
        if value is UNSET or name in ("assistant_key", "enabled"):
            continue
        if name in LEFT_OUT:
            left_out.append(name)
        else:
            plain = deserialize(value)
            left_out += [f"{name}.{key}" for key in LEFT_OUT_OF.get(name, ()) if key in plain]
            if (going := travelling_part(name, plain)) or not plain:
                own[name] = going
    if isinstance(memory := own.get("memory_config"), Mapping):
        # "#12" is an id of this game; other words are tags, which the other game may have too.
        own["memory_config"] = {
            name: [word for word in value if "#" not in word] if name in NEVER_LISTS else value
            for name, value in memory.items()
        }
    return own, left_out


def _memories(script: AssistantScript, numbers: Numbers) -> Steps[tuple[bytes, list[int]]]:
    # Returns the lines, and the primary keys of the rows in the same order.
    lines, places, packed = dict[str, int](), list[int](), BytesIO()
    memories = rows.of(script.pk).order_by("id")
    names = memories.values_list("id", "key")
    # Paged by primary key, not by offset, since rows may come and go between two steps.
    while some := list(names.filter(id__gt=places[-1] if places else 0)[:AT_ONCE]):
        for number, key in some:
            places.append(number)
            lines[key] = len(places)
        yield
    for first in range(0, len(places), AT_ONCE):
        some_rows = memories.filter(id__in=places[first : first + AT_ONCE])
        packed.write(file.lines_of(_memory(row, numbers, lines) for row in some_rows))
        yield
    return packed.getvalue(), places


def _memory(row: Memory, numbers: Numbers, lines: Mapping[str, int]) -> dict[str, Any]:
    return {
        **parts.taken(row, (*parts.OF_MEMORY, "is_consolidated", "terms")),
        "audience": numbers.audience(row.audience, row.person, row.place),
        "person": numbers.person(row.person),
        "place": numbers.place(row.place),
        "tags": list(row.tags),
        # A cited memory may have been forgotten.
        "cites": [lines[key] for key in row.cites if key in lines],
    }


def _profiles(script: AssistantScript, numbers: Numbers, places: Sequence[int]) -> Steps[bytes]:
    profiles = EntityProfile.objects.filter(assistant=script.pk).order_by("id")
    there, packed = list(profiles.values_list("id", flat=True)), BytesIO()
    for first in range(0, len(there), AT_ONCE):
        some = profiles.filter(id__in=there[first : first + AT_ONCE])
        packed.write(file.lines_of(_profile(row, numbers, places) for row in some))
        yield
    return packed.getvalue()


def _profile(row: EntityProfile, numbers: Numbers, places: Sequence[int]) -> dict[str, Any]:
    return {
        **parts.taken(row, parts.OF_PROFILE),
        "who": numbers.person(row.entity),
        "attributes": [
            {
                "text": str(item["text"]),
                "audience": numbers.audience(str(item["audience"])),
                "at": float(item["at"]),
            }
            for item in row.attributes
        ],
        # The line of the newest memory worked into it or, where that is gone, of the one before.
        "consolidated": bisect_right(places, row.consolidated),
    }


def _state(script: AssistantScript, numbers: Numbers) -> dict[str, Any]:
    def read(name: str) -> Any:
        return deserialize(state.read(script, name))

    projects = dict(read("projects"))
    if slots := projects.get("slots"):
        projects["slots"] = {key: _with_person_number(slot, numbers) for key, slot in slots.items()}
    people = {name: map(numbers.person, read(name)) for name in ("unremembered", "muted_by")}
    return {
        "goals": dict(read("current_goals")),
        "notes": [_with_person_number(each, numbers) for each in read("notes")],
        "projects": projects,
        **{name: [ref for ref in refs if ref] for name, refs in people.items()},
    }


def _with_person_number(value: Mapping[str, object], numbers: Numbers) -> dict[str, Any]:
    return {**value, "person": numbers.person(str(value.get("person") or "")) or 0}


def _record(script: AssistantScript) -> Steps[bytes]:
    stream = StringIO()
    for _ in current_log().exporting(script, stream, AT_ONCE):
        yield
    return stream.getvalue().encode("utf-8", "replace")
