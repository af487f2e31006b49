"""Protocols of an assistant's script and body, for the rooms below `assistant_script`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.typed_objects import GameObject, Script
from evennia_ai.runtime.work import Work


class Clock(Protocol):
    """Twisted's reactor, or a test's clock: both tell the time in seconds and call later."""

    seconds: Callable[[], float]
    callLater: Callable[..., Any]  # noqa: N815 - Twisted's name


class Assistant(Script, Protocol):
    """A script with what `assistant_script.AssistantScript` adds to it.

    Attributes:
        silence: the reason it does not answer now, for anybody; "" where it does.
        silence_for_staff: the same, which also says which setting is wrong.
        changing: a context manager in which settings of these names change together.
    """

    pk: int
    # A protocol, since these rooms must not import the class: imports only go down.
    work: Work
    clock: Clock
    silence: str
    silence_for_staff: str
    endpoint: Any
    client: Any
    changing: Callable[..., AbstractContextManager[None]]
    enqueue: Callable[[Event], None]
    push: Callable[[Event], None]
    beat_soon: Callable[..., None]
    apply_tick_rate: Callable[[], None]
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
