"""Removal of a person from texts, talk and summaries."""

import json
from typing import Any, Literal
from unicodedata import normalize

import pytest

from evennia_ai.core.memory.forgetting import (
    PersonNames,
    history_without,
    summary_without,
    without_marked,
    without_names,
)
from evennia_ai.core.turn import executions
from evennia_ai.core.turn.compaction import summary_message, summary_text
from evennia_ai.core.turn.conversation import (
    OF,
    PRIVATE_TO,
    Message,
    call_message,
    marked,
    marked_private,
    result_message,
    user_message,
    visible_history,
)
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult

MIRA = PersonNames(("Mira", "Mira of Greyport", " ", ""))
NOBODY = PersonNames(())
HERS, TOMS = "*#2", "*#3"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        pytest.param("Mira came", "somebody came", id="a name"),
        pytest.param("Mira's cat, Mira.", "somebody's cat, somebody.", id="beside signs"),
        pytest.param("Mira of Greyport came", "somebody came", id="the longest one"),
        pytest.param("Miranda admires mira", "Miranda admires mira", id="whole and as written"),
        pytest.param("MIRA! where is MIRA'S cat", "somebody! where is somebody'S cat", id="loud"),
        pytest.param("Miras Katze und Mirasol", "somebody Katze und Mirasol", id="German genitive"),
        pytest.param('"Mira"', '"somebody"', id="in quotes"),
    ],
)
def test_hidden(text: str, hidden: str) -> None:
    """Only whole words, as people write a name."""
    assert hidden == MIRA.hidden(text)
    assert text == NOBODY.hidden(text)
    assert (hidden != text) is MIRA.is_in(text)


@pytest.mark.parametrize(
    ("name", "text", "hidden"),
    [
        pytest.param("ミラ", "トムがミラに会った。", "トムがsomebodyに会った。", id="katakana"),
        pytest.param(
            "ミラ", "ミラノへ行った。", "ミラノへ行った。", id="a longer word of katakana"
        ),
        pytest.param("さくら", "トムとさくらが来た。", "トムとsomebodyが来た。", id="hiragana"),
        pytest.param("李明", "我昨天和李明吃饭。", "我昨天和somebody吃饭。", id="Chinese"),
        pytest.param(
            "林", "林は森林にいる。", "林は森林にいる。", id="one letter may be any word's"
        ),
        pytest.param("Mira", "Miraは猫が好き。", "somebodyは猫が好き。", id="Latin in Japanese"),
        pytest.param("Mr. T.", "Mr. T. ate", "somebody ate", id="ending with a sign"),
        pytest.param("tom", "Tom's cat, Toms", "somebody's cat, somebody", id="registered small"),
        pytest.param("a nervous man", "A nervous man ran", "somebody ran", id="a description"),
        pytest.param("old bram", "Old Bram ran", "somebody ran", id="two words, registered small"),
    ],
)
def test_hidden_in_texts_of_many_kinds(name: str, text: str, hidden: str) -> None:
    assert hidden == PersonNames([name]).hidden(text)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("name", ["José", "JOSÉ"])
def test_hidden_however_its_letters_are_composed(name: str, form: Literal["NFC", "NFD"]) -> None:
    for stored in ("José", normalize("NFD", "José")):
        assert "somebody came" == PersonNames([stored]).hidden(normalize(form, f"{name} came"))


def test_a_short_name_is_found_only_as_it_is() -> None:
    """With more letters or in capitals it is too often another word."""
    assert "Als somebody kam: AL" == PersonNames(["Al"]).hidden("Als Al kam: AL")


def test_names_are_no_patterns() -> None:
    assert "somebody?" == PersonNames(["(.*)"]).hidden("(.*)?")
    assert "all" == PersonNames(["(.*)"]).hidden("all")


def test_hide_in_data() -> None:
    given = {"Mira": ["Mira", 1, {"who": "by Mira", "at": None}], "deep": ("Mira",)}
    assert {"Mira": ["somebody", 1, {"who": "by somebody", "at": None}], "deep": ["somebody"]} == (
        without_names(given, MIRA)
    )


def test_without_marked() -> None:
    """Values and rows with the person's marks go; the rest keeps its place without the name."""
    given: dict[str, Any] = {
        HERS: "hers",
        "rows": [{"person": HERS, "text": "x"}, {"person": TOMS, "text": "of Mira"}, HERS, 4],
        "nested": {"person:account-2": 1, "n": 2.5},
        "slots": {"map": {"person": HERS}, "atlas": {"person": TOMS, "text": "Mira's"}},
    }
    marks = frozenset((HERS, "person:account-2"))
    assert {
        "rows": [{"person": TOMS, "text": "of somebody"}, 4],
        "nested": {"n": 2.5},
        "slots": {"atlas": {"person": TOMS, "text": "somebody's"}},
    } == without_marked(given, marks, MIRA)


# ---- talk --------------------------------------------------------------------------------------


def turn(told: str, said: str = "Yes.") -> list[Message]:
    call = ToolCall("c1", "say", {"message": said})
    result = result_message(call, ToolResult(True, "done"))
    return [user_message(told), call_message(call), result]


