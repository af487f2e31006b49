"""The stream of changes to pages, over real sockets."""

import socket

from django.conf import settings
from django.test.utils import override_settings
from twisted.internet import reactor
from twisted.internet.task import Clock
from twisted.web.resource import Resource
from twisted.web.server import Site

from evennia_ai import audit
from evennia_ai.runtime.watching import FEED, Feed
from evennia_ai.web import service, stream
from evennia_ai.web.service import StreamResource, start_plugin_services
from evennia_ai.web.stream import (
    HEARTBEAT_SECONDS,
    LIFETIME_SECONDS,
    LONG_PAUSE_SECONDS,
    MOST_OF_AN_ACCOUNT,
    Streams,
)
from tests.game.support import PASSWORD, whispers
from tests.web.support import WebTest

TURNS = 30
# Read at import, before Evennia's test classes replace it with a list of their own.
SERVICES = list(settings.SERVER_SERVICES_PLUGIN_MODULES)


class Listener:
    """A browser's end of a stream.

    Attributes:
        text: the data received so far.
    """

    def __init__(self, port: int, query: str, headers: dict[str, str]) -> None:
        self.text = ""
        self.is_closed = False
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setblocking(False)
        lines = [f"GET /ai-stream?{query} HTTP/1.1", "Host: here"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.read()

    def read(self) -> str:
        for _ in range(TURNS):
            reactor.iterate(0)
            try:
                got = self._socket.recv(65536)
            except BlockingIOError:
                continue
            except ConnectionError:
                got = b""
            self.is_closed |= not got
            self.text += got.decode()
        return self.text

    def take(self) -> str:
        self.read()
        taken, self.text = self.text, ""
        return taken

    def close(self) -> None:
        self._socket.close()
        for _ in range(TURNS):
            reactor.iterate(0)


class StreamTest(WebTest):
    """A web server with the stream on a free port, and its own clock and feed."""

    def setUp(self) -> None:
        super().setUp()
        self.time, self.feed = Clock(), Feed(most=5)
        self.streams = Streams(self.time, self.feed)
        root = Resource()
        root.putChild(b"ai-stream", StreamResource(self.streams))
        port = reactor.listenTCP(0, Site(root), interface="127.0.0.1")
        self.port = port.getHost().port
        self.opened: list[Listener] = []
        self.addCleanup(port.stopListening)

    def tearDown(self) -> None:
        for listener in self.opened:
            listener.close()
        super().tearDown()

    def listen(self, who: str = "owner", query: str = "", **headers: str) -> Listener:
        if who != "anonymous":
            cookie = self.client_of(who).cookies[settings.SESSION_COOKIE_NAME].value
            headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}", **headers}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        listener = Listener(self.port, query or f"after={self.feed.mark}", names)
        self.opened.append(listener)
        return listener

    def test_what_is_new_is_told_at_once(self) -> None:
        listener = self.listen()
        head = listener.take().casefold()
        assert "200 ok" in head
        assert "content-type: text/event-stream" in head
        assert "cache-control: no-store" in head
        assert "retry: 500" in head
        self.feed.tell("Ada")
        assert f'id: {self.feed.epoch}-1\nevent: change\ndata: ["Ada"]\n\n' in listener.take()

    def test_many_changes_become_one(self) -> None:
        """At most one event per pause, and always one for the last change."""
        listener = self.listen()
        listener.take()
        for _ in range(4):
            self.feed.tell("Ada")
        assert 1 == listener.take().count("event: change")
        self.time.advance(LONG_PAUSE_SECONDS)
        text = listener.take()
        assert 1 == text.count("event: change")
        assert f"{self.feed.epoch}-4" in text
        self.time.advance(LONG_PAUSE_SECONDS)
        assert "event:" not in listener.take()

    def test_a_page_of_one_hears_of_that_one(self) -> None:
        listener = self.listen(query=f"assistant=Ada&after={self.feed.mark}")
        listener.take()
        self.feed.tell("Bert")
        assert "event:" not in listener.take()
        self.feed.tell("Ada")
        assert "event: change" in listener.take()

    def test_whoever_comes_back_misses_nothing(self) -> None:
        """After `Last-Event-ID` come the later changes, or a reset if they are no longer known."""
        self.feed.tell("Ada")
        mark = self.feed.mark
        assert "event:" not in self.listen(Last_Event_ID=mark).take()
        self.feed.tell("Ada")
        assert "event: change" in self.listen(Last_Event_ID=mark).take()
        for number in range(5):
            self.feed.tell(f"a{number}")
        assert "event: reset" in self.listen(Last_Event_ID=mark).take()

    def test_a_mark_that_is_none_is_a_reset(self) -> None:
        """Marks of an earlier process, of the future, or malformed ones."""
        for mark in ("other-1", f"{self.feed.epoch}-9", f"{self.feed.epoch}-²", "x", "9" * 5000):
            assert "event: reset" in self.listen(Last_Event_ID=mark).take()

    def test_it_ends_by_itself(self) -> None:
        """A page may be left without any notice, so no stream outlives its time."""
        listener = self.listen()
        for _ in range(3):
            self.time.advance(HEARTBEAT_SECONDS)
        assert f"id: {self.feed.mark}\n\n" in listener.take()
        assert 1 == len(self.streams)
        self.time.advance(LIFETIME_SECONDS)
        assert (0, set()) == (len(self.streams), self.feed.watchers)
        assert listener.take().endswith("0\r\n\r\n")
        assert [] == self.time.getDelayedCalls()

    def test_the_last_change_is_told_before_it_ends(self) -> None:
        """A change within the pause is sent before the stream closes."""
        listener = self.listen()
        self.feed.tell("Ada")
        self.feed.tell("Ada")
        self.time.advance(0.1)
        next(iter(self.streams._by_account.values()))[0].close()
        assert "event: change" in listener.take()

    def test_one_that_is_left_is_forgotten(self) -> None:
        self.listen().close()
        self.opened.clear()
        assert (0, set()) == (len(self.streams), self.feed.watchers)
        assert [] == self.time.getDelayedCalls()

    def test_an_account_has_only_so_many(self) -> None:
        """The oldest may belong to a page that was left, so it ends, to reconnect late."""
        first = self.listen()
        for _ in range(MOST_OF_AN_ACCOUNT):
            self.listen()
        assert "retry: 15000" in first.take()
        assert MOST_OF_AN_ACCOUNT == len(self.streams)
        self.listen("builder")
        assert MOST_OF_AN_ACCOUNT + 1 == len(self.streams)

    def test_one_that_does_not_read_is_cut_off(self) -> None:
        listener = self.listen()
        listener.take()
        (held,) = next(iter(self.streams._by_account.values()))
        held.pauseProducing()
        for _ in range(3):
            self.feed.tell("Ada")
            self.time.advance(LONG_PAUSE_SECONDS)
        assert "" == listener.take()
        held.resumeProducing()
        assert 1 == listener.take().count("event: change")
        held.pauseProducing()
        self.time.advance(HEARTBEAT_SECONDS)
        listener.read()
        assert listener.is_closed
        assert 0 == len(self.streams)

    def test_who_may_hear(self) -> None:
        for who, query, status in (
            ("anonymous", "", "401"),
            ("player", "", "403"),
            ("guest", "", "403"),
            ("player", "assistant=Ada", "403"),
            ("player", "assistant=Nobody", "403"),
            ("builder", "assistant=Ada", "200"),
            ("builder", "", "200"),
            ("owner", "assistant=Nobody", "404"),
            ("owner", "assistant=%00%ff", "404"),
        ):
            with self.subTest(who=who, query=query):
                assert f"HTTP/1.1 {status} " in self.listen(who, query).take()
        self.opened.append(Listener(self.port, "", {"Cookie": "sessionid=x"}))
        assert "401" in self.opened[-1].take()

    def test_another_password_ends_a_login(self) -> None:
        """The stale session is only read, with one query."""
        self.client_of("owner")
        self.people["owner"].set_password(f"{PASSWORD}-new")
        self.people["owner"].save()
        with self.assertNumQueries(1):
            refused = self.listen()
        assert "401" in refused.take()

    def test_a_right_that_was_taken_counts_at_the_next_connect(self) -> None:
        assert "200" in self.listen("builder").take()
        self.people["builder"].is_active = False
        self.people["builder"].save()
        assert "HTTP/1.1 4" in self.listen("builder").take()

    def test_what_breaks_is_told_and_logged(self) -> None:
        broken = service.acts.account_of
        service.acts.account_of = None  # type: ignore[assignment]
        self.addCleanup(setattr, service.acts, "account_of", broken)
        assert "HTTP/1.1 500" in self.listen().take()

    def test_a_turn_is_heard(self) -> None:
        self.streams.feed = FEED
        listener = self.listen(query=f"assistant=Ada&after={FEED.mark}")
        listener.take()
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.time.advance(1)
        assert "event: change" in listener.take()
        audit.LISTENERS.append(service.tell_pages)
        self.addCleanup(audit.LISTENERS.remove, service.tell_pages)
        self.post("stop", {"reason": "enough"}, key="Ada")
        self.time.advance(1)
        assert "event: change" in listener.take()


class ServiceTest(WebTest):
    def test_beside_the_web_site(self) -> None:
        """Its path is derived from the pages' own. Without a website there is none."""

        class Server:
            web_root = Resource()

        self.addCleanup(audit.LISTENERS.remove, service.tell_pages)
        start_plugin_services(Server)
        start_plugin_services(Server)
        assert [b"ai-stream"] == list(Server.web_root.children)
        assert 1 == audit.LISTENERS.count(service.tell_pages)
        start_plugin_services(object())
        with override_settings(EVENNIA_AI_WEB_CONFIG={"path": "staff/ai"}):
            assert "staff-ai-stream" == stream.child_name()
            address = stream.address_of_stream("Ada & Bob")
        assert address.startswith("/staff-ai-stream?assistant=Ada+%26+Bob&after=")

    def test_the_server_is_told_of_it(self) -> None:
        """The plugin is added without a line in the game's settings."""
        assert 1 == SERVICES.count("evennia_ai.web.service")
