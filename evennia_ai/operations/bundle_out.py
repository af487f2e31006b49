"""An assistant put into a file that another game can read, with all that it knows.

Every private word is in it, so that only an owner of the game makes one. What would give it rights,
money or keys elsewhere, and what only this game knows the meaning of, stays.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Annotated, Any

from django.conf import settings as game_settings
from django.db import transaction
from evennia.utils import logger
from evennia.utils.dbserialize import deserialize

from evennia_ai import audit, emergency
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.assistant import AssistantSettings
from evennia_ai.core.settings.budget import OWN_NAME as OWN_BUDGET
from evennia_ai.core.settings.game import POWERS
from evennia_ai.core.settings.memory import SleepSchedule
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.autonomy import AutonomyConfig
from evennia_ai.errors import ImportFileError
from evennia_ai.memory_store import rows
from evennia_ai.models import CardFile, EntityProfile, Memory
from evennia_ai.operations import bundle_file, bundle_parts
from evennia_ai.operations.auditing import complete_record
from evennia_ai.operations.bundle_parts import Bundle
from evennia_ai.operations.bundle_people import Numbers
from evennia_ai.operations.exports import save_given_back
from evennia_ai.operations.lifecycle import LONGEST_DESC, MOST_ALIASES, look_of
from evennia_ai.operations.naming import names_of, problem_of_name
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.setting_rows import UNSET, own_of
from evennia_ai.operations.settings import signed
from evennia_ai.runtime import state

ENDING = "zip"
VERSION = sys.modules["evennia_ai"].__version__  # the front door, through which nobody inside goes
# Rights, money, limits on what a task or an hour may cost, models with their keys, and names that
# mean somebody or something of this game.
LEFT_OUT = frozenset(
    (
        *("assistant_key", "enabled", *POWERS, OWN_BUDGET, "confirm_by", "trigger_permissions"),
        *("trust_overrides", "channel_configs", "llm_provider", "llm_model", "llm_extra_params"),
        *("llm_fallback_models", "compact_model", "max_agent_hops"),
        *(SafetyConfig.NAME, AutonomyConfig.NAME),
    )
)
# The same of a setting that otherwise goes along.
LEFT_OUT_OF = {SleepSchedule.NAME: ("token_budget",)}
LONGEST_GAME = 255
NEVER_LISTS = ("never_rooms", "never_characters")


@dataclass(frozen=True, slots=True)
class Exported:
    """The outcome of an export.

    Attributes:
        path: of the file, "" where it was not written into the game.
    """

    path: str
    bytes: int
    memories: Annotated[int, note("With lore of its own.")]
    people: int
    left_out: Annotated[list[str], note("Settings, and parts of its look, that stay here.")]


def export_assistant(script: AssistantScript, *, by: str = "") -> Result[bytes]:
    """An assistant as a file, on record; its data is the file."""
    found = _packed(script, by)
    if not found.ok:
        return found.as_refusal()
    raw, _ = found.data
    return Result(True, found.message, raw)


def _packed(script: AssistantScript, by: str) -> Result[tuple[bytes, Bundle]]:
    """The same, with all that is in the file, read as the other game will read it."""
    try:
        with transaction.atomic():
            head, members = _content(script)
        raw = bundle_file.write(head, members)
        bundle = bundle_file.read(raw)
    except ImportFileError as error:
        return Result.unavailable(f"{script.key} cannot be put into a file: {error}.")
    except Exception as error:  # whatever a game's own code stored of it
        logger.log_trace(f"[assistant] {script.key} could not be put into a file")
        told = one_line(repr(error), 200)
        return Result.unavailable(
            f"{script.key} cannot be put into a file: what is stored of it is not as it has to be "
            f"({told}); the game's log says where."
        )
    with signed(by):
        audit.record("assistant_exported", script, bytes=len(raw))
    return Result(True, f"{script.key} with all it knows, {len(raw):,} bytes", (raw, bundle))


def save_assistant(script: AssistantScript, *, by: str = "") -> Result[Exported]:
    """Write an assistant into a new file of the game, for its owner's eyes alone."""
    found = _packed(script, by)
    if not found.ok:
        return found.as_refusal()
    raw, bundle = found.data
    saved = save_given_back(f"assistant-{script.key}", ENDING, raw)
    if not saved.ok:
        return saved.as_refusal()
    data = Exported(
        saved.data,
        len(raw),
        len(bundle.memories),
        sum(each.kind == "account" for each in bundle.who),
        bundle.manifest.left_out,
    )
    lacks = f" It does not take along: {', '.join(data.left_out)}." if data.left_out else ""
    told = (
        f"{script.key} and all it knows, private words too ({data.memories} memories), is in"
        f" {data.path}. Whoever has that file can read it.{lacks}"
    )
    return Result(True, told, data)