@pytest.mark.parametrize(
    "told",
    [
        'Mira says to you: "hi"',
        'Mira whispers to you (trust 0.9): "hi"',
        'Mira of Greyport says on the channel Public: "hi"',
        'The game tells you of Mira: "she left"',
        'Meanwhile you noticed:\n- Tom said: "x"\n\nMira pages you: "hi"',
    ],
)
def test_turns_that_say_not_whose_they_are(told: str) -> None:
    """Unmarked turns of hers are known by their first line, and go as a whole."""
    toms = turn('Tom says to you: "hi"')
    assert toms == history_without([*turn(told), *toms], {HERS}, MIRA)


def test_turns_that_say_whose_they_are() -> None:
    """The mark decides whose a turn is, not the words in it."""
    history = [
        *marked(turn('Zed says to you: "Mira says to you: hi"'), OF, HERS),
        *marked_private(turn("a secret"), HERS),
        *marked(turn('Mira says to you: "I am called Mira too"'), OF, TOMS),
    ]
    left = history_without(history, {HERS}, MIRA)
    assert 3 * [TOMS] == [message[OF] for message in left]
    assert 'somebody says to you: "I am called somebody too"' == left[0]["content"]


def test_what_she_was_overheard_to_say() -> None:
    """The heading goes too where nothing else was overheard."""
    text = 'Meanwhile you noticed:\n- Mira said: "x" (trust 0.4)\n{more}\nTom says to you: "hi"'
    for more, expected in (
        ("", 'Tom says to you: "hi"'),
        (
            '- Zed did: "Mira, hi"\n',
            'Meanwhile you noticed:\n- Zed did: "somebody, hi"\n\nTom says to you: "hi"',
        ),
    ):
        history = marked(turn(text.replace("{more}", more)), OF, TOMS)
        assert expected == history_without(history, {HERS}, MIRA)[0]["content"], more
    odd = user_message("Meanwhile you noticed:\n- Mira said: x")
    assert ["Meanwhile you noticed:\n- somebody said: x"] == [
        message["content"] for message in history_without([odd], {HERS}, MIRA)
    ]


def test_what_was_said_of_her() -> None:
    """Her name goes from calls and results; messages without it stay the same objects."""
    history = marked(turn('Tom says to you: "hi"', "Mira was here."), OF, TOMS)
    left = history_without(history, {HERS}, MIRA)
    arguments = left[1]["tool_calls"][0]["function"]["arguments"]
    assert '{"message": "somebody was here."}' == arguments
    assert history[0] is left[0]
    assert history[2] is left[2]


@pytest.mark.parametrize("name", ["null", "5", "message", 'Tom "the Rat" Smith'])
def test_arguments_stay_json_whatever_the_person_is_called(name: str) -> None:
    """A model without native calls is shown them as text, which parses them in every turn."""
    given = {"message": f"{name} was here.", "target": None, "count": 5}
    history = [user_message("Hello."), call_message(ToolCall("c1", "say", given))]
    left = history_without(history, [HERS], PersonNames([name]))
    arguments = left[1]["tool_calls"][0]["function"]["arguments"]
    assert {**given, "message": "somebody was here."} == json.loads(arguments)


@pytest.mark.parametrize(
    ("summary", "left"),
    [
        ("Tom came. Mira lost a lamp. It rained.", "Tom came. It rained."),
        ("Mira lost a lamp.", ""),
        ("Tom came.\n\nIt  rained.", "Tom came.\nIt  rained."),
        ("嵐だ。Mira は来た。雨だ。", "嵐だ。 雨だ。"),
        (
            'it was told: "Mira says to you: x"\nit did: "say x"\nit came to: "x"\n'
            'it was told: "Tom says to you: y"\nit did: "say Mira"\nit said: "y"',
            'it was told: "Tom says to you: y"\nit said: "y"',
        ),
        ('it was told: "Mira says: x"\nTom came.\nit did: "y"', 'Tom came.\nit did: "y"'),
    ],
)
def test_summaries(summary: str, left: str) -> None:
    """Sentences that name her go; a summary of plain lines loses her turns."""
    assert left == summary_without(summary, MIRA)
    history = [summary_message(summary, TOMS)]
    summaries = [(summary_text(m), m[PRIVATE_TO]) for m in history_without(history, {HERS}, MIRA)]
    assert ([(left, TOMS)] if left else []) == summaries


def test_a_summary_that_is_private_to_her() -> None:
    history = [summary_message("x", HERS), summary_message('Mira says to you: "x"\nIt rained.')]
    assert ["It rained."] == [summary_text(m) for m in history_without(history, {HERS}, MIRA)]


# ---- marks and logs ----------------------------------------------------------------------------


def test_marks_are_not_sent() -> None:
    """The model is not shown whose a turn is."""
    history = marked_private(marked(turn("x"), OF, HERS), HERS)
    assert turn("x") == visible_history(history, HERS)
    assert turn("x") == marked(turn("x"), OF, "")


def test_a_call_without_words() -> None:
    entry = {
        "tool": "say",
        "parameters": {"message": "hello", "target": "(4 characters)", "count": 3},
        "reasoning": "because",
        "error": "why",
    }
    assert {
        "tool": "say",
        "parameters": {
            "message": "(5 characters)",
            "target": "(4 characters)",
            "count": "(a number)",
        },
        "reasoning": "",
        "error": "",
        "is_forgotten": True,
    } == executions.without_words(entry)
