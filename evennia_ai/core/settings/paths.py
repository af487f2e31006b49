"""Names of settings: a full name, "container.key", or a key that only one container has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import reduce

from pydantic.json_schema import JsonSchemaValue

from evennia_ai.core.settings.assistant import SCHEMAS
from evennia_ai.core.settings.game import STATE
from evennia_ai.core.settings.schema import is_numbered, item_of, kind_of, known_keys, schema_at
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ConfigurationError

Keys = tuple[str | int, ...]

# Suggestions for a misspelt name.
NEAREST = 3
SECRETS_BELONG = (
    "keys and passwords are not settings of an assistant: put them into the game's environment or "
    "into server/conf/secret_settings.py, see docs/models.md"
)
# Not "tokens": as a plural they are counted, not secret.
_SECRET = re.compile(
    r"(^|[_\-.\s])(key|token|secrets?|pass(word|wd|phrase)?s?|auth|credentials?|cookies?|bearer)$"
    r"|apikey|authori[sz]ation",
    re.IGNORECASE,
)
# The shapes of keys that well-known services issue.
_API_KEY = re.compile(r"\b(?:sk|gsk|xai|hf|ghp|github_pat)[-_][A-Za-z0-9_-]{16,}|\bAIza\S{20,}")


def _nested_keys(schema: JsonSchemaValue, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, item in known_keys(schema).items():
        yield (*keys, key)
        yield from _nested_keys(item, (*keys, key))


# The keys within mappings whose keys are fixed, by dotted path.
NESTED: Mapping[str, tuple[str, ...]] = {
    ".".join(keys): keys
    for name, schema in SCHEMAS.items()
    for keys in _nested_keys(schema, (name,))
}


def sounds_secret(name: str) -> bool:
    """True if a name sounds like that of a key or password."""
    return _SECRET.search(name) is not None


def looks_like_key(text: str) -> bool:
    """True if a text contains something shaped like a service's API key."""
    return _API_KEY.search(text) is not None


def locate(path: str) -> Keys:
    """The keys that lead to a setting, or to a value within one.

    Args:
        path: a name, "container.key", or a key that only one container has.

    Raises:
        ConfigurationError: no setting or several have that name; the text says what would do.
    """
    head, dot, rest = path.strip().partition(".")
    name = head.strip().casefold()
    if name in STATE:
        raise ConfigurationError(f"{name} is kept by the assistant itself; it cannot be set")
    if name in SCHEMAS:
        return (name, *_keys_below(SCHEMAS[name], rest.strip(), name)) if dot else (name,)
    wanted = path.strip().casefold()
    matches = [nested for nested, keys in NESTED.items() if wanted in _suffixes(keys)]
    if len(matches) == 1:
        return NESTED[matches[0]]
    if matches:
        raise ConfigurationError(f"{wanted} is in several: {', '.join(matches)}; name one of them")
    raise ConfigurationError(_unknown(path.strip()))


def _suffixes(keys: tuple[str, ...]) -> list[str]:
    """Dotted paths without one or more of their first keys."""
    return [".".join(keys[first:]) for first in range(1, len(keys))]


def _keys_below(schema: JsonSchemaValue, rest: str, path: str) -> Keys:
    """The keys within a mapping."""
    if not rest or kind_of(schema) != "object":
        raise ConfigurationError(f"{path} has no key {one_line(rest, 60)!r}; name {path} alone")
    if known_keys(schema):
        return _keys_of_fixed(known_keys(schema), rest, path)
    item = item_of(schema) or {}
    # Values of any type: every dot leads one level further down.
    if not kind_of(item):
        return tuple(rest.split("."))
    head, dot, last = rest.rpartition(".")
    if dot and last.casefold() in known_keys(item):
        return (_parse_key(schema, head, path), last.casefold())
    return (_parse_key(schema, rest, path),)


def _keys_of_fixed(keys: Mapping[str, JsonSchemaValue], rest: str, path: str) -> Keys:
    """The keys within a mapping whose keys are fixed; some of these contain dots."""
    word = rest.casefold()
    for key, schema in keys.items():
        if word == key:
            return (key,)
        # A prefix test rather than a split at dots: keys of limits contain them
        # (modes.cost.tokens_total).
        if word.startswith(f"{key}."):
            return (key, *_keys_below(schema, rest[len(key) + 1 :], f"{path}.{key}"))
    raise ConfigurationError(f"{path} has no key {one_line(rest, 60)!r}; it has {', '.join(keys)}")


def _parse_key(schema: JsonSchemaValue, text: str, path: str) -> str | int:
    """Parse a key of a mapping with arbitrary keys, which may contain dots."""
    if not is_numbered(schema):
        return text
    if text.isascii() and text.isdecimal() and len(text) <= 9:
        return int(text)
    raise ConfigurationError(
        f"{path} has whole numbers as keys, such as 250, and not {one_line(text, 60)!r}"
    )


def _unknown(path: str) -> str:
    """The error for an unknown setting, with similar names."""
    if sounds_secret(path):
        return f"{one_line(path, 60)} cannot be set: {SECRETS_BELONG}"
    by_last: dict[str, list[str]] = {name: [name] for name in SCHEMAS}
    for nested, keys in NESTED.items():
        by_last.setdefault(keys[-1], []).append(nested)
    last = path.casefold().rpartition(".")[2]
    near = [last] if last in by_last else get_close_matches(last, by_last, n=NEAREST)
    meant = [full for word in near for full in by_last[word]][:NEAREST]
    hint = f"did you mean {' or '.join(meant)}?" if meant else "the configuration lists them all"
    return f"there is no setting {one_line(path, 60)!r}; {hint}"


def schema_of_keys(keys: Keys) -> JsonSchemaValue:
    """The schema of the value that keys from `locate` lead to."""
    return reduce(schema_at, keys[1:], SCHEMAS[str(keys[0])])


def text_at(keys: Keys) -> str:
    """The help of a setting, for people."""
    return str(schema_of_keys(keys).get("description", ""))
