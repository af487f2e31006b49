"""An assistant brought in from a file that another game wrote: looked at, then made whole or not.

The file's people are of another game. Whoever staff do not say to be somebody here stays a stranger
whose words nobody but staff can reach; rooms, channels and factions always do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any

from django.db import transaction
from evennia.accounts.models import AccountDB
from twisted.internet.defer import Deferred

from evennia_ai import audit, emergency
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit.archive import folder_of, policy
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.errors import ConfigurationError, ImportFileError
from evennia_ai.memory import arriving, indexing
from evennia_ai.operations.assistants.creation import Creation, create_assistant
from evennia_ai.operations.bundles import file
from evennia_ai.operations.bundles.parts import Bundle, Who
from evennia_ai.operations.bundles.people import (
    Ids,
    accounts_alike,
    accounts_named,
    players,
)
from evennia_ai.operations.bundles.store import store, storing
from evennia_ai.operations.bundles.writing import LEFT_OUT, going_along, moving
from evennia_ai.operations.files.exports import file_name, write_new
from evennia_ai.operations.naming import problem_of_name, problem_of_owner
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.rights import acts
from evennia_ai.operations.rights.callers import account_of
from evennia_ai.operations.settings.changing import prepare, signed
from evennia_ai.operations.settings.rows import UNSET
from evennia_ai.runtime.game_thread import Steps

MOST_NAMED = 30
IMPORT = "import assistant"
UNWRITTEN = "its record could not be written: {error}"
TAKEN_OUT = "Nothing is stored: what it remembers was taken out again meanwhile."


@dataclass(frozen=True, slots=True)
class BundleShown:
    """An assistant in a file, before anything of it is stored."""

    key: Annotated[str, note("The name it would have here.")]
    name: Annotated[str, note("Its name in the game it comes from.")]
    game: Annotated[str, note("The name of that game.")]
    version: Annotated[str, note("Of the package that wrote the file.")]
    stopped: Annotated[str, note("Why it was stopped there; empty: it was not.")]
    memories: Annotated[int, note("With lore of its own.")]
    profiles: int
    settings: Annotated[list[str], note("Names of those it brings along.")]
    left_out: Annotated[list[str], note("What stayed in that game.")]
    people: Annotated[list[str], note("The players it knows who were still there, by name.")]
    same: Annotated[dict[str, str], note("Of these, who is which account here, as was said.")]
    alike: Annotated[list[str], note("Those who are called like an account here.")]
    problems: Annotated[list[str], note("Why it cannot be brought in; empty: it can.")]


def read(raw: bytes) -> Deferred[Result[Bundle]]:
    """The assistant in a file, checked whole, a little at a time."""
    return moving(reading(raw))


def reading(raw: bytes) -> Steps[Result[Bundle]]:
    """The same, as steps of something longer."""
    try:
        return Result(True, "It can be read.", (yield from file.reading(raw)))
    except ImportFileError as error:
        return Result(False, f"That is not an assistant that can be brought in: {error}.")


def show_bundle(
    bundle: Bundle, key: str = "", people: Mapping[str, str] | None = None
) -> Result[BundleShown]:
    """The assistant in a file as it would be here. Nothing is stored.

    Args:
        key: its name here; "": as there.
        people: accounts of this game, by the names of the players that they were there.
    """
    shown, _ = _judged(bundle, key, people or {})
    shown = replace(
        shown, alike=[_named(bundle.who[number - 1]) for number in accounts_alike(bundle.who)]
    )
    return Result(not shown.problems, "\n".join(_lines(shown)), shown)


def _judged(
    bundle: Bundle, key: str, people: Mapping[str, str]
) -> tuple[BundleShown, dict[int, AccountDB]]:
    """The same, but for who is called alike; and the accounts that some of its players are here."""
    name, head = " ".join((key or bundle.manifest.name).split()), bundle.manifest
    same, problems = _same_people(bundle, people)
    problems += [problem_of_name(name) or problem_of_owner(name)]
    problems += prepare(_taken(bundle), lambda _: UNSET).errors.values()
    problems = list(filter(None, problems))
    # What stands in a file shall not look like words of ours.
    shown = BundleShown(
        key=name,
        name=one_line(head.name, 100),
        game=one_line(head.game, 100),
        version=one_line(head.version, 40),
        stopped=one_line(head.stopped or "", 400),
        memories=len(bundle.memories),
        profiles=len(bundle.profiles),
        settings=sorted(_taken(bundle)),
        left_out=[one_line(each, 60) for each in head.left_out],
        people=[_named(each) for each in bundle.who if each.kind == "account" and each.name],
        same={_named(bundle.who[number - 1]): str(who.key) for number, who in same.items()},
        alike=[],
        problems=problems,
    )
    return shown, same


def _named(who: Who) -> str:
    return one_line(who.name, 100)


def _lines(shown: BundleShown) -> list[str]:
    strangers = [name for name in shown.people if name not in shown.same]
    lines = [
        f"{shown.name} of {shown.game}, to be {shown.key} here: "
        f"{counted(shown.memories, 'memories')}, {counted(shown.profiles, 'profiles')}, "
        f"settings: {', '.join(shown.settings) or 'none'}.",
        "It arrives silent, with a new conversation; caps, powers and models are this game's.",
    ]
    if shown.stopped:
        lines.append(f"It was stopped there, and arrives stopped: {shown.stopped}")
    if shown.left_out:
        lines.append(f"Set there, and not taken along: {', '.join(shown.left_out)}.")
    for there, here in shown.same.items():
        lines.append(f"{there} of that game is {here} here, and is told what {there} may know.")
    if strangers:
        more = f" and {len(strangers) - MOST_NAMED} more" if len(strangers) > MOST_NAMED else ""
        lines.append(
            f"Strangers, whose private words only staff can read: "
            f"{', '.join(strangers[:MOST_NAMED])}{more}."
        )
    lines += [f"It cannot be brought in: {problem}" for problem in shown.problems]
    return lines


# ---- judging -----------------------------------------------------------------------------------


def _same_people(
    bundle: Bundle, people: Mapping[str, str]
) -> tuple[dict[int, AccountDB], list[str]]:
    """The accounts that some of a file's players are here; and what is wrong with that."""
    known, accounts = players(bundle.who), accounts_named(people.values())
    same, problems = dict[int, AccountDB](), list[str]()
    for there, here in people.items():
        number = known.get(there.strip().casefold())
        account = accounts.get(here.strip().casefold())
        if number is None:
            shown = one_line(there, 60)
            problems.append(f"there is not exactly one player there who is called {shown!r}")
        elif account is None:
            problems.append(f"there is no player's account {one_line(here, 60)!r} here")
        elif account in same.values():
            problems.append(f"{account.key} cannot be two players of that game")
        else:
            same[number] = account
    return same, problems


