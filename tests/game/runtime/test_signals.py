"""Signals and hooks that tell the game's code of an assistant."""

from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.conf import settings
from django.dispatch import Signal
from django.test.utils import override_settings
from evennia.comms.models import ChannelDB
from evennia.utils import create

from evennia_ai import audit, emergency, operations
from evennia_ai.assistant_character import HearsForAssistant
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.llm.scripted import completion
from evennia_ai.messages import outgoing
from evennia_ai.operations.assistants.lifecycle import delete_assistant
from evennia_ai.runtime import signals, state
from tests.game.people import Person
from tests.game.support import says, whispers
from tests.game.tasks.errand_case import ErrandTest, confirm

Told = dict[str, Any]


class Attentive(HearsForAssistant, Person):
    """A body that keeps the arguments of its hooks."""

    def at_assistant_said(self, text: str, **kwargs: Any) -> None:
        self.ndb.said = (text, kwargs)

    def at_assistant_stopped(self, reason: str, **kwargs: Any) -> None:
        self.ndb.stopped = (reason, kwargs)


class Clumsy(HearsForAssistant, Person):
    """A body whose hook fails."""

    def at_assistant_said(self, text: str, **kwargs: Any) -> None:
        raise ValueError("a hook of the game")


class SignalTest(ErrandTest):
    def listen(self, signal: Signal, **options: Any) -> list[Told]:
        brought: list[Told] = []

        def note(**facts: Any) -> None:
            del facts["signal"]
            brought.append(facts)

        signal.connect(note, weak=False, **options)
        self.addCleanup(signal.disconnect, note, **options)
        return brought


class TestSaid(SignalTest):
    def test_each_way(self) -> None:
        facts = self.listen(signals.assistant_said)
        channel = create.create_channel("Docks", typeclass="evennia.comms.comms.DefaultChannel")
        account = self.tom.account
        outgoing.say(self.ada, "A |rred|n lamp", hops=1)
        outgoing.whisper(self.ada, self.tom, "hush", hops=1)
        outgoing.page(self.ada, account, "still there?", hops=1)
        outgoing.channel(self.ada, channel, "fog", hops=1)
        outgoing.emote(self.ada, "nods", hops=1)
        common = {"sender": AssistantScript, "assistant": self.ada_script}
        assert [
            common | {"text": text, "source": source, "to": to, "is_private": is_private}
            for text, source, to, is_private in (
                ("A ||rred||n lamp", "say", self.room1, False),
                ("hush", "whisper", self.tom, True),
                ("still there?", "page", account, True),
                ("fog", "channel", ChannelDB.objects.get(db_key="Docks"), False),
                ("nods", "pose", self.room1, False),
            )
        ] == facts

    def test_it_is_sent_by_a_turn(self) -> None:
        heard = self.listen(signals.assistant_said, sender=AssistantScript)
        self.ask("say @ada hello", says("Good evening."))
        assert [("Good evening.", self.room1)] == [(fact["text"], fact["to"]) for fact in heard]
        assert ['Ada says, "Good evening."'] == self.mira.heard_from(self.ada)

    def test_nothing_is_told_of_what_was_not_said(self) -> None:
        """This holds for a refused call and for a body without an assistant."""
        facts = self.listen(signals.assistant_said)
        outgoing.say(self.mira, "I am nobody's", hops=1)
        self.ask("whisper Ada = hi", whispers("x", "Nobody"), whispers("Hello."))
        assert ["Hello."] == [fact["text"] for fact in facts]

    def test_a_receiver_that_raises_harms_nothing(self) -> None:
        def fail(**_: Any) -> None:
            raise ValueError("a receiver of the game")

        signals.assistant_said.connect(fail)
        self.addCleanup(signals.assistant_said.disconnect, fail)
        facts = self.listen(signals.assistant_said)
        with self.logged() as lines:
            self.ask("whisper Ada = hi", whispers("Hello."))
        assert ["Hello."] == [fact["text"] for fact in facts]
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
        assert any("ValueError" in line and __file__ in line for line in lines)
        assert "a receiver of the game" not in str(lines)  # it may quote what was said in private


