"""Settings as models: a group is a class, and a setting one line of it.

The line has its type, default, bounds and help; the unit is in its name. What reads a group, what
asks for one of its settings and what documents it are all made from that line. What is set is read
strictly: what makes no sense is an error, and never a guess.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AllowInfNan,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from evennia_ai.core.settings.schema import known_keys, schema_at, schema_of, wanted, wanted_in_code
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ConfigurationError

LARGEST = sys.float_info.max
LONGEST_SHOWN = 120
MOST_KNOWN = 512
T = TypeVar("T")
_UNKNOWN = ("extra_forbidden", "invalid_key")


# Nothing is read as another kind: a text is not a number, and neither is yes.
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Count = Annotated[Whole, Field(ge=0)]
Number = Annotated[float, Strict(), AllowInfNan(False)]
Amount = Annotated[Number, Field(ge=0)]
Part = Annotated[Number, Field(ge=0, le=1)]
Text = Annotated[str, Strict()]
Line = Annotated[Text, Field(min_length=1)]
Word = Annotated[Text, Field(pattern=r"\S", json_schema_extra={"note": "not an empty one"})]
NO_LIMIT = {"note": "0 for no limit"}
Limit = Annotated[Count, Field(json_schema_extra=NO_LIMIT)]
LimitAmount = Annotated[Amount, Field(json_schema_extra=NO_LIMIT)]


def setting(
    default: object, text: str, *, note: str = "", example: str = "", **bounds: float
) -> Any:
    """One setting of a group.

    Args:
        text: its help, one line.
        note: stands in errors after what is wanted, such as the meaning of 0.
        example: a right value, as people write it.
        bounds: `ge`, `gt`, `le` or `lt`, as pydantic calls them.
    """
    extra: dict[str, Any] = {"note": note} if note else {}
    if example:
        extra["examples"] = [example]
    # What is not given is not passed: also None would take the place of what the type says.
    more: dict[str, Any] = {**bounds, "json_schema_extra": extra} if extra else {**bounds}
    return Field(default, description=text, **more)


class MismatchError(ValueError):
    """A setting that does not fit the others of its group.

    Attributes:
        name, value: the setting, and what it is.
        wanted: what would be right, as what follows "it must be".
    """

    def __init__(self, name: str, value: object, wanted: str) -> None:
        self.name, self.value, self.wanted = name, value, wanted
        super().__init__(name, value, wanted)


_KNOWN: dict[tuple[type[Any], str, str], Any] = {}


def read_once(kind: type[Any], read: Callable[..., T], *given: object) -> T:
    """Settings as read; those that did not change since are not read again for each turn.

    Nothing of what comes of it can be changed, so that all may share it.

    Args:
        kind: with `read` and what is given, what it is known by.
    """
    # By repr, since stored mappings and lists are no keys of a dict.
    key = kind, read.__name__, repr(given)
    if key not in _KNOWN:
        if len(_KNOWN) >= MOST_KNOWN:
            # All at once: it is seldom full, and what holds now is soon read again.
            _KNOWN.clear()
        _KNOWN[key] = read(*given)
    return _KNOWN[key]  # type: ignore[no-any-return]


class SettingsGroup(BaseModel):
    """Settings that are stored together, as one mapping.

    Attributes:
        NAME: the setting that holds the mapping; "" for a group within another.
        GAME_NAME: the game's setting of the same keys, over which an assistant's own go; "": none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)
    NAME: ClassVar[str] = ""
    GAME_NAME: ClassVar[str] = ""

    @classmethod
    def from_stored(cls, stored: object, path: str = "") -> Self:
        """The group as a mapping sets it, with defaults for the rest.

        Args:
            path: its name in errors; "": NAME.

        Raises:
            ConfigurationError: it is not a mapping, a key is unknown, or a value does not fit.
        """
        return read_once(cls, cls._read, stored, path or cls.NAME)

    @classmethod
    def _read(cls, stored: object, path: str) -> Self:
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            raise ConfigurationError(_refusal(cls, path, stored, error)) from None

    @classmethod
    def from_layers(cls, game: object, own: object) -> Self:
        """The group as the game and an assistant set it; the assistant's own go before the game's.

        Raises:
            ConfigurationError: one is not a mapping, a key is unknown, or a value does not fit.
        """
        if not isinstance(game, Mapping):
            return cls.from_stored(game, cls.GAME_NAME)
        return cls.from_stored(merged(game, own))


class LenientGroup(SettingsGroup):
    """A group in which 9.0 is a whole number too."""

    @model_validator(mode="before")
    @classmethod
    def _with_wholes(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        return {key: _as_whole(value) for key, value in given.items()}


def _as_whole(value: object) -> object:
    """9.0 as 9; a number that no float could be becomes one that every setting refuses."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return math.inf if isinstance(value, int) and abs(value) > LARGEST else value


def merged(below: Mapping[str, object], above: object) -> Any:
    """The settings below with those above over them; mappings in both are merged in turn."""
    if not isinstance(above, Mapping):
        return above
    return {**below, **{key: _over(below.get(key), value) for key, value in above.items()}}


def _over(below: object, above: object) -> Any:
    return merged(below, above) if isinstance(below, Mapping) else above


def read_value(adapter: TypeAdapter[T], path: str, value: object) -> T:
    """A setting that stands alone, read as strictly as one of a group.

    Raises:
        ConfigurationError: it is not what the adapter takes; the text begins with `path`.
    """
    try:
        return adapter.validate_python(value)
    except ValidationError:
        told = wanted_in_code(adapter.json_schema())
        raise ConfigurationError(f"{path} is {_shown(value)}; it must be {told}") from None


# ---- errors ------------------------------------------------------------------------------------


def _refusal(group: type[SettingsGroup], path: str, given: object, error: ValidationError) -> str:
    """The first error in a sentence: which setting, what it is, and what would be right."""
    first = error.errors(include_url=False)[0]
    keys = [key for key in first["loc"] if key != "[key]"]
    is_unknown = first["type"] in _UNKNOWN or len(keys) < len(first["loc"])
    schema, value = schema_of(group), given
    told = wanted_in_code if path else wanted
    for key in keys[:-1] if is_unknown else keys:
        if not isinstance(value, Mapping):  # of a list all of it is shown
            break
        schema, value = schema_at(schema, key), value[key]
        path = f"{path}.{key}" if path else str(key)
    if is_unknown:
        return f"{path} has no key {keys[-1]!r}; it has {', '.join(known_keys(schema))}"
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, MismatchError):
        return f"{path}.{cause.name} is {cause.value!r}; it must be {cause.wanted}"
    return f"{path} is {_shown(value)}; it must be {str(cause or '') or told(schema)}"


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, (int, float)) else one_line(repr(value), LONGEST_SHOWN)
