"""Token counts, estimates, and the part of a history that fits."""

from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.turn.conversation import Message, call_message, result_message, user_message
from evennia_ai.core.turn.tokens import (
    ADVICE,
    TOKENS_AROUND_CALL,
    TOKENS_AROUND_MESSAGE,
    TOKENS_AROUND_TOOL,
    Advisory,
    Calibration,
    advise,
    band,
    calculate_utilization,
    count_message,
    count_messages,
    count_tool,
    estimate,
    fit_history,
)
from evennia_ai.core.turn.toolspec import ToolCall, ToolResult, ToolSpec

size_of = partial(count_messages, count=len)
LOOK = ToolCall("c1", "look", {"at": "lamp"})
RESULT = ToolResult(True, "a lamp")


def history_of(turns: Sequence[Sequence[int]]) -> list[Message]:
    """Turns, each of some replies with so many calls each."""
    messages: list[Message] = []
    for number, replies in enumerate(turns):
        messages.append(user_message(f"turn {number}"))
        for step, count in enumerate(replies):
            calls = [ToolCall(f"c{number}.{step}.{i}", "look") for i in range(count)]
            messages.append(call_message(*calls))
            messages += [result_message(call, RESULT) for call in calls]
    return messages


TURNS = st.lists(st.lists(st.integers(1, 4), max_size=4), max_size=8)


def is_acceptable(messages: Sequence[Message]) -> bool:
    """True if every provider accepts it: each call has all its results right after it."""
    due: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not due or message["tool_call_id"] != due.pop(0):
                return False
            continue
        if due:
            return False
        due = [call["id"] for call in message.get("tool_calls", ())]
    return not due and (not messages or messages[0]["role"] == "user")


@given(TURNS, st.integers(0, 400))
def test_what_fits_is_whole_and_new(turns: list[list[int]], most: int) -> None:
    history = history_of(turns)
    fitting = fit_history(history, most, size_of)
    assert is_acceptable(fitting)
    assert history[len(history) - len(fitting) :] == fitting
    assert count_messages(fitting, len) <= most


@given(TURNS, st.integers(0, 400))
def test_no_turn_is_left_out_that_fits(turns: list[list[int]], most: int) -> None:
    """With the next older turn it would be too long."""
    history = history_of(turns)
    left_out = history[: len(history) - len(fit_history(history, most, size_of))]
    if left_out:
        starts = [i for i, message in enumerate(left_out) if message["role"] == "user"]
        assert count_messages(history[starts[-1] :], len) > most


def test_only_what_may_fit_is_counted() -> None:
    """A long history costs no more than a short one."""
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return 10 if text else 0

    history = [user_message(f"line {number}") for number in range(10_000)]
    fitting = fit_history(
        history, 3 * (10 + TOKENS_AROUND_MESSAGE), partial(count_messages, count=count)
    )
    assert history[-3:] == fitting
    assert len(list(filter(None, counted))) == 4


def test_a_leading_scrap_is_left_out() -> None:
    history = [result_message(LOOK, RESULT), *history_of([[1]])]
    assert history[1:] == fit_history(history, 1000, size_of)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        pytest.param(5, user_message("hello"), id="a text"),
        pytest.param(0, {"role": "assistant", "content": None}, id="no text"),
        pytest.param(0, {"role": "assistant"}, id="not even that"),
        pytest.param(
            5,
            {"role": "user", "content": [{"type": "text", "text": "hello"}, {"type": "image"}]},
            id="parts",
        ),
        pytest.param(5, {**user_message("hello"), "private_to": "*#3"}, id="a mark is not sent"),
        pytest.param(TOKENS_AROUND_CALL + len("c1") + len("look") + len('{"at": "lamp"}'),
                     call_message(LOOK), id="a call"),
        pytest.param(2 * (TOKENS_AROUND_CALL + len("c1") + len("look") + len('{"at": "lamp"}')),
                     call_message(LOOK, LOOK), id="two calls"),
        pytest.param(len("c1") + len('{"success": true, "result": "a lamp"}'),
                     result_message(LOOK, RESULT), id="a result"),
    ],
)  # fmt: skip
def test_a_message_is_counted_as_it_is_sent(tokens: int, message: Message) -> None:
    assert TOKENS_AROUND_MESSAGE + tokens == count_message(message, len)


def test_a_tool_is_counted_with_its_schema() -> None:
    spec = ToolSpec("look", "Look around.", {"type": "object"})
    expected = TOKENS_AROUND_TOOL + len("look") + len("Look around.") + len('{"type": "object"}')
    assert expected == count_tool(spec, len)


# Counts of tiktoken's o200k_base.
@pytest.mark.parametrize(
    ("counted", "text"),
    [
        pytest.param(0, "", id="nothing"),
        pytest.param(1, " ", id="a blank"),
        pytest.param(4, "the quick brown fox", id="English"),
        pytest.param(9, "Hallo Welt, wie geht es Ihnen heute?", id="German"),
        pytest.param(
            37,
            "Stary latarnik codziennie wieczorem zapala lampę, chociaż od wielu lat nie "
            "przepływa tędy żaden statek, i wraca do domu",
            id="Polish",
        ),
        pytest.param(
            28,
            "嵐についての本はどこにありますか。一階はもう全部探しましたが、見つかりませんでした。",
            id="Japanese",
        ),
        pytest.param(16, '{"tool": "whisper", "parameters": {"target": "Tom"}}', id="JSON"),
        pytest.param(4, "1234567890", id="digits"),
        pytest.param(
            23, "def f(x):\n    if x > 0:\n        return x + 1\n    return -x\n", id="code"
        ),
    ],
)
def test_the_estimate_is_near(counted: int, text: str) -> None:
    assert abs(counted - estimate(text)) <= max(2, counted / 4)