def _content(script: AssistantScript) -> tuple[dict[str, Any], dict[str, bytes]]:
    numbers = Numbers(script)
    memories, places = _memories(script, numbers)
    profiles = [_profile(row, numbers, places) for row in _profiles_of(script)]
    kept = _state(script, numbers)
    own, left_out = _settings(script)
    members = {
        bundle_parts.SETTINGS: bundle_file.json_of(own),
        bundle_parts.STATE: bundle_file.json_of(kept),
        bundle_parts.WHO: bundle_file.lines_of(numbers.who),
        bundle_parts.MEMORIES: bundle_file.lines_of(memories),
        bundle_parts.PROFILES: bundle_file.lines_of(profiles),
        bundle_parts.RECORD: _record(script),
    }
    card = CardFile.objects.filter(assistant=script.pk).first()
    if card is not None:
        told = {"chara": card.chara, "ccv3": card.ccv3}
        told["picture"] = b64encode(bytes(card.picture)).decode()
        members[bundle_parts.CARD] = bundle_file.json_of(told)
    return _head(script, left_out), members


def _head(script: AssistantScript, left_out: list[str]) -> dict[str, Any]:
    lockout, desc = emergency.lockout_of(script), str(look_of(script).get("desc", ""))
    reason = lockout.reason if lockout is not None else ""
    # Not those that Evennia made by itself when it counted: "an Ada", "two Adas".
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


def going_along(name: str, value: Any) -> Any:
    """The part of a setting's value that may travel."""
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
            own[name] = going_along(name, plain)
            if own[name] != plain:
                left_out += [f"{name}.{key}" for key in LEFT_OUT_OF[name]]
    if isinstance(memory := own.get("memory_config"), Mapping):
        # Ids are of this game; words are tags, which the other game may have as well.
        own["memory_config"] = {
            name: [word for word in value if "#" not in word] if name in NEVER_LISTS else value
            for name, value in memory.items()
        }
    return own, left_out


def _memories(
    script: AssistantScript, numbers: Numbers
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Lines of all memories; and of each row's number, that of its line."""
    found = list(rows.of(script.pk).order_by("id"))
    lines = {row.key: number for number, row in enumerate(found, 1)}
    return [_memory(row, numbers, lines) for row in found], {
        row.pk: lines[row.key] for row in found
    }


def _memory(row: Memory, numbers: Numbers, lines: Mapping[str, int]) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "text": row.text,
        "audience": numbers.audience(row.audience, row.person, row.place),
        "person": numbers.person(row.person),
        "place": numbers.place(row.place),
        "source_type": row.source_type,
        "trust": float(row.trust),
        "importance": row.importance,
        "importance_by": row.importance_by,
        "at": float(row.at),
        "tags": list(row.tags),
        # What is forgotten is cited no more.
        "cites": [lines[key] for key in row.cites if key in lines],
        "superseded_at": None if row.superseded_at is None else float(row.superseded_at),
        "is_consolidated": row.is_consolidated,
        "terms": row.terms,
    }


def _profiles_of(script: AssistantScript) -> Iterator[EntityProfile]:
    yield from EntityProfile.objects.filter(assistant=script.pk).order_by("id")


def _profile(row: EntityProfile, numbers: Numbers, places: Mapping[int, int]) -> dict[str, Any]:
    who = numbers.person(row.entity)
    known = [number for pk, number in places.items() if pk <= row.consolidated]
    return {
        "who": who,
        "entity_type": row.entity_type,
        "name": row.name,
        "attributes": [
            {
                "text": str(item["text"]),
                "audience": numbers.audience(str(item["audience"])),
                "at": float(item["at"]),
            }
            for item in row.attributes
        ],
        "favour": float(row.favour),
        "meetings": row.meetings,
        "first_at": float(row.first_at),
        "last_at": float(row.last_at),
        "consolidated": max(known, default=0),
    }


def _state(script: AssistantScript, numbers: Numbers) -> dict[str, Any]:
    def read(name: str) -> Any:
        return deserialize(state.read(script, name))

    projects = dict(read("projects"))
    if slots := projects.get("slots"):
        projects["slots"] = {key: _of_person(slot, numbers) for key, slot in slots.items()}
    wanted = {name: map(numbers.person, read(name)) for name in ("unremembered", "muted_by")}
    return {
        "goals": dict(read("current_goals")),
        "notes": [_of_person(each, numbers) for each in read("notes")],
        "projects": projects,
        **{name: [ref for ref in refs if ref] for name, refs in wanted.items()},
    }


def _of_person(value: Mapping[str, Any], numbers: Numbers) -> dict[str, Any]:
    """A note or a project, whose person is a number."""
    return {**value, "person": numbers.person(str(value.get("person") or "")) or 0}


def _record(script: AssistantScript) -> bytes:
    stream = StringIO()
    complete_record().export(script, stream)
    return stream.getvalue().encode("utf-8", "replace")