def _taken(bundle: Bundle) -> dict[str, Any]:
    """The settings of a file that may travel, whatever else somebody wrote into it."""
    return {
        name: going_along(name, value)
        for name, value in bundle.settings.items()
        if name not in LEFT_OUT
    }


# ---- bringing in -------------------------------------------------------------------------------


def import_bundle(
    bundle: Bundle,
    *,
    key: str = "",
    location: GameObject | None = None,
    people: Mapping[str, str] | None = None,
    enable: bool = False,
    by: str = "",
    maker: Being | None = None,
) -> Deferred[Result[Creation]]:
    """Make an assistant of a file: all of it or nothing, a little at a time.

    Args:
        key, people: as `show_bundle` takes them.
        location: the room it stands in.
        enable: it answers from now on; else somebody starts it.
        by, maker: as `create_assistant` takes them.
    """
    given = {"location": location, "enable": enable, "maker": maker}
    stops = emergency.count_of_stops()
    return moving(bringing(bundle, key, people or {}, by, given, stops), is_patient=True)


def bringing(
    bundle: Bundle,
    key: str,
    people: Mapping[str, str],
    by: str,
    given: Mapping[str, Any],
    stops: int,
) -> Steps[Result[Creation]]:
    """The same, as steps of something longer.

    Args:
        given: the rest of what `import_bundle` takes.
        stops: `emergency.count_of_stops` when it was asked for.
    """
    maker = given["maker"]
    by = by or str(getattr(maker, "key", ""))
    asker = getattr(maker, "account", None) or maker  # who may have left the body by the end
    shown, same = _judged(bundle, key, people)
    if shown.problems:
        return Result(False, "\n".join(_lines(shown)))
    ids, number = Ids(bundle.who, same), arriving.begin()
    try:
        yield from storing(number, bundle, ids)
        if refused := _refusal(bundle, people, same, given["location"], asker):
            return Result.conflict(f"Nothing is stored: {refused}")
        # Whoever stopped all meanwhile did not know of this one.
        is_enabled = given["enable"] and stops == emergency.count_of_stops()
        given = {**given, "enable": is_enabled}
        path = _record_path(shown.key, bundle)
        if not arriving.note_file(number, str(path or "")):
            return Result.conflict(TAKEN_OUT)
        record = _save_record(path, bundle)
        with signed(by):
            made = _made(shown, bundle, ids, number, record, given)
    except ImportFileError as error:
        return Result.unavailable(f"Nothing is stored: {error}.")
    finally:
        arriving.end(number)
    if not made.ok:
        return made.as_refusal()
    indexing.soon(made.data.script)
    return Result(True, _told(made.data.script, bundle, enable=given["enable"]), made.data)


