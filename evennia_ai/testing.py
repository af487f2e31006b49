"""Tests of a game with an assistant: a model that a test speaks for, a clock moved by hand.

`AssistantTest` is Evennia's own `EvenniaTest` with both, and runs under `evennia test`. Nothing
leaves the process: no model, no embeddings and no memory server is started. See
docs/extending.md, "Testing".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest import mock

import evennia
from evennia.accounts.accounts import DefaultAccount
from evennia.objects.objects import DefaultObject
from evennia.server.serversession import ServerSession
from evennia.utils.ansi import strip_ansi
from evennia.utils.test_resources import EvenniaTest
from evennia.utils.utils import make_iter
from twisted.internet import reactor
from twisted.internet.task import Clock

from evennia_ai import approvals, audit, operations
from evennia_ai.agent import warming
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget import ledger
from evennia_ai.core.typed_objects import Account, Being, GameObject
from evennia_ai.llm.scripted import ScriptedModel, completion
from evennia_ai.llm.token_counter import counter_for
from evennia_ai.operations.budget.days import spent_days
from evennia_ai.runtime import services, state, turns
from evennia_ai.tasks import remote_tasks, task_waits

__all__ = [
    "AssistantTest",
    "AssistantTestMixin",
    "Message",
    "ScriptedModel",
    "calls",
    "completion",
    "connect",
    "end_assistants",
    "forget_process",
    "pump",
    "put_online",
    "says",
    "whispers",
]

# An assistant that answers at once and anybody, so that a test need not move the clock.
UNHURRIED = {
    "batch_seconds": 0,
    "cooldown_seconds": 0,
    "engagement_seconds": 0,
    "calls_per_player": 1000,
    "pending_per_player": 1000,
    "batch_messages": 1,
}
# Memories are kept in the process and found by words, without threads, models and folders.
IN_PROCESS = {"EVENNIA_AI_MEMORY_STORE": "inline", "EVENNIA_AI_EMBEDDINGS": "hashing"}
MOST_ROUNDS = 1000


# ---- what a model answers ----------------------------------------------------------------------


def calls(tool: str, **arguments: Any) -> bytes:
    """An answer that calls one tool."""
    return completion(None, (tool, arguments))


def says(message: str) -> bytes:
    """An answer that says something aloud."""
    return calls("say", message=message)


def whispers(target: str, message: str) -> bytes:
    """An answer that whispers to somebody in the room."""
    return calls("whisper", target=target, message=message)


# ---- what people hear --------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """One message as it reached somebody.

    Attributes:
        raw: the text with its markup.
        options: what the server sent along.
        sender: the object that it came from; None where the game names none.
    """

    raw: str
    options: dict[str, Any]
    sender: object

    @classmethod
    def from_text(cls, text: object, sender: object = None) -> Message:
        """A message from what Evennia's `msg` was given: a text, or a text and its options."""
        raw, options = text[:2] if isinstance(text, tuple) else (text, {})
        return cls(str(raw), dict(options), sender)

    @property
    def shown(self) -> str:
        """The text as a client shows it."""
        return str(strip_ansi(self.raw))


class _Hearing:
    """Everything that reaches characters and accounts while it is on.

    It listens where a client would: as one more session of whoever is told something. So what a
    game's hooks keep back is not heard, and whoever has no client is heard of too.
    """

    def __init__(self) -> None:
        self.messages: dict[Being, list[Message]] = {}
        self._patches = [self._listening(kind) for kind in (DefaultObject, DefaultAccount)]

    def start(self) -> None:
        """Begin to listen."""
        for patch in self._patches:
            patch.start()

    def stop(self) -> None:
        """Listen no longer."""
        for patch in self._patches:
            patch.stop()

    def _listening(self, kind: type[Being]) -> Any:
        send, note = kind.msg, self._note

        def msg(
            self: Being,
            text: object = None,
            from_obj: object = None,
            session: object = None,
            **kwargs: Any,
        ) -> None:
            sessions = make_iter(session) if session else self.sessions.all()
            ear = _Ear(lambda sent: note(self, sent, from_obj))
            send(self, text=text, from_obj=from_obj, session=[ear, *sessions], **kwargs)

        return mock.patch.object(kind, "msg", msg)

    def _note(self, whom: Being, text: object, sender: object) -> None:
        self.messages.setdefault(whom, []).append(Message.from_text(text, sender))


class _Ear:
    """A session that only listens."""

    def __init__(self, note: Callable[[object], None]) -> None:
        self._note = note

    def data_out(self, text: object = None, **kwargs: object) -> None:
        """Take what a client would be sent."""
        if text is not None:
            self._note(text)


# ---- who is there ------------------------------------------------------------------------------


def connect(number: int = 0) -> ServerSession:
    """A connection to the game, through which nobody has logged in yet.

    Args:
        number: its own, which no other of the game has; 0: the next that is free.
    """
    handler = evennia.SESSION_HANDLER
    made = ServerSession()
    made.init_session("telnet", ("127.0.0.1", 4000), handler)
    made.sessid = number or max(handler, default=0) + 1
    handler.portal_connect(made.get_sync_data())
    session: ServerSession = handler.session_from_sessid(made.sessid)
    return session


