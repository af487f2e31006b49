"""Views of what an assistant did and used: its record, its usage and its breakers."""

from __future__ import annotations

from evennia_ai.api import answers, asked
from evennia_ai.api.assistants import limit_of
from evennia_ai.api.base import NOT_YOURS, ApiView, Call, missing
from evennia_ai.api.endpoints import Endpoint
from evennia_ai.api.problems import problem
from evennia_ai.api.shapes import Done
from evennia_ai.operations import Result, auditing, upkeep
from evennia_ai.operations.result import Problem
from evennia_ai.operations.rights import refusal

RECORD, USE = "Record", "Usage"
GAME = "game"


class Record(ApiView):
    """The record of an assistant."""

    @Endpoint(
        "audit",
        "Read the record of an assistant",
        tag=RECORD,
        gives=answers.FactPage,
        query=asked.FactsBefore,
    )
    def get(self, call: Call) -> Result:
        """Everything it did and that was done to it, the newest first."""
        before, limit = call.query.get("before"), limit_of(call.query)
        events = tuple(call.query.get("event", ()))
        return auditing.audit_log(call.script, before=before, limit=limit, events=events)


class PastVersion(ApiView):
    """What an assistant was like at a version."""

    @Endpoint(
        "audit",
        "See what an assistant was like at a version",
        tag=RECORD,
        gives=answers.PastState,
        paths=("key", "version"),
    )
    def get(self, call: Call) -> Result:
        """Right after that event of its record."""
        result = auditing.audit_state(call.script, call.path["version"])
        if not result.ok:
            raise missing(result.message)
        return result


class PastMoment(ApiView):
    """What an assistant was like at a moment."""

    @Endpoint(
        "audit",
        "See what an assistant was like at a moment",
        tag=RECORD,
        gives=answers.PastState,
        query=asked.Moment,
    )
    def get(self, call: Call) -> Result:
        """At `at`, or now."""
        return auditing.audit_state(call.script, at=call.query.get("at"))


class Difference(ApiView):
    """What changed between two versions."""

    @Endpoint(
        "audit",
        "Compare an assistant at two versions",
        tag=RECORD,
        gives=answers.DIFFERENCE,
        query=asked.Span,
    )
    def get(self, call: Call) -> Result:
        """What is different at `b` from what it was at `a`."""
        return auditing.audit_difference(call.script, call.query["a"], call.query["b"])


class Usage(ApiView):
    """What an assistant used."""

    @Endpoint("usage", "See what an assistant used", tag=USE, gives=answers.Usage)
    def get(self, call: Call) -> Result:
        """Model calls, tokens, tools, and how much of its caps is left."""
        return upkeep.usage(call.script)


class Breakers(ApiView):
    """The services an assistant depends on."""

    @Endpoint("show breakers", "List an assistant's breakers", tag=USE, gives=answers.Breakers)
    def get(self, call: Call) -> Result:
        """A breaker that is open keeps a service that fails from being asked."""
        return upkeep.breakers(call.script)


class ResetBreaker(ApiView):
    """Asking a service again."""

    @Endpoint(
        "show breakers",
        "Close a breaker",
        tag=USE,
        gives=Done,
        action="reset breaker",
        answer={"message": "llm:openai is closed."},
        paths=("key", "name"),
        needs="One of the game's is for owners, one of the assistant's for `ai_control` over it.",
    )
    def post(self, call: Call) -> Result:
        """The service is asked again at once."""
        found = upkeep.find_breaker(call.script, call.path["name"])
        if not found.ok:
            raise missing(found.message)
        row = found.data
        of_game = row["scope"] == GAME
        act = "reset breaker of the game" if of_game else "reset breaker"
        if refusal(act, call.account, None if of_game else call.script) is not None:
            raise problem(Problem.FORBIDDEN, NOT_YOURS)
        return upkeep.reset_breaker(call.script, row["name"], scope=row["scope"], by=call.by)
