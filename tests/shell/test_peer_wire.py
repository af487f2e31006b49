"""Tasks and filters of peers as the protocol has them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from a2a.types import ListTasksRequest

from evennia_ai.api.a2a import handler, wire
from evennia_ai.api.a2a.snapshots import TaskSnapshot
from evennia_ai.tasks import peer_store

AT = 1_800_000_000


def snapshot(count: int) -> TaskSnapshot:
    """A task with so many messages, numbered from 0."""
    words = [{"id": str(number), "role": "user", "text": "Hm?"} for number in range(count)]
    return TaskSnapshot("t", "c", peer_store.WORKING, 1, words, None, AT, 1, [], False, {})


@pytest.mark.parametrize(
    ("history", "wanted"), [(None, "01234"), (0, ""), (2, "34"), (5, "01234"), (7, "01234")]
)
def test_a_history_has_the_newest_messages(history: int | None, wanted: str) -> None:
    """All of them if more are wanted than there are."""
    found = wire.task_of(snapshot(5), history=history).history
    assert wanted == "".join(each.message_id for each in found)


@pytest.fixture
def _new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone that Django sets for a game in New York."""
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    assert os.environ.get("TZ") == before
    time.tzset()


@pytest.mark.usefixtures("_new_york")
def test_a_filter_by_time_is_the_same_in_every_time_zone() -> None:
    request = ListTasksRequest()
    request.status_timestamp_after.FromSeconds(AT)
    assert {"changed_at__gte": AT} == handler._filters_of(request)
