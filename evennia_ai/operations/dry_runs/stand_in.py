"""A stand-in for an assistant in a dry run: it can read everything and write nothing.

It has the body, the memories and the settings of the assistant, with other values for some of the
settings. The state that a running assistant has in memory is copied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.decision_traces import DecisionTraces
from evennia_ai.engine.checkpoint import Extensions
from evennia_ai.engine.recording import TurnRing
from evennia_ai.resilience import CircuitBreakerRegistry, ToolResultCache
from evennia_ai.runtime.work import MOST_INNER_CALLS, Work


@dataclass(frozen=True, slots=True)
class ReadOnlyAttribute:
    """A stored value that cannot be written, with the fields of Evennia's `Attribute`."""

    db_value: Any
    value: Any
    id: int = 0


@dataclass(frozen=True, slots=True)
class ReadOnlyAttributes:
    """A read-only view of an assistant's attributes, with other values for some of them."""

    script: AssistantScript
    changes: Mapping[str, Any]
    is_loaded: ClassVar = False  # so that each value is asked for by `find`

    @property
    def backend(self) -> ReadOnlyAttributes:
        """Its own backend."""
        return self

    def find(self, name: str) -> ReadOnlyAttribute | None:
        """The attribute of that name, or None where it is not set."""
        if name in self.changes:
            value = self.changes[name]
            return None if value is None else ReadOnlyAttribute(value, value)
        attribute = self.script.attributes.find(name)
        return None if attribute is None else ReadOnlyAttribute(attribute.db_value, attribute.value)

    def get(self, name: str, default: object = None) -> Any:
        """The value of an attribute, or `default` where it is not set."""
        attribute = self.find(name)
        return default if attribute is None else attribute.value


class StandIn:
    """An assistant as it is at this moment, with other settings.

    Args:
        changes: values of settings by name; None: the default, whatever the assistant has.
        has_talked: it knows the conversation and what else it heard.
    """

    def __init__(
        self, script: AssistantScript, changes: Mapping[str, object], *, has_talked: bool = True
    ) -> None:
        self.pk, self.key, self.obj, self.clock = script.pk, script.key, script.obj, script.clock
        self.attributes = ReadOnlyAttributes(script, changes)
        self.work = copied(script, has_talked=has_talked)

    @property
    def silence(self) -> str:
        """The reason why the assistant would not act, in words, or ""."""
        return AssistantScript.silence.fget(self)  # type: ignore[attr-defined,no-any-return]

    @property
    def silence_for_staff(self) -> str:
        """The same, for staff."""
        return AssistantScript.silence_for_staff.fget(self)  # type: ignore[attr-defined,no-any-return]

    def endpoint(self) -> Any:
        """See `AssistantScript.endpoint`."""
        return AssistantScript.endpoint(cast(AssistantScript, self))

    def client(self) -> Any:
        """See `AssistantScript.client`."""
        return AssistantScript.client(cast(AssistantScript, self))


def copied(script: AssistantScript, *, has_talked: bool) -> Work:
    """Copy the in-memory state of an assistant, without anything that is under way."""
    work, seconds = script.work, script.clock.seconds
    # What a turn changes is copied or new. Values that follow from settings are emptied (None), to
    # be computed again from the changed ones; breakers and caches start empty.
    return replace(
        work,
        inbox=[],
        history=list(work.history) if has_talked else [],
        overheard=list(work.overheard) if has_talked else [],
        talks=dict(work.talks) if has_talked else {},
        in_flight=None,
        compacting=None,
        resting=None,
        seat=None,
        is_ticking=False,
        running=frozenset(),
        aside={},
        asked_about=[],
        beside=set(),
        unkept=[],
        given_up=set(),
        captures=[],
        muted=set(work.muted),
        hushed=dict(work.hushed),
        executions=[],
        metrics={},
        ear=None,
        rate_limits=None,
        bounds=None,
        memory=None,
        senders=deepcopy(work.senders),
        blame=deepcopy(work.blame),
        conversations=deepcopy(work.conversations),
        autonomy=deepcopy(work.autonomy),
        decisions=DecisionTraces(),
        breakers=CircuitBreakerRegistry(clock=seconds),
        tool_cache=ToolResultCache(clock=seconds),
        extensions=Extensions(),
        inner_calls=deque(maxlen=MOST_INNER_CALLS),
        calls_of_game=deque(maxlen=0),
        recorded=TurnRing(most=1),
    )