class TestFromTheRecord(SignalTest):
    def only(self, brought: list[Told]) -> Told:
        """The one thing that was sent, without its sender and assistant."""
        (fact,) = brought
        assert (AssistantScript, self.ada_script) == (fact.pop("sender"), fact.pop("assistant"))
        return fact

    def test_stopped_and_cleared(self) -> None:
        stopped = self.listen(signals.assistant_stopped)
        cleared = self.listen(signals.assistant_cleared)
        operations.stop(self.ada_script, "the roof burns", by="Tom")
        operations.stop(self.ada_script, "again", by="Tom")
        operations.clear(self.ada_script, by="Mira")
        assert {"cause": "stopped", "reason": "the roof burns", "by": "Tom"} == self.only(stopped)
        assert {"cause": "stopped", "by": "Mira"} == self.only(cleared)
        stopped.clear()
        emergency.trigger_emergency_stop(self.ada_script, "in circles", cause=Cause.LOOP)
        assert {"cause": "loop", "reason": "in circles", "by": ""} == self.only(stopped)

    def test_a_new_one(self) -> None:
        facts = self.listen(signals.assistant_created)
        script, body = self.make("Brass")
        assert [(script, body)] == [(fact["assistant"], fact["assistant"].obj) for fact in facts]

    def test_one_that_is_gone(self) -> None:
        gone = self.listen(signals.assistant_deleted)
        script, _ = self.make("Brass")
        with (
            TemporaryDirectory() as folder,
            override_settings(EVENNIA_AI_AUDIT_CONFIG={"archive_folder": folder}),
        ):
            result = delete_assistant(script, reason="the tide")
        assert result.ok, result.message
        (fact,) = gone
        assert (None, None, "Brass") == (fact["sender"], fact["assistant"], fact["name"])
        assert ("the tide", result.data) == (fact["reason"], fact["archive_path"])

    def test_tools_and_ticks(self) -> None:
        used, ticks = self.listen(signals.tool_used), self.listen(signals.tick_completed)
        self.ask("whisper Ada = hi", whispers("x", "Nobody"), whispers("Hello."))
        assert [("whisper", False), ("whisper", True)] == [
            (fact["tool"], fact["success"]) for fact in used
        ]
        assert (True, "") == (bool(used[0]["error"]), used[1]["error"])
        fact = self.only(ticks)
        assert ("answered", 1, 2) == (fact["outcome"], fact["tick"], fact["calls"])
        assert "whisper" in fact["acts"]

    def test_limits(self) -> None:
        hits = self.listen(signals.limit_reached)
        unattended = {"on_limit": {"mode": "unattended"}}
        config = {"max_iterations_per_tick": 1}
        state.write(self.ada_script, execution_config=config, safety_config=unattended)
        self.ask("whisper Ada = hi", completion(None, ("look", {})), completion("Six so far."))
        fact = self.only(hits)
        assert ("max_iterations", False, 1) == (fact["kind"], fact["allowed"], fact["cap"])

    def test_questions(self) -> None:
        asked = self.listen(signals.question_asked)
        confirm(self.ada_script)
        self.make_thing("lamp")
        self.ask("whisper Ada = take it", completion(None, ("get", {"item": "lamp"})), says("?"))
        assert {"number": 1, "kind": "tool.get"} == self.only(asked)

    def test_of_nobody_who_is_there(self) -> None:
        """Nothing is sent for an unknown name, and a search that fails is logged."""
        stopped = self.listen(signals.assistant_stopped)
        audit.record("EmergencyStopTriggered", "Nobody", cause="kill", reason="x", by="")
        assert [] == stopped

        def fail(name: str) -> Any:
            raise LookupError(name)

        with self.logged() as lines:
            signals.Relay(fail)("EmergencyStopTriggered", "Nobody", {})
        assert "could not be passed on" in str(lines)

    def test_where_nobody_listens_nobody_is_looked_for(self) -> None:
        """A record without listeners costs no search."""
        searched: list[str] = []
        relay = signals.Relay(searched.append)
        relay("TickCompleted", "Ada", {})
        relay("something of the game's own", "Ada", {})
        assert [] == searched


class TestFaults(SignalTest):
    def test_a_fault_in_a_library_names_the_line_of_the_game_that_called_it(self) -> None:
        """Without values: those of a private turn may be its words."""
        tools = f"{settings.GAME_DIR}/world/tools.py"
        here: Told = {}
        exec(compile("import json\ndef weigh():\n    json.loads('')", tools, "exec"), here)
        with pytest.raises(ValueError) as caught:
            here["weigh"]()
        with self.logged() as lines:
            signals.log_fault("tool weigh raised ValueError", caught.value)
        assert f", called at {tools}:3" in str(lines)
        assert "decoder.py:" in str(lines)


class TestHooks(SignalTest):
    def test_said_and_stopped(self) -> None:
        script, body = self.make("Brass", typeclass=Attentive)
        outgoing.say(body, "fog", hops=1)
        operations.stop(script, "the roof burns", by="Tom")
        assert ("fog", {"source": "say", "to": self.room1, "is_private": False}) == body.ndb.said
        assert ("the roof burns", {"cause": "stopped", "by": "Tom"}) == body.ndb.stopped

    def test_a_hook_that_raises_harms_nothing(self) -> None:
        _, body = self.make("Brass", typeclass=Clumsy)
        with self.logged() as lines:
            outgoing.say(body, "fog", hops=1)
        assert "a hook of the game" in str(lines)
        assert ['Brass says, "fog"'] == self.mira.heard_from(body)
