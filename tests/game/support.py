"""The test case of a game: a room with three people, and a model a test speaks for."""

import json
import os
import unittest
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self
from unittest import mock

import evennia
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext, override_settings
from evennia.commands.cmdset import CmdSet
from evennia.utils import create
from evennia.utils.test_resources import BaseEvenniaCommandTest

from evennia_ai import operations
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.commands import CmdAssistant
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.llm.scripted import ScriptedTransport
from evennia_ai.operations import Result
from evennia_ai.runtime import services, state
from evennia_ai.testing import (
    AssistantTestMixin,
    calls,
    end_assistants,
    forget_process,
    pump,
    says,
)
from tests.game.people import Person
from tests.standing_world import StandingWorld
from tests.wording import machine_words

__all__ = [
    "PASSWORD",
    "GameTest",
    "account_with",
    "archive_folder",
    "as_data",
    "one_by_one",
    "plain_data",
    "pump",
    "says",
    "whispers",
]

PASSWORD = "lanterns-are-bright"
NOT_A_COMPLETION = b"{}"
# No daily caps, for a test of very many turns.
ANY_TOKENS = {scope: {"tokens_per_day": 0} for scope in ("game", "assistant", "player")}


def as_data(result: Result[Any]) -> Any:
    """A result's value as mappings and lists, as a program gets it."""
    return asdict(result.data) if is_dataclass(result.data) else result.data


def plain_data(result: Result[Any]) -> dict[str, Any]:
    assert result.ok, result.message
    data = as_data(result)
    plain: dict[str, Any] = json.loads(json.dumps(data))
    assert plain == data
    return plain


def account_with(name: str, permission: str, kind: str | None = None) -> Any:
    account = create.create_account(name, "", PASSWORD, typeclass=kind)
    account.permissions.clear()
    account.permissions.add(permission)
    return account


def archive_folder(test: unittest.TestCase) -> Path:
    folder: str = test.enterContext(TemporaryDirectory())
    policy = {"archive_folder": folder}
    test.enterContext(override_settings(EVENNIA_AI_AUDIT_CONFIG=policy))
    return Path(folder)


def one_by_one() -> AbstractContextManager[None]:
    """Undo each failed statement alone, as in a game, which is in no test's transaction."""
    is_lite = connection.vendor == "sqlite"

    def run(execute: Callable[..., Any], sql: str, *others: Any) -> Any:
        # SQLite does that by itself.
        if is_lite or sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK")):
            return execute(sql, *others)
        with transaction.atomic():
            return execute(sql, *others)

    return connection.execute_wrapper(run)


def whispers(message: str, target: str = "Tom") -> bytes:
    return calls("whisper", target=target, message=message)


@override_settings(
    CMDSET_CHARACTER="evennia.commands.default.cmdset_character.CharacterCmdSet",
    CMDSET_ACCOUNT="evennia.commands.default.cmdset_account.AccountCmdSet",
    CMDSET_SESSION="evennia.commands.default.cmdset_session.SessionCmdSet",
)
class GameTest(AssistantTestMixin, StandingWorld, BaseEvenniaCommandTest):
    """Ada stands in a room with Tom, a developer who is online, and Mira, who is nobody special.

    See `AssistantTestMixin` for its model, its clock, and what its people hear.
    """

    built_by = (*StandingWorld.built_by, "make", "make_assistant", "environ", "hearing")
    character_typeclass = Person
    # What Tom and Mira may type besides the commands of every character.
    cmdsets: tuple[type[CmdSet], ...] = ()
    _ada: ClassVar[int]

    @classmethod
    def build_once(cls, builder: Self) -> None:
        """Name the people and make Ada, who is started anew in each test as after a kill."""
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
        super().setUp()
        self.come_in()
        for cmdset in self.cmdsets:
            self.tom.cmdset.add(cmdset)
            self.mira.cmdset.add(cmdset)

    def come_in(self) -> None:
        """Put Mira online and start Ada as after a kill."""
        self.tom, self.mira = self.char1, self.char2
        self.put_online(self.mira)
        self.ada_script = AssistantScript.objects.get(pk=self._ada)
        self.ada = self.ada_script.obj
        self.ada_script.at_server_start()
        self.advance(0)
        self.forget()

    def begin_part(self) -> None:
        """Begin a part of the test, which `take_back` ends."""
        atomic: Any = transaction.atomic()
        # Django marks those of its test cases so, to let `atomic(durable=True)` work within.
        atomic._from_testcase = True
        self._part = ExitStack()
        self._part.enter_context(atomic)
        self.addCleanup(self._part.close)

    def take_back(self) -> None:
        """Restore the state at `begin_part`, for a process that has just begun."""
        end_assistants()
        self.model.answers.clear()
        for held in tuple(self.model.waiting):
            held.cancel()
        pump()
        transaction.set_rollback(True)
        self._part.close()
        self.enter_again()
        forget_process()
        services.pool().set_transport(services.endpoint(), self.model)
        self.come_in()
        self.begin_part()

    def tearDown(self) -> None:
        """Check that nothing staff read is worded like a machine."""
        sent = self.sent_to_staff()
        super().tearDown()
        wrong = machine_words(sent)
        assert [] == wrong, wrong

    def make(self, name: str, **options: Any) -> tuple[AssistantScript, Any]:
        body = self.make_assistant(name, **options)
        return body.assistant_script, body

    def end_all(self) -> None:
        """Delete every assistant with its body; a body alone would leave its assistant behind."""
        for script in operations.list_assistants():
            body = script.obj
            script.delete()
            if body is not None:
                body.delete()

    def use_scripted_model(self) -> ScriptedTransport:
        scripted = ScriptedTransport()
        services.pool().set_transport(services.endpoint(), scripted)
        return scripted

    def forget(self) -> None:
        self.tom.ndb.messages = []
        self.mira.ndb.messages = []

    def ask(self, line: str, *answers: bytes | Exception, person: Any = None) -> None:
        """Let somebody (Tom) type a line to which the model gives these answers."""
        self.model.answers.extend(answers)
        self.type(person or self.tom, line)

    def read(self, person: Any, line: str) -> str:
        """All that a person is shown after typing a line."""
        person.ndb.messages = []
        self.type(person, line)
        return "\n".join(person.seen)

    def fire_timer(self, seconds: float = 0.0) -> None:
        """Let time pass, then fire Ada's timer and let all happen that is due."""
        self.clock.advance(seconds)
        self.ada_script.at_repeat()
        pump()

    def model_answers(self, *answer: Any) -> None:
        """Answer the model call that has waited longest, and let all happen that is due then."""
        self.model.answer(*answer)
        pump()

    def prompt(self, number: int = -1) -> str:
        """The newest message that the model was sent in a call."""
        return self.model.bodies[number]["messages"][-1]["content"]

    def assistant(self, line: str, caller: Any = None) -> str:
        """The text that somebody (Tom) is shown for `assistant <line>`."""
        return self.call(CmdAssistant(), line, caller=caller)

    def waiting(self) -> list[Event]:
        return [Event.from_stored(item) for item in state.read(self.ada_script, "pending_events")]

    def statements(self) -> CaptureQueriesContext:
        return CaptureQueriesContext(connection)

    def sent_to_staff(self) -> list[str]:
        """The lines that Tom's account, as staff, was sent outside the game."""
        calls = evennia.SESSION_HANDLER.data_out.call_args_list
        texts = [call.kwargs["text"] for call in calls if "text" in call.kwargs]
        plain = [text if isinstance(text, str) else text[0] for text in texts]
        return [text for text in plain if "[assistant]" in text]
