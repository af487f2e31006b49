"""Base classes of settings: a group is a pydantic model, and each setting one line of it.

The line holds type, default, bounds and help; its name holds the unit. Validation, commands, the
API and the documentation are all derived from it. Values are read strictly: an invalid one is an
error, never a guess.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
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
# Settings that read_once remembers.
MOST_KNOWN = 512
T = TypeVar("T")
# Types of pydantic's errors for a key that does not exist.
_UNKNOWN_KEY = ("extra_forbidden", "invalid_key")


# Strict types: "5" is not a number, and neither is True.
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
    """Declare a setting of a group.

    Args:
        text: its help, one line.
        note: added to errors after what is wanted, such as the meaning of 0.
        example: a valid value, as people write it.
        bounds: `ge`, `gt`, `le` or `lt`, as in pydantic.
    """
    extra: dict[str, Any] = {"note": note} if note else {}
    if example:
        extra["examples"] = [example]
    # Only what is given is passed on: an explicit None would override what the type says.
    more: dict[str, Any] = {**bounds, "json_schema_extra": extra} if extra else {**bounds}
    return Field(default, description=text, **more)


def among(values: Container[object]) -> AfterValidator:
    """A validator that rejects all values but these; the error says which by the schema."""

    def check(value: T) -> T:
        if value not in values:
            raise ValueError
        return value

    return AfterValidator(check)


class MismatchError(ValueError):
    """A setting that does not fit others of its group.

    Attributes:
        name, value: the setting and its value.
        wanted: what would be valid, to follow "it must be".
    """

    def __init__(self, name: str, value: object, wanted: str) -> None:
        self.name, self.value, self.wanted = name, value, wanted
        super().__init__(name, value, wanted)


_READ_CACHE: dict[tuple[type[Any], str, str], Any] = {}


def read_once(kind: type[Any], read: Callable[..., T], *given: object) -> T:
    """Settings as parsed, from a cache while their values are unchanged.

    Results are immutable, so that all callers may share them.

    Args:
        kind: part of the cache key, with `read` and the given values.
    """
    # The repr is the key, because stored mappings and lists are not hashable.
    key = kind, read.__name__, repr(given)
    if key not in _READ_CACHE:
        if len(_READ_CACHE) >= MOST_KNOWN:
            # Cleared as a whole: it is rarely full, and settings in use are soon read again.
            _READ_CACHE.clear()
        _READ_CACHE[key] = read(*given)
    return _READ_CACHE[key]  # type: ignore[no-any-return]


class SettingsGroup(BaseModel):
    """Settings that are stored together as one mapping.

    Attributes:
        NAME: the setting that holds the mapping; "" for a group within another.
        GAME_NAME: the game's setting with the same keys, which an assistant's own values override;
            "" if there is none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)
    NAME: ClassVar[str] = ""
    GAME_NAME: ClassVar[str] = ""

    @classmethod
    def from_stored(cls, stored: object, path: str = "") -> Self:
        """The group from a stored mapping, with defaults for missing keys.

        Args:
            path: its name in errors; "" for NAME.

        Raises:
            ConfigurationError: it is not a mapping, a key is unknown, or a value does not fit.
        """
        return read_once(cls, cls._read, stored, path or cls.NAME)

    @classmethod
    def from_settings(cls, settings: object) -> Self:
        """The group as the game's settings have it; it raises what `from_stored` does."""
        name = cls.GAME_NAME or cls.NAME
        return cls.from_stored(getattr(settings, name, {}), name)

    @classmethod
    def _read(cls, stored: object, path: str) -> Self:
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            raise ConfigurationError(_refusal(cls, path, stored, error)) from None

    @classmethod
    def from_layers(cls, game: object, own: object) -> Self:
        """The group from the game's settings, overridden by those of an assistant.

        Raises:
            ConfigurationError: one is not a mapping, a key is unknown, or a value does not fit.
        """
        if not isinstance(game, Mapping):
            return cls.from_stored(game, cls.GAME_NAME)
        return cls.from_stored(merged(game, own))


class LenientGroup(SettingsGroup):
    """A group that also accepts whole numbers written as floats, such as 9.0."""

    @model_validator(mode="before")
    @classmethod
    def _convert_wholes(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        return {key: _as_whole(value) for key, value in given.items()}


def _as_whole(value: object) -> object:
    """9.0 as 9. An integer too large for a float becomes infinity, which every setting rejects."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return math.inf if isinstance(value, int) and abs(value) > LARGEST else value


def merged(below: object, above: object) -> Any:
    """A value with another one laid over it; mappings in both are merged recursively."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    return {**below, **{key: merged(below.get(key), value) for key, value in above.items()}}


def read_value(adapter: TypeAdapter[T], path: str, value: object) -> T:
    """Validate a setting outside a group, as strictly as one in a group.

    Raises:
        ConfigurationError: the value does not fit; the text begins with `path`.
    """
    try:
        return adapter.validate_python(value)
    except ValidationError:
        expected = wanted_in_code(adapter.json_schema())
        raise ConfigurationError(f"{path} is {_shown(value)}; it must be {expected}") from None


# ---- errors ------------------------------------------------------------------------------------


def _refusal(group: type[SettingsGroup], path: str, given: object, error: ValidationError) -> str:
    """The first error in a sentence: the setting, its value, and what would be valid."""
    first = error.errors(include_url=False)[0]
    # pydantic appends "[key]" to the location when a key of a mapping, not its value, is invalid.
    keys = [key for key in first["loc"] if key != "[key]"]
    is_unknown = first["type"] in _UNKNOWN_KEY or len(keys) < len(first["loc"])
    schema, value = schema_of(group), given
    describe = wanted_in_code if path else wanted
    for key in keys[:-1] if is_unknown else keys:
        if not isinstance(value, Mapping):  # of a list the whole value is shown
            break
        schema, value = schema_at(schema, key), value[key]
        path = f"{path}.{key}" if path else str(key)
    if is_unknown:
        return f"{path} has no key {keys[-1]!r}; it has {', '.join(known_keys(schema))}"
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, MismatchError):
        return f"{path}.{cause.name} is {cause.value!r}; it must be {cause.wanted}"
    return f"{path} is {_shown(value)}; it must be {str(cause or '') or describe(schema)}"


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, (int, float)) else one_line(repr(value), LONGEST_SHOWN)
