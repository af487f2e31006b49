"""The page of all settings of an assistant, with its look and place, and undo."""

from __future__ import annotations

import re
from collections.abc import Iterable

from evennia_ai.core.settings.paths import locate, text_at
from evennia_ai.operations import Result
from evennia_ai.operations.rights import is_allowed, refusal
from evennia_ai.operations.settings import changing as settings_of
from evennia_ai.operations.settings.rows import HEADINGS, OTHERS, group_of
from evennia_ai.web import edits
from evennia_ai.web.fields import (
    Field,
    changes_of,
    field_of,
    grouped,
    is_container,
    is_within,
    refuse_stale_settings,
)
from evennia_ai.web.pages.looks import look_shown
from evennia_ai.web.rows import ONE, Action, Page, Shown, Visit

FIXED = "assistant_key"
# The help of a group says where its keys are documented; a page shows them right below.
_WHERE = re.compile(r"[;,]? its keys are in .*")


def _show(visit: Visit) -> Shown:
    rows = settings_of.configuration(visit.assistant).data["settings"]
    fields = [
        field_of(row, visit)
        for row in rows
        if row["name"] != FIXED and not is_container(row) and not is_within(row)
    ]
    groups = [_group(title, fields) for title in (*HEADINGS, OTHERS)]
    return {
        "groups": groups,
        "may_configure": is_allowed("configure", visit.account, visit.assistant),
        "may_give_powers": is_allowed("configure powers", visit.account, visit.assistant),
        **look_shown(visit),
        **edits.edits_of(visit),
    }


def _group(title: str, fields: Iterable[Field]) -> Shown:
    """The settings under a heading; those that are keys of one setting are a part with its name.

    The group is shown expanded (`is_open`) if it has typed values that were refused; `own` is the
    number of settings that the assistant overrides.
    """
    theirs = [field for field in fields if group_of(field.path) == title]
    parts = [
        {
            "name": name.replace("_", " "),
            "help": _WHERE.sub("", text_at(locate(name))) if name else "",
            "fields": part,
        }
        for name, part in grouped(theirs).items()
    ]
    return {
        "key": title.casefold().replace(" ", "-"),
        "title": title,
        "parts": parts,
        "own": sum(field.is_own for field in theirs),
        "is_open": any(field.error or field.text != field.was for field in theirs),
    }


def set_settings(visit: Visit) -> Result:
    """Apply all changes in the form, or none; some settings need more than the button's right."""
    changes = changes_of(visit)
    if not changes:
        return Result.invalid("Nothing is changed: every field is as it was.")
    refused = refusal(settings_of.act_to_configure(changes), visit.account, visit.assistant)
    if refused is not None:
        return refused
    stale = refuse_stale_settings(visit)
    return stale or settings_of.update_settings(visit.assistant, changes, by=visit.by)


PAGES = (Page(f"{ONE}settings/", "settings", "Settings", "show configuration", _show),)
ACTIONS = (
    Action(f"{ONE}settings/set/", "set-settings", "settings", "configure", set_settings),
    *edits.actions("settings"),
)
