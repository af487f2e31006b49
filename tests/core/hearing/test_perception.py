"""Trust of messages by the rules, in examples; which rule decides is in test_perception_table."""

from typing import Any

import pytest

from evennia_ai.core.hearing.perception import ChannelConfig, Evidence, Outcome, Source, Standing
from evennia_ai.core.hearing.rules import RULES, Rule, classify, is_unsure
from tests.core.samples import ADA, judge, make_heard

CALL = {"body": "@ada hi"}
CALLED_PUBLIC = {"public": ChannelConfig(mode=Outcome.TRIGGER, trust=0.0)}


@pytest.mark.parametrize(
    ("verdict", "trust", "heard", "sender"),
    [
        ("7 default ignore", 0.4, {}, {}),
        ("2 direct_address trigger", 0.7, CALL, {}),
        ("2 direct_address trigger", 0.9, {**CALL, "source": "whisper"}, {}),
        ("2 direct_address trigger", 0.7, {**CALL, "source": "emit"}, {}),
        ("2 direct_address trigger", 0.4, {**CALL, "evidence": Evidence.NONE}, {}),
        ("3 direct_message trigger", 0.9, {"source": "whisper"}, {}),
        ("3 direct_message trigger", 0.9, {"source": "page"}, {}),
        ("1 self_message context", 0.5, {"source": "system"}, {"is_muted": True}),
        ("2 continued_address trigger", 0.4, {}, {"is_engaged": True}),
        ("2 continued_address trigger", 0.6, {"source": "channel"}, {"is_engaged": True}),
        ("5 trigger_permission trigger", 0.4, {}, {"is_permitted": True}),
        ("7 default ignore", 0.3, {"source": "pose"}, {}),
        ("7 default ignore", 0.6, {"source": "channel"}, {}),
        ("7 default ignore", 0.2, {"source": "emit"}, {}),
        ("7 default ignore", 0.8, {"source": "move"}, {}),
        ("7 default ignore", 0.5, {}, {"answered": 99}),
        ("7 default ignore", 0.2, {}, {"refused": 99}),
        ("7 default ignore", 0.95, {}, {"trust_override": 0.95}),
        (
            "7 default ignore",
            0.4,
            {"source": "channel", "is_relayed": True},
            {"trust_override": 0.95},
        ),
    ],
)
def test_trust_of_what_is_heard(
    verdict: str, trust: float, heard: dict[str, Any], sender: dict[str, Any]
) -> None:
    """It rests on the way and the sender; which rule decides is in test_perception_table."""
    assert (verdict, trust) == judge(heard, None, sender)


def test_a_room_that_is_called_like_a_channel_has_not_its_trust() -> None:
    assert 0.4 == judge({"place": "Public"}, {"channels": CALLED_PUBLIC})[1]


@pytest.mark.parametrize(
    ("is_it", "heard"),
    [
        pytest.param(True, {"body": "what is this, Ada?"}, id="her name at the end"),
        pytest.param(False, {"body": "Ada, what is this?"}, id="her name at the beginning"),
        pytest.param(
            False, {"body": "what is this, Ada?", "source": Source.CHANNEL}, id="on a channel"
        ),
        pytest.param(
            False, {"body": "what is this, Ada?", "from_assistant": True}, id="of an assistant"
        ),
    ],
)
def test_a_call_that_another_may_outdo(is_it: bool, heard: dict[str, Any]) -> None:
    """A name at the end calls her only while nobody else is called more plainly."""
    assert is_it == is_unsure(make_heard(**heard), ADA)


def test_a_talk_needs_addressing() -> None:
    judged = judge({}, {"enable_addressing": False}, {"is_engaged": True})
    assert ("7 default ignore", 0.4) == judged


def test_rule_numbers_rise() -> None:
    numbers = [rule.number for rule in RULES]
    assert sorted(numbers) == numbers
    assert list(range(8)) == sorted(set(numbers))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_is_told_in_words(rule: Rule) -> None:
    """The sentence must fit into a table of the documents."""
    assert [rule.text] == rule.text.splitlines()
    assert rule.text.endswith(".")
    assert "|" not in rule.text


def test_every_source_has_words() -> None:
    words = ["whisper", "page", "channel", "say", "pose", "emit", "move", "system"]
    assert words == [str(source) for source in Source]


def test_a_verdict_tells_what_trust_rests_on() -> None:
    verdict = classify(make_heard(body="@ada hi"), ADA, Standing(answered=4, refused=1))
    assert ("say 0.7, sender -0.01", 0.69) == (verdict.basis.explain(), verdict.trust)


def test_the_face_of_a_sender_is_the_mask() -> None:
    assert "*#3" == make_heard().face
    assert "#7~1a2b3c4d" == make_heard(mask="#7~1a2b3c4d").face
