"""A limit that is changed while a person is asked about it: the question is withdrawn."""

from dataclasses import replace

from django.test.utils import override_settings

from evennia_ai.approvals import why_closed
from evennia_ai.core.safety.limits import LIMITS, LimitKind
from evennia_ai.operations.settings.changing import update_settings
from tests.game.approvals.limit_ways import ASKED, PRICES, WAYS, LimitCase, Way, look, wait
from tests.game.support import pump

CHECKPOINT = "safety_limit_checkpoint"
# The raised values of settings for which 5 is not enough.
ENOUGH = {
    LimitKind.TASK_TOKENS: 100_000,
    LimitKind.TICK_SECONDS: 90,
    LimitKind.DELEGATION_SECONDS: 150,
    LimitKind.MESSAGE_CHARACTERS: 10_000,
}
# Limits that cannot be removed by 0.
NEVER_GONE = (LimitKind.ITERATIONS, LimitKind.DELEGATES_AT_ONCE)
CHANGED = "the cap was changed meanwhile"


def way_of(kind: LimitKind) -> Way:
    """The way to a limit; for delegation seconds one before the delegate's call times out."""
    way = next(way for way in WAYS if way.kind is kind)
    if kind is not LimitKind.DELEGATION_SECONDS:
        return way
    soon = {"safety_config": {"timeout": {"delegation_seconds": 30}}}
    return replace(way, settings=soon, act=wait(30))


@override_settings(EVENNIA_AI_PRICES=PRICES)
class TestChangedLimits(LimitCase):
    """Ada asks Tom for more, and he changes her settings instead."""

    def set_limit(self, kind: LimitKind, value: object) -> None:
        result = update_settings(self.ada_script, {LIMITS[kind].path: value})
        assert result.ok, result.message
        pump()

    def number(self) -> int:
        ((_, question),) = self.questions()
        return int(question.number)

    def test_each_limit_of_an_assistant(self) -> None:
        """A raised or removed limit lets her go on, without a grant on record."""
        kinds = [kind for kind in ASKED if not kind.startswith("cost.")]
        kinds.remove(LimitKind.MODEL_CALL_SECONDS)  # a setting of the process
        for kind in kinds:
            for value in (ENOUGH.get(kind, 5), 0)[: 1 if kind in NEVER_GONE else 2]:
                with self.subTest(kind.value, value=value):
                    self.meet(way_of(kind), "interactive")
                    number = self.number()
                    self.set_limit(kind, value)
                    assert [] == self.prompts()
                    assert CHANGED == why_closed(number)
                    facts = [facts for event, facts in self.on_record(kind) if event == CHECKPOINT]
                    assert ("cap_changed", 0) == (facts[0]["reason"], facts[0]["extension"])
                    self.end()
                    assert [] == self.prompts()

    def test_the_new_value_is_the_limit(self) -> None:
        """The new value applies even to a limit that is read when a tick begins."""
        for kind in (LimitKind.ITERATIONS, LimitKind.MODEL_CALLS):
            with self.subTest(kind.value):
                self.begin_anew(way_of(kind), "interactive")
                self.ask("whisper Ada = find it", *(look(number) for number in range(9)))
                self.set_limit(kind, 3)
                assert 3 == len(self.model.bodies)
                (prompt,) = self.prompts()
                assert f"I have used my 3 {LIMITS[kind].unit}" in prompt
                self.decide("no")

    def test_a_change_that_is_not_enough_leaves_the_question(self) -> None:
        """The value is lower, the same, or still too small for the message."""
        kind = LimitKind.MESSAGE_CHARACTERS
        for value in (10, 20, 21):
            with self.subTest(value=value):
                self.meet(way_of(kind), "interactive")
                number = self.number()
                self.set_limit(kind, value)
                assert number == self.number()
                self.decide("no")
