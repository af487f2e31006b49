"""Players: a telnet client and a webclient, both of which read with deadlines.

Both clients only read while a test waits for something; text that arrives in between stays in the
socket. `expect` searches the text after the last match, so every line is matched at most once.
"""

import asyncio
import html
import json
import re
import select
import socket
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable
from time import monotonic
from typing import Self

import aiohttp

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
IAC, DONT, DO, WONT, WILL, SB, SE = 255, 254, 253, 252, 251, 250, 240
REFUSALS = {WILL: DONT, DO: WONT}
WAIT_SECONDS = 30.0
PASSWORD = "lanterns-are-bright"


class Player(ABC):
    """The common part of both clients: a transcript, and waiting for text in it."""

    def __init__(self) -> None:
        self.transcript = ""
        self._read_up_to = 0

    @abstractmethod
    def send(self, line: str) -> None:
        """Type a line."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect without a word, as a closed window does."""

    @abstractmethod
    def _receive(self, timeout_seconds: float) -> str:
        """Return text that came in time, or an empty string.

        Raises:
            ConnectionError: the server has closed the connection.
        """

    def expect(self, pattern: str, timeout_seconds: float = WAIT_SECONDS) -> re.Match[str]:
        """Wait until `pattern` is seen after the last match, and return the match.

        Raises:
            AssertionError: it was not seen in time; the message ends with the recent text.
        """
        regex = re.compile(pattern)
        end = monotonic() + timeout_seconds
        while True:
            match = regex.search(self.transcript, self._read_up_to)
            if match:
                self._read_up_to = match.end()
                return match
            remaining = end - monotonic()
            if remaining <= 0:
                raise AssertionError(self._describe(f"{pattern!r} within {timeout_seconds:g} s"))
            try:
                self.transcript += self._receive(remaining)
            except ConnectionError as error:
                raise AssertionError(self._describe(f"{pattern!r}, but {error}")) from error

    def ask(self, line: str, pattern: str, timeout_seconds: float = WAIT_SECONDS) -> re.Match[str]:
        self.send(line)
        return self.expect(pattern, timeout_seconds)

    def watch(self, seconds: float) -> str:
        """Read on for a while and return only the new text."""
        start, end = len(self.transcript), monotonic() + seconds
        while (remaining := end - monotonic()) > 0:
            self.transcript += self._receive(remaining)
        return self.transcript[start:]

    def count(self, text: str) -> int:
        return self.transcript.count(text)

    def create_account(self, name: str, password: str = PASSWORD) -> None:
        """Create an account as a newcomer does at the login screen."""
        created = r"new account '?\w+'? was created"
        answer = self.ask(f"create {name} {password}", rf"Is this what you intended|{created}")
        if "intended" in answer[0]:
            self.ask("y", created)

    def log_in(self, name: str, password: str = PASSWORD) -> None:
        self.ask(f"connect {name} {password}", r"You become .*", timeout_seconds=30)

    def come_back(self) -> None:
        """Become the character again after a crash of the server."""
        self.ask("ic", r"You become|already puppeting")

    def _describe(self, wanted: str) -> str:
        recent = self.transcript[max(self._read_up_to - 200, 0) :][-4000:]
        return f"expected to see {wanted}; this was seen:\n{recent}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


# Brings a player into the game: `enter("Tom")` by telnet, `enter("Mira", by="websocket")`.
Enter = Callable[..., Player]


class TelnetClient(Player):
    """A plain telnet client that declines every option it is offered.

    Attributes:
        received: all received bytes, options and colours too.
    """

    def __init__(self, port: int, timeout_seconds: float = WAIT_SECONDS) -> None:
        super().__init__()
        self.received = b""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout_seconds)
        self._undecoded = b""

    def send(self, line: str) -> None:
        """Send a line as a telnet client does, ended by CR LF."""
        self._socket.sendall(line.encode().replace(b"\xff", b"\xff\xff") + b"\r\n")

    def close(self) -> None:
        self._socket.close()

    def _receive(self, timeout_seconds: float) -> str:
        readable, _, _ = select.select([self._socket], [], [], timeout_seconds)
        if not readable:
            return ""
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("the server closed the telnet connection")
        self.received += received
        text, replies, self._undecoded = decode_telnet(self._undecoded + received)
        if replies:
            self._socket.sendall(replies)
        return ANSI.sub("", text.decode("utf-8", "replace")).replace("\r", "")


