"""The pages of the game's lore: entries, a test of what a text would bring up, and packs."""

from __future__ import annotations

from typing import Any

from evennia_ai import operations
from evennia_ai.core.cards.lore_pack import LONGEST_PACK
from evennia_ai.operations import Result
from evennia_ai.operations.files import lore_packs
from evennia_ai.operations.files.exports import as_file, file_name
from evennia_ai.operations.memory import lore as lore_of
from evennia_ai.operations.memory import trials
from evennia_ai.operations.memory.rows import Remembered, audience_text
from evennia_ai.operations.rights import acts, is_allowed
from evennia_ai.runtime.rights import name_before
from evennia_ai.web.forms import (
    AT_ONCE,
    mark_of,
    next_page,
    offset_in,
    refuse_stale,
    require_confirmation,
    whole_number_in,
)
from evennia_ai.web.pages.memory import person_or_visitor, unknown_person
from evennia_ai.web.rows import Action, Download, File, Page, Shown, Visit


def _entry(row: Remembered) -> Shown:
    """Format a piece of lore; `whom` is its audience as it is typed in the form."""
    return {
        **row,
        "keywords": ", ".join(row["tags"]),
        "audience": audience_text(row["audience"], row["place"]),
        "whom": lore_of.words_of_audience(row["audience"], row["place"]),
    }


def _show(visit: Visit) -> Shown:
    words = visit.query.get("text", "").strip()
    first = offset_in(visit)
    page = lore_of.list_lore(words, after=first, limit=AT_ONCE).data
    return {
        "asked": words,
        "entries": [_entry(row) for row in page.lore],
        "count": page.count,
        "more": next_page(page.count, first, text=words),
        "packs": sorted(lore_packs.list_packs().data.packs.items()),
        "may_change": is_allowed("change lore", visit.account),
        **_tried(visit),
    }


def _tried(visit: Visit) -> dict[str, Any]:
    """The entries that a text would bring up, if the visitor asked for that."""
    trial = {
        name: visit.query.get(name, "").strip() for name in ("said", "assistant", "who", "way")
    }
    scripts = operations.list_assistants()
    shown: dict[str, Any] = {
        "assistants": [(str(each.key), name_before(each, visit.account)) for each in scripts],
        "trial": trial,
        "would": None,
    }
    if not trial["said"]:
        return shown
    allowed = acts.find_allowed("show memories", visit.account, trial["assistant"])
    result: Result[Any] = allowed if not allowed.ok else _try(visit, allowed.data, trial)
    if not result.ok:
        visit.result = result
        return shown
    return {**shown, "would": result.data, "told": result.message.splitlines()[0]}


def _try(visit: Visit, script: Any, asked: dict[str, str]) -> Result[Any]:
    being = person_or_visitor(visit, script, asked["who"])
    if being is None:
        return unknown_person(asked["who"])
    is_aloud = asked["way"] != "whisper"
    return trials.try_lore(script, asked["said"], being, is_aloud=is_aloud)


def _show_one(visit: Visit) -> Shown:
    result = lore_of.show_lore(visit.path["number"])
    if not result.ok:
        visit.result = visit.result or result
        return {"entry": None}
    entry = _entry(result.data)
    return {
        "entry": entry,
        "mark": _mark(entry),
        "may_change": is_allowed("change lore", visit.account),
    }


def _mark(entry: Shown) -> str:
    return mark_of(*(entry[name] for name in ("text", "keywords", "whom", "importance")))


# ---- buttons -----------------------------------------------------------------------------------


def _fields(visit: Visit) -> dict[str, Any]:
    form = visit.form
    importance = whole_number_in(form, "importance")
    return {
        "text": form.get("text", ""),
        "keywords": form.get("keywords", "").split(","),
        "audience": form.get("audience", "").strip() or "world",
        "importance": 5 if importance is None else importance,
        "by": visit.by,
    }


def _add(visit: Visit) -> Result:
    return operations.add_lore(**_fields(visit))


def _change(visit: Visit) -> Result:
    now = lore_of.show_lore(visit.path["number"])
    if now.ok and (stale := refuse_stale(visit, _mark(_entry(now.data)), "it")):
        return stale
    return operations.change_lore(visit.path["number"], **_fields(visit))


def _remove(visit: Visit) -> Result:
    refused = require_confirmation(
        visit, "no assistant knows it from then on, and it cannot be taken back."
    )
    return refused or operations.remove_lore(visit.path["number"], by=visit.by)


def _import_pack(visit: Visit) -> Result:
    file = visit.files.get("file")
    if file is None:
        return Result.invalid("Nothing is imported: choose a file of YAML or JSON first.")
    # One byte more than allowed, by which `read` notices that the file is too long.
    result = lore_packs.read(file.read(LONGEST_PACK + 1))
    if not result.ok:
        return result
    is_tried = bool(visit.form.get("preview"))
    return lore_packs.import_pack(result.data, by=visit.by, is_tried=is_tried)


def _export_pack(visit: Visit) -> Result[File]:
    name = visit.path["pack"]
    result = lore_packs.export_pack(name)
    if not result.ok:
        return result.as_refusal()
    return result.with_data(File(file_name("lore", name), as_file(result.data)))


PAGES = (
    Page("lore/", "lore", "Lore", "show memories", _show),
    Page("lore/<int:number>/", "one-lore", "Lore", "show memories", _show_one, in_menu=False),
)
ACTIONS = (
    Action("lore/add/", "lore-add", "lore", "change lore", _add),
    Action("lore/<int:number>/change/", "lore-change", "one-lore", "change lore", _change),
    Action(
        "lore/<int:number>/remove/",
        "lore-remove",
        "one-lore",
        "change lore",
        _remove,
        goes_to="lore",
    ),
    Action("lore/packs/", "pack-import", "lore", "change lore", _import_pack),
)
DOWNLOADS = (
    Download("lore/packs/<slug:pack>/", "pack-export", "lore", "show memories", _export_pack),
)
