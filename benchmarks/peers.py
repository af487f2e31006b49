"""Lag of a game's reactor while a hostile peer overloads it.

    python -m benchmarks.peers [--rounds 5]

The game is the product's, with server and portal as separate processes; the peer is this process,
over HTTP. A round is: no requests; a hundred tasks at once, of which four are accepted; two hundred
streams opened at once; the same two hundred left open; requests of ten megabytes. The lag is how
late a timer of five milliseconds is. Each figure is compared with the idle game of the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.a2a_client import Peer, settings_of, token_of
from tests.journeys.clients import Player
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, Game, make_product_folder
from tests.journeys.ports import ClaimedPorts
from tests.journeys.staging import run
from tests.journeys.test_a2a_hostile import MEASURE, MEASURED

TASKS, STREAMS, AT_ONCE, BIG, BIG_BYTES = 100, 200, 20, 20, 10_000_000
QUIET_SECONDS = 3.0
PARTS = ("idle", "tasks", "opening", "open", "big")


class Wire:
    """A peer on plain sockets, which costs this machine little."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self.open: list[asyncio.StreamWriter] = []

    async def ask(self, path: str, body: object, *, stays: bool = False) -> bytes:
        """Send one request; read the head of its answer, and an event if it is a stream."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        data = json.dumps(body).encode() if body is not None else b""
        head = (
            f"POST /a2a/ada{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nA2A-Version: 1.0\r\n"
            f"Authorization: Bearer {self._token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + data)
        if stays:
            self.open.append(writer)
            return await reader.readuntil(b"id: ")
        answer = await reader.read()
        writer.close()
        return answer

    async def big(self) -> bytes:
        """Send ten megabytes without a content length."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = (
            "POST /a2a/ada HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {self._token}\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        writer.write(head.encode())
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            for _ in range(BIG_BYTES // 0x10000):
                writer.write(chunk)
                await writer.drain()
        except OSError:
            pass
        try:
            return await reader.read(65536)
        except OSError:
            return b""
        finally:
            writer.close()

    def close(self) -> None:
        """Close all open streams."""
        for writer in self.open:
            writer.transport.abort()
        self.open.clear()


async def many(count: int, do: Callable[[], Awaitable[bytes]]) -> list[bytes]:
    """Run something that many times, `AT_ONCE` at a time."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one() -> bytes:
        async with free:
            return await do()

    return await asyncio.gather(*(one() for _ in range(count)))


def lag_of(admin: Player, do: Callable[[], object]) -> float:
    """Return the 99th percentile of the reactor's lag meanwhile, in milliseconds."""
    run(admin, MEASURE)
    do()
    return float(run(admin, MEASURED).split()[0])


def play(admin: Player, peer: Peer, model: FakeModel) -> dict[str, float]:
    """Return the lag in each part of one round."""
    model.behave(calls=[{"tool": "report", "arguments": {"message": "Seven."}}], kind="hang")
    parts, config = [{"text": "Count."}], {"returnImmediately": True}
    lags = {"idle": lag_of(admin, lambda: time.sleep(QUIET_SECONDS))}

    def new() -> dict[str, Any]:
        speech = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": parts}
        return {"message": speech, "configuration": config}

    async def give() -> None:
        answers = await many(TASKS, lambda: wire.ask("/message:send", new()))
        assert sum(b"TASK_STATE_WORKING" in each for each in answers) <= 4

    async def heap() -> None:
        refused = await many(BIG, wire.big)
        assert all(b" 413 " in each for each in refused if each)

    wire = Wire(peer.port, peer.token)
    lags["tasks"] = lag_of(admin, lambda: asyncio.run(give()))
    task = peer.tasks(page_size=1)[0].id
    lags["big"] = lag_of(admin, lambda: asyncio.run(heap()))
    lags["opening"] = lag_while_opening(admin, wire, task, lags)
    for each in peer.tasks():
        if each.status.state == 2:
            peer.cancel(each.id)
    model.release()
    return lags


def lag_while_opening(admin: Player, wire: Wire, task: str, found: dict[str, float]) -> float:
    """Open all streams, then leave them open; stores the lag of the second part in `found`."""
    path = f"/tasks/{task}:subscribe"

    async def main() -> float:
        await asyncio.to_thread(run, admin, MEASURE)
        began = time.perf_counter()
        await many(STREAMS, lambda: wire.ask(path, None, stays=True))
        found["seconds"] = time.perf_counter() - began
        answer = await asyncio.to_thread(run, admin, MEASURED)
        quiet = lambda: time.sleep(QUIET_SECONDS)  # noqa: E731
        found["open"] = await asyncio.to_thread(lag_of, admin, quiet)
        wire.close()
        return float(answer.split()[0])

    return asyncio.run(main())


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    claimed = ClaimedPorts(1)
    (port,) = claimed.numbers
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeModel.in_process() as model,
        Game.make(Path(folder) / "game", make_product_folder) as game,
    ):
        game.build_product()
        game.ask_model_at(model.base_url, MODEL_NAME)
        game.settings |= settings_of(port, streams_per_peer=STREAMS)
        game.start()
        peer = Peer(port, token_of(game, ADMIN_NAME, ADMIN_PASSWORD))
        peer.wait()
        with game.log_in_admin() as admin:
            play(admin, peer, model)  # warm-up: imports and caches
            runs = [play(admin, peer, model) for _ in range(rounds)]
    for part in (*PARTS, "seconds"):
        values = [each[part] for each in runs]
        ratio = statistics.median(each[part] / each["idle"] for each in runs)
        line = f"{part:8} median {statistics.median(values):7.1f}  best {min(values):7.1f}"
        print(f"{line}  to idle {ratio:5.2f}  {' '.join(f'{value:.1f}' for value in values)}")


if __name__ == "__main__":
    main()
