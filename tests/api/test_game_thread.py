"""Calls into the game's thread, from other threads and from that thread itself."""

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from django.test.utils import override_settings
from twisted.internet import reactor
from twisted.internet.defer import Deferred, fail, succeed

from evennia_ai.runtime.game_thread import (
    ANY,
    CUT_OFF,
    LONG,
    NOT_BEGUN,
    GameBusyError,
    WaitingRoom,
    run,
)
from tests.api.support import ApiTest

ROOT = Path(__file__).resolve().parents[2]


@lru_cache(maxsize=2)
def seen(*options: str) -> dict[str, Any]:
    """Run all scenarios in a process with a running reactor, by threads or by coroutines."""
    played = subprocess.run(
        [sys.executable, "-m", "tests.api.running_reactor", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return dict(json.loads(played.stdout))


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        pytest.param("hops_into_the_game", [True, False], id="it runs in the game's thread"),
        pytest.param("waits_for_a_deferred", "later", id="a Deferred is waited for"),
        pytest.param("brings_exceptions_back", [["KeyError", "at once"], ["ValueError", "later"]],
                     id="exceptions come back"),
        pytest.param("calls_off_what_takes_too_long", [[True], CUT_OFF.format(seconds=0.1), 2],
                     id="what takes too long is cancelled in the game's thread"),
        pytest.param("never_begins_what_was_given_up", [NOT_BEGUN.format(seconds=0.1), []],
                     id="what has not begun never begins"),
        pytest.param("tells_of_what_had_begun", [CUT_OFF.format(seconds=0.1), ["done"]],
                     id="of what had begun it is told that it had"),
        pytest.param("serves_many_at_once", [number**2 for number in range(20)], id="many at once"),
        pytest.param("is_called_off_with_its_caller", ["cancelled", [True]],
                     id="what a caller waits for ends with the caller"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("options", [(), ("async",)], ids=["a thread", "a coroutine"])
def test_a_thread_hops_into_a_running_game(
    options: tuple[str, ...], scenario: str, expected: Any
) -> None:
    assert expected == seen(*options)[scenario]


class TestInTheGamesOwnThread:
    """In a shell or a test the caller is in the game's thread and runs the reactor itself."""

    def test_what_is_known_at_once_comes_at_once(self) -> None:
        assert 5 == run(lambda: 5, 1)
        assert 6 == run(lambda: succeed(6), 1)
        with pytest.raises(KeyError):
            run(lambda: fail(KeyError("x")), 1)

    def test_what_comes_later_is_waited_for(self) -> None:
        waiting: Deferred[int] = Deferred()
        reactor.callLater(0.01, waiting.callback, 7)
        assert 7 == run(lambda: waiting, 10)
        cancelled: list[Any] = []
        with pytest.raises(GameBusyError, match="called off"):
            run(lambda: Deferred(cancelled.append), 0.05)
        assert 1 == len(cancelled)

    def test_there_is_room_for_so_many(self) -> None:
        room = WaitingRoom()
        with room.place(2):
            with room.place(2), pytest.raises(GameBusyError, match="2 requests"), room.place(2):
                pass
            with room.place(2):
                pass


class TestBusyGame(ApiTest):
    def test_an_answer_that_does_not_come_is_called_off(self) -> None:
        with override_settings(EVENNIA_AI_API_CONFIG={"long_timeout_seconds": 0.2}):
            error = self.fault(503, "POST", "assistants/Ada/tell/", {"instruction": "wait"})
        assert "unavailable" == error["code"]
        assert error["message"].startswith("Not now: the game took longer than 0.2 s")

    def test_where_too_many_wait_the_next_is_refused(self) -> None:
        """Long requests have a smaller limit of their own, so that quick ones still get through."""
        config = {"waiting_requests": 2, "long_requests": 1}
        with override_settings(EVENNIA_AI_API_CONFIG=config):
            with LONG.place(1), ANY.place(2):
                body = {"instruction": "Say hello."}
                response = self.call("POST", "assistants/Ada/tell/", body)
                assert (503, "2") == (response.status_code, response.headers["Retry-After"])
                self.get("assistants/")
            with ANY.place(2), ANY.place(2):
                self.fault(503, "GET", "assistants/")
            self.get("assistants/")
