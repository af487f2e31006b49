"""Views of assistants: making, looking at, changing and removing one, and letting it act or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from django.urls import reverse

from evennia_ai import operations
from evennia_ai.api import answers, asked
from evennia_ai.api.base import NOT_YOURS, ApiView, Call, with_data
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.api.limits import api_config
from evennia_ai.api.problems import problem
from evennia_ai.api.shapes import Done
from evennia_ai.operations import Result, choosing, lifecycle, running
from evennia_ai.operations.result import Problem
from evennia_ai.operations.rights import refusal

TAG, SAFETY = "Assistants", "Safety"
EDDA = {
    "key": "Edda",
    "desc": "A scribe with ink on her sleeves.",
    "persona": "Edda copies old charts and loves a good riddle.",
    "location": "The Scriptorium",
    "aliases": ["scribe"],
}
DESCRIBED = EDDA | {"enabled": True, "adopted": False, "created_at": "2026-01-31T12:00:00+00:00"}
WHOLE = {name: value for name, value in EDDA.items() if name != "key"}


def limit_of(query: dict[str, Any]) -> int:
    """How many entries a page has."""
    config = api_config()
    return min(query.get("limit", config.page_size), config.max_page_size)


def page_of(query: dict[str, Any], entries: Sequence[Any]) -> tuple[Sequence[Any], int | None]:
    """Part of a list, and the offset of what follows it; None: nothing does."""
    offset = query.get("offset", 0)
    page = entries[offset : offset + limit_of(query)]
    end = offset + len(page)
    return page, end if page and end < len(entries) else None


def _described(script: Any) -> dict[str, Any]:
    """An assistant as it is sent."""
    return dict(lifecycle.describe(script).data)


def _with_room(call: Call, given: dict[str, Any]) -> dict[str, Any] | Result:
    """What was given, with the room itself in the place of its name; or why there is none."""
    if "location" not in given:
        return given
    found = choosing.find_room(call.account, given["location"])
    if found.ok:
        return given | {"location": found.data["room"]}
    if found.problem is Problem.FORBIDDEN:
        return found
    # The address is right; it is the body that names what is not there.
    errors = {"location": found.message}
    return Result(False, found.message, {"errors": errors}, Problem.INVALID)


def ended_answer(gone: Result, message: str) -> Result:
    """The answer to a request that ended an assistant: the name of the file with its record."""
    if not gone.ok:
        return gone
    # Where the game's files are is nobody's business.
    return Result(True, message, {"archive": PurePath(gone.data["archive"]).name or None})


class AssistantList(ApiView):
    """The assistants of the game."""

    @Endpoint(
        "list",
        "List the assistants",
        tag=TAG,
        gives=answers.AssistantPage,
        query=asked.Page,
        answer={"assistants": [DESCRIBED], "count": 1, "next": None},
        paths=(),
    )
    def get(self, call: Call) -> Any:
        """In order of their names."""
        scripts = operations.list_assistants()
        page, rest = page_of(call.query, scripts)
        described = [_described(script) for script in page]
        return {"assistants": described, "count": len(scripts), "next": rest}

    @Endpoint(
        "create",
        "Make an assistant",
        tag=TAG,
        gives=answers.Made,
        body=asked.NewAssistant,
        status=201,
        example=EDDA,
        answer={"message": "Edda is awake in The Scriptorium.", "key": "Edda"},
        paths=(),
    )
    def post(self, call: Call) -> Result:
        """A character in a room, and the script that moves it. It is awake at once."""
        given = _with_room(call, dict(call.body))
        if isinstance(given, Result):
            return given
        made = operations.create_assistant(
            given.pop("key"), **given, by=call.by, maker=call.account
        )
        return made_answer(call, made) if made.ok else made


def made_answer(call: Call, result: Result) -> Result:
    """The answer to a request that made an assistant, with its address."""
    key = str(result.data["script"].key)
    address = reverse("evennia_ai_api:assistant", kwargs={"key": key})
    call.headers["Location"] = quote(address, safe="/%")
    return with_data(result, key=key)


class OneAssistant(ApiView):
    """One assistant."""

    @Endpoint("status", "Look at an assistant", tag=TAG, gives=answers.Assistant, answer=DESCRIBED)
    def get(self, call: Call) -> Any:
        """What it is called, how it looks, and who it is."""
        return _described(call.script)

    def _update(self, call: Call) -> Result:
        given = _with_room(call, call.body)
        if isinstance(given, Result):
            return given
        if "location" in given and refusal("move", call.account, call.script) is not None:
            raise problem(Problem.FORBIDDEN, NOT_YOURS)
        updated = lifecycle.update_assistant(call.script, **given, by=call.by, person=call.account)
        return with_data(updated, key=str(call.script.key))

    @Endpoint(
        "update",
        "Describe an assistant anew",
        tag=TAG,
        gives=answers.Made,
        body=asked.WholeAssistant,
        example=WHOLE,
        answer={"message": "Edda is changed.", "key": "Edda"},
    )
    def put(self, call: Call) -> Result:
        """Everything that can be said of it; its name stays."""
        return self._update(call)

    @Endpoint(
        "update",
        "Change an assistant",
        tag=TAG,
        gives=answers.Made,
        body=asked.ChangedAssistant,
        example={"persona": "Edda has grown fond of ships."},
        answer={"message": "Edda is changed.", "key": "Edda"},
    )
    def patch(self, call: Call) -> Result:
        """What is not named stays."""
        return self._update(call)

    @Endpoint(
        "delete",
        "Remove an assistant",
        tag=TAG,
        gives=answers.Removed,
        answer={"message": "Edda is deleted.", "archive": "Edda-20260131.json"},
    )
    def delete(self, call: Call) -> Result:
        """What is under way is dropped, and its record is put into a file of the game's."""
        name = str(call.script.key)
        gone = lifecycle.delete_assistant(call.script, by=call.by, reason="removed over the API")
        return ended_answer(gone, f"{name} is deleted.")


