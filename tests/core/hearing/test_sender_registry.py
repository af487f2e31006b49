"""Known senders, and the conversations that go on."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.hearing.rate_limits import ActiveConversations, SenderRegistry, SenderStats

PEOPLE = st.lists(st.sampled_from("abcdefgh"), max_size=30)
# Answers and speech at one place, at any times: the clock may be put back.
SPEECH = st.lists(
    st.tuples(st.booleans(), st.sampled_from(["tom", "mia"]), st.sampled_from([0.0, 5.0, 9.0, 70])),
    max_size=12,
)
KNOWN = st.dictionaries(
    st.text(st.sampled_from("*#0123456789"), min_size=1, max_size=4),
    st.tuples(st.integers(0, 99), st.integers(0, 99)),
    max_size=8,
)


@given(PEOPLE, st.integers(1, 5))
def test_the_newest_are_known(met: list[str], limit: int) -> None:
    company = SenderRegistry(limit=limit)
    for person in met:
        known = company.meet(person)
        known.answered += 1
        assert known is company.people[person]
    newest = list(dict.fromkeys(reversed(met)))[:limit]
    assert newest[::-1] == list(company.people)


def test_an_acquaintance_lasts() -> None:
    company = SenderRegistry(limit=2)
    company.meet("a").answered = 5
    company.meet("b")
    assert 5 == company.meet("a").answered
    company.meet("c")
    assert (5, 0) == (company.meet("a").answered, company.meet("b").answered)


def test_ten_thousand_people() -> None:
    company = SenderRegistry()
    for number in range(10_000):
        company.meet(str(number))
    company.meet("0")
    company.meet("new")
    assert 10_000 == len(company.people)
    assert ("0" in company.people, "1" in company.people) == (True, False)


@given(KNOWN)
def test_company_survives_storing(known: dict[str, tuple[int, int]]) -> None:
    """Answers and refusals keep their order; people without either are not stored."""
    company = SenderRegistry(
        {who: SenderStats(answered=a, refused=r) for who, (a, r) in known.items()}
    )
    stored = json.loads(json.dumps(company.as_stored()))
    again = SenderRegistry.from_stored(stored)
    expected = {who: counts for who, counts in known.items() if any(counts)}
    assert list(expected.items()) == [
        (who, (person.answered, person.refused)) for who, person in again.people.items()
    ]
    assert company.as_stored() == again.as_stored()


def test_only_who_was_dealt_with_is_stored() -> None:
    people = {
        "a": SenderStats(answered=1),
        "b": SenderStats(refused=2),
        "c": SenderStats([5.0], told=5.0),
    }
    assert {"a": [1, 0], "b": [0, 2]} == SenderRegistry(people).as_stored()


def test_a_restart_forgets_times() -> None:
    """The clock of the last run means nothing to this one."""
    tom = SenderStats([100.0], 100.0, 100.0, answered=1)
    again = SenderRegistry.from_stored(SenderRegistry({"tom": tom}).as_stored())
    assert SenderStats(answered=1) == again.people["tom"]


@pytest.mark.parametrize(
    ("expected", "place", "person", "now"),
    [
        pytest.param(True, "#2", "tom", 10.0, id="at once"),
        pytest.param(True, "#2", "tom", 69.9, id="just in time"),
        pytest.param(False, "#2", "tom", 70.0, id="too late"),
        pytest.param(False, "#2", "tom", 9.9, id="the clock was put back"),
        pytest.param(False, "#2", "mia", 10.0, id="somebody else"),
        pytest.param(False, "#3", "tom", 10.0, id="in another place"),
        pytest.param(False, "", "tom", 10.0, id="nowhere"),
    ],
)
def test_engagement(expected: bool, place: str, person: str, now: float) -> None:
    talks = ActiveConversations()
    talks.begin("#2", "tom", 10.0, 60.0)
    assert expected is talks.goes_on(place, person, now)


def test_another_speaker_ends_it() -> None:
    """The first person's next word does not continue the talk either."""
    talks = ActiveConversations()
    talks.begin("#2", "tom", 10.0, 60.0)
    talks.begin("Public", "tom", 10.0, 60.0)
    assert not talks.goes_on("#2", "mia", 10.0)
    assert not talks.goes_on("#2", "tom", 11.0)
    assert talks.goes_on("Public", "tom", 12.0)


@pytest.mark.parametrize(
    ("seconds", "times"),
    [
        pytest.param(60.0, (5.0, 20.0), id="the clock was put back, and is right again"),
        pytest.param(60.0, (71.0, 60.0), id="it ran out, and the clock is put back"),
        pytest.param(0.0, (10.0,), id="talks do not go on at all"),
    ],
)
def test_what_is_over_stays_over(seconds: float, times: tuple[float, ...]) -> None:
    talks = ActiveConversations()
    talks.begin("#2", "tom", 10.0, seconds)
    for now in times:
        assert not talks.goes_on("#2", "tom", now)


@given(SPEECH, st.sampled_from([0.0, 10.0, 60.0]))
def test_a_talk_goes_on_with_one_person_for_its_time(
    steps: list[tuple[bool, str, float]], seconds: float
) -> None:
    """Since the answer nobody else spoke there, and the clock never left that time."""
    talks, answered, since = ActiveConversations(), ("", 0.0), [("mia", -1.0)]
    for is_answer, person, now in steps:
        if is_answer:
            talks.begin("#2", person, now, seconds)
            answered, since = (person, now), []
            continue
        since.append((person, now))
        who, began = answered
        is_kept = all(speaker == who and began <= at < began + seconds for speaker, at in since)
        assert is_kept is talks.goes_on("#2", person, now)


def test_a_talk_is_ended() -> None:
    talks = ActiveConversations()
    talks.begin("#2", "tom", 10.0, 60.0)
    talks.end("#2")
    talks.end("#9")
    assert not talks.goes_on("#2", "tom", 10.0)


def test_one_person_a_place() -> None:
    talks = ActiveConversations()
    talks.begin("#2", "tom", 10.0, 60.0)
    talks.begin("#2", "mia", 11.0, 60.0)
    talks.begin("#2", "mia", 39.0, 60.0)
    assert talks.goes_on("#2", "mia", 98.0)
    assert not talks.goes_on("#2", "tom", 98.5)


@given(st.permutations(range(25)), st.lists(st.integers(0, 30), max_size=40))
def test_twenty_places(first: list[int], later: list[int]) -> None:
    talks, places = ActiveConversations(), [*first, *later]
    for place in places:
        talks.begin(f"#{place}", "tom", 10.0, 60.0)
    newest = list(dict.fromkeys(reversed(places)))
    assert 20 == len(talks.by_place)
    assert all(talks.goes_on(f"#{place}", "tom", 10.0) for place in newest[:20])
    assert not any(talks.goes_on(f"#{place}", "tom", 10.0) for place in newest[20:])


def test_a_row_of_another_version_is_read() -> None:
    known = SenderRegistry.from_stored({"*#3": [2, 1, 99.0]}).people["*#3"]
    assert (2, 1) == (known.answered, known.refused)
