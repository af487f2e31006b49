"""The table of promises names tests that exist."""

from __future__ import annotations

import pytest

from tests.named_tests import find
from tests.promises import PROMISES, Promise


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.told[:40])
def test_a_promise_has_tests(promise: Promise) -> None:
    """At least one, and each that is named exists."""
    assert promise.tests
    for name in promise.tests:
        find(name)
