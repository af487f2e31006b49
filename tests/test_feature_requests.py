"""The table of requests is whole, and each row names tests that exist."""

from __future__ import annotations

import pytest

from tests.feature_requests import REQUESTS, Request
from tests.named_tests import find


def test_there_are_forty() -> None:
    """None of them is left out, and none stands there twice."""
    assert 40 == len({request.wish for request in REQUESTS})


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.wish[:40])
def test_a_request_has_tests(request_: Request) -> None:
    """At least one, and each that is named exists."""
    assert request_.tests
    for name in request_.tests:
        find(name)
