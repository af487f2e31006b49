"""Views of how an assistant behaves: settings, talk, what it heard, its prompt and its goals."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.urls import reverse

from evennia_ai import operations
from evennia_ai.api import answers, asked
from evennia_ai.api.assistants import limit_of
from evennia_ai.api.base import NOT_YOURS, ApiView, Call, look_of, missing
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.api.problems import problem
from evennia_ai.api.shapes import Done
from evennia_ai.core.goals import COMPLETED
from evennia_ai.operations import Result, configuring, explaining, prompting, talk, upkeep
from evennia_ai.operations.result import Problem
from evennia_ai.operations.rights import refusal

SETTINGS, TALK, WORK = "Settings", "Talk", "Goals and tools"
ROW = {
    "name": "tick_rate",
    "value": 5,
    "default": 5,
    "is_default": True,
    "text": "seconds between beats; an event does not wait for one",
    "type": "int",
}


def _require(act: str, call: Call) -> None:
    """Refuse what needs a right beside the one that the view asked for."""
    if act != "configure" and refusal(act, call.account, call.script) is not None:
        raise problem(Problem.FORBIDDEN, NOT_YOURS)


class Configuration(ApiView):
    """All settings of an assistant."""

    @Endpoint(
        "show configuration",
        "List the settings of an assistant",
        tag=SETTINGS,
        gives=answers.Settings,
        answer={"settings": [ROW]},
    )
    def get(self, call: Call) -> Result:
        """Each with what holds and what would hold by default; what is secret is masked."""
        return configuring.configuration(call.script)

    @Endpoint(
        "configure",
        "Set settings of an assistant",
        tag=SETTINGS,
        gives=Done,
        body=asked.Changes,
        example={"tick_rate": 10, "execution_config.sub_agents_enabled": True},
        answer={"message": "Edda: 2 settings are changed."},
    )
    def patch(self, call: Call) -> Result:
        """Several at once, by name: all of them or, where one is wrong, none."""
        if not call.body:
            raise problem(Problem.INVALID, "Name at least one setting, such as tick_rate.")
        _require(configuring.act_to_configure(call.body), call)
        return configuring.update_settings(call.script, call.body, by=call.by)


class OneSetting(ApiView):
    """One setting of an assistant."""

    def _known(self, call: Call) -> Result:
        shown = configuring.show_setting(call.script, call.path["setting"])
        if not shown.ok:
            raise missing(shown.message)
        return shown

    @Endpoint(
        "show configuration",
        "Show a setting of an assistant",
        tag=SETTINGS,
        gives=answers.SettingRow,
        answer=ROW,
        paths=("key", "setting"),
    )
    def get(self, call: Call) -> Result:
        """A name, or a key within one, such as `execution_config.sub_agents_enabled`."""
        return self._known(call)

    @Endpoint(
        "configure",
        "Let a setting be as by default",
        tag=SETTINGS,
        gives=Done,
        answer={"message": "Edda: tick_rate is 5 again."},
        paths=("key", "setting"),
    )
    def delete(self, call: Call) -> Result:
        """What was set is forgotten; what the game sets holds again."""
        path = self._known(call).data["name"]
        _require(configuring.act_to_configure([path]), call)
        return configuring.unset_setting(call.script, path, by=call.by)


class History(ApiView):
    """What an assistant has in its conversation."""

    @Endpoint(
        "show history",
        "Read an assistant's conversation",
        tag=TALK,
        gives=answers.Talk,
        query=asked.TalkBefore,
    )
    def get(self, call: Call) -> Result:
        """The newest messages, or with `format=export` all of it as the model is sent it.

        What is private to others is masked, unless `reveal` is true.
        """
        if call.query.get("format") == "export":
            if refusal("export history", call.account, call.script) is not None:
                raise problem(Problem.FORBIDDEN, NOT_YOURS)
            return talk.export_history(call.script, look=look_of(call))
        before, limit = call.query.get("before"), limit_of(call.query)
        return talk.show_history(call.script, before=before, limit=limit, look=look_of(call))

    @Endpoint(
        "reset history",
        "Begin an assistant's conversation anew",
        tag=TALK,
        gives=Done,
        answer={"message": "Edda starts a new conversation."},
    )
    def delete(self, call: Call) -> Result:
        """What was said is forgotten, what is under way is dropped, and a stop is cleared."""
        return operations.reset_history(call.script, by=call.by)


class Events(ApiView):
    """What an assistant heard."""

    @Endpoint(
        "events",
        "List what an assistant heard, and what became of it",
        tag=TALK,
        gives=answers.HeardPage,
        query=asked.HeardBefore,
    )
    def get(self, call: Call) -> Result:
        """The newest first, with the rule that decided and each step since.

        What was whispered or paged by others is masked, unless `reveal` is true.
        """
        before, limit = call.query.get("before"), limit_of(call.query)
        return upkeep.heard(call.script, before=before, limit=limit, look=look_of(call))


class OneEvent(ApiView):
    """Why an assistant answered one message, or did not."""

    @Endpoint(
        "events",
        "Read why an assistant answered a message, or did not",
        tag=TALK,
        gives=answers.Why,
        query=asked.Revealing,
        paths=("key", "number"),
    )
    def get(self, call: Call) -> Any:
        """The rule, how far it trusted what it heard, and everything that came after."""
        look = look_of(call)
        result = explaining.why(call.script, number=call.path["number"], look=look)
        if not result.ok:
            raise missing(result.message)
        return {**result.data, "text": result.message}


class Prompts(ApiView):
    """What an assistant's model would be sent."""

    @Endpoint(
        "show prompts",
        "See what an assistant's model would be sent",
        tag=SETTINGS,
        gives=answers.Prompt,
        query=asked.Prompted,
    )
    def get(self, call: Call) -> Any:
        """The prompt that a whisper of yours would cause."""
        is_whole = call.query.get("show") == "messages"
        result = prompting.show_prompt(call.script, call.account, is_whole=is_whole)
        if not result.ok:
            raise problem(Problem.CONFLICT, result.message)
        return {**result.data, "text": result.message}


