"""Import of an assistant from another game's bundle: previewed, then created whole or not at all.

The people of the file belong to another game. Those whom staff do not map to an account of this
game stay strangers, whose words only staff can read; rooms, channels and factions always do.
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
from evennia_ai.core.safety.notices import TO_START
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted, first_few
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.errors import ConfigurationError, ImportFileError
from evennia_ai.memory import arriving, indexing
from evennia_ai.operations.assistants.creation import (
    Creation,
    create_assistant,
    refuse_names,
    take_back,
)
from evennia_ai.operations.bundles import file
from evennia_ai.operations.bundles.parts import Bundle, Who, unlinked
from evennia_ai.operations.bundles.people import (
    Ids,
    accounts_alike,
    accounts_named,
    players,
)
from evennia_ai.operations.bundles.store import store, storing
from evennia_ai.operations.bundles.writing import LEFT_OUT, moving, travelling_part
from evennia_ai.operations.files.exports import file_name, write_new
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.rights import acts
from evennia_ai.operations.rights.acts import account_of
from evennia_ai.operations.settings.changing import prepare, signed
from evennia_ai.operations.settings.rows import UNSET
from evennia_ai.runtime.game_thread import Steps

MOST_NAMED = 30
IMPORT = "import assistant"
# Settings that players are shown with their markup.
SHOWN_AS_MARKUP = ("thinking_lines", "failure_line")
UNWRITTEN = "its record could not be written: {error}"
TAKEN_OUT = "Nothing is stored: what it remembers was taken out again meanwhile."


@dataclass(frozen=True, slots=True)
class BundleShown:
    """An assistant in a file, before anything of it is stored."""

    key: Annotated[str, note("Name it would have in this game.")]
    name: Annotated[str, note("Name in the game it comes from.")]
    game: Annotated[str, note("Name of that game.")]
    version: Annotated[str, note("Version of the package that wrote the file.")]
    stopped: Annotated[str, note("Why it was stopped there; empty if it was not.")]
    memories: Annotated[int, note("Number of memories, including lore of its own.")]
    profiles: int
    goals: Annotated[int, note("Number of open goals, on which it works by itself.")]
    settings: Annotated[list[str], note("Names of the settings that are imported.")]
    left_out: Annotated[list[str], note("What was not exported from that game.")]
    people: Annotated[list[str], note("Names of the players it knows who existed in that game.")]
    same: Annotated[
        dict[str, str], note("Accounts of this game by these names, as given in the request.")
    ]
    alike: Annotated[list[str], note("Those with the same name as an account here.")]
    problems: Annotated[list[str], note("Why it cannot be imported; empty if it can.")]


def read(raw: bytes) -> Deferred[Result[Bundle]]:
    """Read and check a bundle, in steps of a few milliseconds."""
    return moving(reading_steps(raw))


def reading_steps(raw: bytes) -> Steps[Result[Bundle]]:
    """Read and check a bundle, as steps of a longer task."""
    try:
        return Result(True, "It can be read.", (yield from file.read_bundle(raw)))
    except ImportFileError as error:
        return Result(False, f"That assistant cannot be imported: {error}.")


def show_bundle(
    bundle: Bundle, key: str = "", people: Mapping[str, str] | None = None
) -> Result[BundleShown]:
    """Preview the import of a bundle. Nothing is stored.

    Args:
        key: name of the assistant in this game; "": the same as in the other.
        people: names of accounts here, by the names of the players in the other game.
    """
    preview, _, _ = _judge(bundle, key, people or {})
    preview = replace(
        preview, alike=[_named(bundle.who[number - 1]) for number in accounts_alike(bundle.who)]
    )
    return Result(not preview.problems, "\n".join(_lines(preview)), preview)


def _judge(
    bundle: Bundle, key: str, people: Mapping[str, str]
) -> tuple[BundleShown, dict[int, AccountDB], ProblemKind]:
    # Without `alike`, which reads all accounts and is only for the preview.
    name, head = " ".join((key or bundle.manifest.name).split()), bundle.manifest
    same, problems = _same_people(bundle, people)
    problems += prepare(_travelling_settings(bundle), lambda _: UNSET).errors.values()
    kind = ProblemKind.INVALID
    if refused := refuse_names(name, head.aliases):
        kind = kind if problems else refused.problem
        problems = [refused.message, *problems]
    # `one_line`: text from a file must not be able to imitate lines of our own.
    preview = BundleShown(
        key=name,
        name=one_line(head.name, 100),
        game=one_line(head.game, 100),
        version=one_line(head.version, 40),
        stopped=one_line(head.stopped or "", 400),
        memories=len(bundle.memories),
        profiles=len(bundle.profiles),
        goals=sum(goal.status == "active" for goal in bundle.state.goals.goals),
        settings=sorted(_travelling_settings(bundle)),
        left_out=[one_line(each, 60) for each in head.left_out],
        people=[_named(each) for each in bundle.who if each.kind == "account" and each.name],
        same={_named(bundle.who[number - 1]): str(who.key) for number, who in same.items()},
        alike=[],
        problems=problems,
    )
    return preview, same, kind


def _named(who: Who) -> str:
    return one_line(who.name, 100)


def _lines(shown: BundleShown) -> list[str]:
    strangers = [name for name in shown.people if name not in shown.same]
    lines = [
        f"{shown.name} of {shown.game}, to be {shown.key} here: "
        f"{counted(shown.memories, 'memories')}, {counted(shown.profiles, 'profiles')}, "
        f"{counted(shown.goals, 'open goals')}, "
        f"settings: {', '.join(shown.settings) or 'none'}.",
        "It arrives silent, with a new conversation; caps, powers and models are this game's.",
    ]
    if shown.stopped:
        lines.append(f"It was stopped there, and arrives stopped: {shown.stopped}")
    if shown.left_out:
        lines.append(f"Set there but not imported: {', '.join(shown.left_out)}.")
    for there, here in shown.same.items():
        lines.append(f"{there} of that game is {here} here, and is told what {there} may know.")
    if strangers:
        lines.append(
            "Strangers, whose private words only staff can read: "
            f"{first_few(strangers, MOST_NAMED)}."
        )
    lines += [f"It cannot be imported: {problem}" for problem in shown.problems]
    return lines


# ---- judging -----------------------------------------------------------------------------------


def _same_people(
    bundle: Bundle, people: Mapping[str, str]
) -> tuple[dict[int, AccountDB], list[str]]:
    # Numbers of the file with the account each is mapped to; and what is wrong with the mapping.
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


def _travelling_settings(bundle: Bundle) -> dict[str, Any]:
    # Filtered here too, not only when written: a file may be made by hand.
    return {
        name: _unlinked(value) if name in SHOWN_AS_MARKUP else travelling_part(name, value)
        for name, value in bundle.settings.items()
        if name not in LEFT_OUT
    }


def _unlinked(value: object) -> object:
    if isinstance(value, list):
        return [_unlinked(each) for each in value]
    return unlinked(value) if isinstance(value, str) else value


# ---- importing ---------------------------------------------------------------------------------


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
    """Create an assistant from a bundle, completely or not at all, in steps of a few milliseconds.

    Args:
        key, people: as in `show_bundle`.
        location: the room it stands in.
        enable: it answers from now on; else it is silent until it is started.
        by, maker: as in `create_assistant`.
    """
    options = {"location": location, "enable": enable, "maker": maker}
    stops = emergency.count_of_stops()
    return moving(import_steps(bundle, key, people or {}, by, options, stops), is_patient=True)


def import_steps(
    bundle: Bundle,
    key: str,
    people: Mapping[str, str],
    by: str,
    given: Mapping[str, Any],
    stops: int,
) -> Steps[Result[Creation]]:
    """Create an assistant from a bundle, as steps of a longer task.

    Args:
        given: the other arguments of `import_bundle`.
        stops: `emergency.count_of_stops` at the time of the request.
    """
    maker = given["maker"]
    by = by or str(getattr(maker, "key", ""))
    # The account, since a player may have left the body by the time rights are checked again.
    asker = getattr(maker, "account", None) or maker
    preview, same, kind = _judge(bundle, key, people)
    if preview.problems:
        return Result(False, "\n".join(_lines(preview)), problem=kind)
    ids, number = Ids(bundle.who, same), arriving.begin()
    try:
        yield from storing(number, bundle, ids)
        # From here to the end without a `yield`: nothing changes between check and use.
        if refused := _refusal(bundle, people, same, given["location"], asker):
            return Result.conflict(f"Nothing is stored: {refused}")
        # An emergency stop of all meanwhile could not reach an assistant that was not there yet.
        given = {**given, "enable": given["enable"] and stops == emergency.count_of_stops()}
        # The path is noted before the file is written, so that a crash in between leaves no file.
        path = _record_path(preview.key, bundle)
        if not arriving.note_file(number, str(path or "")):
            return Result.conflict(TAKEN_OUT)
        record = _save_record(path, bundle)
        with signed(by):
            result = _create(preview, bundle, ids, number, record, given)
    except ImportFileError as error:
        return Result.unavailable(f"Nothing is stored: {error}.")
    finally:
        arriving.end(number)
    if not result.ok:
        return result.as_refusal()
    indexing.soon(result.data.script)
    message = _arrival_message(result.data.script, bundle, enable=given["enable"])
    return Result(True, message, result.data)


def _refusal(
    bundle: Bundle,
    people: Mapping[str, str],
    same: Mapping[int, AccountDB],
    location: GameObject | None,
    asker: Being | None,
) -> str:
    # All is checked again at the end: storing took up to minutes, and people went on playing.
    for being, what in ((location, "the room"), (asker, "whoever asked")):
        if being is not None and being.pk is None:
            return f"{what} has been deleted in the meantime."
    if asker is not None:
        asking = account_of(asker.pk, "") if isinstance(asker, AccountDB) else None
        if asking is not None and not asking.ok:
            return asking.message
        if refused := acts.refusal(IMPORT, asker):
            return refused.message
    if _same_people(bundle, people) != (same, []):
        return "the accounts have changed in the meantime; look at the file again."
    return ""


def _create(
    shown: BundleShown,
    bundle: Bundle,
    ids: Ids,
    number: int,
    record: Path | None,
    given: Mapping[str, Any],
) -> Result[Creation]:
    # All in one transaction, and what is in memory undone with it: see `take_back`.
    result: Result[Creation] | None = None
    try:
        with transaction.atomic():
            if not arriving.arrive(number, len(bundle.memories), len(bundle.profiles)):
                return Result.conflict(TAKEN_OUT)
            result = create_assistant(
                shown.key,
                location=given["location"],
                desc=bundle.manifest.desc,
                aliases=bundle.manifest.aliases,
                settings={**_travelling_settings(bundle), "enabled": given["enable"]},
                maker=given["maker"],
                number=number,
            )
            if result.ok:
                store(result.data.script, bundle, ids)
                _record_import(result.data.script, bundle, shown, record)
            else:
                transaction.set_rollback(True)
    # BaseException, since a cancelled Deferred and the end of the process must not leave half.
    except BaseException:
        take_back(result)
        raise
    return result


def _record_import(
    script: AssistantScript, bundle: Bundle, shown: BundleShown, record: Path | None
) -> None:
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


def _arrival_message(script: AssistantScript, bundle: Bundle, *, enable: bool) -> str:
    name, count = str(script.key), len(bundle.memories)
    if bundle.manifest.stopped is not None:
        message = (
            f"{name} is here, stopped as it was. To let it go on: assistant emergency clear {name}"
        )
    elif not enable:
        message = f"{name} is here, and silent. {TO_START.format(name=name)}"
    else:
        message = f"{name} is here, and answers."
    return f"{message}\n{counted(count, 'memories')} came along."


def _record_path(name: str, bundle: Bundle) -> Path | None:
    """A new path beside the archives for the audit log it had in the other game.

    Raises:
        ImportFileError: the game's settings of archives are wrong.
    """
    if not bundle.record:
        return None
    parts = (name, "of", bundle.manifest.game, bundle.digest[:8], token_hex(4))
    try:
        return folder_of(policy()) / file_name(*parts, ending="jsonl")
    except ConfigurationError as error:
        raise ImportFileError(UNWRITTEN.format(error=error)) from None


def _save_record(path: Path | None, bundle: Bundle) -> Path | None:
    try:
        return None if path is None else write_new(path.parent, path.name, bundle.record)
    except OSError as error:
        raise ImportFileError(UNWRITTEN.format(error=error)) from None
