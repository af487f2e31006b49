"""A web server of a test's own that a game tells of tasks; it does as it is told."""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAIT_SECONDS = 30.0


@dataclass
class Receiver:
    """What comes, and what is answered.

    Attributes:
        status: of the next answers; 0: none comes until `release`.
        location: the header of that name, or "".
        heard: what came, with its headers in small letters, the oldest first.
    """

    port: int = 0
    status: int = 204
    location: str = ""
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    _released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/told"

    @property
    def states(self) -> list[str]:
        """The states that it was told of."""
        told = [json.loads(body).get("statusUpdate") for _, body in self.heard]
        return [each["status"]["state"].removeprefix("TASK_STATE_") for each in told if each]

    def wait_for(self, count: int) -> None:
        """Wait until so much has come.

        Raises:
            AssertionError: it has not by then.
        """
        end = time.monotonic() + WAIT_SECONDS
        while len(self.heard) < count:
            assert time.monotonic() < end, f"{len(self.heard)} of {count} came: {self.states}"
            time.sleep(0.05)

    def wait_for_end(self) -> None:
        """Wait until it was told that the task is completed.

        Raises:
            AssertionError: it has not been by then.
        """
        end = time.monotonic() + WAIT_SECONDS
        while "COMPLETED" not in self.states:
            assert time.monotonic() < end, self.states
            time.sleep(0.05)

    def release(self) -> None:
        """Answer whatever hangs."""
        self._released.set()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Take one request."""
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        named = {name.lower(): value for name, value in handler.headers.items()}
        self.heard.append((named, body))
        if not self.status:
            self._released.wait(WAIT_SECONDS)
        handler.send_response(self.status or 204)
        if self.location:
            handler.send_header("Location", self.location)
        handler.send_header("Content-Length", "0")
        handler.end_headers()


def is_signed(heard: tuple[dict[str, str], bytes], token: str) -> bool:
    """True where a request is from whoever was told the token."""
    headers, body = heard
    signed = hmac.new(token.encode(), f"{headers['x-evennia-ai-time']}.".encode() + body, "sha256")
    return headers["x-evennia-ai-signature"] == f"sha256={signed.hexdigest()}"


@contextmanager
def receiving(**given: Any) -> Iterator[Receiver]:
    """A receiver, in threads of its own."""
    made = Receiver(**given)

    class Handler(BaseHTTPRequestHandler):
        """Hands every request on."""

        def do_POST(self) -> None:
            made.answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.release()
        server.shutdown()
        server.server_close()
