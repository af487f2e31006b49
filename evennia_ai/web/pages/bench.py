"""The test bench: try a message without consequences, also with a changed prompt or model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred

from evennia_ai.operations import Result
from evennia_ai.operations.budget.caps import today_of
from evennia_ai.operations.dry_runs.changes import Variant, texts_of
from evennia_ai.operations.dry_runs.running import DryRun, Trial, try_message, ways
from evennia_ai.operations.models.choosing import known_models
from evennia_ai.operations.rights import is_allowed
from evennia_ai.runtime import state
from evennia_ai.runtime.web_requests import api_config
from evennia_ai.web.fields import clean
from evennia_ai.web.rows import ONE, Page, Shown, Visit

# The part of a request's time limit that the trial may take; the rest is for the page.
PART_OF_TIME = 0.8
WORDS, LOAD = "words", "load"


def _show(visit: Visit) -> Shown | Deferred[Shown]:
    form = {name: clean(value) for name, value in visit.form.items()}
    # The button that loads the text of a part sends the same form, but tries nothing.
    if LOAD in form:
        form = {**form, "text": _text_of(visit, form.get("part", ""))}
    if WORDS not in form or LOAD in form:
        return _shown(visit, form)
    trial = Trial(form[WORDS], form.get("way", ""), form.get("person", ""))
    variant = Variant(*(form.get(name, "") for name in ("part", "text", "model", "moment")))
    most = PART_OF_TIME * api_config().long_timeout_seconds
    trying = try_message(
        visit.assistant, visit.account, trial, variant, look=visit.look, seconds=most
    )
    return trying.addCallback(lambda tried: _shown(visit, form, tried))


def _text_of(visit: Visit, part: str) -> str:
    return next((each.text for each in texts_of(visit.assistant).data if each.part == part), "")


def _shown(
    visit: Visit, form: Mapping[str, str], tried: Result[DryRun] | None = None
) -> dict[str, Any]:
    script = visit.assistant
    texts, models = texts_of(script), known_models()

    def may(act: str) -> bool:
        return is_allowed(act, visit.account, script)

    shown: dict[str, Any] = {
        "form": form,
        "name": str(script.key),
        "is_stopped": state.is_stopped(script),
        "ways": ways(script),
        "texts": texts.data if texts.ok else [],
        "models": [
            f"{each.provider} {each.model}".strip()
            for each in (models.data if models.ok else ())
            if each.provider
        ],
        "purse": today_of(None),
        "may_reveal": all(map(may, ("show memories", "reveal"))),
        "may_configure": may("configure"),
        "may_audit": may("audit"),
        "run": tried.data if tried is not None and tried.ok else None,
    }
    return shown if tried is None or tried.ok else {**shown, "result": tried}


PAGES = (Page(f"{ONE}bench/", "bench", "Test bench", "try messages", _show, is_long=True),)
ACTIONS = ()
