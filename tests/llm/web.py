"""A bare HTTP server that sends raw bytes, for what the fake model server cannot do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# 64 KiB of a chunked response; given as an answer, it is sent up to `MOST_CHUNKS` times.
CHUNK = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
MOST_CHUNKS = 1600


def read_request(connection: socket.socket) -> bytes:
    """The head of one request, whose body is read to its announced length."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part:
            return received
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    lengths = [
        line.split(b":")[1]
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length")
    ]
    while lengths and len(body) < int(lengths[0]):
        body += connection.recv(65536)
    return head


def reply(text: str, *, status: str = "200 OK", headers: str = "") -> bytes:
    """A whole response with a JSON body."""
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return (head + headers + "Connection: close\r\n\r\n").encode() + body


class BareServer:
    """Answers each path with the bytes given for it; a path without any gets silence.

    Attributes:
        heads: the heads of the requests received.
        sent: the number of chunks sent of the endless answer.
        ended: set when the connection of the endless answer is closed.
    """

    def __init__(self, answers: dict[str, bytes | None]) -> None:
        self._answers = answers
        self._held: list[socket.socket] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self.heads: list[bytes] = []
        self.sent = 0
        self.ended = threading.Event()

    @classmethod
    @contextmanager
    def running(cls, answers: dict[str, bytes | None]) -> Iterator[BareServer]:
        """A server in a thread; closed on the way out."""
        server = cls(answers)
        thread = threading.Thread(target=server._serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server._socket.shutdown(socket.SHUT_RDWR)
            server._socket.close()
            for held in server._held:
                held.close()
            thread.join(10)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            head = read_request(connection)
            self.heads.append(head)
            path = head.split(b" ")[1].decode() if head else ""
            answer = self._answers.get(path)
            if answer is None:
                self._held.append(connection)
            elif answer == CHUNK:
                self._pour(connection)
            else:
                connection.sendall(answer)
                connection.close()

    def _pour(self, connection: socket.socket) -> None:
        """Send an answer without an announced length, far beyond any limit on replies."""
        try:
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            while self.sent < MOST_CHUNKS:
                connection.sendall(CHUNK)
                self.sent += 1
        except OSError:
            pass
        finally:
            connection.close()
            self.ended.set()
