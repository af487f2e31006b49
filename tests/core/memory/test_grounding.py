"""The note that answers a line, and the mending of a small model's answer."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.memory.asked import (
    UNABLE,
    UNASKED,
    UNKNOWN,
    AskedLine,
    is_about_oneself,
    is_question,
)
from evennia_ai.core.memory.decoys import DECOYS
from evennia_ai.core.memory.grounding import Likeness, Note, fitting, narrowed, pieces, shares
from evennia_ai.core.memory.phrasing import (
    FAREWELL,
    LISTENING,
    MET,
    MOST_NOTE_CHARS,
    WELCOME,
    as_spoken,
    as_told_back,
    hint,
    mended,
    split_persona,
)

LAMPS = Note("Brass mends lamps and clocks in the Workshop.")
STORMS = Note("Books about storms are in the North Gallery.")
STAIR = Note("The stair in the North Gallery is loose: hold the rail.")
NOTES = (LAMPS, STORMS, STAIR)


def decoy(part: str) -> Note:
    """The first decoy that holds this text, as what it tells or in its key."""
    return next(note for note in DECOYS if part == note.text or part in note.key)


KING, TALK, DEED = decoy("king"), decoy(UNASKED), decoy(UNABLE)
NO_ANSWER = decoy(UNKNOWN)


@pytest.mark.parametrize(
    ("fact", "spoken"),
    [
        ("You would dearly like it back.", "I would dearly like it back."),
        ("You are kind, and you were young.", "I am kind, and I was young."),
        ("your bench is yours", "My bench is mine"),
        ("People give you tea and talk to you.", "People give me tea and talk to me."),
        ("You found it yourself.", "I found it myself."),
        ("You're late.", "I'm late."),
        ("The library never closes.", "The library never closes."),
        ("", ""),
    ],
)
def test_a_fact_is_said_in_the_first_person(fact: str, spoken: str) -> None:
    """Facts are written as "you"; quoted as they stand they would speak of the player."""
    assert spoken == as_spoken(fact)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("my name is Wendel and I collect teapots", "Your name is Wendel and you collect teapots."),
        ("I'm from Saltmarsh!", "You are from Saltmarsh!"),
        ("am I late", "Are you late."),
        ("this book is mine, give me time", "This book is yours, give you time."),
        ("I've said so myself", "You have said so yourself."),
        ("\u0130 am from \u0130zmir, \u0131 keep bees", "You are from \u0130zmir, you keep bees."),
    ],
)
def test_words_of_a_person_are_told_back(line: str, told: str) -> None:
    assert told == as_told_back(line)


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("who mends lamps", True),
        ("so you mend lamps?", True),
        ("Tell me of the sea", True),
        ("ok great, how do I get there", True),
        ("for how long already", True),
        ("I am lost, where is the way out", True),
        ("any idea who has it", True),
        ("\u9375\u306f\u3069\u3053\uff1f", True),
        ("\u0623\u064a\u0646 \u0627\u0644\u0645\u0641\u062a\u0627\u062d\u061f", True),
        ("I mend lamps", False),
        ("I come from Holm, where herring is cheap", False),
        ("hello!", False),
        ("...", False),
    ],
)
def test_questions_are_known(line: str, asks: bool) -> None:
    assert asks is is_question(line)


@pytest.mark.parametrize(
    ("line", "tells"),
    [
        ("I collect teapots", True),
        ("do I collect teapots?", False),
        ("you gave me the key", False),
        ("I like your hat", False),
        ("I am looking for my sister", True),
    ],
)
def test_words_of_the_assistant_are_nobodys_memory(line: str, tells: bool) -> None:
    """The persona says what the assistant is and did, and no talk changes that."""
    assert tells is is_about_oneself(line)


def test_a_persona_is_parted_into_who_it_is_and_what_it_knows() -> None:
    text = "You are Ada. You are dry.\nWhat you know:\n- The stair is loose.\n* Nobody may fish."
    who, facts = split_persona(text)
    assert "You are Ada. You are dry." == who
    assert ("You are Ada.", "You are dry.", "The stair is loose.", "Nobody may fish.") == facts


def test_of_long_prose_the_beginning_says_who_it_is() -> None:
    sentences = [f"Room {number} holds the books of the year {number}." for number in range(40)]
    who, facts = split_persona(" ".join(sentences))
    assert who.endswith(".")
    assert len(who) <= 320
    assert tuple(sentences) == facts


def test_a_text_of_several_sentences_is_found_by_each() -> None:
    assert ("It is open.",) == pieces("It is open.")
    text = "The library never closes. It is open day and night. Yes!"
    assert (text, "The library never closes.", "It is open day and night.") == pieces(text)


def best(
    notes: Sequence[Note], asked: AskedLine, likeness: Sequence[Likeness] | None
) -> Note | None:
    return next(iter(fitting(notes, asked, likeness)), None)


def _alike(**by_text: float) -> dict[str, float]:
    notes = {"lamps": LAMPS, "storms": STORMS, "stair": STAIR}
    return {notes[name].text: likeness for name, likeness in by_text.items()}


def test_the_most_alike_answers() -> None:
    asked = AskedLine("who repairs lanterns?")
    assert LAMPS == best(NOTES, asked, [_alike(lamps=0.6, storms=0.3, stair=0.2)])
    assert best(NOTES, asked, [_alike(lamps=0.4, storms=0.3)]) is None
    assert best((), asked, [{}]) is None


def test_two_that_fit_nearly_alike_are_both_told() -> None:
    """Not where both say the same, or one says that nothing is known."""
    asked = AskedLine("who repairs such a thing?")
    near = _alike(lamps=0.6, stair=0.59)
    assert (LAMPS, STAIR) == fitting(NOTES, asked, [near])
    assert (LAMPS,) == fitting(NOTES, asked, [_alike(lamps=0.6, stair=0.5)])
    again = Note("Lamps and clocks are what Brass mends.")
    assert (LAMPS,) == fitting([LAMPS, again], asked, [near | {again.text: 0.59}])
    assert (LAMPS,) == fitting([LAMPS, KING], asked, [near | {KING.key: 0.5}])
    assert f"You know: {LAMPS.text} {STAIR.text}" == hint([LAMPS, STAIR], asked.line)


def test_an_example_is_found_by_its_question_too() -> None:
    """The question weighs more than the answer."""
    flood = Note(
        "The sea stood high.", "was there a flood? The sea stood high.", "was there a flood?"
    )
    assert (flood.text,) == flood.pieces
    alike = {flood.text: 0.5, flood.question: 0.7}
    assert pytest.approx(0.66) == flood.likeness(alike)
    assert flood == best([flood], AskedLine("did a wave come in?"), [alike])
    assert best([flood], AskedLine("did a wave come in?"), [{flood.text: 0.6}]) is None


def test_what_answered_the_same_word_is_preferred() -> None:
    """A "where" question is rather answered by the example of another one."""
    who = Note("Brass.", "who has the lamp? Brass.", "who has the lamp?")
    where = Note("Upstairs.", "where is the lamp? Upstairs.", "where is the lamp?")
    alike = {text: 0.6 for note in (who, where) for text in (note.text, note.question)}
    assert where == best([who, where], AskedLine("where do lamps stand?"), [alike])
    assert who == best([who, where], AskedLine("who owns lamps?"), [alike])


def test_a_question_is_its_own_example() -> None:
    """The same words win over something a little closer in meaning."""
    name = Note("I am Ada.", "who are you? I am Ada.", "who are you?")
    note = Note("A smith made me.", "who made you? A smith made me.", "who made you?")
    alike = dict.fromkeys((name.text, name.question), 0.6)
    alike |= dict.fromkeys((note.text, note.question), 0.7)
    assert name == best([note, name], AskedLine("Who are you"), [alike])


def test_a_line_like_a_decoy_has_no_answer() -> None:
    """A note that is more alike wins; without vectors decoys are not used."""
    asked = AskedLine("who rules the land?")
    assert KING == best([LAMPS, KING], asked, [{KING.key: 0.7, LAMPS.text: 0.6}])
    assert LAMPS == best([LAMPS, KING], asked, [{KING.key: 0.5, LAMPS.text: 0.7}])
    assert best([KING], AskedLine(KING.key), None) is None
    assert UNKNOWN == hint([KING], asked.line)
    assert {UNKNOWN, UNABLE, UNASKED} == {hint([note], note.key) for note in DECOYS}


def test_a_person_is_reminded_only_when_they_ask_for_it() -> None:
    """Their own words are no answer to a question about the world."""
    note = Note("You collect teapots.", "I collect teapots", is_reminder=True)
    alike = [{note.key: 0.9}]
    assert note == best([note], AskedLine("what do I collect?"), alike)
    assert best([note], AskedLine("are there teapots?"), alike) is None
    assert best([note], AskedLine("may I collect teapots?"), alike) is None
    assert best([note], AskedLine("how do I find teapots?"), alike) is None


@pytest.mark.parametrize(
    ("line", "likeness", "is_reminded"),
    [
        ("what is my name?", 0.2, True),
        ("do you remember me?", 0.2, True),
        ("tell me what I collect", 0.2, True),
        ("do you know what makes me ill?", 0.6, True),
        ("what does my brother do?", 0.6, True),
        ("who mends my watch?", 0.4, False),
        ("I'd like to know what I told you about my cat", 0.6, True),
        ("I wonder if you remember my name", 0.6, True),
        ("What did Brass give me?", 0.6, True),
        ("tell me a joke", 0.6, False),
        ("show me the way out", 0.6, False),
        ("can you give me the key?", 0.6, False),
        ("I want a cup of tea", 0.6, False),
        ("I am looking for the sailors", 0.6, False),
    ],
)
def test_who_says_me_does_not_always_ask_back(
    line: str, likeness: float, is_reminded: bool
) -> None:
    """A line about oneself is not always a question about what one said earlier."""
    note = Note("Your name is Jo.", "my name is Jo", is_reminder=True)
    assert is_reminded is (note == best([note], AskedLine(line), [{note.key: likeness}]))


@pytest.mark.parametrize(
    "line",
    [
        "my name is Wendel and I collect teapots",
        "hi, I'm called Jo",
        "call me Rook",
        "I come from Holm and keep bees",
    ],
)
def test_who_introduces_themselves_is_answered_kindly(line: str) -> None:
    """Somebody who collects teapots does not ask where teapots are mended."""
    alike = [{LAMPS.text: 0.6, TALK.key: 0.5}]
    assert TALK == best([LAMPS, TALK], AskedLine(line), alike)
    assert LAMPS == best([LAMPS, TALK], AskedLine(f"{line}, who mends it?"), alike)


@pytest.mark.parametrize(
    ("line", "tells"),
    [
        ("I like tea", True),
        ("well, I really enjoy a good riddle", True),
        ("I don't like storms.", True),
        ("I'd like some tea", False),
        ("I like ships, where are books about them?", False),
        ("do I like tea?", False),
        ("she says I like tea", False),
    ],
)
def test_who_tells_what_they_like_asks_nothing(line: str, tells: bool) -> None:
    """Neither a refusal nor a note that is a little more alike must answer it."""
    assert tells is AskedLine(line).tells_taste
    alike = [{LAMPS.text: 0.52, TALK.key: 0.5, DEED.key: 0.6}]
    for other in (LAMPS, DEED):
        assert tells is (TALK == best([other, TALK], AskedLine(line), alike))


def test_who_asks_nothing_is_not_told_that_it_is_not_known() -> None:
    """The statement sounds like a question that has no answer."""
    alike = [{NO_ANSWER.key: 0.6, TALK.key: 0.55}]
    assert TALK == best([NO_ANSWER, TALK], AskedLine("I have two cats"), alike)
    assert NO_ANSWER == best([NO_ANSWER, TALK], AskedLine("have I two cats?"), alike)


def test_who_asks_is_not_greeting() -> None:
    """The greeting is a little more alike than the note."""
    alike = [{LAMPS.text: 0.5, TALK.key: 0.6}]
    assert LAMPS == best([LAMPS, TALK], AskedLine("good day, who is it that solders?"), alike)
    assert TALK == best([LAMPS, TALK], AskedLine("good day to you all"), alike)


def test_who_orders_is_rather_refused() -> None:
    """A note must be much more alike than the refusal."""
    alike = [{LAMPS.text: 0.6, DEED.key: 0.55}]
    assert DEED == best([LAMPS, DEED], AskedLine("please hand over everything now"), alike)
    assert LAMPS == best([LAMPS, DEED], AskedLine("who solders?"), alike)


def test_who_asks_whether_somebody_is_there_is_greeting() -> None:
    there = decoy("anybody there")
    alike = [{LAMPS.text: 0.5, there.key: 0.6, there.question: 0.6}]
    assert there == best([LAMPS, there], AskedLine("hullo, anybody in?"), alike)


@pytest.mark.parametrize(
    ("line", "demands"),
    [
        ("smash the clocks!", True),
        ("as your owner I order you to talk", True),
        ("you must obey", True),
        ("could you spawn a sword", True),
        ("could you point me to the tides", False),
        ("you must be tired", False),
        ("who throws hammers?", False),
    ],
)
def test_demands_are_known(line: str, demands: bool) -> None:
    assert demands is AskedLine(line).is_order


def test_what_is_said_before_a_question_counts_too() -> None:
    """The question alone would mean nothing."""
    asked = AskedLine("my watch is broken, who could help?")
    assert {asked.line: 1.0} == asked.queries


def test_who_asks_nothing_is_answered_from_what_is_alike() -> None:
    """A greeting needs more likeness to a note than a question does."""
    assert best(NOTES, AskedLine("lovely lanterns, those"), [_alike(lamps=0.6)]) == LAMPS
    assert best(NOTES, AskedLine("good evening, lovely place"), [_alike(lamps=0.4)]) is None
    assert best(NOTES, AskedLine("good evening, lovely place"), None) is None


def test_without_vectors_shared_words_decide() -> None:
    assert STORMS == best(NOTES, AskedLine("which book has the storm?"), None)
    assert best(NOTES, AskedLine("where is my brother?"), None) is None
    assert [0.0, 0.0] == shares("what is it", ["what it is", "is it"])


def test_of_very_many_notes_those_with_its_words_are_left() -> None:
    asked = AskedLine("is the stair of the gallery loose?")
    crowd = [*(Note(f"Thing {number}.") for number in range(50)), *NOTES]
    assert [STORMS, STAIR] == narrowed(crowd, asked, 2)
    assert list(NOTES) == narrowed(NOTES, asked, 3)


@pytest.mark.parametrize(
    "line",
    ["for how long already", "how many exactly?", "and the weather ones?", "not even for a night?"],
)
def test_a_line_that_names_nothing_is_a_follow_up(line: str) -> None:
    assert AskedLine(line, "where are storms?", STORMS.text).is_follow_up
    assert not AskedLine(line).is_follow_up


def test_the_less_a_follow_up_names_the_more_the_talk_counts() -> None:
    """Nothing is found for "Since when?" alone."""
    bare, named = (
        [*AskedLine(line, "is a book gone?", "The atlas.").queries.values()]
        for line in ("and since when?", "and where is its shelf?")
    )
    assert bare[0] < named[0] < named[1] < bare[1]
    assert pytest.approx(1.0) == sum(bare)


def test_a_follow_up_is_rather_known() -> None:
    """Short lines resemble the decoys, so a follow-up prefers a note."""
    long = decoy("how long does it take?")
    alike = {LAMPS.text: 0.6, long.key: 0.63, long.question: 0.63}
    asked = AskedLine("does it last?", "who mends lamps?", "Nobody.")
    assert LAMPS == best([LAMPS, long], asked, [alike, alike])
    assert long == best([LAMPS, long], AskedLine("does it last?"), [alike])


def test_a_follow_up_is_understood_by_the_talk() -> None:
    """The exchange before says what "it" is; the note that was just told counts less."""
    asked = AskedLine("is the way there safe?", "where are storms?", STORMS.text)
    assert asked.is_follow_up
    line, whole = asked.queries
    assert "is the way there safe?" == line
    assert f"where are storms? {STORMS.text} {line}" == whole
    own, talk = _alike(storms=0.4, stair=0.55), _alike(storms=0.8, stair=0.6)
    assert STAIR == best(NOTES, asked, [own, talk])
    first = AskedLine("is the way there safe?")
    assert not first.is_follow_up
    assert {line: 1.0} == first.queries
    assert AskedLine("since when?", "is a book missing?", "One is.").is_follow_up
    assert AskedLine("and Brass?", "are you an AI?", "I am.").is_follow_up


@pytest.mark.parametrize(
    "line",
    [
        "which books are about storms",
        "is there a storm?",
        "and what do you do?",
        "who am I?",
        "I wonder whether it is known to anybody here at all what the old book told of",
    ],
)
def test_a_line_that_stands_alone_is_no_follow_up(line: str) -> None:
    assert not AskedLine(line, "where are storms?", STORMS.text).is_follow_up


def test_the_hint_says_what_is_known() -> None:
    assert f"You know: {LAMPS.text}" == hint([LAMPS], "who mends lamps?")
    assert UNKNOWN == hint((), "who won?")
    assert UNASKED == hint((), "good evening")
    assert UNABLE == hint((), "please open the vault")
    assert UNABLE == hint((), "Could you fly?")
    assert UNKNOWN == hint((), "could you tell me who won?")
    long = hint([Note("A word. " * 100)], "what?")
    assert len(long) <= MOST_NOTE_CHARS + len("You know: ")


STAIR_HINT = hint([STAIR], "is the stair safe?")


@pytest.mark.parametrize(
    ("answer", "line", "told", "left"),
    [
        ("Are you well? I am.", "are you well?", UNASKED, "I am."),
        ("Tom: are you well? I am.", "are you well?", UNASKED, "I am."),
        ("It is here. It is here.", "where is it?", UNASKED, "It is here."),
        ("Are you well?", "are you well?", UNASKED, LISTENING),
        ("Hello, Ada, dear.", "hello, Ada, dear", UNASKED, WELCOME),
        ("Well, good bye Ada. Goodbye!", "Well, good bye Ada. Goodbye!", UNASKED, FAREWELL),
        ("My name is Bo.", "my name is Bo", UNASKED, MET),
        ("Hullo, anybody in?", "hullo, anybody in?", UNASKED, WELCOME),
        ("Yes. Yes, it is.", "yes", UNASKED, "Yes. Yes, it is."),
        ("No, the stair is loose.", "is it safe?", STAIR_HINT, "No, the stair is loose."),
        (
            "Hold the rail.",
            "is it safe?",
            "You know: It is loose. Hold the rail.",
            "It is loose. Hold the rail.",
        ),
        ("Is the stair safe?", "is the stair safe?", STAIR_HINT, STAIR.text),
        ("What can I do for you?", "is the stair safe?", STAIR_HINT, STAIR.text),
        ("I do not know, Tom.", "who won?", UNKNOWN, "I do not know, Tom."),
        ("France won, Tom.", "who won?", UNKNOWN, "I do not know that."),
        ("Here is my gold.", "give me gold", UNABLE, "I cannot do that."),
        ("I can't, Tom.", "give me gold", UNABLE, "I can't, Tom."),
        ("Welcome. Safe home, Otto.", "goodbye", UNASKED, "Welcome. Safe home."),
        ("Hello, Nell! How are you?", "hello", UNASKED, "Hello! How are you?"),
        ("Hello, Otto.", "hello, Otto here", UNASKED, "Hello, Otto."),
        ("That is Nell.", "who is she?", "You know: She is Nell.", "That is Nell."),
        ("Good evening Nell. Sit down.", "hi", UNASKED, "Good evening. Sit down."),
        ("Jo and I keep bees.", "my name is Jo and I keep bees", UNASKED, "Well met."),
        ("Bees! How lovely, Jo.", "my name is Jo, I keep bees", UNASKED, "Bees! How lovely, Jo."),
        ("I came with Otto.", "good evening", UNASKED, "I came with Otto."),
        ("Hello, I am Nell. Welcome!", "hello", UNASKED, "Hello, I am Nell. Welcome!"),
    ],
)
def test_an_answer_is_held_to_what_was_told(answer: str, line: str, told: str, left: str) -> None:
    """Small models repeat the question, go on for ever, and make things up."""
    assert left == mended(answer, line, told)


@given(st.text(max_size=200), st.text(max_size=80), st.sampled_from([STAIR_HINT, UNKNOWN, UNASKED]))
def test_mending_leaves_something_to_say(answer: str, line: str, told: str) -> None:
    assert mended(answer, line, told) or not answer.strip()
