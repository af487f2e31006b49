"""Messages of peers, each of which begins one task or none, and their push addresses."""

import asyncio
import time
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from evennia.objects.objects import DefaultCharacter
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from evennia_ai.api.a2a.calls import A2aCaller, CallRefusedError, PeerAccess, admit, card
from evennia_ai.api.a2a.guard import A2aGuard
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.models import PeerEvent, PeerHook, PeerTask, PendingTask
from evennia_ai.operations.peers import tasks
from evennia_ai.operations.peers.tasks import Given
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights import token_store
from evennia_ai.tasks import peer_store
from tests.game.support import pump
from tests.game.tasks.errand_case import ErrandTest, reports_of

CONFIG = A2aConfig(port=4006, assistants=("*",), hooks_per_task=1, tasks_per_peer=0)
SOON = 100.0


def hook(key: str = "mine", **more: str) -> dict[str, str]:
    """An address as the protocol layer passes it on."""
    empty = {"token": "", "scheme": "", "credentials": ""}
    return {"key": key, "url": "https://there.example/told", **empty, **more}


def due(**more: Any) -> list[str]:
    given = {"most": 20, "most_of_one": 20, "busy": (), "full": (), **more}
    return [each.hook.key for each in peer_store.due_hooks(time.time() + SOON, **given)]