def decode_telnet(stream: bytes) -> tuple[bytes, bytes, bytes]:
    """Split a telnet stream into its text, the refusals to send back, and an incomplete rest."""
    text, replies = bytearray(), bytearray()
    at = 0
    while at < len(stream):
        if stream[at] != IAC:
            text.append(stream[at])
            at += 1
            continue
        length = _measure_command(stream, at)
        if not length:
            return bytes(text), bytes(replies), stream[at:]
        if stream[at + 1] == IAC:
            text.append(IAC)
        elif stream[at + 1] in REFUSALS:
            replies += bytes((IAC, REFUSALS[stream[at + 1]], stream[at + 2]))
        at += length
    return bytes(text), bytes(replies), b""


def _measure_command(stream: bytes, at: int) -> int:
    """Length in bytes of the telnet command at `at`; 0 while it is incomplete."""
    if at + 1 >= len(stream):
        return 0
    if stream[at + 1] == SB:
        end = stream.find(bytes((IAC, SE)), at + 2)
        return end + 2 - at if end >= 0 else 0
    length = 3 if stream[at + 1] in (WILL, WONT, DO, DONT) else 2
    return length if at + length <= len(stream) else 0


class WebsocketClient(Player):
    """The webclient: JSON arrays over a websocket, in the session of a web page it opened.

    Attributes:
        frames: every message as it came, `[name, args, kwargs]`; args of `text` are HTML.
    """

    def __init__(self, port: int, web_port: int, timeout_seconds: float = WAIT_SECONDS) -> None:
        super().__init__()
        self.frames: list[list[object]] = []
        self._timeout_seconds = timeout_seconds
        self._loop = asyncio.new_event_loop()
        self._arrived = asyncio.Event()
        self._unread = ""
        self._is_closed = False
        session_id = read_session_id(web_port, timeout_seconds)
        url = f"ws://127.0.0.1:{port}/?{session_id}&1&tests"
        self._loop.run_until_complete(self._open(url))
        self._reader = self._loop.create_task(self._read())

    async def _open(self, url: str) -> None:
        self._http = aiohttp.ClientSession()
        self._socket = await asyncio.wait_for(
            self._http.ws_connect(url, protocols=("v1.evennia.com",)), self._timeout_seconds
        )

    async def _read(self) -> None:
        async for message in self._socket:
            if message.type == aiohttp.WSMsgType.TEXT:
                frame = json.loads(message.data)
                self.frames.append(frame)
                if frame[0] in ("text", "prompt") and frame[1]:
                    self._unread += read_html(str(frame[1][0])) + "\n"
                    self._arrived.set()
        self._is_closed = True
        self._arrived.set()

    def send(self, line: str) -> None:
        self._loop.run_until_complete(self._socket.send_str(json.dumps(["text", [line], {}])))

    def _receive(self, timeout_seconds: float) -> str:
        try:
            self._loop.run_until_complete(asyncio.wait_for(self._arrived.wait(), timeout_seconds))
        except TimeoutError:
            return ""
        text, self._unread = self._unread, ""
        if self._is_closed and not text:
            raise ConnectionError("the server closed the websocket")
        if not self._is_closed:
            self._arrived.clear()
        return text

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.run_until_complete(self._shut())
            self._loop.close()

    async def _shut(self) -> None:
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        await self._socket.close()
        await self._http.close()


def read_session_id(web_port: int, timeout_seconds: float) -> str:
    """The browser session id, read from the webclient's page."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    url = f"http://127.0.0.1:{web_port}/webclient/"
    with opener.open(url, timeout=timeout_seconds) as page:
        match = re.search(r"csessid\s*=\s*[\"'](\w*)[\"']", page.read().decode())
    assert match, f"{url} names no csessid"
    return match[1]


def read_html(markup: str) -> str:
    """The text that a person reads of the webclient's HTML."""
    text = re.sub(r"<br\s*/?>", "\n", markup)
    return html.unescape(re.sub(r"<[^>]*>", "", text)).replace("\xa0", " ")
