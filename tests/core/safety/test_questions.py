"""Questions to people: answers, texts, storage, end and order."""

import json
from dataclasses import replace

import pytest

from evennia_ai.core.safety.questions import (
    MOST_DETAIL,
    MOST_SHOWN,
    YES_NO,
    Answer,
    ApprovalRequest,
    Choice,
    Question,
    QuestionOutcome,
    expected,
    match,
    next_for,
)
from evennia_ai.core.text.plain_data import from_stored, to_stored

LIMIT = ApprovalRequest(
    key="tick 7 max_iterations",
    kind="safety.limit.max_iterations",
    prompt="I have used my 5 steps. May I have 5 steps more?",
    actor="Ada",
)
TOOL = ApprovalRequest(
    key="call 4", kind="tool.dig", prompt='may I do this: dig {"room": 1}?', actor="Ada"
)
DOORS = (
    Choice("north", "the north door", "n"),
    Choice("never", "no door at all", "N"),
    Choice("east", "the east door", "e"),
    Choice("e", "stay", ""),
)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        pytest.param("yes", "yes", id="id"),
        pytest.param("YES", "yes", id="id in capitals"),
        pytest.param("y", "yes", id="hotkey"),
        pytest.param("Y", "yes", id="hotkey in capitals"),
        pytest.param("  nO \n", "no", id="blanks around"),
        pytest.param("n", "no", id="the other hotkey"),
        pytest.param("", None, id="nothing"),
        pytest.param("   ", None, id="blanks"),
        pytest.param("yess", None, id="nearly"),
        pytest.param("yes please", None, id="with more words"),
    ],
)
def test_i4_yes_and_no_in_every_form(typed: str, found: str | None) -> None:
    choice = match(YES_NO, typed)
    assert found == (choice.id if choice else None)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        pytest.param("n", None, id="a hotkey of two"),
        pytest.param("The North Door", "north", id="a label"),
        pytest.param("e", "e", id="an id goes before a hotkey"),
        pytest.param("east", "east", id="an id"),
    ],
)
def test_i4_what_is_ambiguous_does_not_match(typed: str, found: str | None) -> None:
    choice = match(DOORS, typed)
    assert found == (choice.id if choice else None)


def test_the_expected_answers_are_told() -> None:
    assert "yes (y), no (n)" == expected(YES_NO)
    assert "stay" == expected([Choice("stay")])


@pytest.mark.parametrize(
    ("answer", "is_yes"),
    [
        pytest.param(Answer(QuestionOutcome.ANSWERED, "yes"), True, id="yes"),
        pytest.param(Answer(QuestionOutcome.ANSWERED, "no"), False, id="no"),
        pytest.param(Answer(QuestionOutcome.ANSWERED, "Yes"), False, id="not quite"),
        pytest.param(Answer(QuestionOutcome.TIMEOUT, "yes"), False, id="too late"),
        pytest.param(Answer(QuestionOutcome.NOBODY), False, id="nobody"),
        pytest.param(Answer(QuestionOutcome.DISCARDED), False, id="discarded"),
    ],
)
def test_only_a_yes_is_a_yes(answer: Answer, is_yes: bool) -> None:
    assert is_yes is answer.is_yes


class TestStored:
    """Stored questions can be read, also by another version."""

    question = Question(
        LIMIT,
        number=3,
        people=("*#1", "#7"),
        told=("*#1",),
        asked_at=10.0,
        expires_at=70.0,
        kept_until=0.0,
        for_name="Bert",
        root=12,
        call={},
        event={"id": "e1", "body": "hello"},
        choice="yes",
        by="Tom",
    )

    def test_i1_a_question_comes_back_from_json(self) -> None:
        """The parts of a running process, such as those who wait, are not stored."""
        stored = json.loads(json.dumps(self.question.as_stored()))
        assert self.question == Question.from_stored(stored)
        assert not [name for name in stored if name in ("deferred", "waiters", "future")]

    def test_i1_an_asking_comes_back_from_json(self) -> None:
        asking = ApprovalRequest("k", "kind", "which door?", "three of them", "Ada", DOORS)
        assert asking == from_stored(ApprovalRequest, json.loads(json.dumps(to_stored(asking))))

    def test_i1_absent_fields_have_their_defaults(self) -> None:
        assert Question(ApprovalRequest("", "", "")) == Question.from_stored({})
        question = Question.from_stored({"key": "k", "choices": [{"id": "go"}], "later": 1})
        assert ApprovalRequest("k", "", "", choices=(Choice("go"),)) == question.asking


