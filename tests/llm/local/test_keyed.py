"""The key between the game and the embedded model's server."""

from collections.abc import Iterator

import pytest
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.errors import ModelError
from evennia_ai.llm.local import control
from evennia_ai.llm.local_transport import LocalTransport
from evennia_ai.llm.transport import OpenAITransport
from tests.fakes.reactor import running_reactor
from tests.llm.local.support import Brain

__all__ = ("running_reactor",)
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def transport(running_reactor: SelectReactor, brain: Brain) -> Iterator[LocalTransport]:
    """The game's transport to the model of the folder."""
    result = LocalTransport(brain.state_dir, reactor=running_reactor)
    yield result
    blockingCallFromThread(running_reactor, result.close)


def test_hole_c18_the_game_sends_the_key(
    running_reactor: SelectReactor, brain: Brain, transport: LocalTransport
) -> None:
    """The key changes with each start of the model, and any other key is refused."""
    for _ in range(2):
        brain.launch()
        model = brain.wait()
        assert b"{}" == blockingCallFromThread(running_reactor, transport.post, BODY)
        for key in ("", "wrong"):
            other = OpenAITransport(model.base_url, key, {}, reactor=running_reactor)
            with pytest.raises(ModelError):
                blockingCallFromThread(running_reactor, other.post, BODY)
            blockingCallFromThread(running_reactor, other.close)
        control.stop(brain.state_dir)
