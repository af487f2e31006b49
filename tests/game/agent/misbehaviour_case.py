"""The test case of misbehaving models: a real server, and the check of each row."""

import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, ClassVar

from evennia.objects.objects import DefaultObject
from evennia.utils.create import create_object
from twisted.internet import reactor

from evennia_ai import operations
from evennia_ai.core.turn.conversation import PRIVATE_TO
from evennia_ai.core.turn.react import AFTER_TOOL
from evennia_ai.runtime import services, state
from evennia_ai.tools import REGISTRY
from tests.fakes.acceptance import acts, complaints
from tests.fakes.handle import FakeModel
from tests.game.agent.misbehaviour import HEARD, WELL, Row
from tests.game.listening import HearingTest
from tests.game.support import pump

ASK = "whisper Ada = hello"
WAIT_SECONDS = 20.0
# Ids of calls that every service accepts: Mistral takes no others.
SHORT_ID = re.compile("[a-zA-Z0-9]{9}")


class MisbehaviourTest(HearingTest):
    """Tom whispers to Ada, whose model is the scripted server."""

    server: ClassVar[FakeModel]
    deadline_seconds: ClassVar[float] = 30.0
    tool_mode: ClassVar[str] = "native"

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        stack = ExitStack()
        cls.addClassCleanup(stack.close)
        cls.server = stack.enter_context(FakeModel.in_thread())
        cls.environ = {
            "OPENAI_BASE_URL": cls.server.base_url,
            "EVENNIA_AI_MODEL": "scripted-model",
            "EVENNIA_AI_TOOL_MODE": cls.tool_mode,
            "EVENNIA_AI_CALL_DEADLINE_SECONDS": str(cls.deadline_seconds),
        }

    def setUp(self) -> None:
        """Use the real transport to the server, and put a lamp into the room."""
        super().setUp()
        self.set(safety_config={"on_limit": {"mode": "unattended"}}, private_words="free")
        # All rows together are more than one minute or one player may have.
        caps = {"calls_per_minute": 0, "tokens_per_day": 0}
        self.set(budget_config={"assistant": caps, "player": caps})
        services.pool.cache_clear()
        pool = services.pool()
        self.addCleanup(lambda: self.wait_for(pool.close()))
        self.lamp = create_object(DefaultObject, "lamp", self.room1)

    def wait_for(self, deferred: Any) -> None:
        self.run_until(lambda: deferred.called)

    def run_until(self, is_done: Any) -> None:
        """Run the reactor, sockets included."""
        end = reactor.seconds() + WAIT_SECONDS
        while not is_done():
            assert reactor.seconds() < end, f"nothing came of it in {WAIT_SECONDS:g} s"
            reactor.iterate(0.05)
        pump()

    def is_idle(self) -> bool:
        works = [script.work for script in operations.list_assistants()]
        return not any(work.inbox or work.is_ticking for work in works)

    def begin(self, *answers: str | Mapping[str, Any], then: str = WELL) -> None:
        """Reset everything, and give the model these answers."""
        operations.reset_history(self.ada_script)
        state.write(self.ada_script, consecutive_errors=0)
        services.pool().breakers.reset_all()
        self.lamp.location = self.room1
        self.forget()
        self.server.reset()
        self.prepare(*answers, then=then)

    def prepare(self, *answers: str | Mapping[str, Any], then: str = WELL) -> None:
        """Set the next answers of the model, and the one for all later calls."""
        self.server.queue(*[self._as_behaviour(a) for a in answers])
        self.server.behave(**self._as_behaviour(then))

    @staticmethod
    def _as_behaviour(reply: str | Mapping[str, Any]) -> Mapping[str, Any]:
        return {"kind": "status", "status": 200, "body": reply} if isinstance(reply, str) else reply

    def whispered(self, line: str = ASK) -> str:
        """Type a line as Tom; return how Ada's turn ended."""
        self.type(self.tom, line)
        self.run_until(self.is_idle)
        return self.ending()

    def ending(self) -> str:
        """The stop reason of the newest turn, from Ada's records."""
        step, detail = self.last_step()
        if step == "silent by choice":
            return "noop"
        if step == "answered":
            category = REGISTRY[detail.split()[0]].spec.category
            return str(AFTER_TOOL[category])
        return step.removeprefix("failed: ")

    def last_step(self) -> tuple[str, str]:
        """The last step in Ada's newest record, and its detail."""
        beside = ("went another way", "cools off")
        return [step for step in self.records()[0].steps if step[0] not in beside][-1]

    def turns(self) -> list[list[dict[str, Any]]]:
        """The stored conversation, a list of messages for each turn."""
        history = [dict(message) for message in self.stored("conversation_history")]
        assert [] == complaints(history)
        assert {self.person(self.tom)} >= {message.pop(PRIVATE_TO) for message in history}
        starts = [n for n, message in enumerate(history) if message["role"] == "user"]
        return [history[a:b] for a, b in pairwise([*starts, len(history)])]

    def check(self, row: Row) -> None:
        """Check one row, and that a normal question is answered after it."""
        self.begin(*row.answers, then=row.then)
        ends = self.whispered()
        deeds = [acts(turn) for turn in self.turns()]
        asked = self.server.count_calls()
        expected = (row.ends, list(row.heard), [row.kept] if row.kept else [], row.asked)
        assert expected == (ends, self.tom.heard_from(self.ada), deeds, asked)
        assert row.detail in self.last_step()[1]
        assert [] == [line for line in self.mira.heard_from(self.ada) if "whispers" in line]
        self.expect_well()

    def expect_well(self) -> None:
        """Check that a normal question is answered, and that the model is sent a valid history."""
        operations.clear(self.ada_script)
        self.forget()
        before = len(self.turns())
        self.server.reset()
        self.prepare()
        assert ("terminal_tool", list(HEARD)) == (self.whispered(), self.tom.heard_from(self.ada))
        assert before + 1 == len(self.turns())
        body = self.server.read_calls()[-1]["body"]
        messages = [message for message in body["messages"] if message["role"] != "system"]
        assert [] == complaints(messages)
        ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
        assert [] == [each for each in ids if not SHORT_ID.fullmatch(each)]

    def check_all(self, rows: Iterable[Row]) -> None:
        for row in rows:
            with self.subTest(row.name):
                self.check(row)
