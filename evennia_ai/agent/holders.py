"""`script.db` and `script.ndb` of an assistant: the stored value, else the value that applies.

An assistant stores only what somebody gave it. Read through these holders, a setting that was never
set gives the value in effect: its default, or for a group the game's values over the defaults.
Reading writes nothing and costs no query. A container that is changed in place is stored as the
assistant's own, but only as far as it differs, so that the rest still follows the game.
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
    """The memories that each fact and insight of an assistant rests on, by key."""
    return dict(rows.of(script.pk).exclude(cites=[]).values_list("key", "cites"))


def memory_client(script: Assistant) -> MemoryService | None:
    """The process's memory service; None for an assistant whose memory is off."""
    return services.memory() if state.memory_config(script).enabled else None


def ticks_since_reflection(script: Assistant) -> int:
    """The ticks since its last reflection; 0 if there was none."""
    last = state.read(script, "reflection_state").get("last_reflection")
    rate = state.read(script, "tick_rate")
    return 0 if last is None else int((script.clock.seconds() - last) // rate)


# Read-only names: they are computed, and nothing is stored under them.
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
    """The target that a container saves itself to when it is changed in place.

    It stands in for a stored attribute in `evennia.utils.dbserialize`.
    """

    # dbserialize refuses to save a container into an object without a primary key.
    pk = True

    def __init__(self, script: Assistant, name: str, base: Any) -> None:
        self._script, self._name, self._base = script, name, base

    @property
    def value(self) -> Any:
        """The value in effect now."""
        return getattr(self._script.db, self._name)

    @value.setter
    def value(self, changed: Any) -> None:
        """Store a container as the assistant's own."""
        value = deserialize(changed)
        if self._name in GROUPS:
            value = _difference(value, self._base)
        self._script.attributes.add(self._name, value)


class Settings(DbHolder):
    """`script.db`: stored values, and the values in effect where nothing is stored."""

    def __init__(self, script: Assistant) -> None:
        super().__init__(script, "attributes")
        # DbHolder's own `__setattr__` would store it as an attribute in the database.
        object.__setattr__(self, "script", script)

    def __getattribute__(self, name: str) -> Any:
        script = object.__getattribute__(self, "script")
        if name in VIEWS:
            return VIEWS[name](script)
        stored = super().__getattribute__(name)
        if name in GROUPS and (stored is None or isinstance(stored, Mapping)):
            base = _in_effect(GROUPS[name])
            return from_pickle(
                merged(base, deserialize(stored) or {}), NotStored(script, name, base)
            )
        if stored is not None or name not in state.DEFAULTS:
            return stored
        default = deepcopy(state.DEFAULTS[name])
        is_container = isinstance(default, list | dict)
        return from_pickle(default, NotStored(script, name, default)) if is_container else default


class InMemory(DbHolder):
    """`script.ndb`: what the process keeps for an assistant, and what it shares among all."""

    def __init__(self, script: Assistant) -> None:
        super().__init__(script, "nattrhandler", manager_name="nattributes")
        object.__setattr__(self, "script", script)

    def __getattribute__(self, name: str) -> Any:
        if name in VIEWS_IN_MEMORY:
            return VIEWS_IN_MEMORY[name](object.__getattribute__(self, "script"))
        return super().__getattribute__(name)


def as_they_hold(stored: Mapping[str, object], others: Mapping[str, object]) -> dict[str, Any]:
    """Settings as JSON: the stored values over those in effect in this game.

    Args:
        others: settings of which only the names count.
    """
    # Some defaults are plain strings where the field is an enum; pydantic would warn of each.
    game_values = AssistantSettings().model_dump(mode="json", warnings=False)
    game_values |= {name: _in_effect(group) for name, group in GROUPS.items()}
    values: dict[str, Any] = merged(_picked(game_values, others), stored)
    return values


def _picked(held: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _picked(held[name], item) if _is_nested(held[name], item) else held[name]
        for name, item in others.items()
        if name in held
    }


def _in_effect(group: type[SettingsGroup]) -> dict[str, Any]:
    """A group's values without the assistant's own; the defaults if the game's are wrong."""
    try:
        settings = state.held(group, {})
    except ConfigurationError:
        settings = group()
    return settings.model_dump(mode="json")


def _difference(value: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The part of `value` that differs from `base`."""
    return {
        key: _difference(item, base[key]) if _is_nested(base.get(key), item) else item
        for key, item in value.items()
        if key not in base or item != base[key]
    }


def _is_nested(base: object, own: object) -> bool:
    return isinstance(base, Mapping) and isinstance(own, Mapping)


class NearBody:
    """Gives a script its `obj` in a tenth of the calls that Evennia's property takes."""

    db_obj: Any
    db_account: Any
    db_account_id: int | None
    _state: Any

    @property
    def obj(self) -> Any:
        """The character that it moves, or None; a turn reads this forty times."""
        own, near = self.__dict__, self._state.fields_cache
        # Straight from Django's cache of related objects, where it was read before.
        if "db_obj" in near and "db_account_id" in own and own["db_account_id"] is None:
            return near["db_obj"]
        return self.db_obj if self.db_account_id is None else self.db_account

    @obj.setter
    def obj(self, being: object) -> None:
        """Attach another object, or None."""
        ScriptDB.obj.fset(self, being)
