"""Response bodies: any value becomes plain JSON data, any exception one error body."""

import math
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig
from django.http import Http404
from rest_framework import exceptions

from evennia_ai.api.bodies import JsonRenderer, plain
from evennia_ai.api.fields import Name
from evennia_ai.api.problems import answer_to
from evennia_ai.errors import ConfigurationError
from evennia_ai.runtime.game_thread import GameBusyError


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, None, id="nothing"),
        pytest.param(True, True, id="a flag"),
        pytest.param(Colour.RED, "red", id="a word of several"),
        pytest.param(Size.LARGE, 3, id="a number of several"),
        pytest.param(math.nan, None, id="no number"),
        pytest.param(math.inf, None, id="an infinite number"),
        pytest.param(datetime(2026, 1, 31, tzinfo=UTC), "2026-01-31T00:00:00+00:00", id="a moment"),
        pytest.param({3, 1, 2}, [1, 2, 3], id="a set"),
        pytest.param((1, [2]), [1, [2]], id="lists"),
        pytest.param(MappingProxyType({1: Colour.RED}), {"1": "red"}, id="a mapping"),
        pytest.param(b"bytes", "b'bytes'", id="bytes"),
        pytest.param(object, "<class 'object'>", id="anything else"),
    ],
)
def test_what_is_sent_is_plain(value: Any, expected: Any) -> None:
    assert expected == plain(value)


def test_what_holds_itself_ends_somewhere() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert JsonRenderer().render(plain(endless)).startswith(b"[[[")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        pytest.param(Http404(), 404, "missing", id="Django's not found"),
        pytest.param(PermissionDenied(), 403, "forbidden", id="Django's not allowed"),
        pytest.param(BadRequest(), 400, "invalid", id="Django's malformed"),
        pytest.param(RequestDataTooBig(), 413, "too_large", id="Django's too large"),
        pytest.param(GameBusyError("the game is busy"), 503, "unavailable", id="a busy game"),
        pytest.param(ConfigurationError("x is 1"), 503, "unavailable", id="wrong settings"),
        pytest.param(exceptions.Throttled(), 429, "throttled", id="too often"),
        pytest.param(exceptions.APIException(["a", {"b": "c"}]), 500, "internal", id="lists"),
        pytest.param(RuntimeError("secret"), 500, "internal", id="a fault"),
    ],
)
def test_whatever_is_raised_has_one_body(error: Exception, status: int, code: str) -> None:
    response = answer_to(error)
    body = response.data["error"]
    assert (status, code) == (response.status_code, body["code"])
    assert body["message"]
    assert "secret" not in str(body)
    assert (status == 429 or isinstance(error, GameBusyError)) == (
        "Retry-After" in response.headers
    )


@pytest.mark.parametrize("name", ['O"Brien', "a/b", "Old\nEdda", "x;y", "100%", "<b>", "7"])
def test_a_name_that_cannot_be_is_told_what_one_is(name: str) -> None:
    """One message states the whole rule for names, whatever is wrong with this one."""
    with pytest.raises(exceptions.ValidationError) as raised:
        Name().run_validation(name)
    (problem,) = raised.value.detail
    assert str(problem).startswith("A name begins with a letter")


def test_what_is_wrong_within_lists_is_named_by_its_path() -> None:
    error = exceptions.ValidationError({"aliases": [{}, ["too long"]], "key": ["missing"]})
    fields = answer_to(error).data["error"]["fields"]
    assert {"aliases.1": ["too long"], "key": ["missing"]} == fields
