"""The table of promises names existing tests."""

import pytest

from tests.named_tests import find
from tests.promises import PROMISES, Promise


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.told[:40])
def test_a_promise_has_tests(promise: Promise) -> None:
    assert promise.tests
    for name in promise.tests:
        find(name)