class TestSending(ErrandTest):
    """A peer with a token sends tasks to Ada."""

    def setUp(self) -> None:
        super().setUp()
        self.known: dict[str, AssistantScript] = {}
        _, self.token = token_store.make(self.account, "peer")
        self.access = self.access_of()

    def access_of(self, *, may_change: bool = True, at: float | None = None) -> PeerAccess:
        begun = time.monotonic() if at is None else at
        caller = A2aCaller(
            self.account.pk, "10.0.0.1", self.token.pk, may_change, self.account, begun
        )
        return PeerAccess(CONFIG, "ada", caller, self.known)

    def test_a_card_describes_what_others_see(self) -> None:
        """A game may make the description up; the class's own text for none is no description."""
        self.ada.db.desc = "A |yclerk|n."
        assert "A clerk." == card("ada", CONFIG).description
        self.ada.db.desc = ""
        assert "" == card("ada", CONFIG).description
        made_up = mock.patch.object(DefaultCharacter, "get_display_desc", return_value="In wool.")
        with made_up:
            assert "In wool." == card("ada", CONFIG).description

    def counts(self) -> tuple[int, ...]:
        """The numbers of tasks, requests, addresses and events in the inbox."""
        tables = (PeerTask, PendingTask, PeerHook)
        inbox = len(self.ada_script.work.inbox)
        return (*(table.objects.count() for table in tables), inbox)

    def test_what_another_assistant_is_asked_costs_no_query_for_each_task(self) -> None:
        """The assistants are not listed again for each of them, either."""
        counts = []
        for number in range(1, 5):
            self.access.send(Given(str(uuid4()), f"Count lamp {number}."), "", None)
            with CaptureQueriesContext(connection) as asked:
                tasks.follow_all("Bo")
            counts.append(len(asked))
        assert [2] * 4 == counts

    def test_an_address_that_is_refused_begins_nothing(self) -> None:
        before = self.counts()
        for bad, problem in (
            (hook("a b"), "has a name of at most 64"),
            (hook(scheme="x" * 65), "scheme of an address has at most 64"),
            (hook(token="x" * 2_001), "token of an address has at most 2000"),
            (hook(token="a\0b"), "token of an address is shown in a header"),
            (hook(credentials="a\r\nb"), "credentials of an address is shown in a header"),
        ):
            with pytest.raises(CallRefusedError, match=problem):
                self.access.send(Given(str(uuid4()), "Count the lamps."), "", bad)
        assert before == self.counts()

    def test_what_cannot_be_stored_is_asked_of_nobody(self) -> None:
        """The task, its first event and the request are one transaction, before the inbox."""
        before = self.counts()
        given = Given(str(uuid4()), "Count the lamps.")
        for broken in ("begin", "put_hook"):
            failing = mock.patch.object(peer_store, broken, side_effect=OSError("the disk is full"))
            with failing, pytest.raises(OSError, match="full"):
                self.access.send(given, "", hook())
            assert before == self.counts()
        failing = mock.patch.object(type(self.ada_script), "enqueue", side_effect=OSError("full"))
        with failing, pytest.raises(OSError, match="full"):
            self.access.send(given, "", hook())
        assert before == self.counts()
        assert "working" == self.access.send(given, "", hook()).state

    def test_a_message_sent_again_is_the_same_task(self) -> None:
        """The id counts per peer, and together with the words; a finished task is not repeated."""
        given = Given("m1", "Count the lamps.")
        first = self.access.send(given, "", None)
        again = self.access.send(given, "", hook())
        assert (first.id, 1) == (again.id, len(peer_store.hooks(first.id)))
        assert 1 == PeerTask.objects.count()
        others = [Given("m1", "Count the books."), Given("m1", "Count the lamps.", "another")]
        assert 3 == len({first.id, *(self.access.send(each, "", None).id for each in others)})
        other = tasks.begin(self.ada_script, self.account2, given, CONFIG)
        assert first.id != other.data.pk
        self.model.answers.extend([reports_of("Seven.")] * 4)
        pump()
        anew = self.access.send(given, "", None)
        assert (True, "working") == (anew.id != first.id, anew.state)
        self.model.answers.append(reports_of("Seven."))
        pump()
        peer_store.remove(first.id)
        with pytest.raises(CallRefusedError, match="kept no more"):
            self.access.send(given, "", None)

    def test_refusals_come_before_a_look_at_the_host(self) -> None:
        """Those who may not send a task must not cause a look-up of a host name."""
        given = Given(str(uuid4()), "Count the lamps.")
        with pytest.raises(CallRefusedError, match="read-only"):
            self.access_of(may_change=False).check(given, "", hook())
        with pytest.raises(CallRefusedError, match="no task"):
            self.access.check(given, "none", hook())
        with pytest.raises(CallRefusedError, match="no task"):
            self.access.check_hook("none", hook())
        self.ada.locks.add("peer:false()")
        with pytest.raises(CallRefusedError, match="does not allow it"):
            self.access.check(given, "", hook())

    def test_a_token_that_ended_ends_what_it_opened(self) -> None:
        """A long stream authenticates again."""
        shown = self.access.send(Given(str(uuid4()), "Count the lamps."), "", None)
        long_open = self.access_of(at=time.monotonic() - SOON)
        assert shown.id == long_open.get(shown.id).id
        token_store.end([self.token.pk])
        with pytest.raises(CallRefusedError, match="worth nothing") as refused:
            long_open.events(shown.id, 0)
        assert refused.value.is_stranger

    def test_opening_a_stream_takes_few_queries(self) -> None:
        """The token, the account, bans, and the task with its last event and artifacts."""
        shown = self.access.send(Given("m", "Hm?"), "", None)
        key, _ = token_store.make(self.account, "another")
        admit(f"Bearer {key}", "10.0.0.1")
        with CaptureQueriesContext(connection) as asked:
            caller = admit(f"Bearer {key}", "10.0.0.1")
            PeerAccess(CONFIG, "ada", caller, self.known).get(shown.id)
        assert 6 == len(asked)

    def test_addresses_are_found_by_three_queries(self) -> None:
        """Their number does not depend on the number of addresses."""
        for number in range(5):
            task = self.access.send(Given(str(uuid4()), "Count."), "", hook(f"h{number}"))
            row = PeerTask.objects.get(pk=task.id)
            peer_store.make(row, {"id": "made:x", "parts": [{"text": "x"}]}, 1.0)
        with CaptureQueriesContext(connection) as asked:
            assert [f"h{number}" for number in range(5)] == due()
        assert 3 == len(asked)
        PeerHook.objects.filter(key="h0").update(next_at=9.0)
        assert ["h1", "h2"] == due(most=2)
        assert ["h1"] == due(most_of_one=1)
        assert ["h2"] == due(
            most_of_one=1, busy=PeerHook.objects.filter(key="h1").values_list("pk", flat=True)
        )
        assert [] == due(full=[self.account.pk])

    def test_a_delivery_that_was_not_tried_is_only_put_off(self) -> None:
        shown = self.access.send(Given("m", "Hm?"), "", hook())
        (row,) = peer_store.hooks(shown.id)
        peer_store.note_failure(row.pk, "down", 9.0)
        peer_store.note_failure(row.pk, "left alone", 12.0, is_try=False)
        (row,) = peer_store.hooks(shown.id)
        assert (1, "left alone", 12.0) == (row.tries, row.problem, row.next_at)

    def test_who_has_many_addresses_leaves_others_theirs(self) -> None:
        given = Given(str(uuid4()), "Count.")
        other = tasks.begin(self.ada_script, self.account2, given, CONFIG).data
        for number in range(4):
            self.access.send(Given(str(uuid4()), "Count."), "", hook(f"h{number}"))
        peer_store.put_hook(PeerHook(task=other.pk, **hook("theirs")), None)
        for task in PeerTask.objects.all():
            peer_store.make(task, {"id": "made:x", "parts": [{"text": "x"}]}, 1.0)
        assert ["h0", "h1", "theirs"] == due(most_of_one=2)

    def test_after_the_end_there_is_nothing_to_tell(self) -> None:
        """An address that is added after the end is never due either."""
        self.model.answers.append(reports_of("Seven."))
        shown = self.access.send(Given(str(uuid4()), "Count."), "", hook())
        pump()
        tasks.follow_all()
        row = peer_store.hooks(shown.id)[0]
        for event in PeerEvent.objects.filter(task=shown.id, pk__gt=row.sent).order_by("pk"):
            assert ["mine"] == due()
            peer_store.note_sent(row.pk, event.pk)
        assert [peer_store.NEVER] == [each.next_at for each in peer_store.hooks(shown.id)]
        self.access.remove_hook(shown.id, "mine")
        self.access.put_hook(shown.id, hook("late"))
        assert [peer_store.NEVER] == [each.next_at for each in peer_store.hooks(shown.id)]

    def test_old_tasks_go_without_a_new_one(self) -> None:
        """Unfinished tasks stay."""
        self.model.answers.append(reports_of("Seven."))
        shown = self.access.send(Given(str(uuid4()), "Count."), "", hook())
        assert 0 == peer_store.prune(time.time() + SOON, 1.0)
        pump()
        tasks.follow_all()
        assert (0, 1) == (
            peer_store.prune(time.time(), SOON),
            peer_store.prune(time.time() + SOON, 1.0),
        )
        assert (False, False) == (
            PeerEvent.objects.filter(task=shown.id).exists(),
            PeerHook.objects.filter(task=shown.id).exists(),
        )

    def test_ids_with_what_no_database_takes_are_no_tasks(self) -> None:
        """PostgreSQL refuses NUL even in a query."""
        with pytest.raises(CallRefusedError, match="no task") as refused:
            self.access.get("a\0b")
        assert ProblemKind.NOT_FOUND is refused.value.problem
        shown = self.access.send(Given(str(uuid4()), "Count."), "", hook())
        self.access.remove_hook(shown.id, "a\0b")
        assert 1 == len(self.access.hooks(shown.id))


def test_a_body_that_says_nothing_of_its_length_is_bounded() -> None:
    """The last chunk may be the one that exceeds the bound."""
    most, sent, served = 1_000, list[Message](), list[Scope]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        served.append(scope)
        await Response()(scope, receive, send)

    async def send(message: Message) -> None:
        sent.append(message)

    async def serve(size: int) -> int:
        async def receive() -> Message:
            return {"type": "http.request", "body": b"a" * size, "more_body": False}

        sent.clear()
        headers = [(b"host", b"localhost"), (b"transfer-encoding", b"chunked")]
        scope = {"type": "http", "method": "GET", "path": "/a2a", "headers": headers}
        config = A2aConfig(body_bytes=most)
        await A2aGuard(app, config)({**scope, "query_string": b""}, receive, send)
        return int(sent[0]["status"])

    assert [200, 413] == [asyncio.run(serve(size)) for size in (most, most + 1)]
    assert 1 == len(served)
