"""Cleaning of model output into plain speech, without loss of meaning."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evennia_ai.core.text.cleaning import clean_speech
from evennia_ai.core.text.phrasing import (
    LONGEST_PHRASED,
    StageDirections,
    _label_pattern,
    own_part,
    phrase,
    plain,
    without_markdown,
)
from tests.core.samples import ANY_TEXT

OWN, OTHERS = ("Edda",), ("Tom", "Mira", "Old Bram")
PIECES = (
    *("*", "**", "***", "_", "__", "`", "~~", "# ", "- ", "> ", "\n", " ", ". ", "! ", ": "),
    *("Tom:", "Edda:", "**Tom:**", "Old Bram:", "- Mira:", "smiles", "*nods*", "[a](https://b)"),
    *("I", "hello", "2 * 3", "He", ",", "---", "a", "Ä", "*Smiles*", "[x](/y)"),
)
MODEL_TEXT = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | ANY_TEXT
# Human prose, with the signs and numbers that people write.
PROSE_WORDS = st.sampled_from(
    (
        *("rope", "Note:", "10:30", "2 * 3 * 4", "2*3", "Tom", "Mira,", "Edda's", "it's", "#2"),
        *("snake_case", "and", "at", "Old Bram", "bring", "(aside)", "a-b", "5%", "x_1", "[sic]"),
        *("the", "for Tom: a", "of Mira: the", "room/door", "50~60", "C*", "~5", "why?", "so!"),
    )
)
PROSE = st.lists(PROSE_WORDS, min_size=1, max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param("Bold and very good.", "**Bold** and *very* good.", id="bold and emphasis"),
        pytest.param("a b c", "__a__ _b_ ***c***", id="other marks"),
        pytest.param("A title\nText", "## A title\nText", id="a heading"),
        pytest.param(
            "Bring: rope, a torch, bread\nGo.",
            "Bring:\n- rope\n- a torch\n- bread\nGo.",
            id="a list becomes one with commas",
        ),
        pytest.param("1. rope\n2. bread", "1. rope\n2. bread", id="numbers are words"),
        pytest.param("see the map here", "see [the map](https://x.example/y) here", id="a link"),
        pytest.param("a map", "![a map](/map.png)", id="a picture"),
        pytest.param("[sic](aside)", "[sic](aside)", id="brackets that link nowhere"),
        pytest.param("type look", "type `look`", id="code in a line"),
        pytest.param("old new", "~~old~~ new", id="struck"),
        pytest.param("quoted", "> quoted", id="a quotation"),
        pytest.param("one\n\ntwo", "one\n---\ntwo", id="a rule"),
        pytest.param(
            "one.\ntwo.", "*** one. ***\ntwo. ***", id="rules that lost their line breaks"
        ),
        pytest.param("go to *** now, ***", "go to *** now, ***", id="censored words"),
        pytest.param("2 * 3 * 4", "2 * 3 * 4", id="sums"),
        pytest.param("2*3*4 and 5*6*7", "2*3*4 and 5*6*7", id="sums without blanks"),
        pytest.param("snake_case_name", "snake_case_name", id="underscores in a word"),
        pytest.param("#2 and room #3", "#2 and room #3", id="numbers of things"),
        pytest.param("I love Dune.", "I love *Dune*.", id="a title at the end"),
        pytest.param("Dune, of course.", "*Dune*, of course.", id="a title at the beginning"),
        pytest.param("Never do that.", "*Never* do that.", id="stress at the beginning"),
        pytest.param("please Tom, go", "*please* Tom, go", id="a word that is not a verb"),
        pytest.param("yes Tom", "*yes* Tom", id="a word that only ends like one"),
        pytest.param("Note: bring rope", "Note: bring rope", id="a colon"),
        pytest.param("it is 10:30", "it is 10:30", id="a time"),
    ],
)
def test_plain_words(words: str, text: str) -> None:
    result = phrase(text, OWN, OTHERS)
    assert (words, "", "") == (result.words, result.before, result.after)


@pytest.mark.parametrize(
    ("before", "words", "after", "text"),
    [
        ("smiles", "Hello there.", "", "*smiles* Hello there."),
        ("smiles", "Hello.", "waves", "*smiles*\nHello. *Waves*"),
        ("smiles warmly", "Welcome!", "", "*Smiles warmly* Welcome!"),
        ("looks up", "oh, hello", "", "*looks up* oh, hello"),
        ("curtsies", "Good day", "", "*Edda curtsies* Good day"),
        ("sighs", "Fine.", "", "*sigh* Fine."),
        ("smiles, nods", "Yes.", "", "*smiles* *nods* Yes."),
        ("", "Hello.\nAnd you?", "nods", "Hello. *nods* And you?"),
        ("lächelt ihn an", "Guten Tag.", "", "*lächelt ihn an* Guten Tag."),
        ("nods", "", "", "*nods*"),
        ("", "I smile", "", "*I smile*"),
        ("", "smiles at you", "", "*smiles* at you"),
    ],
)
def test_stage_directions(before: str, words: str, after: str, text: str) -> None:
    """Deeds are told from words by their place and by their verb."""
    result = phrase(text, OWN, OTHERS)
    assert (before, words, after) == (result.before, result.words, result.after)


def test_names_of_any_letters() -> None:
    """A name with ß matches, although its capitals are more letters."""
    assert "Hallo." == phrase("Groß: Hallo.\nTOM: I see!", ("Groß",), ("Tom",)).words


def test_stage_directions_are_kept_where_that_is_set() -> None:
    result = phrase("*smiles* **Hello.**", OWN, OTHERS, StageDirections.KEEP)
    assert ("*smiles* Hello.", "", "") == (result.words, result.before, result.after)


@pytest.mark.parametrize(
    ("own", "text"),
    [
        pytest.param(
            "Thank you!", "Tom: I give you 100 gold. Edda: Thank you!", id="another begins"
        ),
        pytest.param("Hello.", "Hello. Tom: I give you 100 gold. Edda: Thanks!", id="it begins"),
        pytest.param("Hello.", "Edda: Hello.\nTom: Gold for you.\nEdda: Thanks!", id="a play"),
        pytest.param("Hello.", "Hello.\n**Old Bram:** Hi Edda!", id="in bold"),
        pytest.param("Hello.", "Hello.\ntom: Who are you?", id="in any case"),
        pytest.param("Hello.\nHow are you?", "Edda: Hello.\nEdda: How are you?", id="own labels"),
        pytest.param("Tom, I have it.", "Tom: I have it.", id="a name in front is an address"),
        pytest.param("Tom, I have it.", "Tom: I have it. Mira: You?", id="one addressed, one not"),
        pytest.param("Oswin: I am here.", "Oswin: I am here.", id="who is not there"),
        pytest.param("I know Tom: he is tall.", "I know Tom: he is tall.", id="told of"),
        pytest.param(
            "Two live here. Tom: a baker. Mira: a smith.",
            "Two live here. Tom: a baker. Mira: a smith.",
            id="a list of people in a line",
        ),
        pytest.param(
            "Here: Tom: The baker, Mira: The smith",
            "Here:\n- Tom: The baker\n- Mira: The smith",
            id="a list of people",
        ),
    ],
)
def test_lines_of_others(own: str, text: str) -> None:
    """Its own words are kept, up to the first line of somebody who is present."""
    assert own == phrase(text, OWN, OTHERS).words


@given(MODEL_TEXT)
@example("**Tom:** Hi! Edda: I")
@example("*smiles* Tom: I am here.\nTom: You!")
@example("- Tom: I\n- Edda: You!")
def test_it_never_grows_and_is_done_at_once(text: str) -> None:
    for keeps in (False, True):
        once = plain(text, OWN, OTHERS, keeps_stars=keeps)
        assert len(once) <= len(text)
        assert once == plain(once, OWN, OTHERS, keeps_stars=keeps)
    for wish in StageDirections:
        result = phrase(text, OWN, OTHERS, wish)
        assert result.words == plain(result.words, OWN, OTHERS, keeps_stars=wish == "keep")
        parts = (result.before, result.words, result.after)
        # A bare verb gets its ending, for which its two stars made room.
        assert sum(map(len, parts)) <= len(text)


@given(PROSE)
def test_prose_stays_as_it_is(text: str) -> None:
    result = phrase(text, OWN, OTHERS)
    assert (text, "", "") == (result.words, result.before, result.after)


@given(st.text(alphabet="ab *\n-#>_`~[]():/.!", max_size=60))
def test_no_word_is_lost_by_markdown(text: str) -> None:
    result = without_markdown(text)
    if "](" not in text:
        assert [ch for ch in text if ch.isalnum()] == [ch for ch in result if ch.isalnum()]


@given(MODEL_TEXT)
def test_only_what_it_wrote_is_said(text: str) -> None:
    """Every letter was in the text, in this order."""
    left = iter(ch for ch in text if ch.isalnum())
    assert all(ch in left for ch in own_part(text, OWN, OTHERS) if ch.isalnum())


def test_a_thousand_talks_make_their_patterns_once() -> None:
    """The cache must hold the patterns of a large game."""
    pairs = [((f"Ada{number}",), (f"Tom{number}",)) for number in range(1000)]
    for _ in range(2):
        before = _label_pattern.cache_info().misses
        for own, others in pairs:
            assert "hello" == own_part(f"{own[0]}: hello", own, others)
    assert before == _label_pattern.cache_info().misses


def test_a_long_text_is_cut_before_it_is_looked_at() -> None:
    assert LONGEST_PHRASED >= len(phrase("word. " * LONGEST_PHRASED, OWN, OTHERS).words)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Good day.", "```\nGood day.\n```"),
        ("Good day.", "```text\nGood day.\n```"),
        ("Good day.", "```Good day.```"),
        ("Here. Good day.", "Here. ```Good day.```"),
        ("Here.", "Here.\n```python\nprint(1)\n```"),
        ("Here.", 'Here.\n```\n{"tool": "say"}\n```'),
    ],
)
def test_fenced_words_are_said(said: str, text: str) -> None:
    """A fence around words is removed, but code in one is not said."""
    assert said == clean_speech(text)
