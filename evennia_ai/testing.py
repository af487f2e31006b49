"""Tools for tests of a game with an assistant: a scripted model, and a clock moved by hand.

`AssistantTest` is Evennia's own `EvenniaTest` with both, and runs under `evennia test`. Nothing
leaves the process: no model, no embeddings and no memory server is started. See docs/testing.md.
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
from evennia_ai.agent import cap_notices, warming
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

# Settings of an assistant that answers anybody at once, so that a test need not move the clock.
UNHURRIED = {
    "batch_seconds": 0,
    "cooldown_seconds": 0,
    "engagement_seconds": 0,
    "calls_per_player": 1000,
    "pending_per_player": 1000,
    "batch_messages": 1,
}
# Memories stay in the process and are found by their words: no threads, models or folders.
IN_PROCESS = {"EVENNIA_AI_MEMORY_STORE": "inline", "EVENNIA_AI_EMBEDDINGS": "hashing"}
# Turns of the reactor after which `pump` takes what it sees for an endless loop.
MOST_ROUNDS = 1000


# ---- what a model answers ----------------------------------------------------------------------


def calls(tool: str, **arguments: Any) -> bytes:
    """A model's answer that calls one tool."""
    return completion(None, (tool, arguments))


def says(message: str) -> bytes:
    """A model's answer that says something aloud."""
    return calls("say", message=message)


def whispers(target: str, message: str) -> bytes:
    """A model's answer that whispers to somebody in the room."""
    return calls("whisper", target=target, message=message)


# ---- what people hear --------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """One message as a player received it.

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
        """Build a message from the first argument of Evennia's `msg`: text, or text and options."""
        raw, options = text[:2] if isinstance(text, tuple) else (text, {})
        return cls(str(raw), dict(options), sender)

    @property
    def shown(self) -> str:
        """The text as a client shows it."""
        return str(strip_ansi(self.raw))


class _Hearing:
    """Records everything that characters and accounts receive.

    It listens where a client would, as one more session of the receiver. So what a game's hooks
    hold back is not recorded, and receivers without a client are covered too.
    """

    def __init__(self) -> None:
        self.messages: dict[Being, list[Message]] = {}
        self.patches = [self._listening(kind) for kind in (DefaultObject, DefaultAccount)]

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
    """A session that only records what it is sent."""

    def __init__(self, note: Callable[[object], None]) -> None:
        self._note = note

    def data_out(self, text: object = None, **kwargs: object) -> None:
        if text is not None:
            self._note(text)


# ---- who is there ------------------------------------------------------------------------------


def connect(number: int = 0) -> ServerSession:
    """Open a connection to the game that has not logged in yet.

    Args:
        number: its session id, which no other session has; 0: the next free one.
    """
    handler = evennia.SESSION_HANDLER
    fresh = ServerSession()
    fresh.init_session("telnet", ("127.0.0.1", 4000), handler)
    fresh.sessid = number or max(handler, default=0) + 1
    handler.portal_connect(fresh.get_sync_data())
    session: ServerSession = handler.session_from_sessid(fresh.sessid)
    return session


def put_online(
    character: GameObject, number: int = 0, account: Account | None = None
) -> ServerSession:
    """Let a session puppet a character, as if its player had just logged in.

    Args:
        number: as in `connect`.
        account: the session's account; None: it has none, and receives no pages.
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
    """Run everything that is due in the reactor now.

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
    """Reset everything that the process keeps in memory, as if it had just started."""
    services.pool.cache_clear()
    services.memory.cache_clear()
    ledger.start_anew()
    approvals.start_anew()
    task_waits.start_anew()
    remote_tasks.start_anew()
    audit.start_anew()
    turns.CHAINS.clear()
    warming.forget()
    cap_notices.start_anew()
    spent_days.forget()
    # The counters learn from the usage that a model reports, and a test's figures are made up.
    counter_for.cache_clear()


# To mypy the mixin has any base; at run time a test case comes after it in the MRO.
_TestCase: Any = object


class AssistantTestMixin(_TestCase):
    """Adds assistants and a scripted model to one of Evennia's test classes; put it first.

    Attributes:
        environ: environment variables of the test.
        hearing: keys of each assistant's `hearing_config`; by default they answer at once.
        model: the scripted model that answers.
        clock: the clock of all assistants, in seconds; it moves only by hand.
    """

    environ: ClassVar[dict[str, str]] = {"EVENNIA_AI_MODEL": "scripted"}
    hearing: ClassVar[dict[str, float]] = {}

    def setUp(self) -> None:
        """Reset the process's memory and install the scripted model and the clock."""
        super().setUp()
        # The environment overrides our defaults, and the test overrides both.
        self.enterContext(mock.patch.dict(os.environ, {**IN_PROCESS, **os.environ, **self.environ}))
        forget_process()
        self.addCleanup(forget_process)
        self.model = ScriptedModel()
        services.pool().set_transport(services.endpoint(), self.model)
        self.clock = Clock()
        self.enterContext(mock.patch.object(AssistantScript, "clock", self.clock))
        self._hearing = _Hearing()
        for patch in self._hearing.patches:
            self.enterContext(patch)

    def tearDown(self) -> None:
        """Stop all assistants and cancel model calls that nobody answered."""
        end_assistants()
        for call in tuple(self.model.waiting):
            call.cancel()
        pump()
        super().tearDown()

    def make_assistant(self, name: str, **options: Any) -> Any:
        """Create an assistant in `room1` and return its character; see its `assistant_script`.

        Args:
            options: as in `evennia_ai.create_assistant`: `location`, `persona`, `typeclass` ...
        """
        result = operations.create_assistant(
            name, **{"location": getattr(self, "room1", None), **options}
        )
        assert result.ok, result.message
        self.answer_at_once(result.data.script)
        return result.data.character

    def answer_at_once(self, script: AssistantScript) -> None:
        """Let an assistant answer without any delay, so that a test need not move its clock."""
        state.write(script, hearing_config=UNHURRIED | self.hearing)

    def put_online(self, character: GameObject, number: int = 0) -> ServerSession:
        """Put a character online without an account; see `put_online`."""
        return put_online(character, number)

    def type(self, person: GameObject, line: str) -> None:
        """Type a command line as a person, and run everything that is due then."""
        person.execute_cmd(line)
        pump()

    def advance(self, seconds: float) -> None:
        """Move the assistants' clock, and run everything that is due by then."""
        self.clock.advance(seconds)
        pump()

    def heard(self, person: Being, speaker: Being | None = None) -> list[str]:
        """The lines that a character or an account received, as a client shows them, in order.

        Args:
            speaker: only lines from this sender; None: from everybody.
        """
        messages = self._hearing.messages.get(person, ())
        return [each.shown for each in messages if speaker in (None, each.sender)]

    def assert_heard(self, person: Being, text: str, speaker: Being | None = None) -> None:
        """Fail unless some line that a person received contains the text.

        Args:
            speaker: as in `heard`.
        """
        lines = self.heard(person, speaker)
        if any(text in line for line in lines):
            return
        waits = len(self.model.waiting)
        hint = f"; the model was asked {waits} times more than it has answers" if waits else ""
        raise AssertionError(f"{person} did not hear {text!r}, but {lines}{hint}")


class AssistantTest(AssistantTestMixin, EvenniaTest):
    """Evennia's test world, in the game's own classes, ready for assistants."""
