"""An assistant's look, place and channels; copying, exporting and removing it.

They are part of the page of its settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from evennia.comms.models import ChannelDB
from twisted.internet.defer import Deferred

from evennia_ai import operations
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.assistants import creation, lifecycle, looks
from evennia_ai.operations.bundles import writing
from evennia_ai.operations.conversation import listening
from evennia_ai.operations.files import cards
from evennia_ai.operations.files.exports import file_name
from evennia_ai.operations.rights import is_allowed, refusal
from evennia_ai.runtime import state
from evennia_ai.web.fields import at_field, clean
from evennia_ai.web.forms import mark_of, refuse_stale, time_shown
from evennia_ai.web.rows import ONE, Action, Download, File, Shown, Visit, page_address

MEDIA = {cards.JSON: "application/json", cards.PNG: "image/png"}
ACTS = ("update", "move", "channel", "clone", "delete", "release", "account")


def look_shown(visit: Visit) -> Shown:
    """The look of an assistant and the actions on it, as context for a template."""
    script, form = visit.assistant, visit.form
    look = looks.describe(script).data
    return {
        "look": look,
        "made": time_shown(look.created_at)[:10],
        "look_mark": mark_of(look.desc, look.aliases),
        "desc": clean(form.get("desc", look.desc)),
        "aliases": clean(form.get("aliases", "\n".join(look.aliases))),
        "location": form.get("location", look.location_id or ""),
        "place_mark": mark_of(look.location_id),
        "channels": _channels(visit),
        "modes": listening.MODES,
        "may": {act: is_allowed(act, visit.account, script) for act in ACTS},
        "may_export": is_allowed("export assistant", visit.account, script),
        "may_create": is_allowed("create", visit.account),
        "card_kinds": cards.KINDS,
    }


def _channels(visit: Visit) -> list[tuple[str, str, str]]:
    """Each channel, the mode that its form shows, and the mark of the mode that it has."""
    modes, form = _modes(visit.assistant), visit.form
    typed = {form.get("channel"): form.get("mode", "")}
    return [(name, typed.get(name, mode), mark_of(mode)) for name, mode in modes.items()]


def _modes(script: AssistantScript) -> dict[str, str]:
    """The way in which it listens to each channel: a value of `listening.MODES`."""
    configs = {
        str(name).casefold(): value for name, value in state.read(script, "channel_configs").items()
    }
    heard = set(lifecycle.channels_of(script.obj)) if script.obj is not None else set()
    return {
        str(channel.key): _mode(configs.get(str(channel.key).casefold()), channel in heard)
        for channel in ChannelDB.objects.order_by("pk")
    }


def _mode(given: object, is_heard: bool) -> str:
    # A channel's setting is a mode, or a mapping with a mode and more options.
    mode = given.get("mode") if isinstance(given, Mapping) else given
    return str(mode or "ignore") if is_heard else listening.LEAVE


def _lines(text: str) -> list[str]:
    return [line.strip() for line in clean(text).split("\n") if line.strip()]


def _update(visit: Visit) -> Result:
    desc, aliases = clean(visit.form.get("desc", "")), _lines(visit.form.get("aliases", ""))
    now = looks.describe(visit.assistant).data
    if stale := refuse_stale(visit, mark_of(now.desc, now.aliases), "its look"):
        current = {"desc": now.desc, "aliases": ", ".join(now.aliases)}
        return replace(stale, errors={name: f"it is {text} now" for name, text in current.items()})
    return looks.update_assistant(
        visit.assistant, desc=desc, aliases=aliases, by=visit.by, person=visit.account
    )


def _move(visit: Visit) -> Result:
    now = looks.describe(visit.assistant).data
    if stale := refuse_stale(visit, mark_of(now.location_id), "its place"):
        return replace(stale, errors={"location": f"it is {now.location} ({now.location_id}) now"})
    result = creation.find_room(visit.account, visit.form.get("location", ""))
    if not result.ok:
        return at_field("location", result)
    return looks.update_assistant(
        visit.assistant, location=result.data, by=visit.by, person=visit.account
    )


def _channel(visit: Visit) -> Result:
    name, mode = visit.form.get("channel", ""), visit.form.get("mode", "")
    now = _modes(visit.assistant).get(name)
    if stale := refuse_stale(visit, mark_of(now), f"how it listens to {name}"):
        return replace(stale, errors={name: f"it is {now} now"})
    return listening.set_channel(visit.assistant, name, mode, person=visit.account)


def _clone(visit: Visit) -> Result:
    # The button's right is about this assistant; a copy also needs the right to create one.
    refused = refusal("create", visit.account)
    if refused is not None:
        return refused
    key = visit.form.get("copy_name", "")
    return lifecycle.clone_assistant(visit.assistant, key, by=visit.by, person=visit.account)


def _end(visit: Visit, *, is_release: bool) -> Result:
    """Delete or release an assistant, if its name was typed as confirmation."""
    script = visit.assistant
    if visit.form.get("sure", "").strip().casefold() != str(script.key).casefold():
        return Result.invalid(f"Nothing is done: to be sure, type its name, {script.key}.")
    name, end = str(script.key), operations.release if is_release else operations.delete_assistant
    gone = end(script, by=visit.by, reason=f"ended on the workbench by {visit.by}")
    if not gone.ok:
        return gone
    # Without the folder: visitors need not know the paths of the game's machine.
    file = PurePath(gone.data).name
    what = "released, and the being is as it was before" if is_release else "deleted"
    where = f" Its record is in the file {file}." if file else ""
    return Result(True, f"{name} is {what}.{where}")


def _export_card(visit: Visit, *, kind: str) -> Result[File]:
    name = file_name("card", visit.assistant.key, ending=kind)
    content = cards.export_card(visit.assistant, kind)
    return Result(True, f"The card of {visit.assistant.key}", File(name, content, MEDIA[kind]))


def _export(visit: Visit) -> Deferred[Result[File]]:
    name = file_name("assistant", visit.assistant.key, ending=writing.ENDING)

    def sent(result: Result[bytes]) -> Result[File]:
        return result.map(lambda raw: File(name, raw, "application/zip"))

    return writing.export_assistant(visit.assistant, by=visit.by).addCallback(sent)


def to_live_page(_visit: Visit, result: Result) -> str:
    """The address of the assistant that was created."""
    return page_address("live", key=str(result.data.script.key))


PAGES = ()
ACTIONS = (
    Action(f"{ONE}look/", "set-look", "settings", "update", _update),
    Action(f"{ONE}place/", "set-place", "settings", "move", _move),
    Action(f"{ONE}channel/", "set-channel", "settings", "channel", _channel),
    Action(f"{ONE}clone/", "clone", "settings", "clone", _clone, goes_to=to_live_page),
    Action(
        f"{ONE}account/",
        "give-account",
        "settings",
        "account",
        lambda visit: operations.give_account(visit.assistant),
    ),
    Action(
        f"{ONE}delete/",
        "delete",
        "settings",
        "delete",
        partial(_end, is_release=False),
        goes_to="now",
    ),
    Action(
        f"{ONE}release/",
        "release",
        "settings",
        "release",
        partial(_end, is_release=True),
        goes_to="now",
    ),
)
DOWNLOADS = (
    *(
        Download(
            f"{ONE}card.{kind}",
            f"card-{kind}",
            "settings",
            "show configuration",
            partial(_export_card, kind=kind),
        )
        for kind in cards.KINDS
    ),
    Download(f"{ONE}assistant.zip", "whole", "settings", "export assistant", _export, is_long=True),
)
