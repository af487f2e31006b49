"""`script.db` and `script.ndb` of an assistant: what is stored, else what holds instead.

An assistant stores what somebody gave it and nothing more. Read through these, a setting that was
never set gives what holds: its default, or for a group the game's values over the defaults. Reading
writes nothing, and asks the database for nothing. A container that is changed in place is stored
as an assistant's own, with what differs from what holds without it, so that the rest still follows
the game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from evennia.scripts.models import ScriptDB
from evennia.typeclasses.attributes import DbHolder
from evennia.utils.dbserialize import deserialize, from_pickle

from evennia_ai.core.settings.assistant import GROUPS, AssistantSettings
from evennia_ai.core.settings.model import SettingsGroup, merged
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory import modes
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.service import MemoryService
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tasks import delegations


def memory_links(script: Assistant) -> dict[str, list[str]]:
    """The memories that each of an assistant's facts and insights rests on, by their keys."""
    return dict(rows.of(script.pk).exclude(cites=[]).values_list("key", "cites"))


def memory_client(script: Assistant) -> MemoryService | None:
    """The process's service of memories; None for an assistant that remembers nothing."""
    return services.memory() if state.memory_config(script).enabled else None


def ticks_since_reflection(script: Assistant) -> int:
    """The beats since it last thought things over; 0 for one that never did."""
    last = state.read(script, "reflection_state").get("last_reflection")
    rate = state.read(script, "tick_rate")
    return 0 if last is None else int((script.clock.seconds() - last) // rate)


# Names that only read: nothing is stored under them.
VIEWS: dict[str, Callable[[Assistant], Any]] = {
    "activity_since_wake": lambda script: modes.activity(script) if script.work else 0,
    "estimated_tokens": lambda script: script.work.context_tokens if script.work else 0,
    "memory_links": memory_links,
    "ticks_since_reflection": ticks_since_reflection,
}
VIEWS_IN_MEMORY: dict[str, Callable[[Assistant], Any]] = {
    "active_sub_agents": delegations.count_of,
    "mem0_client": memory_client,
}


class NotStored:
    """The place that a container saves itself to when it is changed in place.

    It does for `evennia.utils.dbserialize` what a stored attribute does there.
    """

    pk = True

    def __init__(self, script: Assistant, name: str, base: Any) -> None:
        self._script, self._name, self._base = script, name, base

    @property
    def value(self) -> Any:
        """The value as it holds now."""
        return getattr(self._script.db, self._name)

    @value.setter
    def value(self, changed: Any) -> None:
        """Store a container as the assistant's own."""
        value = deserialize(changed)
        if self._name in GROUPS:
            value = _differing(value, self._base)
        self._script.attributes.add(self._name, value)


class Settings(DbHolder):
    """`script.db`: stored values, and what holds where nothing is stored."""

    def __init__(self, script: Assistant) -> None:
        super().__init__(script, "attributes")
        object.__setattr__(self, "script", script)

    def __getattribute__(self, name: str) -> Any:
        script = object.__getattribute__(self, "script")
        if name in VIEWS:
            return VIEWS[name](script)
        stored = super().__getattribute__(name)
        if name in GROUPS and (stored is None or isinstance(stored, Mapping)):
            base = _held(GROUPS[name])
            return from_pickle(
                merged(base, deserialize(stored) or {}), NotStored(script, name, base)
            )
        if stored is not None or name not in state.DEFAULTS:
            return stored
        default = deepcopy(state.DEFAULTS[name])
        is_container = isinstance(default, list | dict)
        return from_pickle(default, NotStored(script, name, default)) if is_container else default


class InMemory(DbHolder):
    """`script.ndb`: what a process keeps of an assistant, and what it shares with all."""

    def __init__(self, script: Assistant) -> None:
        super().__init__(script, "nattrhandler", manager_name="nattributes")
        object.__setattr__(self, "script", script)

    def __getattribute__(self, name: str) -> Any:
        if name in VIEWS_IN_MEMORY:
            return VIEWS_IN_MEMORY[name](object.__getattribute__(self, "script"))
        return super().__getattribute__(name)


def as_they_hold(stored: Mapping[str, object], others: Mapping[str, object]) -> dict[str, Any]:
    """Settings as JSON has them: what is stored, and what holds in this game for others.

    Args:
        others: settings, of which only the names count.
    """
    # Some defaults are the text of a choice, which a dump would warn of.
    held = AssistantSettings().model_dump(mode="json", warnings=False)
    held |= {name: _held(group) for name, group in GROUPS.items()}
    told: dict[str, Any] = merged(_picked(held, others), stored)
    return told


def _picked(held: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _picked(held[name], item) if _is_nested(held[name], item) else held[name]
        for name, item in others.items()
        if name in held
    }


def _held(group: type[SettingsGroup]) -> dict[str, Any]:
    """The values of a group that hold without an assistant's own; if wrong, the defaults."""
    try:
        held = state.held(group, {})
    except ConfigurationError:
        held = group()
    return held.model_dump(mode="json")


def _differing(value: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The part of some values that is not as they hold anyway."""
    return {
        key: _differing(item, base[key]) if _is_nested(base.get(key), item) else item
        for key, item in value.items()
        if key not in base or item != base[key]
    }


def _is_nested(base: object, own: object) -> bool:
    return isinstance(base, Mapping) and isinstance(own, Mapping)


class NearBody:
    """A script's way to its body in a tenth of the calls that Evennia's own takes."""

    db_obj: Any
    db_account: Any
    db_account_id: int | None
    _state: Any

    @property
    def obj(self) -> Any:
        """The being that it moves, or None; asked for forty times a turn."""
        own, near = self.__dict__, self._state.fields_cache
        if "db_obj" in near and "db_account_id" in own and own["db_account_id"] is None:
            return near["db_obj"]  # as Django gives what it has read
        return self.db_obj if self.db_account_id is None else self.db_account

    @obj.setter
    def obj(self, being: object) -> None:
        """Put another being, or None, in its place."""
        ScriptDB.obj.fset(self, being)