class Goals(ApiView):
    """What an assistant is after by itself."""

    @Endpoint("status", "List an assistant's goals", tag=WORK, gives=answers.Goals)
    def get(self, call: Call) -> Result:
        """The open ones, the most pressing first, and those that ended."""
        return operations.list_goals(call.script)

    @Endpoint(
        "goal",
        "Give an assistant a goal",
        tag=WORK,
        gives=answers.NewGoalDone,
        body=asked.NewGoal,
        status=201,
        example={"text": "Find the lost atlas.", "priority": 7},
        answer={"message": "Edda has goal 1.", "id": 1},
    )
    def post(self, call: Call) -> Result:
        """It works on it by itself, as often as its `autonomy_config` says."""
        text, priority = call.body["text"], call.body.get("priority", 5)
        added = operations.add_goal(call.script, text, priority)
        if added.ok:
            path = {"key": str(call.script.key), "number": added.data["id"]}
            address = reverse("evennia_ai_api:goal", kwargs=path)
            call.headers["Location"] = quote(address, safe="/%")
        return added


class OneGoal(ApiView):
    """One goal."""

    @Endpoint(
        "goal",
        "End a goal",
        tag=WORK,
        gives=Done,
        body=asked.EndOfGoal,
        example={"status": "completed"},
        answer={"message": "Edda: goal 1 is completed."},
        paths=("key", "number"),
    )
    def patch(self, call: Call) -> Result:
        """As reached, or as given up."""
        number = call.path["number"]
        data = operations.list_goals(call.script).data
        if number not in {goal["id"] for goal in (*data["goals"], *data["closed"])}:
            raise missing(f"{call.script.key} has no goal {number}.")
        is_completed = call.body["status"] == COMPLETED
        closed = operations.close_goal(call.script, number, is_completed=is_completed)
        if not closed.ok:
            raise problem(Problem.CONFLICT, closed.message)
        return closed
