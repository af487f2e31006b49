"""How a setting is named: by itself, as "container.key", or by a key that only one has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from evennia_ai.core.setting_types import ANY, SHAPES
from evennia_ai.core.settings import ATTRIBUTES, STATE
from evennia_ai.core.shapes import Kind, Shape
from evennia_ai.core.text import one_line
from evennia_ai.errors import ConfigurationError

Keys = tuple[str | int, ...]

NEAREST = 3
SECRETS_BELONG = (
    "keys and passwords are no settings of an assistant: put them into the game's environment or "
    "into server/conf/secret_settings.py, see docs/models.md"
)
# Not "tokens": those are counted, not kept secret.
_SECRET = re.compile(
    r"(^|[_\-.\s])(key|token|secrets?|pass(word|wd|phrase)?s?|auth|credentials?|cookies?|bearer)$"
    r"|apikey|authori[sz]ation",
    re.IGNORECASE,
)
_KEY_ITSELF = re.compile(r"\b(?:sk|gsk|xai|hf|ghp|github_pat)[-_][A-Za-z0-9_-]{16,}|\bAIza\S{20,}")


def _below(shape: Shape, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, item in shape.keys.items():
        yield (*keys, key)
        yield from _below(item, (*keys, key))


# The keys of all containers that have no others, by their path.
NESTED: Mapping[str, tuple[str, ...]] = {
    ".".join(keys): keys for name, shape in SHAPES.items() for keys in _below(shape, (name,))
}


def sounds_secret(name: str) -> bool:
    """Whether something of that name would be a key or a password."""
    return _SECRET.search(name) is not None


def looks_like_key(text: str) -> bool:
    """Whether a text holds what looks like the key of a service."""
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
    if name in SHAPES:
        return (name, *_inside(SHAPES[name], rest.strip(), name)) if dot else (name,)
    wanted = path.strip().casefold()
    matches = [nested for nested, keys in NESTED.items() if wanted in _ends(keys)]
    if len(matches) == 1:
        return NESTED[matches[0]]
    if matches:
        raise ConfigurationError(f"{wanted} is in several: {', '.join(matches)}; name one of them")
    raise ConfigurationError(_unknown(path.strip()))


def _ends(keys: tuple[str, ...]) -> list[str]:
    """How keys may be called without the names they begin with."""
    return [".".join(keys[first:]) for first in range(1, len(keys))]


def _inside(shape: Shape, rest: str, path: str) -> Keys:
    """The keys below a shape."""
    if not rest or shape.kind is not Kind.MAPPING:
        raise ConfigurationError(f"{path} has no key {one_line(rest, 60)!r}; name {path} alone")
    if shape.keys:
        return _known(shape, rest, path)
    if shape.item is ANY:
        return tuple(rest.split("."))
    head, dot, last = rest.rpartition(".")
    if shape.item is not None and dot and last.casefold() in shape.item.keys:
        return (_key(shape, head, path), last.casefold())
    return (_key(shape, rest, path),)


def _known(shape: Shape, rest: str, path: str) -> Keys:
    """The keys below a shape that has no others; some of them have dots in them."""
    word = rest.casefold()
    for key in shape.keys:
        if word == key:
            return (key,)
        if word.startswith(f"{key}."):
            return (key, *_inside(shape.keys[key], rest[len(key) + 1 :], f"{path}.{key}"))
    raise ConfigurationError(
        f"{path} has no key {one_line(rest, 60)!r}; it has {', '.join(shape.keys)}"
    )


def _key(shape: Shape, text: str, path: str) -> str | int:
    """A key of a mapping with any keys; these may hold dots."""
    if not shape.is_numbered:
        return text
    if text.isascii() and text.isdecimal() and len(text) <= 9:
        return int(text)
    raise ConfigurationError(
        f"{path} has whole numbers as keys, such as 250, and not {one_line(text, 60)!r}"
    )


def _unknown(path: str) -> str:
    """That there is no such setting, and which were perhaps meant."""
    if sounds_secret(path):
        return f"{one_line(path, 60)} cannot be set: {SECRETS_BELONG}"
    by_last: dict[str, list[str]] = {name: [name] for name in SHAPES}
    for nested, keys in NESTED.items():
        by_last.setdefault(keys[-1], []).append(nested)
    last = path.casefold().rpartition(".")[2]
    near = [last] if last in by_last else get_close_matches(last, by_last, n=NEAREST)
    meant = [full for word in near for full in by_last[word]][:NEAREST]
    hint = f"did you mean {' or '.join(meant)}?" if meant else "the configuration lists them all"
    return f"there is no setting {one_line(path, 60)!r}; {hint}"


def shape_at(keys: Keys) -> Shape:
    """The shape of what some keys lead to, as `locate` gives them."""
    shape = SHAPES[str(keys[0])]
    for key in keys[1:]:
        shape = shape.keys.get(str(key)) or shape.item or ANY
    return shape


def text_at(keys: Keys) -> str:
    """What it does, for people."""
    return ATTRIBUTES[str(keys[0])].text if len(keys) == 1 else shape_at(keys).text