class Clone(ApiView):
    """Copying an assistant."""

    @Endpoint(
        "clone",
        "Copy an assistant",
        tag=TAG,
        gives=answers.Made,
        body=asked.Copy,
        status=201,
        example={"key": "Edda the Younger"},
        answer={"message": "Edda the Younger is awake.", "key": "Edda the Younger"},
    )
    def post(self, call: Call) -> Result:
        """With its settings, prompts and looks; without its talk, notes and goals."""
        refused = refusal("create", call.account)
        if refused is not None:
            raise problem(Problem.FORBIDDEN, NOT_YOURS)
        made = lifecycle.clone_assistant(
            call.script, call.body["key"], by=call.by, person=call.account
        )
        return made_answer(call, made) if made.ok else made


class Status(ApiView):
    """What an assistant is doing."""

    @Endpoint("status", "See what an assistant is doing", tag=TAG, gives=answers.Status)
    def get(self, call: Call) -> Any:
        """Whether it may act, with which model, and what it has used."""
        result = running.status(call.script)
        return {**result.data, "text": result.message}


class Start(ApiView):
    """Letting an assistant answer."""

    @Endpoint(
        "start",
        "Let an assistant answer",
        tag=TAG,
        gives=Done,
        answer={"message": "Edda is awake."},
    )
    def post(self, call: Call) -> Result:
        """It goes on with what waits."""
        return running.set_enabled(call.script, True, by=call.by)


class Stop(ApiView):
    """Keeping an assistant silent."""

    @Endpoint(
        "stop",
        "Keep an assistant silent",
        tag=TAG,
        gives=Done,
        answer={"message": "Edda is silent until: assistant start Edda"},
    )
    def post(self, call: Call) -> Result:
        """Until it is started again; what waits goes on waiting."""
        return running.set_enabled(call.script, False, by=call.by)