def put_online(
    character: GameObject, number: int = 0, account: Account | None = None
) -> ServerSession:
    """Let a session play a character, as if its player had just come in.

    Args:
        number: as of `connect`.
        account: whose session it is; None: of nobody, who gets no pages.
    """
    session = connect(number)
    session.logged_in = True
    session.puppet, session.puid = character, character.id
    if account is not None:
        session.account, session.uid, session.uname = account, account.id, account.key
    character.sessions.add(session)
    return session


# ---- what happens ------------------------------------------------------------------------------


def pump() -> None:
    """Let everything happen that is due in the reactor now.

    Raises:
        AssertionError: something new is due each time.
    """
    for _ in range(MOST_ROUNDS):
        if not any(call.getTime() <= reactor.seconds() for call in reactor.getDelayedCalls()):
            return
        reactor.iterate(0)
    raise AssertionError("the reactor always has something due; somebody schedules in a circle")


def end_assistants() -> None:
    """Stop all assistants, also those that lost their tag: a timer must not outlive its test."""
    for script in AssistantScript.objects.all_family():
        script.stop()


def forget_process() -> None:
    """Forget what a process keeps beside the database, as one that has just begun."""
    services.pool.cache_clear()
    services.memory.cache_clear()
    ledger.start_anew()
    approvals.start_anew()
    task_waits.start_anew()
    remote_tasks.start_anew()
    audit.start_anew()
    turns.CHAINS.clear()
    warming.forget()
    spent_days.forget()
    # What a made-up usage taught the estimate is no matter of the next test.
    counter_for.cache_clear()


_TestCase: Any = object  # where the mixin stands there is one behind it


class AssistantTestMixin(_TestCase):
    """Before one of Evennia's test classes among the bases: assistants, and no model but a test's.

    Attributes:
        environ: environment variables of the test.
        hearing: keys of each assistant's `hearing_config`; by default they answer at once.
        model: what answers in place of a model.
        clock: the time of all assistants, in seconds, which stands still.
    """

    environ: ClassVar[dict[str, str]] = {"EVENNIA_AI_MODEL": "scripted"}
    hearing: ClassVar[dict[str, float]] = {}

    def setUp(self) -> None:
        """No assistant yet, and everything that a process keeps made anew."""
        super().setUp()
        # What the environment says goes before our defaults, and the test before both.
        environ = mock.patch.dict(os.environ, {**IN_PROCESS, **os.environ, **self.environ})
        environ.start()
        self.addCleanup(environ.stop)
        forget_process()
        self.addCleanup(forget_process)
        self.model = ScriptedModel()
        services.pool().set_transport(services.endpoint(), self.model)
        self.clock = Clock()
        time = mock.patch.object(AssistantScript, "clock", self.clock)
        time.start()
        self.addCleanup(time.stop)
        self._hearing = _Hearing()
        self._hearing.start()
        self.addCleanup(self._hearing.stop)

    def tearDown(self) -> None:
        """Nothing of an assistant outlives its test, nor does a call that nobody answered."""
        end_assistants()
        for held in tuple(self.model.waiting):
            held.cancel()
        pump()
        super().tearDown()

    def make_assistant(self, name: str, **options: Any) -> Any:
        """An assistant in `room1`: its character, whose script is `assistant_script`.

        Args:
            options: as of `evennia_ai.create_assistant`: `location`, `persona`, `typeclass` ...
        """
        made = operations.create_assistant(
            name, **{"location": getattr(self, "room1", None), **options}
        )
        assert made.ok, made.message
        self.answer_at_once(made.data.script)
        return made.data.character

    def answer_at_once(self, script: AssistantScript) -> None:
        """Let an assistant answer without any wait, so that a test need not move its clock."""
        state.write(script, hearing_config=UNHURRIED | self.hearing)

    def put_online(self, character: GameObject, number: int = 0) -> ServerSession:
        """Let somebody be behind a character, of no account that a test uses: see `put_online`."""
        return put_online(character, number)

    def type(self, person: GameObject, line: str) -> None:
        """A person types a line, and everything that is due then happens."""
        person.execute_cmd(line)
        pump()

    def advance(self, seconds: float) -> None:
        """Let time pass for assistants, and everything happen that is due by then."""
        self.clock.advance(seconds)
        pump()

    def heard(self, person: Being, speaker: Being | None = None) -> list[str]:
        """The lines that reached a character or an account, as a client shows them, in order.

        Args:
            speaker: only what came from it; None: everything.
        """
        messages = self._hearing.messages.get(person, ())
        return [each.shown for each in messages if speaker in (None, each.sender)]

    def assert_heard(self, person: Being, text: str, speaker: Being | None = None) -> None:
        """Fail where nothing that reached somebody has this text in it.

        Args:
            speaker: as of `heard`.
        """
        lines = self.heard(person, speaker)
        if any(text in line for line in lines):
            return
        waits = len(self.model.waiting)
        asked = f"; the model was asked {waits} times more than it has answers" if waits else ""
        raise AssertionError(f"{person} did not hear {text!r}, but {lines}{asked}")


class AssistantTest(AssistantTestMixin, EvenniaTest):
    """Evennia's world of a test, in the game's own classes, ready for assistants."""
