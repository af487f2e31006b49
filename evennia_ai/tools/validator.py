"""A JSON schema validator that costs little, whoever wrote the schema and the values.

A schema may come from somebody else's server and arguments from a model that a player leads: a
check may take so many steps and no more, a reference to another address is not followed, and a
`pattern` is tried only when it cannot run for long.
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

LONGEST_SCHEMA = 20_000
LONGEST_PATTERN = 100
LONGEST_MATCHED = 200
MOST_STEPS = 5_000
MOST_LEVELS = 60
DEEPEST_SCHEMA = 30
BIGGEST_WHOLE = 2**63
_QUANTIFIERS = "*+?{"

Made = TypeVar("Made")
Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class TooManyStepsError(Exception):
    """A schema asks for more work than any honest one."""


class _Budget:
    """Steps that the check under way may still take, and how deep it is."""

    left = MOST_STEPS
    level = 0

    def renew(self) -> None:
        """Another check begins."""
        self.left, self.level = MOST_STEPS, 0

    def enter(self) -> None:
        """Take one step, down."""
        self.left -= 1
        self.level += 1
        if self.left < 0 or self.level > MOST_LEVELS:
            raise TooManyStepsError

    def leave(self) -> None:
        """Come up again."""
        self.level -= 1


_budget = _Budget()


def _counted(keyword: Keyword) -> Keyword:
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
    """The result of `work`; the library panics, outside of `Exception`, where the stack ends.

    Raises:
        TooManyStepsError: it did.
    """
    try:
        return work()
    except (Exception, GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as panic:
        raise TooManyStepsError(type(panic).__name__) from None


def _is_tame(pattern: str, text: str) -> bool:
    """True for a pattern that is matched in a moment: short, no groups, little repetition."""
    is_short = len(pattern) <= LONGEST_PATTERN and len(text) <= LONGEST_MATCHED
    repeats = sum(pattern.count(sign) for sign in _QUANTIFIERS)
    return is_short and repeats <= 2 and not {*"(|"} & {*pattern}


def _pattern(
    validator: Validator, pattern: str, instance: object, schema: object
) -> Iterator[ValidationError]:
    """Patterns that could run for long, or are of another dialect, are left to the tool."""
    if isinstance(instance, str) and _is_tame(pattern, instance):
        try:
            is_found = re.search(pattern, instance)
        except re.error:
            return
        if not is_found:
            yield ValidationError("does not match")


def _nothing(validator: Validator, value: object, instance: object, schema: object) -> None:
    """These keywords look for keys by patterns, or go round by references that nobody counts."""


def _additional(validator: Validator, value: object, instance: object, schema: object) -> Any:
    known = Draft202012Validator.VALIDATORS["additionalProperties"]
    is_open = isinstance(schema, Mapping) and "patternProperties" in schema
    return () if is_open else known(validator, value, instance, schema)


def _is_whole(checker: object, value: object) -> bool:
    """A whole number, also one written as 3.0, but not one that only a float can hold."""
    if isinstance(value, float):
        return value.is_integer() and abs(value) < BIGGEST_WHOLE
    return isinstance(value, int) and not isinstance(value, bool)


_KEYWORDS = {
    **Draft202012Validator.VALIDATORS,
    "pattern": _pattern,
    "additionalProperties": _additional,
    **dict.fromkeys(("patternProperties", "unevaluatedItems", "unevaluatedProperties"), _nothing),
}
_Validator = validators.extend(
    Draft202012Validator,
    {name: _counted(check) for name, check in _KEYWORDS.items()},
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
    # A pattern may be of another dialect than Python's.
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


# For the same schema the same one: a validator for it, or why it cannot be used, as a text.
validator_of: IdentityCache[object, Any] = IdentityCache(_validator_of)


def schema_problem(schema: object) -> str:
    """The fault of a tool's schema, for whoever made the tool, or ""."""
    made = validator_of(schema)
    if isinstance(made, str):
        return made
    kind = made.schema.get("type", "object")
    return "" if kind == "object" else f'its type must be "object", not {json.dumps(kind)}'


def find_error(validator: Validator, value: object) -> ValidationError | None:
    """The worst fault of a value, or None.

    Raises:
        Exception: it cannot be checked: a reference leads nowhere, or there is no end to it.
    """
    _budget.renew()
    return contained(lambda: best_match(validator.iter_errors(value)))


def takes_null(validator: Validator, schema: object) -> bool:
    """True where null is a value of its own to this part of the validator's schema."""
    _budget.renew()
    return contained(lambda: bool(validator.evolve(schema=schema).is_valid(None)))
