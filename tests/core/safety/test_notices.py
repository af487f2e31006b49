"""Notices to staff, whose first line is plain language."""

from collections.abc import Iterator

import pytest

from evennia_ai.core.safety import notices
from evennia_ai.core.safety.limits import (
    LIMITS,
    DecisionReason,
    LimitKind,
    denial_text,
    question_text,
)
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.core.safety.monitor import Halt
from evennia_ai.core.safety.notices import Notice
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.errors import LimitReachedError
from tests.wording import MACHINE

SCOPES = ("assistant Ada", "player *#2", "game", "task 1")


def _hits() -> Iterator[LimitReachedError]:
    for kind in LimitKind:
        for scope in SCOPES:
            yield LimitReachedError(kind, used=5, cap=5, amount=5, scope=scope)


def _stops() -> Iterator[Stop]:
    for hit in _hits():
        reason = DecisionReason.UNATTENDED
        detail = denial_text(LimitKind(hit.kind), hit.cap, hit.scope, reason, has_partial=True)
        yield Stop(StopReason.MAX_ITERATIONS, detail, limit=hit)
    for reason in StopReason:
        yield Stop(reason, "HTTP 400: no_such_model at llm.example.org")
    yield Stop(StopReason.MAX_ITERATIONS, halt=Halt(Cause.REPEAT, "set_attribute failed 4 times"))


def _all_notices() -> Iterator[Notice]:
    for stop in _stops():
        for whom in ("Tom", ""):
            for left in (None, 0, 1, 4):
                yield notices.failed("Ada", whom, "was told", stop, left, stop.detail)
            if stop.limit is not None:
                yield notices.reached("Ada", whom, stop.limit, stop.detail)
        yield notices.cools("Ada", "Tom", "a minute", stop)
    for cause in Cause:
        reason = "stopped by Tom" if cause is Cause.KILL else "dig_hole, 4 times"
        yield notices.locked("Ada", cause, reason)
    yield notices.rests("Ada", "in 30 s", "Tom was told", "breaker 'llm:open_ai' is open")
    away = "the ledger that this game shares with others cannot be reached"
    yield notices.rests("Ada", "in 30 s", "Tom was told", away, is_ledgers=True)
    yield notices.times_missed("Ada", "goal 1, walk to the pier (daily at dusk), 4 times")
    used = "assistant Ada: 90 of 100 tokens are used (budget_config.assistant.tokens_per_day)"
    yield notices.nearly_used_up(used, "Ada")


def test_no_first_line_has_a_word_of_machines() -> None:
    """The first line of every limit, end and cause is one line without technical names."""
    all_notices = list(_all_notices())
    assert len(all_notices) > 300
    for notice in all_notices:
        assert not MACHINE.search(notice.line), notice.line
        assert "\n" not in notice.line
        assert notice.line[0].isupper()


def test_every_first_line_says_what_to_type() -> None:
    """The emergency puts its own command behind the lines that have none."""
    for notice in _all_notices():
        is_put_behind = "locked itself" in notice.line or "is stopped" in notice.line
        assert "assistant " in notice.line or is_put_behind, notice.line


def test_the_detail_has_what_was_left_out() -> None:
    """Technical names, such as the path of a setting, are in the detail."""
    stop = next(each for each in _stops() if each.limit and each.limit.kind == LimitKind.ITERATIONS)
    assert stop.limit is not None
    notice = notices.reached("Ada", "Tom", stop.limit, stop.detail)
    assert LIMITS[LimitKind.ITERATIONS].path in notice.detail
    assert "Ada reached the limit of 5 steps a tick, and told Tom how far it got. " in notice.line
    assert "locked (loop): why" == notices.locked("Ada", Cause.LOOP, "why").detail
    assert "tokens_per_day" in list(_all_notices())[-1].detail


@pytest.mark.parametrize(
    ("kind", "scope", "words"),
    [
        (LimitKind.TOKENS_PER_DAY, "player *#2 2026-11-28", "5 tokens a day of each player"),
        (LimitKind.TOKENS_PER_DAY, "game 2026-11-28", "5 tokens a day of the whole game"),
        (LimitKind.TOKENS_PER_DAY, "all_games 2026-11-28", "5 tokens a day of all games together"),
        (LimitKind.TOKENS_PER_DAY, "assistant ada 2026-11-28", "5 tokens a day"),
        (LimitKind.ITERATIONS, "game", "5 steps a tick"),
    ],
)
def test_a_notice_says_whose_cap_was_reached(kind: LimitKind, scope: str, words: str) -> None:
    """A player's cap is no limit of the assistant that reached it."""
    hit = LimitReachedError(kind, used=5, cap=5, amount=5, scope=scope)
    assert f"Ada reached the limit of {words}, and" in notices.reached("Ada", "Tom", hit, "").line
    failed = notices.failed("Ada", "Tom", "was told", Stop(StopReason.LLM_ERROR, limit=hit), 0, "")
    assert f"it reached the limit of {words}. " in failed.line


@pytest.mark.parametrize(
    ("scope", "owner"),
    [
        ("player *#2 2026-11-28", "player *#2"),
        ("game 2026-11-28", "game"),
        ("all_games 2026-11-28", "game"),
        ("assistant ada 2026-11-28", "Ada"),
    ],
)
def test_a_notice_names_the_command_for_the_owner_of_the_cap(scope: str, owner: str) -> None:
    hit = LimitReachedError(LimitKind.TOKENS_PER_DAY, used=5, cap=5, amount=5, scope=scope)
    notice = notices.reached("Ada", "Tom", hit, "")
    assert notice.line.endswith(f"To change that: assistant budget {owner}")


def test_a_notice_counts_the_answers_since_the_last_one() -> None:
    hit = LimitReachedError(LimitKind.TOKENS_PER_DAY, used=5, cap=5, amount=5, scope="game")
    line = notices.reached("Ada", "Tom", hit, "", times=7).line
    assert "of the whole game, 7 times since the last notice, and told Tom" in line
    stop = Stop(StopReason.LLM_ERROR, limit=hit)
    line = notices.failed("Ada", "Tom", "was told", stop, None, "", times=7).line
    assert "of the whole game, 7 times since the last notice. Tom was told." in line


def test_a_cause_that_is_a_sentence_ends_once() -> None:
    notice = notices.rests("Ada", "in 30 s", "Tom was told", "HTTP 404: No such deployment.")
    assert "No such deployment. Further problems" in notice.detail


@pytest.mark.parametrize("kind", list(LimitKind))
def test_a_question_at_a_limit_names_no_setting(kind: LimitKind) -> None:
    whose = "the player Tom" if kind.startswith("cost.") else ""
    asked = question_text(kind, 5, 5, 5, "Tom's request", whose)
    assert not MACHINE.search(asked), asked


def test_a_limit_of_another_version_is_a_limit() -> None:
    """Stored rows may name a limit that this version does not have."""
    assert "a limit" == notices.limit_words("gone_since")
    assert "the limit of steps a tick" == notices.limit_words(LimitKind.ITERATIONS)
    assert "set attribute" == notices.plain("set_attribute")
