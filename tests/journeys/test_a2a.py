"""An agent elsewhere gives an assistant of a running game tasks, by the official A2A client."""

from __future__ import annotations

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.a2a_client import (
    BINDINGS,
    Peer,
    answer_of,
    game_settings,
    message,
    owner,
    port,
    report,
    state_of,
    stranger,
)
from tests.journeys.clients import Player

__all__ = ("game_settings", "owner", "port", "stranger")


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_task_is_given_and_answered(stranger: Peer, model: FakeModel, binding: str) -> None:
    """From the card to the report, by either binding; nobody in the game hears of it."""
    model.queue(report("In the north wing."))
    task = stranger.send(message("Where is the atlas?"), binding)
    assert ("COMPLETED", "In the north wing.") == (state_of(task), answer_of(task))
    assert ["Where is the atlas?"] == [part.text for part in task.history[0].parts]
    assert task == stranger.get(task.id, binding)
