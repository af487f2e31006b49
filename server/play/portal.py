"""Messages to Evennia's portal, as Evennia's launcher sends them: start the server, or end both.

The launcher loads all of Evennia for two short messages, and gives up on a portal that takes more
than ten seconds. These are the same messages in Twisted's AMP format: boxes of keys and values,
each preceded by its length in two bytes, with an empty key at the end.
"""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

START_SERVER = b"\x0f"
STOP_SERVER = b"\x11"
STOP_PORTAL = b"\x10"
COMMAND = b"MsgLauncher2Portal"
STATUS = b"MsgStatus"
CONNECT_SECONDS = 5.0
READ_BYTES = 65_536


class PortalLine:
    """A connection to a portal's AMP port.

    Args:
        port: the game's AMP_PORT, on loopback.

    Attributes:
        has_run_server: whether the portal has said that it ran the server's command line, which
            ends when the server is in the background or has failed.

    Raises:
        OSError: if nobody listens there.
    """

    def __init__(self, port: int) -> None:
        self._line = socket.create_connection(("127.0.0.1", port), timeout=CONNECT_SECONDS)
        self._received = b""
        self._asked = 0
        self.has_run_server = False

    def start_server(self, command: Sequence[str]) -> None:
        """Make the portal run the server's command line, now and at every later reload."""
        self._ask(START_SERVER, list(command))

    def stop_both(self) -> None:
        """Shut down the server, and the portal once the server has gone."""
        self._ask(STOP_SERVER, None)
        self._ask(STOP_PORTAL, None)

    def has_server(self) -> bool:
        """Return whether the portal has said that the server is up; does not wait.

        Raises:
            OSError: if the portal closed the connection.
        """
        self._line.setblocking(False)
        try:
            while chunk := self._line.recv(READ_BYTES):
                self._received += chunk
            raise ConnectionResetError("the portal hung up")
        except BlockingIOError:
            pass
        finally:
            self._line.settimeout(CONNECT_SECONDS)
        boxes, self._received = _unpacked(self._received)
        self.has_run_server |= any(b"_answer" in box or b"_error" in box for box in boxes)
        told = [box for box in boxes if box.get(b"_command") == STATUS]
        for box in told:
            # AMP commands need an answer; without one the portal logs an error.
            self._send({b"_answer": box[b"_ask"], b"status": pickle.dumps(b"")})
        return bool(told)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._line.close()

    def _ask(self, operation: bytes, arguments: object) -> None:
        self._asked += 1
        named = {b"_ask": str(self._asked).encode(), b"_command": COMMAND}
        # Evennia's AMP commands carry pickled arguments.
        self._send({**named, b"operation": operation, b"arguments": pickle.dumps(arguments)})

    def _send(self, box: Mapping[bytes, bytes]) -> None:
        words = [word for pair in box.items() for word in pair]
        self._line.sendall(b"".join(map(_with_length, [*words, b""])))


def _with_length(word: bytes) -> bytes:
    return len(word).to_bytes(2, "big") + word


def _unpacked(received: bytes) -> tuple[list[dict[bytes, bytes]], bytes]:
    """Return the complete boxes, and the rest of an incomplete one."""
    boxes: list[dict[bytes, bytes]] = []
    words: list[bytes] = []
    rest = received
    for word, after in _words(received):
        if word or len(words) % 2:
            words.append(word)
            continue
        boxes.append(dict(zip(words[::2], words[1::2], strict=True)))
        words, rest = [], after
    return boxes, rest


def _words(received: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield each complete word and the bytes after it."""
    while len(received) >= 2:
        length = int.from_bytes(received[:2], "big")
        if len(received) < 2 + length:
            return
        word, received = received[2 : 2 + length], received[2 + length :]
        yield word, received
