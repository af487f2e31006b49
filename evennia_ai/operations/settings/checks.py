"""Checks of settings: each new value is read once as the running assistant will read it.

The checks see the values as they would be, before any is stored. A value is not refused for what is
wrong with another setting.

People or permissions that the game does not have are warnings only, since the people meant may join
the game later. A misspelt name in the game's settings is one, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.core import checks
from evennia.accounts.models import AccountDB
from evennia.locks.lockhandler import LockException, LockHandler
from evennia.objects.models import ObjectDB
from evennia.typeclasses.tags import Tag
from evennia.utils import logger

from evennia_ai.agent import starting
from evennia_ai.approvals.people import ASKER, STAFF
from evennia_ai.budget import ledger
from evennia_ai.core.hearing.perception import TRUST, ChannelConfig
from evennia_ai.core.hearing.rate_limits import HearingConfig
from evennia_ai.core.settings.assistant import GROUPS as OWN_GROUPS
from evennia_ai.core.settings.assistant import SCHEMAS
from evennia_ai.core.settings.budget import OWN_NAME as OWN_BUDGET
from evennia_ai.core.settings.budget import BudgetConfig
from evennia_ai.core.settings.game import ATTRIBUTES, CHECKS_TAG, without_effect
from evennia_ai.core.settings.model import SettingsGroup, read_value
from evennia_ai.core.settings.paths import SECRETS_BELONG, looks_like_key, sounds_secret
from evennia_ai.core.settings.schema import kind_of
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.answer_limits import RESERVED_MEMBERS
from evennia_ai.llm.endpoints import Endpoint, from_provider
from evennia_ai.messages.incoming import find_being
from evennia_ai.prompts import build_inputs
from evennia_ai.prompts.registry import DEFAULT
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.names import is_character
from evennia_ai.runtime.rights import known_permission, meets
from evennia_ai.runtime.rights.people import DEFAULTS
from evennia_ai.tools.registry import BROKEN, SPECS

Read = Callable[[str], Any]
LONGEST_ERROR = 600


def problem_of(name: str, read: Read, body: GameObject | None = None) -> str:
    """The problem with a setting, or "".

    Args:
        read: returns a setting by its name, as it would be.
        body: the assistant's body; None while it has none.
    """
    try:
        _refuse_secrets(name, read(name))
        if name in CHECKS:
            CHECKS[name](_only(read, name), body)
    except (ConfigurationError, TypeError, ValueError, OverflowError) as error:
        return one_line(str(error), LONGEST_ERROR)
    return ""


# Settings that are checked together, since one of them refers to the other.
TOGETHER: Mapping[str, tuple[str, ...]] = {
    "applied_template": ("prompt_templates",),
    "prompt_templates": ("applied_template",),
    "llm_provider": ("llm_model", "llm_fallback_models", "budget_config"),
    "llm_model": ("llm_provider", "llm_fallback_models", "budget_config"),
    "llm_fallback_models": ("llm_provider", "llm_model", "budget_config"),
    "budget_config": ("llm_provider", "llm_model", "llm_fallback_models"),
}


def _only(read: Read, name: str) -> Read:
    # Unrelated settings read as their defaults, so that what is wrong with them is not blamed here.
    names = (name, *TOGETHER.get(name, ()))
    return lambda other: read(other) if other in names else ATTRIBUTES[other].default


def _refuse_secrets(name: str, value: object) -> None:
    if kind_of(SCHEMAS[name]) == "string" and isinstance(value, str):
        is_secret = name.startswith("llm_") and looks_like_key(value)
    else:
        is_secret = name == "llm_extra_params" and _holds_secret(value)
    if is_secret:
        raise ConfigurationError(f"{name} holds what looks like a key: {SECRETS_BELONG}")


def _holds_secret(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(sounds_secret(str(key)) or _holds_secret(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return any(map(_holds_secret, value))
    return isinstance(value, str) and looks_like_key(value)


# ---- hearing -----------------------------------------------------------------------------------


def _check_condition(name: str, condition: str, body: GameObject | None) -> None:
    # Refuses what is neither a permission nor a lock string.
    if not condition.strip():
        raise ConfigurationError(f"{name} holds an empty text; it must be a permission or a lock")
    if "(" not in condition:
        return
    if ";" in condition:
        raise ConfigurationError(f"{name}: {condition!r} holds a ';'; give one lock, without it")
    locks = LockHandler(SimpleNamespace(lock_storage=""))
    try:
        # With another access type Evennia parses the lock string without evaluating it.
        locks.check_lockstring(None, f"ai_condition:{condition}", access_type="another")
    except LockException as error:
        why = one_line(str(error), 200)
        raise ConfigurationError(f"{name}: {condition!r} is not a lock string: {why}") from None
    if body is not None:  # evaluated once, which finds wrong arguments of lock functions
        meets(body, condition, body)


def check_locks_of_game() -> None:
    """Read the game's two locks once: one that cannot be read fails at every use.

    Raises:
        ConfigurationError: one of them is not a lock string.
    """
    for name, default in DEFAULTS.items():
        lock = str(getattr(settings, name, default))
        if "(" not in lock:
            raise ConfigurationError(f"{name} is {lock!r}; it must be a lock such as {default!r}")
        _check_condition(name, lock, None)


def _check_permissions(read: Read, body: GameObject | None) -> None:
    for condition in read("trigger_permissions"):
        _check_condition("trigger_permissions", condition, body)


def _check_overrides(read: Read, body: GameObject | None) -> None:
    for condition, trust in read("trust_overrides").items():
        _check_condition("trust_overrides", str(condition), body)
        read_value(TRUST, f"trust_overrides[{condition!r}]", trust)


def _check_channels(read: Read, _: object) -> None:
    for channel, config in read("channel_configs").items():
        ChannelConfig.of_channel(str(channel), config)


# ---- model and money ---------------------------------------------------------------------------


def _endpoint(read: Read) -> Endpoint:
    return from_provider(read("llm_provider"), read("llm_model"), services.endpoint())


def _budget(read: Read) -> BudgetConfig:
    return state.held(BudgetConfig, read(OWN_BUDGET))


def _models(read: Read) -> tuple[Endpoint, ...]:
    """The models that may answer."""
    first = _endpoint(read)
    return first, *services.fallbacks(read("llm_fallback_models"), first)


def _check_models(read: Read, _: object) -> None:
    ledger.check_priced(_models(read), _budget(read).cost_cap)


def _check_budget(read: Read, _: object) -> None:
    # Only for a cap on money that this setting adds: the game's own caps are not its fault.
    path = _budget(read).cost_cap
    if path and not _budget(lambda _: {}).cost_cap:
        ledger.check_priced(_models(read), path)


def _check_extra_params(read: Read, _: object) -> None:
    for member in read("llm_extra_params"):
        if member in RESERVED_MEMBERS:
            own = RESERVED_MEMBERS[member]
            hint = f"it is set by {own}" if own else "the assistant writes it itself"
            raise ConfigurationError(f"llm_extra_params cannot have {member!r}: {hint}")


# ---- prompts -----------------------------------------------------------------------------------


def _check_prompts(read: Read, _: object) -> None:
    for context_type in ContextType:
        build_inputs(
            read, context_type, settings=settings, is_native=True, name="", count=len, max_tokens=1
        )


def _check_contexts(read: Read, body: GameObject | None) -> None:
    _check_prompts(read, body)
    for name, config in read("context_configs").items():
        for tool in config.get("tool_filter") or ():
            _check_tool(f"context_configs.{name}.tool_filter", tool)


def _check_tool(where: str, name: str) -> None:
    # The tools of an MCP server are unknown while it is away: any name with its prefix will do.
    known = services.remote_servers().merged_with(SPECS)
    server, mark, _ = name.partition("__")
    if name in known or (mark and server in services.mcp_configs()):
        return
    near = get_close_matches(name, known, n=3)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise ConfigurationError(
        f"{where} has {name!r}, which is not a tool: {meant}All of them: assistant tools"
    )


def _check_template(read: Read, body: GameObject | None) -> None:
    # The default template refers to no other setting.
    if read("applied_template") not in ("", DEFAULT):
        _check_prompts(read, body)


# An assistant's own caps are checked with the game's.
GROUPS: Mapping[str, type[SettingsGroup]] = {**OWN_GROUPS, OWN_BUDGET: BudgetConfig}


def _check_group(name: str, read: Read, _: object) -> None:
    state.held(GROUPS[name], read(name))


CHECKS: Mapping[str, Callable[[Read, GameObject | None], object]] = {
    **{name: partial(_check_group, name) for name in GROUPS},
    # Without the game's keys: an assistant goes on hearing where those are wrong.
    "hearing_config": lambda read, _: HearingConfig.from_stored(read("hearing_config")),
    "budget_config": _check_budget,
    "trigger_permissions": _check_permissions,
    "trust_overrides": _check_overrides,
    "channel_configs": _check_channels,
    "confirm_by": lambda read, body: _check_condition("confirm_by", read("confirm_by"), body),
    **dict.fromkeys(("llm_provider", "llm_model", "llm_fallback_models"), _check_models),
    "llm_extra_params": _check_extra_params,
    "prompt_components": _check_prompts,
    "prompt_templates": _check_prompts,
    "applied_template": _check_template,
    "context_configs": _check_contexts,
}


MOST_TOLD, LONGEST_WORD = 10, 40


def doubts(script: Assistant, names: Iterable[str] | None = None) -> list[str]:
    """Warn of an assistant's settings that are valid but seldom meant; at most MOST_TOLD sentences.

    Args:
        names: only these settings; None: all of which there can be doubts.
    """
    wanted = _DOUBTS if names is None else [name for name in _DOUBTS if name in set(names)]
    sentences = [
        f"{script.key}: {sentence}" for name in wanted for sentence in _DOUBTS[name](script)
    ]
    return sentences[:MOST_TOLD]


def misspelt_names() -> list[str]:
    """Warn of names in the game's settings that look like ours and that nothing reads."""
    return without_effect(dir(settings))


