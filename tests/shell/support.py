"""What tests of the shell share: a room with three in it, and a model a test speaks for."""

from __future__ import annotations

import os
from dataclasses import asdict, is_dataclass
from typing import Any, ClassVar, Self
from unittest import mock

import evennia
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings
from evennia.server.serversession import ServerSession
from evennia.utils.test_resources import BaseEvenniaCommandTest
from twisted.internet import reactor
from twisted.internet.task import Clock

from evennia_ai import operations
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.llm.scripted import ScriptedTransport
from evennia_ai.operations import Result
from evennia_ai.runtime import services, state
from tests.game_case import end_assistants, forget_process
from tests.llm.doubles import MemoryTransport, completion
from tests.online import put_online
from tests.shell.people import Person
from tests.standing_world import StandingWorld
from tests.wording import machine_words

NOT_A_COMPLETION = b"{}"
# Assistants that answer at once and anybody, so that a test need not move the clock.
UNHURRIED = {
    "batch_seconds": 0,
    "cooldown_seconds": 0,
    "engagement_seconds": 0,
    "calls_per_player": 1000,
    "pending_per_player": 1000,
    "batch_messages": 1,
}
# Caps for a test of very many turns, which is no matter of what a day may cost.
ANY_TOKENS = {scope: {"tokens_per_day": 0} for scope in ("game", "assistant", "player")}


def as_data(result: Result[Any]) -> Any:
    """A result's value as mappings and lists, as a program gets it."""
    return asdict(result.data) if is_dataclass(result.data) else result.data


def pump() -> None:
    """Let everything run that is due in the reactor now."""
    for _ in range(1000):
        if not any(call.getTime() <= reactor.seconds() for call in reactor.getDelayedCalls()):
            return
        reactor.iterate(0)
    raise AssertionError("the reactor always has something due; somebody schedules in a circle")


def says(message: str) -> bytes:
    """An answer that calls `say`."""
    return completion(None, ("say", {"message": message}))


def whispers(message: str, target: str = "Tom") -> bytes:
    """An answer that calls `whisper`."""
    return completion(None, ("whisper", {"target": target, "message": message}))


@override_settings(
    CMDSET_CHARACTER="evennia.commands.default.cmdset_character.CharacterCmdSet",
    CMDSET_ACCOUNT="evennia.commands.default.cmdset_account.AccountCmdSet",
    CMDSET_SESSION="evennia.commands.default.cmdset_session.SessionCmdSet",
)
class ShellTest(StandingWorld, BaseEvenniaCommandTest):
    """Ada stands in a room with Tom, a developer who is online, and Mira, who is nobody special.

    Attributes:
        model: what answers in place of a model; see `MemoryTransport`.
        clock: Ada's, moved by hand.
        hearing: further keys of each assistant's `hearing_config`.
    """

    built_by = (*StandingWorld.built_by, "make", "answer_at_once", "environ", "hearing")
    character_typeclass = Person
    environ: dict[str, str] = {"EVENNIA_AI_MODEL": "scripted"}
    hearing: dict[str, float] = {}
    _ada: ClassVar[int]

    @classmethod
    def build_once(cls, builder: Self) -> None:
        """Names for the people, and Ada, who is started anew in each test as after a kill."""
        super().build_once(builder)
        builder.char1.key, builder.char2.key = "Tom", "Mira"
        with mock.patch.dict(os.environ, cls.environ):
            forget_process()
            script, _ = builder.make("Ada")
            pump()
            script.ndb._task.stop()
            cls._ada = script.pk
            forget_process()

    def setUp(self) -> None:
        """People, Ada, and no model but ours."""
        super().setUp()
        self.tom, self.mira = self.char1, self.char2
        self.put_online(self.mira)
        environ = mock.patch.dict(os.environ, self.environ)
        environ.start()
        self.addCleanup(environ.stop)
        forget_process()
        self.addCleanup(forget_process)
        self.model = MemoryTransport()
        services.pool().set_transport(services.endpoint(), self.model)
        self.ada_script = AssistantScript.objects.get(pk=self._ada)
        self.ada = self.ada_script.obj
        self.ada_script.at_server_start()
        self.clock = self.ada_script.clock = Clock()
        pump()
        self.forget()

    def tearDown(self) -> None:
        """Nothing of an assistant outlives its test; what staff read began as people speak.

        Nor does a call of a life that a test ended as a kill does, whose deadline would pass in the
        middle of a later test.
        """
        told = self.sent_to_staff()
        end_assistants()
        for held in tuple(self.model.waiting):
            held.cancel()
        pump()
        super().tearDown()
        wrong = machine_words(told)
        assert [] == wrong, wrong

    def put_online(self, character: Any, number: int = 2) -> ServerSession:
        """Let somebody be behind a character, who is not logged in by an account that a test uses.

        What reaches the character is seen there alone: see `Person.messages`.
        """
        return put_online(character, number)

    def make(self, name: str, **options: Any) -> tuple[AssistantScript, Any]:
        """Another assistant in the room: its script and its body."""
        result = operations.create_assistant(name, **{"location": self.room1, **options})
        assert result.ok, result.message
        script = result.data["script"]
        self.answer_at_once(script)
        return script, result.data["character"]

    def end_all(self) -> None:
        """Delete every assistant with its body; a body alone would leave its assistant behind."""
        for script in operations.list_assistants():
            body = script.obj
            script.delete()
            if body is not None:
                body.delete()

    def answer_at_once(self, script: AssistantScript) -> None:
        """Let an assistant answer without any wait, so that a test need not move its clock."""
        state.write(script, hearing_config=UNHURRIED | self.hearing)

    def use_scripted_model(self) -> ScriptedTransport:
        """Let the scripted model that we ship answer."""
        scripted = ScriptedTransport()
        services.pool().set_transport(services.endpoint(), scripted)
        return scripted

    def forget(self) -> None:
        """Nobody has heard anything yet."""
        self.tom.ndb.messages = []
        self.mira.ndb.messages = []

    def type(self, person: Any, line: str) -> None:
        """A person types a line, and everything that is due then happens."""
        person.execute_cmd(line)
        pump()

    def ask(self, line: str, *answers: bytes | Exception, person: Any = None) -> None:
        """Somebody (Tom) types a line to which the model has these answers."""
        self.model.answers.extend(answers)
        self.type(person or self.tom, line)

    def waiting(self) -> list[Event]:
        """What is stored of Ada's inbox."""
        return [Event.from_stored(item) for item in state.read(self.ada_script, "pending_events")]

    def statements(self) -> CaptureQueriesContext:
        """Captures the SQL statements of a block."""
        return CaptureQueriesContext(connection)

    def sent_to_staff(self) -> list[str]:
        """What Tom's account, being staff, was told beside the game."""
        calls = evennia.SESSION_HANDLER.data_out.call_args_list
        texts = [call.kwargs["text"] for call in calls if "text" in call.kwargs]
        plain = [text if isinstance(text, str) else text[0] for text in texts]
        return [text for text in plain if "[assistant]" in text]