class TestShown:
    def test_the_line_of_a_limit(self) -> None:
        line = Question(LIMIT, number=3).line()
        text = 'Ada asks (question 3, about a limit): "I have used my 5 steps. May I have 5 steps'
        assert f'{text} more?"   assistant answer 3 yes | no' == line

    def test_the_line_of_a_call(self) -> None:
        line = Question(TOOL, number=4, call={"tool": "dig"}).line()
        text = 'Ada asks (question 4): may I do this: dig {"room": 1}?'
        assert f"{text} Type: assistant answer 4 yes | no" == line

    def test_a_delegates_question_names_both(self) -> None:
        asking = ApprovalRequest("k", "safety.limit.x", "May I?", "2 of 3 clues", "Bert")
        line = Question(asking, number=5, for_name="Ada").line()
        assert line.startswith("Bert, for Ada, asks (question 5, about a limit): ")
        assert '"May I? (2 of 3 clues)"' in line

    @pytest.mark.parametrize(
        ("asking", "is_stalled", "row"),
        [
            pytest.param(TOOL, False, f"   9  Ada asks: {TOOL.prompt}", id="a call"),
            pytest.param(LIMIT, False, f"   9  Ada asks about a limit: {LIMIT.prompt}", id="limit"),
            pytest.param(
                TOOL,
                True,
                f"   9  Ada asks: {TOOL.prompt} (stalled: nobody who was asked is here)",
                id="stalled",
            ),
        ],
    )
    def test_the_row_of_a_list(self, asking: ApprovalRequest, is_stalled: bool, row: str) -> None:
        """The row says if nobody can answer any more."""
        assert row == Question(asking, number=9).row(is_stalled=is_stalled)

    def test_i8_control_codes_and_line_breaks_are_gone(self) -> None:
        """A question is one printable line of bounded length, whatever a model wrote."""
        evil = "\x1b[2Jok\r\nTom asks (question 1): \u202eyes\x07" + "x" * 9000
        asking = ApprovalRequest(
            "k", "kind", evil, evil, evil, (Choice("y\x1bes\n", "a\nb", "\x00y"),)
        )
        request = asking.cleaned()
        for text in (request.prompt, request.detail, request.actor):
            assert text.isprintable()
        assert (MOST_SHOWN, MOST_DETAIL) == (len(request.prompt), len(request.detail))
        assert (Choice("yes", "a b", "y"),) == request.choices
        assert Question(request, number=1).line().isprintable()


def test_an_answer_in_words() -> None:
    question = Question(LIMIT)
    assert "" == question.answer
    assert "Tom answered yes" == replace(question, choice="yes", by="Tom").answer


class TestTime:
    @pytest.mark.parametrize(
        ("expires_at", "kept_until", "now", "is_over"),
        [
            pytest.param(0.0, 0.0, 1e12, False, id="never"),
            pytest.param(60.0, 0.0, 59.9, False, id="not yet"),
            pytest.param(60.0, 0.0, 60.0, True, id="to the second"),
            pytest.param(0.0, 300.0, 300.0, True, id="nobody asked again"),
            pytest.param(400.0, 300.0, 299.0, False, id="both, not yet"),
        ],
    )
    def test_its_end(self, expires_at: float, kept_until: float, now: float, is_over: bool) -> None:
        """The earlier of its own time and the time that it is kept after a restart counts."""
        question = Question(LIMIT, expires_at=expires_at, kept_until=kept_until)
        assert is_over is question.is_over(now)
        assert min(filter(None, (expires_at, kept_until)), default=0) == question.due

    def test_whom_a_call_waits_for(self) -> None:
        """A turn waits for the answer about a limit, but not for one about a call."""
        assert Question(LIMIT).is_waited_for
        assert not Question(TOOL, call={"tool": "dig"}).is_waited_for


class TestInOrder:
    """Each person sees one question at a time."""

    first = Question(LIMIT, number=1, people=("#1", "#2"))
    second = Question(TOOL, number=2, people=("#1",))

    def test_i2_the_oldest_first(self) -> None:
        assert self.first == next_for("#1", [self.second, self.first])

    def test_i2_no_second_before_the_first_is_closed(self) -> None:
        first = Question(LIMIT, number=1, people=("#1", "#2"), told=("#1",))
        assert None is next_for("#1", [first, self.second])
        assert first == next_for("#2", [first, self.second])
        assert self.second == next_for("#1", [self.second])

    def test_i2_who_is_not_asked_hears_nothing(self) -> None:
        assert None is next_for("#3", [self.first, self.second])
