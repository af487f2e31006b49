"""Journal entries taken apart, and those that only ask."""

import json

import pytest

from evennia_ai.core.memory.knowledge import Exchange, asks_only, exchange_of, sought_text


def entry(words: str, answer: str = "", frame: str = "Tom whispered") -> str:
    line = f"{frame}: {json.dumps(words)}"
    return f"{line} Ada answered: {json.dumps(answer)}" if answer else line


@pytest.mark.parametrize(
    "frame",
    ["Tom whispered", "Tom paged", "Tom said", "Tom said on the channel Public: x", "A man caused"],
)
def test_an_entry_is_taken_apart(frame: str) -> None:
    name = "Tom" if frame.startswith("Tom") else "A man"
    words, answer = 'my cat said "whispered: " once', 'Is it "Misty"?'
    assert Exchange(name, words, answer) == exchange_of(entry(words, answer, frame))


@pytest.mark.parametrize(
    "text", ["Tom likes boats.", "", 'Tom whispered: "unended', "Tom whispered: 7", ": "]
)
def test_another_text_is_no_exchange(text: str) -> None:
    """Such texts, facts for example, are searched by all their words."""
    assert (Exchange(), text) == (exchange_of(text), sought_text(text))
    assert not asks_only(text)


def test_what_stands_in_every_entry_is_not_sought() -> None:
    """Only the name, the words and the answer are searched."""
    assert "Tom: I sail. To Oslo?" == sought_text(entry("I sail.", "To Oslo?"))
    assert "Tom: I sail." == sought_text(entry("I sail."))


@pytest.mark.parametrize(
    "words",
    [
        "where is the key?",
        "where is the key",
        "Where's the key",
        "hey so what is it you do here",
        "how many coins do I have",
        "Wow, cool! How was it?",
        "is it true",
        "whom did you see",
        "who's there",
        "tell me, isn't it cold",
        "\u9375\u306f\u3069\u3053\uff1f",
        "\u0623\u064a\u0646 \u0627\u0644\u0645\u0641\u062a\u0627\u062d\u061f",
    ],
)
def test_it_only_asks(words: str) -> None:
    assert asks_only(entry(words, "It lies under the mat."))


@pytest.mark.parametrize(
    "words",
    [
        "I have a cat.",
        "When I was young I had a dog.",
        "Will Smith came by.",
        "What I do is forge swords.",
        "did you know that my cat is called Misty and lives in the mill?",
        "My key is gone. Where is it?",
        "The key lies under the old mat. Where is it?",
        "I do! Do you?",
        "...",
        "",
    ],
)
def test_it_tells_something(words: str) -> None:
    assert not asks_only(entry(words))


@pytest.mark.parametrize(
    "answer",
    ["I promise.", "I'll keep it.", "I\u2019ll keep it.", "Yes, I will.", "You have my word."],
)
def test_what_was_promised_to_a_question_is_told(answer: str) -> None:
    """The only trace of a promise is the answer of the entry."""
    assert not asks_only(entry("Will you keep the third case for me?", answer))
    assert asks_only(entry("Did you keep it?", "I kept it, as you will see."))
