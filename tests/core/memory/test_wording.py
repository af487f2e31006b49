"""Short forms of chat, and the words of a line that carry its meaning."""

import pytest

from evennia_ai.core.memory.wording import telling_words, written_out
from evennia_ai.core.text.words import money


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("whats ur name", "what is your name"),
        ("Wheres the lamp?", "where is the lamp?"),
        ("im Jorun btw", "I am Jorun by the way"),
        ("i dont know", "i do not know"),
        ("the r's and u's", "the r's and u's"),
        ("the wharf is ours", "the wharf is ours"),
        ("\u0131m Jorun, DONT ask", "I am Jorun, do not ask"),
        ("", ""),
    ],
)
def test_the_short_forms_of_chat_are_written_out(line: str, plain: str) -> None:
    assert plain == written_out(line)


def test_telling_words_have_neither_endings_nor_common_words() -> None:
    assert telling_words("the lamp") == telling_words("which lamps are there?")
    assert telling_words("the keeper’s lamp") == telling_words("keeper lamp")  # noqa: RUF001
    assert not telling_words("what is it?")


@pytest.mark.parametrize(
    ("shown", "dollars"),
    [
        ("$0.00", 0),
        ("<$0.0001", 0.00004),
        ("$0.0042", 0.0042),
        ("$0.0150", 0.015),
        ("$0.03", 0.03),
        ("$0.03", 0.1 + 0.2 - 0.27),
        ("$20.00", 20),
        ("$1,234.50", 1234.5),
    ],
)
def test_money_is_told_to_the_cent_or_finer(shown: str, dollars: float) -> None:
    """A cap of one and a half cents was told as one cent here and as two there."""
    assert shown == money(dollars)
