"""Judgement of messages on channels and in the room, in examples."""

from typing import Any

import pytest

from evennia_ai.core.hearing.perception import ChannelConfig, Outcome
from tests.core.samples import judge

TRIGGER, CONTEXT, IGNORE = Outcome.TRIGGER, Outcome.CONTEXT, Outcome.IGNORE


@pytest.mark.parametrize(
    ("verdict", "trust", "mode", "own_trust", "heard"),
    [
        pytest.param("6 channel_config trigger", 0.6, TRIGGER, None, {}, id="trigger"),
        pytest.param("6 channel_config context", 0.6, CONTEXT, None, {}, id="context"),
        pytest.param("6 channel_config ignore", 0.6, IGNORE, None, {}, id="ignore"),
        pytest.param("6 channel_config trigger", 0.15, TRIGGER, 0.15, {}, id="its own trust"),
        pytest.param("6 channel_config trigger", 0.6, TRIGGER, None, {"place": "PUBLIC"},
                     id="in any case"),
        pytest.param("7 default ignore", 0.6, TRIGGER, 0.1, {"place": "Off Topic"},
                     id="another channel"),
        pytest.param("6 channel_config context", 0.6, TRIGGER, None, {"is_for_another": True},
                     id="a word to somebody else is only heard"),
        pytest.param("6 channel_config ignore", 0.6, IGNORE, None, {"is_for_another": True},
                     id="an ignored channel stays so"),
        pytest.param("6 channel_config trigger", 0.4, TRIGGER, None, {"is_relayed": True},
                     id="what a bot passes on is believed less"),
        pytest.param("6 channel_config trigger", 0.8, TRIGGER, 0.8, {"is_relayed": True},
                     id="a bot on a channel with a trust of its own"),
        pytest.param("2 direct_address trigger", 0.15, IGNORE, 0.15, {"body": "@ada hi"},
                     id="a mention on a channel that is little believed"),
        pytest.param("2 direct_address trigger", 0.7, IGNORE, None, {"body": "@ada hi"},
                     id="a mention on an ignored channel"),
        pytest.param("2 direct_address trigger", 0.4, IGNORE, None,
                     {"body": "@ada hi", "is_relayed": True}, id="a mention that a bot passes on"),
        pytest.param("4 assistant_cross_talk context", 0.6, TRIGGER, None, {"from_assistant": True},
                     id="an assistant on a channel"),
    ],
)  # fmt: skip
def test_channels(
    verdict: str, trust: float, mode: Outcome, own_trust: float | None, heard: dict[str, Any]
) -> None:
    ear = {"channels": {"public": ChannelConfig(mode=mode, trust=own_trust)}}
    assert (verdict, trust) == judge({"source": "channel", "place": "Public", **heard}, ear)


@pytest.mark.parametrize(
    ("verdict", "mode", "heard"),
    [
        pytest.param("7 room_message trigger", TRIGGER, {}, id="speech"),
        pytest.param("7 room_message context", TRIGGER, {"source": "emit"},
                     id="an emit is only seen"),
        pytest.param("7 room_message context", CONTEXT, {"source": "emit"}, id="an emit is kept"),
        pytest.param("2 direct_address trigger", TRIGGER, {"source": "emit", "body": "@ada hi"},
                     id="an emit that names her"),
        pytest.param("7 room_message trigger", TRIGGER, {"source": "pose"}, id="a pose"),
        pytest.param("7 room_message context", CONTEXT, {}, id="speech is only heard"),
        pytest.param("7 default ignore", IGNORE, {}, id="speech is passed over"),
        pytest.param("7 room_message context", TRIGGER, {"source": "move"},
                     id="a coming is only seen"),
        pytest.param("7 room_message context", TRIGGER, {"is_for_another": True},
                     id="speech to another"),
        pytest.param("7 default ignore", TRIGGER, {"source": "channel"}, id="a channel"),
        pytest.param("4 assistant_cross_talk context", TRIGGER, {"from_assistant": True},
                     id="an assistant"),
    ],
)  # fmt: skip
def test_room_messages(verdict: str, mode: Outcome, heard: dict[str, Any]) -> None:
    assert verdict == judge(heard, {"room_messages": mode})[0]
