"""The script of an assistant as the rooms below it see it: `assistant_script.AssistantScript`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.typed_objects import GameObject, Script
from evennia_ai.runtime.work import Work


class Clock(Protocol):
    """Twisted's reactor, or the clock of a test: both tell seconds and call later."""

    seconds: Callable[[], float]
    callLater: Callable[..., Any]  # noqa: N815 - Twisted's name


class Assistant(Script, Protocol):
    """A script with what an assistant adds to it.

    Attributes:
        work: what lives in memory while it runs.
        silence: why it does not answer now; "" where it does.
        changing: a block in which settings of these names change together.
    """

    pk: int
    work: Work
    clock: Clock
    silence: str
    endpoint: Any
    client: Any
    changing: Callable[..., AbstractContextManager[None]]
    enqueue: Callable[[Event], None]
    push: Callable[[Event], None]
    beat_soon: Callable[..., None]
    keep_pace: Callable[[], None]
    lose_body: Callable[[], None]
    trigger_emergency_stop: Callable[..., Any]
    clear_emergency_stop: Callable[..., tuple[bool, str]]


class Character(GameObject, Protocol):
    """The body of an assistant, which tools act as."""

    assistant_script: Assistant
    is_superuser: bool
    nicks: Any
    at_look: Callable[..., Any]
    execute_cmd: Callable[..., Deferred[Any]]
