"""The table of feature requests is complete and names existing tests."""

import pytest

from tests.feature_requests import REQUESTS, Request
from tests.named_tests import find


def test_there_are_forty() -> None:
    assert 40 == len({request.wish for request in REQUESTS})


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.wish[:40])
def test_a_request_has_tests(request_: Request) -> None:
    assert request_.tests
    for name in request_.tests:
        find(name)
