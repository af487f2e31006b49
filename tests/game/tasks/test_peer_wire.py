"""Tasks and filters of peers as the protocol has them."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from unittest import mock

import pytest
from a2a.types import ListTasksRequest
from a2a.utils.errors import UnsupportedOperationError
from django.test.utils import override_settings
from httpx import ASGITransport, AsyncClient, Response

from evennia_ai.api.a2a import handler, serving, wire
from evennia_ai.api.a2a.calls import CardFacts
from evennia_ai.api.a2a.card import CARD_PATH
from evennia_ai.api.a2a.deliveries import Delivery, due_deliveries, note_failed
from evennia_ai.api.a2a.push import PushSender
from evennia_ai.api.a2a.serving import A2aServer
from evennia_ai.api.a2a.streams import Hub
from evennia_ai.api.a2a.wire import TaskEvent, TaskSnapshot
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.models import PeerHook
from evennia_ai.runtime.game_thread import GameBusyError
from evennia_ai.tasks import peer_store

AT = 1_800_000_000


def snapshot(count: int) -> TaskSnapshot:
    """A task with so many messages, numbered from 0."""
    words = [{"id": str(number), "role": "user", "text": "Hm?"} for number in range(count)]
    return TaskSnapshot("t", "c", peer_store.WORKING, 1, words, None, AT, 1, [], False, {})


@pytest.mark.parametrize(
    ("history", "wanted"), [(None, "01234"), (0, ""), (2, "34"), (5, "01234"), (7, "01234")]
)
def test_a_history_has_the_newest_messages(history: int | None, wanted: str) -> None:
    """All of them if more are wanted than there are."""
    messages = wire.task_of(snapshot(5), history=history).history
    assert wanted == "".join(each.message_id for each in messages)


@pytest.fixture
def _new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone that Django sets for a game in New York."""
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    assert os.environ.get("TZ") == before
    time.tzset()


@pytest.mark.usefixtures("_new_york")
def test_a_filter_by_time_is_the_same_in_every_time_zone() -> None:
    request = ListTasksRequest()
    request.status_timestamp_after.FromSeconds(AT)
    assert {"changed_at__gte": AT} == handler._filters_of(request)


CONFIG = A2aConfig(port=4006, hook_networks=("127.0.0.0/8",))


def delivery() -> Delivery:
    """An event for an address where nobody listens, tried six times."""
    hook = PeerHook(pk=1, url="http://127.0.0.1:9/hook", tries=6)
    return Delivery(hook, 2, snapshot(0), TaskEvent(1, "status", {}, AT))


def test_an_outcome_that_cannot_be_noted_floods_no_address() -> None:
    """Such as with a full disk, where the event can be read as due, and stays so."""
    posted: list[Delivery] = []

    async def in_game(function: object, *_: object) -> list[Delivery]:
        if function is due_deliveries:
            return [delivery()]
        raise OSError("the disk is full")

    async def post(sent: Delivery) -> None:
        posted.append(sent)

    async def deliver() -> None:
        sender = PushSender(CONFIG, Hub(CONFIG), in_game)
        with mock.patch.object(sender, "_post", post), suppress(TimeoutError):
            await asyncio.wait_for(sender.run(), 0.2)

    asyncio.run(deliver())
    assert [delivery()] == posted


def test_an_address_that_is_left_alone_is_not_tried() -> None:
    """While a host's breaker is open, its events use up none of their `hook_tries`."""
    noted: list[tuple[object, ...]] = []

    async def in_game(function: partial[None], *arguments: object) -> None:
        noted.append((function.func, function.keywords, *arguments[:1]))

    async def deliver() -> None:
        sender = PushSender(CONFIG, Hub(CONFIG), in_game)
        sender._breaker(2, "127.0.0.1").isolate()
        await sender._deliver(delivery())

    asyncio.run(deliver())
    assert [(note_failed, {"is_try": False}, delivery())] == noted


@pytest.mark.parametrize("path", ["/a2a", "/a2a/ada/.well-known/agent-card.json", CARD_PATH])
def test_a_game_that_is_busy_says_when_to_ask_again(path: str) -> None:
    """For cards as for anything else."""

    async def no_time(*_: object) -> None:
        raise GameBusyError("the game is busy")

    async def ask() -> Response:
        app = A2aServer(CONFIG, print)._app(handler.Handler(CONFIG, Hub(CONFIG)))
        transport = ASGITransport(app)
        async with AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)

    with mock.patch.object(serving, "run_async", no_time):
        answer = asyncio.run(ask())
    assert (503, "2") == (answer.status_code, answer.headers["retry-after"])
    assert "the game is busy." == answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("trusted", "claimed", "scheme"),
    [
        pytest.param(("127.0.0.1",), "https", "https", id="a trusted proxy with TLS"),
        pytest.param(("127.0.0.1",), "gopher", "http", id="a scheme that is none of ours"),
        pytest.param((), "https", "http", id="a proxy that nobody named"),
    ],
)
def test_cards_have_the_scheme_that_a_trusted_proxy_names(
    trusted: tuple[str, ...], claimed: str, scheme: str
) -> None:
    async def the_cards(*_: object) -> list[CardFacts]:
        return [CardFacts("Ada", "", ())]

    async def ask() -> Response:
        app = A2aServer(CONFIG, print)._app(handler.Handler(CONFIG, Hub(CONFIG)))
        transport = ASGITransport(app, client=("127.0.0.1", 4711))
        headers = {"X-Forwarded-Proto": claimed}
        async with AsyncClient(transport=transport, base_url="http://localhost:4006") as client:
            return await client.get("/a2a/", headers=headers)

    with (
        mock.patch.object(serving, "run_async", the_cards),
        override_settings(EVENNIA_AI_API_CONFIG={"trusted_proxies": trusted}),
    ):
        card = asyncio.run(ask()).json()["assistants"][0]["card"]
    assert f"{scheme}://localhost:4006/a2a/ada{CARD_PATH}" == card


def test_places_of_requests_that_wait_are_bounded() -> None:
    """For each account, and for all of them together; the refusal is an error of the protocol."""

    async def fill() -> None:
        hub = Hub(A2aConfig(streams_per_peer=1, streams_at_once=2))
        with hub.place(1), hub.place(2):
            for account, problem in ((1, "1 request waiting"), (3, "2 requests may")):
                with pytest.raises(UnsupportedOperationError, match=problem), hub.place(account):
                    pass
        with hub.place(3):
            pass

    asyncio.run(fill())
