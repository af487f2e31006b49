"""A message that game code reports and the game also sends counts once."""

from dataclasses import replace

import pytest

from evennia_ai.core.hearing.perception import Evidence, Heard, Source
from evennia_ai.core.hearing.unmarked import ECHO_SECONDS, is_echo, is_same
from tests.core.samples import make_heard

CALL = make_heard(
    body="hello", source=Source.SAY, sender_id="#3", sender_name="Tom", evidence=Evidence.CALL
)
MARKED = replace(CALL, evidence=Evidence.OOB)
BARE = make_heard(
    body='Tom says, "hello"', source=Source.EMIT, sender_id="", evidence=Evidence.NONE
)


@pytest.mark.parametrize(
    ("expected", "other"),
    [
        pytest.param(True, MARKED, id="with marks"),
        pytest.param(False, replace(MARKED, body="hello there"), id="other words"),
        pytest.param(True, BARE, id="bare"),
        pytest.param(True, replace(BARE, body="hello", sender_id="#3"), id="bare, of the sender"),
        pytest.param(False, replace(BARE, sender_id="#9"), id="of somebody else"),
        pytest.param(False, replace(BARE, body='Mira says, "hello"'), id="another name"),
        pytest.param(False, replace(BARE, body='Tom says, "well"'), id="bare, other words"),
        pytest.param(False, CALL, id="told again"),
        pytest.param(False, replace(MARKED, source=Source.WHISPER), id="another way"),
    ],
)
def test_is_same(expected: bool, other: Heard) -> None:
    """Sender and words are compared, whatever a line without metadata puts around them."""
    assert expected is is_same(CALL, other)


@pytest.mark.parametrize(
    ("expected", "seconds"), [(True, 0.0), (True, ECHO_SECONDS), (False, 1.1), (False, -1.0)]
)
def test_an_echo_comes_at_once(expected: bool, seconds: float) -> None:
    """The same words a second later are a new message."""
    assert expected is is_echo([(10.0, CALL)], BARE, 10.0 + seconds)