@given(st.text(), st.text())
def test_the_estimate_of_any_text(text: str, more: str) -> None:
    """At most two tokens a character, and one more."""
    assert (estimate(text) > 0) is (text != "")
    assert estimate(text) <= 1 + 2 * len(text)


@pytest.mark.parametrize(
    ("least", "most", "text"),
    [
        pytest.param(300, 700, "a" * 3000, id="one endless word"),
        pytest.param(150, 1200, "!" * 3000, id="one endless run of signs"),
        pytest.param(4, 12, "don't you're it's", id="apostrophes within words"),
        pytest.param(3, 8, "aBigHTTPServerError", id="words written together"),
    ],
)
def test_the_estimate_of_odd_texts(least: int, most: int, text: str) -> None:
    assert least <= estimate(text) <= most


def test_languages_differ() -> None:
    """The words of other languages take more tokens than English ones of the same length."""
    english = "the message that you have from the library of storms"
    spanish = "los mensajes que el barco por una tormenta de libros"
    assert abs(len(english) - len(spanish)) < 3
    assert estimate(english) < estimate(spanish)
    assert estimate("the naïve library") < estimate("zażółć gęślą jaźń")


@pytest.mark.parametrize(
    ("advisory", "ratio"),
    [
        pytest.param(Advisory.NONE, 0.0, id="empty"),
        pytest.param(Advisory.NONE, 0.599, id="below sixty"),
        pytest.param(Advisory.WARNING, 0.6, id="sixty"),
        pytest.param(Advisory.WARNING, 0.799, id="below eighty"),
        pytest.param(Advisory.CRITICAL, 0.8, id="eighty"),
        pytest.param(Advisory.CRITICAL, 1.5, id="over"),
    ],
)
def test_advise(advisory: Advisory, ratio: float) -> None:
    assert advisory is advise(ratio)
    assert (ADVICE[advisory] == "") is (advisory is Advisory.NONE)


@pytest.mark.parametrize(
    ("level", "percent"),
    [
        pytest.param("ok", 0.0, id="empty"),
        pytest.param("ok", 69.9, id="below seventy"),
        pytest.param("warning", 70.0, id="seventy"),
        pytest.param("warning", 85.0, id="eighty-five"),
        pytest.param("danger", 85.1, id="above eighty-five"),
        pytest.param("danger", 95.0, id="ninety-five"),
        pytest.param("critical", 95.1, id="above ninety-five"),
        pytest.param("critical", 200.0, id="over"),
    ],
)
def test_bands(level: str, percent: float) -> None:
    result = band(percent)
    assert level == result.level
    assert result.message
    assert result.color in ("success", "warning", "danger")


def test_utilization() -> None:
    assert 50.0 == calculate_utilization(64_000, 128_000)


class TestCalibration:
    """An estimate is corrected by the counts of the service."""

    def _after(self, *replies: tuple[int, int]) -> float:
        calibration = Calibration()
        for estimated, real in replies:
            calibration.note(estimated, real)
        return calibration.factor

    @pytest.mark.parametrize(
        ("factor", "replies"),
        [
            pytest.param(1.0, [], id="nothing yet"),
            pytest.param(1.5, [(100, 150)], id="one reply"),
            pytest.param(1.0, [(100, 0)], id="a silent service"),
            pytest.param(1.0, [(100, -5)], id="less than nothing"),
            pytest.param(1.0, [(100, 1000)], id="absurdly much"),
            pytest.param(1.0, [(100, 10)], id="absurdly little"),
            pytest.param(1.0, [(39, 60)], id="too little to learn from"),
            pytest.param(1.5, [(40, 60)], id="just enough to learn from"),
            pytest.param(1.2, [(100, 120), (100, 900), (100, 120)], id="one outlier"),
            pytest.param(3.0, [(100, 500)], id="at most three times"),
            pytest.param(0.5, [(100, 20)], id="at least half"),
            pytest.param(2.0, [(100, 100)] * 15 + [(100, 200)] * 15, id="the last fifteen count"),
        ],
    )
    def test_factor(self, factor: float, replies: list[tuple[int, int]]) -> None:
        """The median of the newest counts, within bounds."""
        assert factor == pytest.approx(self._after(*replies))

    @given(st.lists(st.tuples(st.integers(), st.integers())))
    def test_it_is_bounded(self, replies: list[tuple[int, int]]) -> None:
        assert 0.5 <= self._after(*replies) <= 3.0


@pytest.mark.parametrize("unit", ["The lamp is lit. ", "あ", "[{", "x"])
def test_hole_c17_a_very_long_text_is_counted_in_parts(unit: str) -> None:
    """The estimate grows linearly with the length."""
    tenth = estimate(unit * (40_000 // len(unit)))
    assert 0.95 < estimate(unit * (400_000 // len(unit))) / (10 * tenth) < 1.05