def broken_modules() -> list[str]:
    """Problems of the game's tool modules that could not be loaded, one line each."""
    line = "The game goes on without some tools: {0}. Correct that, then: evennia reload"
    return [line.format(one_line(problem, LONGEST_ERROR)) for problem in BROKEN.values()]


def problems_of_game() -> list[str]:
    """Problems of the game's tool modules, and of its settings as `evennia check` tells them."""
    return [*broken_modules(), *(each.msg for each in checks.run_checks(tags=[CHECKS_TAG]))]


def report_problems_of_game() -> None:
    """Log these problems; called once after a start of the server."""
    starting.load_tools()  # where there is no assistant yet, nothing else has loaded them
    for problem in problems_of_game():
        logger.log_warn(f"[assistant] {problem}")


def _of_confirm_by(script: Assistant) -> Iterator[str]:
    by = str(state.read(script, "confirm_by"))
    if by not in (ASKER, STAFF) and "(" not in by and not (known_permission(by) or _is_name(by)):
        yield f"confirm_by is {_shown(by)}, a name or permission that nobody has: nobody is asked."


def _of_conditions(name: str) -> Callable[[Assistant], Iterator[str]]:
    def found(script: Assistant) -> Iterator[str]:
        for word in map(str, state.read(script, name)):
            if "(" not in word and not known_permission(word):
                yield f"{name} has {_shown(word)}, a permission that nobody has."

    return found


