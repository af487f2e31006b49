"""Orders to a game's portal, as Evennia's launcher gives them.

The launcher imports all of Evennia and of the game for each order, which takes longer than the
order itself. Journeys that are about the launcher call it: to start, to install and to remove.
"""

import pickle
import socket
from collections.abc import Sequence
from typing import Self

from twisted.protocols.amp import ASK, COMMAND, AmpBox, parseString

# Names and values as in `evennia.server.portal.amp`.
SERVER_RELOAD, SERVER_START, PORTAL_SHUTDOWN, SERVER_SHUTDOWN = b"\x0e", b"\x0f", b"\x10", b"\x11"
ORDER, STATUS = b"MsgLauncher2Portal", b"MsgStatus"
END_OF_BOX = b"\0\0"


class OrderLine:
    """A connection to a portal, which reports on it that its server has come or gone."""

    def __init__(self, port: int, timeout_seconds: float) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout_seconds)
        self._orders = 0

    def give(self, order: bytes, command: Sequence[str] = ()) -> None:
        """Give an order.

        Args:
            command: for `SERVER_START`, the command that the portal runs.
        """
        self._orders += 1
        box = {
            ASK: b"%d" % self._orders,
            COMMAND: ORDER,
            b"operation": order,
            b"arguments": pickle.dumps(list(command)),
        }
        self._socket.sendall(AmpBox(box).serialize())

    def wait_for_status(self) -> None:
        """Wait until the portal reports that its server has come or gone.

        Raises:
            AssertionError: it hung up instead.
            TimeoutError: it reports nothing.
        """
        received = b""
        while True:
            chunk = self._socket.recv(65536)
            assert chunk, f"the portal hung up; it said {received!r}"
            received += chunk
            whole = received.endswith(END_OF_BOX)
            if whole and any(box.get(COMMAND) == STATUS for box in parseString(received)):
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()
