"""Mentions with @: who is addressed, and the speech without the address."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.calling import (
    NameCall,
    is_for_another,
    mention_of,
    without_address,
)
from tests.core.samples import ADA, ANY_TEXT, POSING_TEXT


def is_addressed(body: str, names: tuple[str, ...]) -> bool:
    return mention_of(body, names) is NameCall.FIRST


def begins_with_address(line: str, names: tuple[str, ...]) -> bool:
    return mention_of(line, names, is_first=True) is NameCall.FIRST


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        pytest.param(NameCall.FIRST, "@otto gray, hello", id="the whole name"),
        pytest.param(NameCall.LAST, "@Otto hello", id="its first word"),
        pytest.param(NameCall.LAST, "what is this, @otto?", id="it, at the end"),
        pytest.param(NameCall.NONE, "@ottoline hello", id="a longer word"),
        pytest.param(NameCall.NONE, "@gray hello", id="its last word"),
        pytest.param(NameCall.NONE, "@old hello", id="an article of another name"),
    ],
)
def test_the_first_word_is_a_weaker_mention(expected: NameCall, body: str) -> None:
    assert expected is mention_of(body, ("Otto Gray", "Old Keeper"))


@pytest.mark.parametrize(
    ("expected", "other"),
    [
        pytest.param(True, "Otto", id="somebody of that very name"),
        pytest.param(False, "Otto Blau", id="another with that first word"),
        pytest.param(False, "Tom", id="somebody else"),
    ],
)
def test_a_mention_by_the_first_word_is_for_who_is_called_just_that(
    expected: bool, other: str
) -> None:
    assert expected is is_for_another("@otto hello", ("Otto Gray",), (other,))
    assert is_for_another("@otto hello", ("Edda",), (other,))


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        pytest.param(True, "@ada", id="alone"),
        pytest.param(True, "hello @Ada!", id="at the end, with a mark"),
        pytest.param(True, "@ADA: the lamp", id="capitals"),
        pytest.param(True, "(@ada) look", id="in brackets"),
        pytest.param(True, "@ada's lamp", id="possessive"),
        pytest.param(True, "ask @ada.", id="at the end of a sentence"),
        pytest.param(True, "@ada... are you there", id="before dots"),
        pytest.param(True, "@ada-- quick", id="before a dash"),
        pytest.param(True, "@keeper, hello", id="an alias"),
        pytest.param(True, "@ada lovelace hello", id="a name of two words"),
        pytest.param(False, "ada, hello", id="without the sign"),
        pytest.param(False, "@ adam", id="the sign alone"),
        pytest.param(False, "@adam", id="a longer name"),
        pytest.param(False, "@ada-lovelace", id="a hyphenated name"),
        pytest.param(False, "@ada_", id="an underscore"),
        pytest.param(False, "@ada2", id="a digit"),
        pytest.param(False, "tom@ada", id="a mail address of a host"),
        pytest.param(False, "tom@ada.org", id="a mail address"),
        pytest.param(False, "tom.b-c+d@ada.org", id="a mail address with marks"),
        pytest.param(False, "tom+@ada.org", id="a mail address that ends in a mark"),
        pytest.param(False, "@ada.org", id="a host"),
        pytest.param(False, "@ada@example.org", id="an address of a social network"),
        pytest.param(False, "@@ada", id="a doubled sign"),
        pytest.param(False, "", id="nothing"),
    ],
)
def test_mentions(expected: bool, body: str) -> None:
    assert expected is is_addressed(body, ADA.names)


@pytest.mark.parametrize(
    ("expected", "name", "body"),
    [
        pytest.param(True, "Ζωή", "γεια @ΖΩΉ!", id="Greek capitals"),
        pytest.param(True, "Straße", "@STRASSE", id="sharp s"),
        pytest.param(True, "Zoë", "@zoe\u0308 hi", id="an accent written apart"),
        pytest.param(True, "Zoe\u0308", "@ZOË", id="a name written apart"),
        pytest.param(True, "Анна", "@анна, привет", id="Cyrillic"),
        pytest.param(True, "आदि", "@आदि नमस्ते", id="Devanagari"),
        pytest.param(True, "阿达", "你好 @阿达", id="Chinese"),
        pytest.param(True, " Ada ", "@ada", id="a name with blanks around it"),
        pytest.param(False, "आद", "@आदि", id="a vowel sign makes a longer word"),
        pytest.param(False, "Zoe", "@Zoe\u0301", id="an accent makes another name"),
        pytest.param(False, "گل", "@گل\u200cسر", id="a joiner makes a longer word"),
        pytest.param(False, "Анна", "@Аннабель", id="a longer Cyrillic name"),
        pytest.param(False, "ada", "आदि@ada", id="a Devanagari mail address"),
        pytest.param(False, "  ", "@ ", id="a blank name"),
        pytest.param(True, "a.b*c", "@A.B*C", id="a name with signs"),
        pytest.param(False, "a.b*c", "@axbbc", id="signs are only themselves"),
    ],
)
def test_mentions_in_any_script(expected: bool, name: str, body: str) -> None:
    assert expected is is_addressed(body, (name,))


LETTERS = st.sampled_from("adbéअИß")
NAMES = st.builds(
    lambda first, rest: first + "".join(rest),
    LETTERS,
    st.lists(LETTERS | st.just("\u094d"), max_size=3),
)


@given(NAMES, st.sampled_from(["", "hello ", "(", "oh, ", "« "]), st.sampled_from("!?., )'"))
def test_a_name_in_any_case_is_heard(name: str, before: str, after: str) -> None:
    bodies = (f"{before}@{spelled}{after}" for spelled in (name, name.upper(), name.casefold()))
    assert [True] * 3 == [is_addressed(body, (name,)) for body in bodies]


@given(NAMES, NAMES)
def test_a_longer_word_is_not_heard(name: str, more: str) -> None:
    assert not is_addressed(f"@{name}{more}", (name,))


LOCAL_PART = string.ascii_letters + string.digits + "!#$%&'*+/=?^_`{|}~-"


@given(st.lists(st.sampled_from(LOCAL_PART), min_size=1, max_size=6).map("".join))
def test_an_address_is_not_heard(local: str) -> None:
    assert not is_addressed(f"write to {local}@ada.org", ("ada",))


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3).map(tuple))
def test_any_text_and_names_are_judged(body: str, names: tuple[str, ...]) -> None:
    assert is_addressed(f"@{body}", names) in (True, False)


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        pytest.param(True, "@ada hello", id="with words"),
        pytest.param(True, "@ADA", id="alone, in capitals"),
        pytest.param(True, "@Ada Lovelace, hello", id="a name of two words"),
        pytest.param(True, "@keeper: hello", id="an alias"),
        pytest.param(False, "hello @ada", id="further on"),
        pytest.param(False, "@adamant hello", id="a longer word"),
        pytest.param(False, "@ada@example.org", id="an address of a social network"),
        pytest.param(False, "ada hello", id="without the sign"),
        pytest.param(False, "", id="nothing"),
    ],
)
def test_begins_with_address(expected: bool, line: str) -> None:
    assert expected is begins_with_address(line, ADA.names)


def test_nobody_is_addressed_without_a_name() -> None:
    assert not begins_with_address("@ada hello", ("", " "))


@given(POSING_TEXT, st.lists(ANY_TEXT, max_size=2).map(tuple))
def test_what_begins_with_an_address_is_addressed(line: str, names: tuple[str, ...]) -> None:
    if begins_with_address(line, names):
        assert is_addressed(line, names)


@pytest.mark.parametrize(
    ("left", "body"),
    [
        pytest.param("hello", "@ada hello", id="her name"),
        pytest.param("hello", "@ADA hello", id="in capitals"),
        pytest.param("hello", "@ada lovelace, hello", id="a name of two words goes whole"),
        pytest.param("hello", "@Ada Lovelace hello", id="a name of two words, no comma"),
        pytest.param("hello", "@keeper: hello", id="an alias"),
        pytest.param("hello", "@ada,hello", id="without a blank"),
        pytest.param("hello", "@ada ;, \t hello", id="blanks and marks"),
        pytest.param("hello @ada", "@ada hello @ada", id="the first one only"),
        pytest.param("@ada hello", "@ada @ada hello", id="only once"),
        pytest.param("Lovelaced", "@ada Lovelaced", id="a word that begins like her second name"),
        pytest.param("@mia is a thief", "@mia is a thief", id="another's name"),
        pytest.param("@ada", "@ada", id="nothing follows"),
        pytest.param("@ada, ", "@ada, ", id="a mark follows alone"),
        pytest.param("@adamant hi", "@adamant hi", id="a longer word"),
        pytest.param("@ada-lovelace hi", "@ada-lovelace hi", id="a hyphenated name"),
        pytest.param("@ada's lamp", "@ada's lamp", id="possessive"),
        pytest.param("@ada.org", "@ada.org", id="a host"),
        pytest.param("ada, hello", "ada, hello", id="without the sign"),
        pytest.param("hello @ada", "hello @ada", id="further on"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_without_address(left: str, body: str) -> None:
    assert left == without_address(body, ("Ada", "keeper", "Ada Lovelace"))


def test_without_an_address_of_ones_own() -> None:
    assert "@ada hello" == without_address("@ada hello", ())


@given(
    NAMES, st.sampled_from([" ", ", ", ": ", "; ", ",", "\t"]), st.sampled_from(["hi", "@x", "«»"])
)
def test_an_address_in_any_case_goes(name: str, mark: str, words: str) -> None:
    swapped = "".join(ch.upper() if len(ch.upper()) == 1 else ch for ch in name)
    for spelled in (name, swapped):
        assert words == without_address(f"@{spelled}{mark}{words}", (name, name[0] * 9))


@given(POSING_TEXT, st.lists(NAMES | st.just("Ada"), max_size=3).map(tuple))
def test_only_an_address_goes(body: str, names: tuple[str, ...]) -> None:
    left = without_address(body, names)
    assert body.endswith(left)
    assert bool(body) is bool(left)
    if left != body:
        assert begins_with_address(body, names)
        cut = body.removesuffix(left).rstrip(" \t,:;").casefold()
        assert cut in {f"@{name.casefold()}" for name in names}


@pytest.mark.parametrize(
    ("body", "is_other"),
    [
        pytest.param("waves at Tom.", True, id="another's name"),
        pytest.param("waves at Ada and Tom.", False, id="both names"),
        pytest.param("waves.", False, id="nobody's name"),
    ],
)
def test_a_pose_is_for_whom_it_names(body: str, is_other: bool) -> None:
    """In a pose a name anywhere counts; in speech only a call does."""
    others = ("Mira", "Tom")
    assert is_other is is_for_another(body, ADA.names, iter(others), is_pose=True)
    assert not is_for_another(body, ADA.names, iter(others))


@pytest.mark.parametrize("filling", [" ", ".", "a", "@", "\u0301", "@a", "a, ", " ,"])
def test_long_speech_is_judged_at_once(filling: str) -> None:
    """A scan that starts again at each character would take days here."""
    body = f".{filling * 1_000_000}x"[:1_000_000]
    judged = is_for_another(body, ADA.names, ("Tom",)), is_addressed(body, ADA.names)
    assert (False, False) == judged


@pytest.mark.parametrize(
    ("left", "body", "names"),
    [
        pytest.param("@ada lovelace", "@ada lovelace", ("Ada", "Ada Lovelace"), id="only her name"),
        pytest.param("@ hello", "@ hello", (" ", ""), id="a blank alias"),
    ],
)
def test_no_part_of_a_name_is_speech(left: str, body: str, names: tuple[str, ...]) -> None:
    """The longest name counts, and a blank alias is no name."""
    assert left == without_address(body, names)
