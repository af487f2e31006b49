"""Settings as rows: the present value, the default, and the values that are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any

from django.conf import settings
from evennia.utils.dbserialize import deserialize
from typing_extensions import TypedDict

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.audit_events import masked
from evennia_ai.core.settings.assistant import SCHEMAS
from evennia_ai.core.settings.budget import OWN_NAME as OWN_BUDGET
from evennia_ai.core.settings.budget import BudgetConfig
from evennia_ai.core.settings.game import ATTRIBUTES
from evennia_ai.core.settings.model import SettingsGroup
from evennia_ai.core.settings.paths import NESTED, Keys, schema_of_keys, text_at
from evennia_ai.core.settings.schema import item_of, kind_of, known_keys, wanted
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.contexts import CONTEXTS, ContextType, context_for
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.result import note
from evennia_ai.operations.settings.checks import GROUPS
from evennia_ai.runtime import state

UNSET = object()  # since None is a value that some settings may have
LONGEST_SHOWN = 80
CONTEXTS_NAME = "context_configs"
GAME_CONTEXTS = "EVENNIA_AI_CONTEXT_CONFIGS"


# In the order of display; a setting goes under the first heading with a prefix of its name.
HEADINGS: Mapping[str, tuple[str, ...]] = {
    "Who it is": (
        *("persona", "guidelines", "card_notes", "examples", "thinking_lines", "failure_line"),
        *("pronouns", "plain_speech", "stage_directions"),
    ),
    "When it acts": (
        "enabled",
        "tick_rate",
        "autonomy_config",
        "reflection_interval",
        "sleep_schedule",
        "max_pending_events",
    ),
    "Whom it hears": (
        *("interaction_enabled", "enable_addressing", "addressed_by"),
        *("room_messages", "channel_configs", "stale_answers"),
        *("trigger_permissions", "trust_overrides", "hearing_config", "max_agent_hops"),
    ),
    "Its model": ("llm_",),
    "Its prompts": (
        *("system_prompt", "prompt_", "applied_template", "context_configs", "max_history"),
        *("max_context_tokens", "compact_"),
    ),
    "What it remembers": ("memory_config",),
    "What it may do": (
        *("execution_config", "confirm_", "command_allowlist", "attribute_allowlist"),
        "private_words",
        *("safety_config", "budget_config", "max_consecutive_errors"),
    ),
}
OTHERS = "Other settings"


def group_of(path: str) -> str:
    """The heading under which a setting is displayed."""
    fits = (name for name, starts in HEADINGS.items() if path.startswith(starts))
    return next(fits, OTHERS)


def all_keys(script: AssistantScript) -> list[Keys]:
    """Keys of all settings to list; of open containers and of contexts only those that are set."""
    keys_of_all: list[Keys] = []
    for name, schema in SCHEMAS.items():
        keys_of_all.append((name,))
        is_open = kind_of(schema) == "object" and item_of(schema) is not None
        if name == CONTEXTS_NAME or is_open:
            own = own_of(script, name)
            keys_of_all += _set_keys(own, (name,), deep=name == CONTEXTS_NAME)
        elif known_keys(schema):
            nested = (keys for keys in NESTED.values() if keys[0] == name)
            keys_of_all += [keys for keys in nested if not known_keys(schema_of_keys(keys))]
    return keys_of_all


def _set_keys(own: object, above: Keys, *, deep: bool) -> list[Keys]:
    if not isinstance(own, Mapping):
        return []
    keys_set: list[Keys] = []
    for key, value in own.items():
        keys_set += _set_keys(value, (*above, key), deep=False) if deep else [(*above, key)]
    return keys_set


class SettingRow(TypedDict):
    """A setting with its value and its default."""

    name: str
    value: Annotated[object, note("Value in effect; secrets are masked.")]
    default: object
    is_default: bool
    text: Annotated[str, note("Help text of the setting.")]
    type: str


class EditedValue(TypedDict):
    """A changed setting with its old and its new value."""

    name: str
    old: object
    value: object


def row_of(script: AssistantScript, keys: Keys) -> SettingRow:
    """A setting, or a key of a container, as a row."""
    own, default = _within(own_of(script, str(keys[0])), keys[1:]), _default(keys)
    value = default if own is UNSET else own
    return {
        "name": ".".join(map(str, keys)),
        "value": _masked(value, keys),
        "default": default,
        "is_default": own is UNSET,
        "text": text_at(keys),
        "type": wanted(schema_of_keys(keys)),
    }


def own_of(script: AssistantScript, name: str) -> Any:
    """The stored value of a setting, or UNSET."""
    value = script.attributes.get(name)
    if value is None:
        return UNSET
    # Evennia wraps containers so that a change of them is saved; a plain copy is wanted here.
    return value if isinstance(value, (str, int, float)) else deserialize(value)


def _within(value: object, keys: Keys) -> Any:
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return UNSET
        value = value[key]
    return value


def _default(keys: Keys) -> Any:
    # As plain data; for keys of containers it may come from the game's own settings.
    name, inside = str(keys[0]), keys[1:]
    if not inside:
        return _as_plain(ATTRIBUTES[name].default)
    try:
        if name == CONTEXTS_NAME:
            game = getattr(settings, GAME_CONTEXTS, {})
            context = context_for(ContextType(str(inside[0])), game, {})
            return _as_plain(_attribute(context, inside[1:]))
        if not known_keys(SCHEMAS[name]):
            return None
        config = state.held(GROUPS[name], {})
    except ConfigurationError:  # the game's own settings are wrong, which is reported elsewhere
        return None
    return _as_plain(_attribute(config, inside))


def is_of_game(keys: Keys) -> bool:
    """True where the default of an assistant comes from the game's settings, not from ours."""
    name, inside = str(keys[0]), keys[1:]
    if not inside:
        return False
    if name == CONTEXTS_NAME:
        ours: object = _attribute(CONTEXTS[ContextType(str(inside[0]))], inside[1:])
    elif name in GROUPS:
        ours = _attribute(GROUPS[name](), inside)
    else:
        return False
    return bool(_default(keys) != _as_plain(ours))


def _attribute(value: object, keys: Keys) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else getattr(value, str(key), None)
    return value


def _as_plain(value: object) -> Any:
    if is_dataclass(value) or isinstance(value, SettingsGroup):  # its keys have rows of their own
        return None
    if isinstance(value, Mapping):
        return {key: _as_plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_as_plain, value))
    if isinstance(value, (list, tuple)):
        return [_as_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _masked(value: object, keys: Keys) -> Any:
    # `checks` refuses secrets, but a game's code may have put some into the attribute.
    plain = _as_plain(value)
    return masked(plain, str(keys[-1])) if keys[0] == "llm_extra_params" else plain


def shown(value: object) -> str:
    """A value in a few words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value in (None, "", [], {}):
        return "none"
    if isinstance(value, list) and all(isinstance(item, (str, int)) for item in value):
        return one_line(", ".join(map(str, value)), LONGEST_SHOWN)
    return one_line(str(value), LONGEST_SHOWN)


def overruled(script: AssistantScript, keys: Keys) -> str:
    """A sentence on the game's cap where the assistant's own one is looser, else ""."""
    own = _within(own_of(script, OWN_BUDGET), keys[1:])
    if keys[0] != OWN_BUDGET or own is UNSET or isinstance(own, Mapping):
        return ""
    caps = state.held(BudgetConfig, own_of(script, OWN_BUDGET))
    holds = _attribute(caps, keys[1:])
    return f" The game allows {shown(holds)}, and that holds." if holds != own else ""
