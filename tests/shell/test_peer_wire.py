"""Tasks of peers as the protocol has them."""

from __future__ import annotations

import pytest

from evennia_ai.api.a2a import wire
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
