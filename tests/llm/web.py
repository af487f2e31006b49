"""A bare HTTP server for what the scripted model server has no behaviour for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

CHUNK = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"


def read_request(connection: socket.socket) -> bytes:
    """One request: its head, and its body of the length it announces."""
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
    """A whole response with a body of JSON."""
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return (head + headers + "Connection: close\r\n\r\n").encode() + body


class BareServer:
    """Answers each path with the bytes given for it; a path without any gets silence.

    Attributes:
        heads: the heads of the requests so far.
        sent: how many chunks of an endless answer were taken.
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
        """An answer without an announced length, and without an end."""
        try:
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            while self.sent < 1600:
                connection.sendall(CHUNK)
                self.sent += 1
        except OSError:
            pass
        finally:
            connection.close()
            self.ended.set()
