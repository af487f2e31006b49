"""A web server for the push notifications of tasks, with answers that a test sets."""

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
    """The received notifications, and the answers to the next ones.

    Attributes:
        status: status of the next answers; 0 to answer nothing until `release`.
        location: the header of that name, or "".
        heard: received headers, with names in lower case, and bodies, the oldest first.
    """

    port: int = 0
    status: int = 204
    location: str = ""
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    _released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/told"

    @property
    def states(self) -> list[str]:
        updates = [json.loads(body).get("statusUpdate") for _, body in self.heard]
        return [each["status"]["state"].removeprefix("TASK_STATE_") for each in updates if each]

    def wait_for(self, count: int) -> None:
        """Wait until so many notifications have come.

        Raises:
            AssertionError: they have not come in time.
        """
        end = time.monotonic() + WAIT_SECONDS
        while len(self.heard) < count:
            assert time.monotonic() < end, f"{len(self.heard)} of {count} came: {self.states}"
            time.sleep(0.05)

    def wait_for_end(self) -> None:
        """Wait for the notification that the task is completed.

        Raises:
            AssertionError: it has not come in time.
        """
        end = time.monotonic() + WAIT_SECONDS
        while "COMPLETED" not in self.states:
            assert time.monotonic() < end, self.states
            time.sleep(0.05)

    def release(self) -> None:
        self._released.set()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
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
    headers, body = heard
    signed = hmac.new(token.encode(), f"{headers['x-evennia-ai-time']}.".encode() + body, "sha256")
    return headers["x-evennia-ai-signature"] == f"sha256={signed.hexdigest()}"


@contextmanager
def receiving(**given: Any) -> Iterator[Receiver]:
    receiver = Receiver(**given)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.release()
        server.shutdown()
        server.server_close()