class EmergencyStop(ApiView):
    """Stopping an assistant at once."""

    @Endpoint(
        "emergency stop",
        "Stop an assistant at once",
        tag=SAFETY,
        gives=answers.Stopped,
        body=asked.Reason,
        example={"reason": "It talks to itself."},
    )
    def post(self, call: Call) -> Result:
        """Whatever is under way is dropped, and it stays stopped over restarts until cleared."""
        reason = call.body.get("reason", f"stopped by {call.by}")
        return running.stop(call.script, reason, by=call.by)


class EmergencyClear(ApiView):
    """Clearing a stop."""

    @Endpoint(
        "emergency clear",
        "Let a stopped assistant go on",
        tag=SAFETY,
        gives=Done,
        answer={"message": "Edda: Emergency stop cleared; the assistant goes on."},
    )
    def post(self, call: Call) -> Result:
        """Clears an emergency stop or a lockout; nothing is refunded."""
        return running.clear(call.script, by=call.by)


def _to_all(call: Call, act: str, do: Callable[[list[Any]], Result]) -> Result:
    """Do an act to all assistants that somebody has a say over; the others are named."""
    mine, refused = [], []
    for script in operations.list_assistants():
        is_refused = refusal(act, call.account, script) is not None
        (refused if is_refused else mine).append(script)
    if refused and not mine:
        raise problem(Problem.FORBIDDEN, NOT_YOURS)
    done = do(mine)
    return with_data(done, **done.data, refused=[str(script.key) for script in refused])


class StopAll(ApiView):
    """Stopping all assistants at once."""

    @Endpoint(
        "list",
        "Stop all assistants at once",
        tag=SAFETY,
        gives=answers.AllStopped,
        body=asked.Reason,
        action="emergency stop all",
        example={"reason": "The model says strange things."},
        answer={"message": "2 assistants are stopped.", "stopped": 2, "refused": []},
        paths=(),
    )
    def post(self, call: Call) -> Result:
        """All that you have a say over; the others are named."""
        reason = call.body.get("reason", f"all were stopped by {call.by}")
        stop = partial(running.stop_all, reason=reason, by=call.by)
        return _to_all(call, "emergency stop", stop)


class ClearAll(ApiView):
    """Clearing the stops of all assistants."""

    @Endpoint(
        "list",
        "Let all stopped assistants go on",
        tag=SAFETY,
        gives=answers.AllChanged,
        action="emergency clear all",
        answer={"message": "2 assistants are cleared.", "changed": 2, "refused": []},
        paths=(),
    )
    def post(self, call: Call) -> Result:
        """All that you have a say over: stops, lockouts and waits; the others are named."""
        return _to_all(call, "emergency clear", partial(running.clear_all, by=call.by))


class StartAll(ApiView):
    """Letting all assistants answer."""

    @Endpoint(
        "list",
        "Let all assistants answer",
        tag=TAG,
        gives=answers.AllChanged,
        action="start all",
        answer={"message": "2 assistants are awake.", "changed": 2, "refused": []},
        paths=(),
    )
    def post(self, call: Call) -> Result:
        """All that you have a say over; the others are named."""
        start = partial(running.set_all_enabled, enabled=True, by=call.by)
        return _to_all(call, "start", start)


class SilenceAll(ApiView):
    """Keeping all assistants silent."""

    @Endpoint(
        "list",
        "Keep all assistants silent",
        tag=TAG,
        gives=answers.AllChanged,
        action="stop all",
        answer={"message": "2 assistants are silent.", "changed": 2, "refused": []},
        paths=(),
    )
    def post(self, call: Call) -> Result:
        """All that you have a say over, until they are started again; the others are named."""
        silence = partial(running.set_all_enabled, enabled=False, by=call.by)
        return _to_all(call, "stop", silence)
