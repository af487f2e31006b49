"""A JSON schema validator with bounded cost for untrusted schemas and values.

A schema may come from a remote server, and arguments from a model that a player manipulates. So a
check has a limited number of steps, remote references are not followed, and a `pattern` is only
tried if it cannot run for long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from jsonschema import Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.protocols import Validator
from referencing import Registry

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.reading import is_deep
from evennia_ai.llm.offers import IdentityCache

# Lengths in characters.
LONGEST_SCHEMA = 20_000
LONGEST_PATTERN = 100
LONGEST_MATCHED = 200
# A step is one keyword of the schema applied to one value.
MOST_STEPS = 5_000
MOST_LEVELS = 60
DEEPEST_SCHEMA = 30
# The first integer that does not fit into a signed 64-bit one, as databases have them.
BIGGEST_WHOLE = 2**63
_QUANTIFIERS = "*+?{"

Made = TypeVar("Made")
Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class TooManyStepsError(Exception):
    """A schema needs more steps than any reasonable one."""


class _Budget:
    """The remaining steps of the current check, and its depth."""

    left = MOST_STEPS
    level = 0

    def renew(self) -> None:
        """Start a new check."""
        self.left, self.level = MOST_STEPS, 0

    def enter(self) -> None:
        """Take one step, one level deeper."""
        self.left -= 1
        self.level += 1
        if self.left < 0 or self.level > MOST_LEVELS:
            raise TooManyStepsError

    def leave(self) -> None:
        """Go back up one level."""
        self.level -= 1


# Global, because jsonschema gives keyword functions no context of their own.
_budget = _Budget()


def _metered(keyword: Keyword) -> Keyword:
    def check(
        validator: Validator, value: object, instance: object, schema: object
    ) -> Iterator[ValidationError]:
        _budget.enter()
        try:
            yield from keyword(validator, value, instance, schema) or ()
        finally:
            _budget.leave()

    return check


def contained(work: Callable[[], Made]) -> Made:
    """The result of `work`, which calls the library.

    Raises:
        TooManyStepsError: the library ran out of stack.
    """
    # Its Rust parts panic then, with an error that is no Exception.
    try:
        return work()
    except (Exception, GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as panic:
        raise TooManyStepsError(type(panic).__name__) from None


def _is_cheap(pattern: str, text: str) -> bool:
    """True for a pattern that cannot backtrack for long: short, no groups, few quantifiers."""
    is_short = len(pattern) <= LONGEST_PATTERN and len(text) <= LONGEST_MATCHED
    repeats = sum(pattern.count(sign) for sign in _QUANTIFIERS)
    return is_short and repeats <= 2 and "(" not in pattern and "|" not in pattern


def _pattern(
    validator: Validator, pattern: str, instance: object, schema: object
) -> Iterator[ValidationError]:
    """Check cheap patterns. Others, and those of another dialect, are left to the tool."""
    if isinstance(instance, str) and _is_cheap(pattern, instance):
        try:
            is_found = re.search(pattern, instance)
        except re.error:
            return
        if not is_found:
            yield ValidationError("does not match")


def _unsupported(validator: Validator, value: object, instance: object, schema: object) -> None:
    """Ignore keywords that match keys by patterns, or follow references without counted steps."""


def _additional(validator: Validator, value: object, instance: object, schema: object) -> Any:
    # With patternProperties, which is ignored here, nearly any property may be allowed.
    known = Draft202012Validator.VALIDATORS["additionalProperties"]
    is_open = isinstance(schema, Mapping) and "patternProperties" in schema
    return () if is_open else known(validator, value, instance, schema)


def _is_whole(checker: object, value: object) -> bool:
    """True for an integer, also if written as 3.0, unless it is too large to be exact."""
    if isinstance(value, float):
        return value.is_integer() and abs(value) < BIGGEST_WHOLE
    return isinstance(value, int) and not isinstance(value, bool)


_KEYWORDS = {
    **Draft202012Validator.VALIDATORS,
    "pattern": _pattern,
    "additionalProperties": _additional,
    **dict.fromkeys(
        ("patternProperties", "unevaluatedItems", "unevaluatedProperties"), _unsupported
    ),
}
_Validator = validators.extend(
    Draft202012Validator,
    {name: _metered(check) for name, check in _KEYWORDS.items()},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole),
)


@lru_cache(maxsize=512)
def _compiled(text: str) -> Any:
    schema = json.loads(text)
    if (
        not isinstance(schema, dict)
        or len(text) > LONGEST_SCHEMA
        or is_deep(schema, DEEPEST_SCHEMA)
    ):
        return (
            f"it must be an object of at most {LONGEST_SCHEMA:,} characters and "
            f"{DEEPEST_SCHEMA} levels"
        )
    # Without checking formats, as "regex" would reject patterns of another dialect than Python's.
    anything = FormatChecker(formats=())
    try:
        contained(lambda: Draft202012Validator.check_schema(schema, format_checker=anything))
    except SchemaError as error:
        return one_line(error.message)
    return _Validator(schema, registry=Registry())


def _validator_of(schema: object) -> Any:
    try:
        return _compiled(json.dumps(schema))
    except (TypeError, ValueError) as error:
        return f"it is not JSON: {error}"
    except (RecursionError, TooManyStepsError):
        return "it is nested too deeply"


# Returns a cached validator for a schema object, or a text with the reason why there is none.
validator_of: IdentityCache[object, Any] = IdentityCache(_validator_of)


def schema_problem(schema: object) -> str:
    """The problem of a tool's schema, for the tool's author, or ""."""
    validator = validator_of(schema)
    if isinstance(validator, str):
        return validator
    kind = validator.schema.get("type", "object")
    return "" if kind == "object" else f'its type must be "object", not {json.dumps(kind)}'


def stray_argument(schema: Mapping[str, Any]) -> str:
    """The problem of a game's schema with arguments beside its keywords, or ""."""
    known = (*Draft202012Validator.VALIDATORS, "$defs", "definitions")
    strays = [name for name, value in schema.items() if isinstance(value, dict)]
    stray = next((name for name in strays if name not in known), "")
    return f'{stray!r} belongs below "properties"' if stray else ""


def find_error(validator: Validator, value: object) -> ValidationError | None:
    """The most relevant error of a value, or None.

    Raises:
        Exception: the schema has a reference that cannot be resolved, or is circular.
    """
    _budget.renew()
    return contained(lambda: best_match(validator.iter_errors(value)))


def accepts(validator: Validator, schema: object, value: object) -> bool:
    """True if this part of the validator's schema allows a value."""
    _budget.renew()
    return contained(lambda: bool(validator.evolve(schema=schema).is_valid(value)))
