"""Scenes with a fault that must be found: something is not recorded, or not in one transaction."""

from evennia_ai import audit
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.runtime import state
from tests.crash.scenes import ANSWER, Scene, calls
from tests.crash.world import Game


def _noop(_: object) -> bytes:
    return calls("noop")


def _a_value_alone(game: Game) -> None:
    state.write(game.ada, usage={"calls": 7})


def _a_fact_alone(game: Game) -> None:
    state.write(game.ada, audit_event("GoalCreated", goal_id=9, description="nothing", priority=5))


def _one_after_the_other(game: Game) -> None:
    """Write both in two transactions; the end result is right."""
    goal = {"id": 1, "text": "find the lost atlas", "priority": 5, "status": "active"}
    state.write(game.ada, current_goals={"goals": [{**goal, "outcome": ""}], "next": 2})
    about = {"goal_id": 1, "description": goal["text"], "priority": 5}
    audit.record("GoalCreated", game.ada, **about)
    audit.flush()


def _twice(game: Game) -> None:
    for _ in range(2):
        game.being("Tom").msg(f'Ada whispers: "{ANSWER}"')


LIARS = {
    "a value alone": Scene(_a_value_alone, _noop),
    "a fact alone": Scene(_a_fact_alone, _noop),
    "one after the other": Scene(_one_after_the_other, _noop),
    "told twice, and not recorded": Scene(_twice, _noop),
}
