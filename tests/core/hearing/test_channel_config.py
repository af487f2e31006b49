"""Settings of a channel."""

import pytest

from evennia_ai.core.hearing.perception import (
    ADDRESSED_BY,
    MODE,
    TRUST,
    AddressedBy,
    ChannelConfig,
    Outcome,
)
from evennia_ai.core.settings.model import read_value
from evennia_ai.errors import ConfigurationError

TRIGGER, CONTEXT, IGNORE = Outcome.TRIGGER, Outcome.CONTEXT, Outcome.IGNORE


@pytest.mark.parametrize(
    ("config", "stored"),
    [
        pytest.param(ChannelConfig(mode=TRIGGER), "trigger", id="a word"),
        pytest.param(ChannelConfig(mode=CONTEXT), {"mode": "context"}, id="a mode"),
        pytest.param(
            ChannelConfig(mode=TRIGGER, trust=0.5), {"mode": "trigger", "trust": 0.5}, id="both"
        ),
        pytest.param(ChannelConfig(mode=IGNORE, trust=1), {"trust": 1}, id="a trust alone"),
        pytest.param(ChannelConfig(mode=IGNORE, trust=0.0), {"trust": 0.0}, id="no trust at all"),
        pytest.param(ChannelConfig(mode=IGNORE), {"trust": None}, id="no trust of its own"),
        pytest.param(ChannelConfig(), {}, id="nothing"),
    ],
)
def test_channel_config(config: ChannelConfig, stored: object) -> None:
    assert config == ChannelConfig.of_channel("Public", stored)


@pytest.mark.parametrize(
    ("problem", "stored"),
    [
        pytest.param("].mode is 'capture'; it must be one of trig", "capture", id="mode"),
        pytest.param("].mode is 'Trigger'; it must be", {"mode": "Trigger"}, id="in capitals"),
        pytest.param("].mode is None; it must be one", {"mode": None}, id="no mode"),
        pytest.param("].mode is ['trigger']; it must be", {"mode": ["trigger"]}, id="a list"),
        pytest.param("is 3; it must be a mapping of mode, trust", 3, id="a number"),
        pytest.param("is None; it must be a mapping of", None, id="nothing"),
        pytest.param("is ['trigger']; it must be a mapping", ["trigger"], id="no mapping"),
        pytest.param("has no key 'mood'; it has mode, trust", {"mood": "trigger"}, id="a key"),
        pytest.param("trust is 1.1; it must be a number from 0 to 1", {"trust": 1.1}, id="high"),
        pytest.param("trust is -0.1;", {"trust": -0.1}, id="low"),
        pytest.param("trust is nan;", {"trust": float("nan")}, id="NaN"),
        pytest.param("trust is inf;", {"trust": float("inf")}, id="infinite"),
        pytest.param("trust is True;", {"trust": True}, id="a boolean"),
        pytest.param("trust is '0.5';", {"trust": "0.5"}, id="a text"),
    ],
)
def test_channel_config_that_cannot_be(problem: str, stored: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ChannelConfig.of_channel("Public", stored)
    assert str(caught.value).startswith("channel_configs['Public']")
    assert problem in str(caught.value)


def test_a_bad_trust_is_told_in_one_sentence() -> None:
    with pytest.raises(ConfigurationError) as caught:
        ChannelConfig.of_channel("x", {"trust": 2})
    problem = "channel_configs['x'].trust is 2; it must be a number from 0 to 1, or none"
    assert problem == str(caught.value)


def test_a_trust_is_read() -> None:
    read = [read_value(TRUST, "it", value) for value in (0, 1, 0.25)]
    assert [0.0, 1.0, 0.25] == read
    assert {float} == set(map(type, read))
    with pytest.raises(ConfigurationError) as caught:
        read_value(TRUST, "trust_override of perm(Builder)", "high")
    problem = "trust_override of perm(Builder) is 'high'; it must be a number from 0 to 1"
    assert problem == str(caught.value)


def test_a_mode_is_read() -> None:
    assert [TRIGGER, CONTEXT, IGNORE] == [
        read_value(MODE, "it", word) for word in ("trigger", "context", "ignore")
    ]
    with pytest.raises(ConfigurationError, match="room_messages is 7; it must be one of trig"):
        read_value(MODE, "room_messages", 7)


def test_a_way_of_addressing_is_read() -> None:
    assert list(AddressedBy) == [read_value(ADDRESSED_BY, "it", word) for word in ("name", "at")]
    with pytest.raises(ConfigurationError, match="addressed_by is 'x'; it must be one of name, at"):
        read_value(ADDRESSED_BY, "addressed_by", "x")
