"""Forms that are sent after their login ended or was renewed, and forms that are sent twice."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from time import monotonic
from typing import Any

from django.http import HttpRequest
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from evennia_ai.web.rows import Shown, Visit

TOKEN = "csrfmiddlewaretoken"
# The visitor was asked to log in and send the form again: a renewed token needs no second question.
ASKED = "asked-to-send-again"
# A form that is sent again later is meant, as after a step back in the browser.
SECONDS, MOST = 10.0, 100

Outcome = tuple[Any, str]
_DONE: OrderedDict[str, tuple[float, Outcome]] = OrderedDict()
# Buttons at work, each with the later presses that wait for its outcome.
_AT_WORK: dict[str, list[Deferred[Any]]] = {}


def is_from_here(request: HttpRequest) -> bool:
    """True if a browser says that a page of this site sent the form."""
    here = f"{request.scheme}://{request.get_host()}"
    return bool(request.headers.get("Origin") == here)


def unsent_shown(request: HttpRequest, login: str) -> Shown:
    """The context of a page that keeps a form, which can then be sent again.

    Args:
        login: address of the login; "" for a visitor who is logged in.
    """
    fields = [(name, text) for name, texts in request.POST.lists() for text in texts]
    return {
        "page_title": "Not sent",
        "login": login,
        "fields": [(name, text) for name, text in fields if name not in (TOKEN, ASKED)],
        "files": list(request.FILES),
    }


def do_once(visit: Visit, name: str, do: Callable[[], Any]) -> Any:
    """Press a button, unless the same form of the same page just did; in the game's thread.

    The second click of a double click gets the outcome of the first, and waits for it. Only what
    succeeded is kept: the result and the address to visit.

    Args:
        name: the name of the button.
    """
    mark = _mark(visit, name)
    while _DONE and monotonic() - next(iter(_DONE.values()))[0] > SECONDS:
        _DONE.popitem(last=False)
    if mark in _DONE:
        return _DONE[mark][1]
    if mark in _AT_WORK:
        waiting: Deferred[Any] = Deferred()
        _AT_WORK[mark].append(waiting)
        return waiting
    outcome = do()
    if mark and isinstance(outcome, Deferred):
        _AT_WORK[mark] = []
        return outcome.addBoth(_ended, mark)
    return _kept(outcome, mark)


def _ended(outcome: Any, mark: str) -> Any:
    """Give the outcome of a button to all who pressed it."""
    waiting = _AT_WORK.pop(mark)
    # After a cut-off, the others' own time is about to end too, with the words for that.
    if not (isinstance(outcome, Failure) and outcome.check(CancelledError)):
        for each in waiting:
            each.callback(outcome)
    return _kept(outcome, mark)


def _kept(outcome: Any, mark: str) -> Any:
    if mark and isinstance(outcome, tuple):
        _DONE[mark] = monotonic(), outcome
        if len(_DONE) > MOST:
            _DONE.popitem(last=False)
    return outcome


def _mark(visit: Visit, name: str) -> str:
    """A digest of all that is sent; "" without a token, which is new each time a page is shown."""
    if TOKEN not in visit.form:
        return ""
    files = {field: [file.name, file.size] for field, file in visit.files.items()}
    sent = [visit.account.pk, name, visit.path, visit.form, files]
    return sha256(json.dumps(sent, sort_keys=True, default=str).encode()).hexdigest()
