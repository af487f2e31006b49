"""Reads an assistant's hearing settings into the `Ear` that the rules of hearing take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from evennia.utils import logger

from evennia_ai.core.hearing.perception import (
    ADDRESSED_BY,
    MODE,
    TRUST,
    AddressedBy,
    ChannelConfig,
    Ear,
    Outcome,
)
from evennia_ai.core.hearing.rate_limits import HearingConfig
from evennia_ai.core.settings.model import read_value
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import sender_of
from evennia_ai.runtime import names, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import meets


def read_ear(script: Assistant) -> Ear:
    """Build the ear again; it is kept until a setting changes or until the next beat.

    A setting that cannot be read counts as not set, and each new problem is logged once.
    """
    work, body = script.work, script.obj
    problems: list[str] = []
    stored_mode = state.read(script, "room_messages")
    stored_way = state.read(script, "addressed_by")
    work.ear = Ear(
        names=_names(script),
        id=body.dbref,
        interaction_enabled=bool(state.read(script, "interaction_enabled")),
        enable_addressing=bool(state.read(script, "enable_addressing")),
        addressed_by=_check(partial(read_value, ADDRESSED_BY, "addressed_by", stored_way), problems)
        or AddressedBy.NAME,
        max_agent_hops=_hops(script, problems),
        is_capturing=work.capture is not None,
        channels=_channels(script, problems),
        room_messages=_check(partial(read_value, MODE, "room_messages", stored_mode), problems)
        or Outcome.IGNORE,
        trigger_permissions=_conditions(script, problems),
        trust_overrides=_overrides(script, problems),
    )
    _check(lambda: HearingConfig.from_stored(state.read(script, "hearing_config")), problems)
    problem = "; ".join(problems)
    if problem and problem != work.ear_problem:
        logger.log_err(f"[assistant] {script.key} does without some of its settings: {problem}")
    work.ear_problem = problem
    return work.ear


def _names(script: Assistant) -> tuple[str, ...]:
    """The names by which it is called, as players see them."""
    body = script.obj
    own = (str(body.key), *_own_name(script), *names.aliases_of(body))
    return tuple(map(names.unmarked, own))


def _own_name(script: Assistant) -> tuple[str, ...]:
    """The assistant's own name where it was adopted into a body that the game calls otherwise."""
    is_other = state.read(script, "adopted") and script.key != script.obj.key
    return (str(script.key),) if is_other else ()


def ear_for(script: Assistant, from_obj: object) -> Ear:
    """The ear for one speaker, who may call the assistant by the name that they see.

    What strangers call it counts as well, since it reads references to itself so, and its key.

    Args:
        from_obj: the sender of the message; None: the game itself.
    """
    ear: Ear = script.work.ear or read_ear(script)
    body = script.obj
    # In most games all see the same names, and nothing has to be worked out for the speaker.
    if from_obj is None or names.is_alike_for_all(body):
        return ear
    sender = sender_of(from_obj)
    display_names = (names.name_of(body, looker) for looker in (None, body))
    # "I want a lantern" does not call one that Evennia has counted as "a lantern".
    counted = {*map(names.unmarked, body.aliases.all())}.difference(ear.names)
    called = (name for name in names.called(body, sender) if name not in counted)
    return replace(ear, names=tuple(dict.fromkeys((*called, *display_names, *_own_name(script)))))


def _mapping(script: Assistant, name: str, problems: list[str]) -> Mapping[str, Any]:
    stored = state.read(script, name)
    if isinstance(stored, (dict, Mapping)):  # `dict` first, since the ABC check is slow
        return stored
    problems.append(f"{name} is {stored!r}; it must be a mapping")
    return {}


def _hops(script: Assistant, problems: list[str]) -> int:
    name = "max_agent_hops"
    stored = state.read(script, name)
    if isinstance(stored, int) and not isinstance(stored, bool) and stored >= 0:
        return stored
    problems.append(f"{name} is {stored!r}; it must be a whole number from 0 up, 0 for no limit")
    return int(state.DEFAULTS[name])


def _is_condition(script: Assistant, name: str, condition: object, problems: list[str]) -> bool:
    """True where a permission or lock string can be evaluated at all."""
    if not isinstance(condition, str):
        problems.append(f"{name} holds {condition!r}; it must be a permission or a lock string")
        return False
    # Evaluated on the body itself: only the parsing matters here, not the answer.
    return _check(partial(meets, script.obj, condition, script.obj), problems) is not None


def _conditions(script: Assistant, problems: list[str]) -> tuple[str, ...]:
    stored = state.read(script, "trigger_permissions")
    name = "trigger_permissions"
    conditions = [stored] if isinstance(stored, str) else stored
    if not isinstance(conditions, (list, tuple, set, frozenset)):
        problems.append(f"{name} is {conditions!r}; it must be a list such as ['Builder']")
        return ()
    return tuple(item for item in conditions if _is_condition(script, name, item, problems))


def _overrides(script: Assistant, problems: list[str]) -> tuple[tuple[str, float], ...]:
    name, overrides = "trust_overrides", []
    for condition, value in _mapping(script, name, problems).items():
        if not _is_condition(script, name, condition, problems):
            continue
        trust = _check(partial(read_value, TRUST, f"{name}[{condition!r}]", value), problems)
        if trust is not None:
            overrides.append((condition, trust))
    return tuple(overrides)


def _channels(script: Assistant, problems: list[str]) -> dict[str, ChannelConfig]:
    configs = {}
    for name, stored in _mapping(script, "channel_configs", problems).items():
        config = _check(partial(ChannelConfig.of_channel, str(name), stored), problems)
        if config is not None:
            configs[str(name).casefold()] = config
    return configs


def _check(read: Callable[[], object], problems: list[str]) -> Any:
    """Call `read`; on an error note the problem and return None."""
    try:
        return read()
    except (ConfigurationError, TypeError, ValueError) as error:
        problems.append(str(error))
        return None
