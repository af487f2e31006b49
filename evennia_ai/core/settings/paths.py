"""Names of settings: the name itself, "container.key", or a key that only one container has."""

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

NEAREST = 3
SECRETS_BELONG = (
    "keys and passwords are not settings of an assistant: put them into the game's environment or "
    "into server/conf/secret_settings.py, see docs/models.md"
)
# Not "tokens": those are counted, not kept secret.
_SECRET = re.compile(
    r"(^|[_\-.\s])(key|token|secrets?|pass(word|wd|phrase)?s?|auth|credentials?|cookies?|bearer)$"
    r"|apikey|authori[sz]ation",
    re.IGNORECASE,
)
_KEY_ITSELF = re.compile(r"\b(?:sk|gsk|xai|hf|ghp|github_pat)[-_][A-Za-z0-9_-]{16,}|\bAIza\S{20,}")


def _below(schema: JsonSchemaValue, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, item in known_keys(schema).items():
        yield (*keys, key)
        yield from _below(item, (*keys, key))


# The keys of all containers that have no others, by their path.
NESTED: Mapping[str, tuple[str, ...]] = {
    ".".join(keys): keys for name, schema in SCHEMAS.items() for keys in _below(schema, (name,))
}


def sounds_secret(name: str) -> bool:
    """True for the name of a key or a password."""
    return _SECRET.search(name) is not None


def looks_like_key(text: str) -> bool:
    """True for a text that holds a thing like the key of a service."""
    return _KEY_ITSELF.search(text) is not None


def locate(path: str) -> Keys:
    """The keys that lead to a setting, or into one.

    Args:
        path: a name, "container.key", or a key alone that only one container has.

    Raises:
        ConfigurationError: nothing is called so, or several; the text says what would be right.
    """
    head, dot, rest = path.strip().partition(".")
    name = head.strip().casefold()
    if name in STATE:
        raise ConfigurationError(f"{name} is kept by the assistant itself; it cannot be set")
    if name in SCHEMAS:
        return (name, *_inside(SCHEMAS[name], rest.strip(), name)) if dot else (name,)
    wanted = path.strip().casefold()
    matches = [nested for nested, keys in NESTED.items() if wanted in _ends(keys)]
    if len(matches) == 1:
        return NESTED[matches[0]]
    if matches:
        raise ConfigurationError(f"{wanted} is in several: {', '.join(matches)}; name one of them")
    raise ConfigurationError(_unknown(path.strip()))


def _ends(keys: tuple[str, ...]) -> list[str]:
    """Names of keys without the names they begin with."""
    return [".".join(keys[first:]) for first in range(1, len(keys))]


def _inside(schema: JsonSchemaValue, rest: str, path: str) -> Keys:
    """The keys below a mapping."""
    if not rest or kind_of(schema) != "object":
        raise ConfigurationError(f"{path} has no key {one_line(rest, 60)!r}; name {path} alone")
    if known_keys(schema):
        return _known(known_keys(schema), rest, path)
    item = item_of(schema) or {}
    if not kind_of(item):
        return tuple(rest.split("."))
    head, dot, last = rest.rpartition(".")
    if dot and last.casefold() in known_keys(item):
        return (_key(schema, head, path), last.casefold())
    return (_key(schema, rest, path),)


def _known(keys: Mapping[str, JsonSchemaValue], rest: str, path: str) -> Keys:
    """The keys below a mapping that has no others; some of them have dots in them."""
    word = rest.casefold()
    for key, schema in keys.items():
        if word == key:
            return (key,)
        # Keys of limits have dots in them: modes.cost.tokens_total.
        if word.startswith(f"{key}."):
            return (key, *_inside(schema, rest[len(key) + 1 :], f"{path}.{key}"))
    raise ConfigurationError(f"{path} has no key {one_line(rest, 60)!r}; it has {', '.join(keys)}")


def _key(schema: JsonSchemaValue, text: str, path: str) -> str | int:
    """A key of a mapping with any keys; these may hold dots."""
    if not is_numbered(schema):
        return text
    if text.isascii() and text.isdecimal() and len(text) <= 9:
        return int(text)
    raise ConfigurationError(
        f"{path} has whole numbers as keys, such as 250, and not {one_line(text, 60)!r}"
    )


def _unknown(path: str) -> str:
    """The error of an unknown setting, with those that were perhaps meant."""
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
    """The schema of what some keys lead to, as `locate` gives them."""
    return reduce(schema_at, keys[1:], SCHEMAS[str(keys[0])])


def text_at(keys: Keys) -> str:
    """The help of a setting, for people."""
    return str(schema_of_keys(keys).get("description", ""))
