"""Calls by name, and the assistant that answers a line that calls nobody."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.calling import (
    MOST_ANSWERS,
    NameCall,
    Offer,
    call_of,
    is_for_another,
    is_named,
    short_names,
    without_longer_names,
)
from evennia_ai.core.settings.model import read_value
from evennia_ai.errors import ConfigurationError
from tests.core.samples import ADA, ANY_TEXT, POSING_TEXT

FIRST = (
    *(
        "Ada, hello",
        "ada hello",
        "ADA!",
        "Ada",
        "Ada? Are you there?",
        "Ada: the lamp",
        "«Ada, hi»",
    ),
    *("Ada... are you there", "Ada will you help me", "hello Ada", "Hello, Ada!", "hi there, ada."),
    *("thank you, Ada", "thank you Ada", "Thanks, Ada, that was good", "good evening Ada, a word"),
    *("Hello Ada. How are you?", "Well, Ada, what now?", "Excuse me Ada, where is the map?"),
    *("keeper, a light please", "Ada Lovelace, hello", "hello Ada Lovelace", "Lady Ada, hello"),
    *("I was in the hall. Ada, what was that?", "It is dark! Ada!", "no, Ada", "Ada — look!"),
    *("\u4f60\u597d\uff01Ada\uff0c\u4e66\u5728\u54ea\u91cc\uff1f", "\u55e8\u3002Ada\uff01"),
    "\u0645\u0631\u062d\u0628\u0627\u061f Ada\u060c \u0623\u064a\u0646\u061f",
    *("Ada and Tom, hello", "Tom and Ada, hello", "Tom & Ada! Come here", "hello Tom and Ada"),
    *("Tom, Ada and Mia, good night", "Tom, Mia, and Ada: look", "Ada Lovelace or Tom? Come!"),
    *("Tom, Ada: come here", "Mia, Ada, Tom: come here"),
)
LAST = (
    *(
        "what is this place, Ada?",
        "what is this place Ada",
        "where is the map, keeper...",
        "come Ada",
    ),
    *("what do you think of it, Ada Lovelace", "is it to be, to ask, or to, Ada"),
)
NONE = (
    *(
        "I saw Ada yesterday",
        "I saw Ada",
        "we talked about Ada",
        "give it to Ada.",
        "where is Ada?",
    ),
    *("Ada was here", "Ada is asleep", "Ada and Tom went home", "Well, Ada is here", "hello"),
    *("Ada and I, we went home", "We saw Tom and Ada, and went home", "tell Tom and Ada, please"),
    *("Tom and Ada went home, at last", "Tom, Adam and Mia: hello", "Tom's and Ada's, both"),
    *(
        "Ada's lamp is out",
        "this is Ada's",
        "Adam, hello",
        "hello Adam",
        "Ada-Lou, hello",
        "ada.org",
    ),
    *("hello Mary-Ada", "mail tom@ada", "tell Ada, Tom and Mia about it", "the keeper", "", "   "),
    *(
        "I saw her. Ada smiled at me",
        "hello \u0410da",
        "\u0410da, with a letter that only looks like hers",
    ),
)


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        *((NameCall.FIRST, body) for body in FIRST),
        *((NameCall.LAST, body) for body in LAST),
        *((NameCall.NONE, body) for body in NONE),
    ],
)
def test_calls(expected: NameCall, body: str) -> None:
    """A name at the beginning or end of a speech calls; a name that is only mentioned does not."""
    assert expected is call_of(body, ADA.names)


@pytest.mark.parametrize(
    ("expected", "name", "body"),
    [
        pytest.param(NameCall.FIRST, "Анна", "анна, привет", id="Cyrillic"),
        pytest.param(NameCall.LAST, "Анна", "привет, Анна!", id="Cyrillic, at the end"),
        pytest.param(NameCall.FIRST, "阿达", "阿达\uff0c你好", id="Chinese"),
        pytest.param(NameCall.LAST, "阿达", "你好 阿达", id="Chinese, at the end"),
        pytest.param(NameCall.FIRST, "Zoë", "zoe\u0308, hi", id="an accent written apart"),
        pytest.param(NameCall.NONE, "Zoe", "Zoe\u0301, hi", id="an accent makes another name"),
        pytest.param(NameCall.NONE, "आद", "आदि, नमस्ते", id="a vowel sign makes a longer word"),
        pytest.param(NameCall.FIRST, "a.b*c", "A.B*C, hello", id="a name with signs"),
        pytest.param(NameCall.NONE, "a.b*c", "axbbc, hello", id="signs are only themselves"),
        pytest.param(NameCall.NONE, "  ", "  , hello", id="a blank name"),
        pytest.param(NameCall.LAST, "Otto Grün", "Otto, hello", id="the first word"),
        pytest.param(NameCall.LAST, "Otto Grün", "good evening OTTO!", id="it, after a greeting"),
        pytest.param(NameCall.LAST, "Otto Grün", "what is this, Otto?", id="it, at the end"),
        pytest.param(NameCall.LAST, "Otto Grün", "hello Otto. Otto Grün was here", id="alone"),
        pytest.param(NameCall.FIRST, "Otto Grün", "Otto Grün, hello", id="all words"),
        pytest.param(NameCall.NONE, "Otto Grün", "Otto knows ropes", id="it, without a mark"),
        pytest.param(NameCall.NONE, "Otto Grün", "I saw Otto", id="talk about the first word"),
        pytest.param(NameCall.NONE, "Otto Grün", "Otto Blau, hello", id="somebody else's name"),
        pytest.param(NameCall.NONE, "Otto Grün", "Otto's, yes", id="what is the first word's"),
        pytest.param(NameCall.NONE, "The Keeper", "The, hello", id="an article"),
        pytest.param(NameCall.NONE, "Old Edda", "Old, yes", id="a word of greetings"),
    ],
)
def test_calls_in_any_script(expected: NameCall, name: str, body: str) -> None:
    assert expected is call_of(body, (name,))


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        (True, "nods to Ada"),
        (True, "takes ADA's hand"),
        (True, "gives the keeper a coin."),
        (False, "nods to Adam"),
        (False, "writes to tom@ada"),
        (False, "nods."),
    ],
)
def test_named(expected: bool, body: str) -> None:
    assert expected is is_named(body, ADA.names)


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        pytest.param(True, "@tom come here", id="a mention of another"),
        pytest.param(True, "hello (@tom)", id="a mention further on"),
        pytest.param(True, "@आदि नमस्ते", id="a mention in Devanagari"),
        pytest.param(True, "@adam come here", id="a name like hers"),
        pytest.param(True, "Tom, come here", id="a name in front"),
        pytest.param(True, "TOM! come here", id="a name in capitals"),
        pytest.param(True, "tom: come here", id="a name and a colon"),
        pytest.param(True, "« Tom , come here", id="a name after marks"),
        pytest.param(True, "Old Mia, hello", id="a name of two words"),
        pytest.param(True, "zoe\u0308, hello", id="an accent written apart"),
        pytest.param(True, "Tom, ask @ada", id="told to ask her"),
        pytest.param(True, "Tom, do you know Ada", id="her name at the end, another's in front"),
        pytest.param(True, "thank you Tom", id="thanks to another"),
        pytest.param(True, "what is this place, Tom?", id="another's name at the end"),
        pytest.param(False, "what is this place, Ada?", id="her name at the end"),
        pytest.param(False, "Ada, do you know Tom", id="her name in front, another's at the end"),
        pytest.param(False, "@ada, where is my friend, Tom", id="a mention before a name"),
        pytest.param(False, "@ada come here", id="a mention of hers"),
        pytest.param(False, "@tom and @ada, come here", id="a mention of both"),
        pytest.param(False, "Ada, come here", id="her own name in front"),
        pytest.param(False, "Ada, ask @tom", id="her own name before a mention"),
        pytest.param(False, "Tommy, come here", id="a longer name"),
        pytest.param(False, "Well, Tom is here", id="a name further on"),
        pytest.param(False, "Tom is here", id="a name without a mark"),
        pytest.param(False, "write to tom@example.org", id="a mail address"),
        pytest.param(False, "at 5 @ noon", id="the sign alone"),
        pytest.param(False, "", id="nothing"),
    ],
)
def test_speech_for_another(expected: bool, body: str) -> None:
    """Speech is for another that mentions another only, or calls another more plainly than her."""
    assert expected is is_for_another(body, ADA.names, ("Tom", "Old Mia", "Zoë"))


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        pytest.param(True, "Ada Smith, hello", id="in front"),
        pytest.param(True, "hello ada smith", id="at the end"),
        pytest.param(True, "@Ada Smith hello", id="a mention"),
        pytest.param(True, "Old Ada, hello", id="hers is the end of it"),
        pytest.param(True, "zoe\u0308 Ada, hello", id="an accent written apart"),
        pytest.param(False, "Ada, hello", id="hers alone"),
        pytest.param(False, "Ada Smithson, hello", id="a part of a longer word"),
        pytest.param(False, "Ada and Ada Smith, hello", id="both"),
        pytest.param(False, "@Ada Smith and @Ada, hello", id="a mention of both"),
    ],
)
def test_a_name_within_a_longer_one_calls_the_other(expected: bool, body: str) -> None:
    assert expected is is_for_another(body, ("Ada",), ("Ada Smith", "Old Ada", "Zoë Ada"))


@pytest.mark.parametrize(
    ("expected", "other"),
    [
        pytest.param(True, "Otto", id="somebody of that very name"),
        pytest.param(False, "Otto Blau", id="another with that first word"),
        pytest.param(False, "Edda", id="nobody called so"),
    ],
)
@pytest.mark.parametrize("body", ["Otto, hello", "hello Otto"])
def test_a_first_word_leaves_the_line_to_who_is_named_so(
    expected: bool, other: str, body: str
) -> None:
    assert expected is is_for_another(body, ("Otto Grün",), (other,))


def test_a_first_word_ends_the_talk_with_somebody_else() -> None:
    assert is_for_another("Otto, hello", ("Edda",), ("Otto Grün",))


@given(POSING_TEXT, st.lists(ANY_TEXT | st.just("Tom"), max_size=3))
def test_any_speech_is_aimed_or_not(body: str, others: list[str]) -> None:
    assert is_for_another(body, ADA.names, others) in (True, False)
    assert not is_for_another(f"@ada {body.replace('@', '')}", ADA.names)


@given(POSING_TEXT, st.lists(ANY_TEXT, max_size=2).map(tuple))
def test_who_is_called_is_named(body: str, names: tuple[str, ...]) -> None:
    words = (*names, *short_names(names))
    assert is_named(body, words) or call_of(body, names) is NameCall.NONE


LONG_AGO = float("inf")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(Offer(True, 50, 9), Offer(False, 1, 0), id="who is in a talk with them"),
        pytest.param(Offer(False, 50, 9), Offer(False, 60, 0), id="who spoke last with them"),
        pytest.param(Offer(False, 299, 9), Offer(False, 300, 0), id="of late"),
        pytest.param(Offer(False, 300, 1), Offer(False, 301, 2), id="long ago: whose turn it is"),
        pytest.param(Offer(False, LONG_AGO, 0), Offer(False, 400, 1), id="who was never chosen"),
    ],
)
def test_who_comes_first(first: Offer, second: Offer) -> None:
    """A talk that goes on comes first, then the last partner, then each in turn."""
    assert first.rank < second.rank


def test_how_many_may_be_set() -> None:
    """The setting bounds the assistants that answer a line which calls nobody."""
    assert [0, 1, 7] == [read_value(MOST_ANSWERS, "here", value) for value in (0, 1, 7)]
    for wrong in (-1, 1.0, True, "2", None):
        with pytest.raises(ConfigurationError, match="here is "):
            read_value(MOST_ANSWERS, "here", wrong)


@pytest.mark.parametrize("line", ["Ada, hello", "@ada, hello", "hello, Ada!", "Adalbert is here"])
def test_names_of_others_are_read_only_where_one_could_be_longer(line: str) -> None:
    def others() -> Iterator[str]:
        raise AssertionError("nobody's name is asked for")
        yield ""  # which makes it a generator, as in a game

    assert line == without_longer_names(line, ("Ada",), others())


@pytest.mark.parametrize(
    "name", ["Ada Smith", "Lady Ada", "Ada  of the Lamp", "Ada-Marie Ada", 'Ada "Owl" Smith']
)
def test_a_longer_name_is_left_out(name: str) -> None:
    assert "another, hello" == without_longer_names(f"{name}, hello", ("Ada",), [name])