def _refusal(
    bundle: Bundle,
    people: Mapping[str, str],
    same: Mapping[int, AccountDB],
    location: GameObject | None,
    asker: Being | None,
) -> str:
    """Why what was asked may not be any more, or ""; it was some time ago."""
    for being, what in ((location, "the room"), (asker, "whoever asked")):
        if being is not None and being.pk is None:
            return f"{what} is gone meanwhile."
    if asker is not None:
        asking = account_of(asker.pk, "") if isinstance(asker, AccountDB) else None
        if asking is not None and not asking.ok:
            return asking.message
        if refused := acts.refusal(IMPORT, asker):
            return refused.message
    if _same_people(bundle, people) != (same, []):
        return "who is whom is not as it was; look at the file again."
    return ""


def _made(
    shown: BundleShown,
    bundle: Bundle,
    ids: Ids,
    number: int,
    record: Path | None,
    given: Mapping[str, Any],
) -> Result[Creation]:
    """Make the assistant whose memories are there, or leave nothing that the database has not."""
    made: Result[Creation] | None = None
    try:
        with transaction.atomic():
            if not arriving.arrive(number, len(bundle.memories), len(bundle.profiles)):
                return Result.conflict(TAKEN_OUT)
            made = create_assistant(
                shown.key,
                location=given["location"],
                desc=bundle.manifest.desc,
                aliases=bundle.manifest.aliases,
                settings={**_taken(bundle), "enabled": given["enable"]},
                maker=given["maker"],
                number=number,
            )
            if made.ok:
                store(made.data.script, bundle, ids)
                _tell(made.data.script, bundle, shown, record)
            else:
                transaction.set_rollback(True)
    except BaseException:
        _undo(made)
        raise
    return made


def _tell(script: AssistantScript, bundle: Bundle, shown: BundleShown, record: Path | None) -> None:
    audit.record(
        "assistant_imported",
        script,
        game=bundle.manifest.game,
        name=bundle.manifest.name,
        memories=len(bundle.memories),
        people=dict(shown.same),
        digest=bundle.digest,
        file=str(record or ""),
    )


def _undo(made: Result[Creation] | None) -> None:
    """Let nothing in memory be left of what the database does not have."""
    if made is None or not made.ok:
        return
    script, body = made.data.script, made.data.character
    # Its timer would go on beating for a script that is nowhere.
    if script.ndb._task is not None:
        script.ndb._task.stop()
    script.work = None  # type: ignore[assignment]  # as before it was started
    body.assistant_script = None
    beings: tuple[Any, ...] = (script, body)
    for being in beings:
        # Evennia's cache would give out objects that the database does not have.
        being.flush_from_cache(force=True)


def _told(script: AssistantScript, bundle: Bundle, *, enable: bool) -> str:
    name, count = str(script.key), len(bundle.memories)
    if bundle.manifest.stopped is not None:
        told = (
            f"{name} is here, stopped as it was. To let it go on: assistant emergency clear {name}"
        )
    elif not enable:
        told = f"{name} is here, and silent. To let it answer: assistant start {name}"
    else:
        told = f"{name} is here, and answers."
    return f"{told}\n{counted(count, 'memories') if count != 1 else '1 memory'} came along."


def _record_path(name: str, bundle: Bundle) -> Path | None:
    """The place beside the archives for the record that it had there; no other file has it.

    Raises:
        ImportFileError: the game's settings of it are wrong.
    """
    if not bundle.record:
        return None
    parts = (name, "of", bundle.manifest.game, bundle.digest[:8], token_hex(4))
    try:
        return folder_of(policy()) / file_name(*parts, ending="jsonl")
    except ConfigurationError as error:
        raise ImportFileError(UNWRITTEN.format(error=error)) from None


def _save_record(path: Path | None, bundle: Bundle) -> Path | None:
    """Put the record that it had there aside, for people to read."""
    try:
        return None if path is None else write_new(path.parent, path.name, bundle.record)
    except OSError as error:
        raise ImportFileError(UNWRITTEN.format(error=error)) from None
