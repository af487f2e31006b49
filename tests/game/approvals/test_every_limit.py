"""Promises that hold at every limit alike, each limit reached in a game."""

from django.test.utils import override_settings
from evennia.server.models import ServerConfig

from evennia_ai import operations
from evennia_ai.approvals import checkpoints
from evennia_ai.core.safety.limits import LIMITS, Denial, LimitKind
from tests.game.approvals.limit_ways import ASKED, EVENTS, LAST, PRICES, WAYS, LimitCase, Way, look
from tests.game.support import pump

CHECKPOINT, DENIED = EVENTS
WAY_TO = {way.kind: way for way in WAYS}
# The person who asked for too much in one task has to wait, after the last answer.
LAID_TO_THE_ASKER = (LimitKind.TASK_ITERATIONS, LimitKind.TASK_TOKENS)
WORN = "That got us nowhere. Give me a minute, then ask for something else."
# Money is counted per account, and delegates run beside a turn and do not end with it.
COUNTED_BY_TASK = [
    kind
    for kind in ASKED
    if not kind.startswith("cost.") and kind is not LimitKind.DELEGATES_AT_ONCE
]


@override_settings(EVENNIA_AI_PRICES=PRICES)
class TestEveryLimit(LimitCase):
    def test_no_limit_is_left_out(self) -> None:
        assert sorted(ASKED) == sorted(way.kind for way in WAYS)

    def test_c11_c16_nobody_to_ask_is_one_refusal_at_every_limit(self) -> None:
        """If nobody who might answer is there, the refusal has one reason, and it is on record."""
        for way in WAYS:
            with self.subTest(way.kind.value):
                self.begin_anew(way, "interactive")
                self.nobody_may_answer()
                self.model.answers.extend((*way.answers, *way.last))
                way.act(self)
                pump()
                stored = self.on_record(way.kind)
                assert [] == self.prompts()
                assert [CHECKPOINT, DENIED] == [event for event, _ in stored[:2]]
                for _, facts in stored[:2]:
                    assert ("interactive", "no_operator") == (facts["mode"], facts["reason"])
                    assert (False, 0) == (facts["allow_continue"], facts["extension"])

    def test_c10_c16_a_grant_is_on_record_and_gone_with_its_task(self) -> None:
        """Each grant is recorded with its figures; a task's extensions are dropped at its end."""
        for way in WAYS:
            with self.subTest(way.kind.value):
                self.meet(way, "auto_extend")
                event, facts = self.on_record(way.kind)[0]
                assert (CHECKPOINT, True) == (event, facts["allow_continue"])
                assert ("auto_extend", "auto_extended") == (facts["mode"], facts["reason"])
                assert 0 < facts["extension"]
                assert 0 < facts["cap"] <= facts["used"] + facts["extension"]
                self.end()
                self.ask("whisper Ada = thanks", LAST)
                self.end()
                if way.kind in COUNTED_BY_TASK:
                    for script in (self.ada_script, self.brass_script):
                        assert {} == script.work.extensions.counts
                elif way.kind.startswith("cost."):
                    # An extension of the account lasts for its day, month or minute.
                    stored = ServerConfig.objects.conf(checkpoints.STORED_EXTENSIONS)
                    assert (facts["scope"], way.kind, 1) in [tuple(row) for row in stored]
                    assert "assistant ada" == facts["scope"][:13]
                    assert {} == self.ada_script.work.extensions.counts

    def test_f1_every_limit_that_ends_a_turn_has_a_last_word(self) -> None:
        """After the record there is one call without tools, whose system prompt names the limit."""
        for way in WAYS:
            limit = LIMITS[way.kind]
            if limit.denial is not Denial.WRAP_UP:
                continue
            with self.subTest(way.kind.value):
                self.meet(way, "unattended")
                calls = next(calls for event, _, calls in self.at_record if event == DENIED)
                assert calls + 1 == len(self.model.bodies)
                last = self.model.bodies[-1]
                assert "tools" not in last
                assert limit.text in last["messages"][0]["content"]
                worn = [WORN] if way.kind in LAID_TO_THE_ASKER else []
                words = [line.split('"')[1] for line in self.answers()]
                assert ["So far so good.", *worn] == words

    def test_c10_nor_is_anything_of_one_that_is_cut_off(self) -> None:
        """The extensions of a stopped, reset or failed task are dropped too."""
        way = WAY_TO[LimitKind.MODEL_CALLS]
        thinks = Way(way.kind, way.settings, way.answers, way.act, ())
        for name in ("stop", "reset", "fail"):
            with self.subTest(name):
                self.meet(thinks, "auto_extend")
                assert 1 == len(self.ada_script.work.extensions.counts)
                if name == "stop":
                    operations.stop(self.ada_script, "a test")
                elif name == "reset":
                    operations.reset_history(self.ada_script)
                else:
                    self.model.fail(RuntimeError("broken"))
                pump()
                assert {} == self.ada_script.work.extensions.counts


@override_settings(EVENNIA_AI_PRICES=PRICES)
class TestModelTime(LimitCase):
    """A model call that reaches its time limit."""

    def test_l9_a_model_that_takes_all_its_time(self) -> None:
        """Each yes allows one more call; a no ends the turn and staff are told."""
        way = WAY_TO[LimitKind.MODEL_CALL_SECONDS]
        self.begin_anew(way, "interactive")
        self.type(self.tom, "whisper Ada = find it")
        for calls in (1, 2, 3):
            assert (calls, 1) == (len(self.model.bodies), len(self.model.waiting))
            self.advance(59.9)
            assert [] == self.prompts()
            self.advance(0.1)
            assert calls == self.model.cancelled
            (prompt,) = self.prompts()
            assert prompt.startswith("I have used my ")
            assert "60 seconds more?" in prompt
            self.decide("yes" if calls < 3 else "no")
        assert 3 == len(self.model.bodies)
        assert "no whole answer within 60 s" in self.sent_to_staff()[-1]
        assert 1 == len(self.answers())

    def test_l9_after_a_yes_it_is_answered(self) -> None:
        """The repeated call is the same step of the turn."""
        way = WAY_TO[LimitKind.MODEL_CALL_SECONDS]
        self.begin_anew(way, "interactive")
        self.type(self.tom, "whisper Ada = find it")
        self.advance(60)
        self.model.answers.extend((look(1), LAST))
        self.decide("yes")
        assert ['Ada whispers: "So far so good."'] == self.answers()