def _of_memory(script: Assistant) -> Iterator[str]:
    for word in state.memory_config(script).never_characters if script.work is not None else ():
        being = find_being(word) if word.startswith(("#", "*#")) else None
        if being is None and not Tag.objects.filter(db_key__iexact=word).exists():
            path = "memory_config.never_characters"
            yield f"{path} has {_shown(word)}, which is nobody's number (#12, *#3) and no tag."


def _of_hops(script: Assistant) -> Iterator[str]:
    # It meant silence in older versions.
    if state.read(script, "max_agent_hops") == 0:
        yield "max_agent_hops is 0: assistants answer each other without end. 1: never."


_DOUBTS: Mapping[str, Callable[[Assistant], Iterator[str]]] = {
    "confirm_by": _of_confirm_by,
    "trigger_permissions": _of_conditions("trigger_permissions"),
    "trust_overrides": _of_conditions("trust_overrides"),
    "memory_config": _of_memory,
    "max_agent_hops": _of_hops,
}


def _shown(word: str) -> str:
    return repr(one_line(word, LONGEST_WORD))


def _is_name(word: str) -> bool:
    guests = map(str.casefold, settings.GUEST_LIST or ())
    if word.casefold() in guests or AccountDB.objects.filter(username__iexact=word).exists():
        return True
    beings: Iterable[GameObject] = ObjectDB.objects.filter(db_key__iexact=word)
    return any(map(is_character, beings))
