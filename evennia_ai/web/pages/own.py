"""For every account: what assistants remember of whoever looks, and its say over that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict

from evennia_ai import operations
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.files.exports import as_file, file_name
from evennia_ai.operations.memory import own
from evennia_ai.operations.memory.acquaintances import find_named, how_it_stands, who_knows
from evennia_ai.web.rows import Action, Download, File, Page, Shown, Visit, page_address
from evennia_ai.web.typed import AT_ONCE, address_with, after_in, more_than, time_shown, unsure

OF = "of"


def _show(visit: Visit) -> Shown:
    known = who_knows(visit.account).data.assistants
    named = Counter(each.name for each in known)
    return {
        "assistants": [
            {**asdict(each), "query": address_with(of=each.mark), "alike": named[each.name]}
            for each in known
        ]
    }


def _name(visit: Visit) -> str:
    """The name or the mark of the assistant that is meant."""
    return visit.form.get(OF) or visit.query.get(OF, "")


def _show_one(visit: Visit) -> Shown:
    """The memories that one assistant has of the visitor."""
    found = find_named(_name(visit), visit.account)
    if not found.ok:
        visit.said = visit.said or found
        return {"one": None, OF: _name(visit)}
    known, first = own.what_is_known(found.data, visit.account).data, after_in(visit)
    if first >= len(known.known):  # the last of them may just be forgotten
        first = 0
    return {
        "one": how_it_stands(found.data, visit.account),
        OF: _name(visit),
        "here": address_with(of=_name(visit), after=first or None),
        "known": [
            {**row, "at": time_shown(row["at"]), "superseded": time_shown(row["superseded"])}
            for row in known.known[first : first + AT_ONCE]
        ],
        "more": more_than(len(known.known), first, of=_name(visit)),
        "count": known.count,
        "kept": own.KEPT,
        "failed": visit.form.get("number", "") if visit.said else "",
    }


# ---- buttons -----------------------------------------------------------------------------------


def _to(do: Callable[[AssistantScript, Visit], Result]) -> Callable[[Visit], Result]:
    """An act on the assistant that the form names, as the visitor knows it."""

    def act(visit: Visit) -> Result:
        found = find_named(_name(visit), visit.account)
        return do(found.data, visit) if found.ok else found

    return act


def _correct(script: AssistantScript, visit: Visit) -> Result:
    number, text = visit.form.get("number", ""), visit.form.get("text", "")
    return operations.correct_known(script, visit.account, number, text)


def _forget(script: AssistantScript, visit: Visit) -> Result:
    return operations.forget_known(script, visit.account, visit.form.get("number", ""))


def _forget_all(script: AssistantScript, visit: Visit) -> Result:
    refused = unsure(visit, "all memories of you are dropped, and all talk with you too.")
    return refused or operations.forget_everything(script, visit.account)


def _remember(script: AssistantScript, visit: Visit) -> Result:
    is_remembered = visit.form.get("remembered") == "yes"
    return operations.set_remembered(script, visit.account, is_remembered)


def _mute(script: AssistantScript, visit: Visit) -> Result:
    return operations.set_muted(script, visit.account, visit.form.get("muted") == "yes")


def _export(visit: Visit) -> Result[File]:
    found = find_named(_name(visit), visit.account)
    if not found.ok:
        return found.as_refusal()
    known = operations.export_known(found.data, visit.account)
    name = file_name("memories-of-me", known.data.assistant)
    return known.holding(File(name, as_file(asdict(known.data))))


def _back(visit: Visit, _: object) -> str:
    """The address where it was done; the list where the mark means nothing: all is forgotten."""
    if not find_named(_name(visit), visit.account).ok:
        return page_address("mine")
    first = after_in(visit)
    return f"{page_address('one-of-mine')}{address_with(of=_name(visit), after=first or None)}"


def _button(name: str, do: Callable[[AssistantScript, Visit], Result]) -> Action:
    return Action(f"me/memory/{name}/", f"my-{name}", "one-of-mine", "", _to(do), goes_to=_back)


PAGES = (
    Page("me/", "mine", "What they know of me", "", _show),
    Page("me/memory/", "one-of-mine", "What it knows of me", "", _show_one, in_menu=False),
)
ACTIONS = (
    _button("correct", _correct),
    _button("forget", _forget),
    _button("forget-all", _forget_all),
    _button("remember", _remember),
    _button("mute", _mute),
)
DOWNLOADS = (Download("me/memory/export/", "my-export", "one-of-mine", "", _export),)
