"""Handles on a scripted model server: in a process of its own, or in a thread of this one.

A test points a client at `base_url`, says how the next calls are treated, and reads what came:
`queue({"kind": "hang"})`, then `wait_for_calls(1)`, then `release()`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fakes.openai_server import OpenAIServer

ROOT = Path(__file__).resolve().parents[2]
MODEL_NAME = "scripted-model"
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class FakeModel:
    """A running scripted model, seen from a test."""

    def __init__(self, port: int, control_port: int) -> None:
        self.port = port
        self.control_port = control_port
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self.root_url = f"http://127.0.0.1:{port}"
        self._control_url = f"http://127.0.0.1:{control_port}"

    @classmethod
    @contextmanager
    def in_process(cls, *, delay_seconds: float = 0.0) -> Iterator[FakeModel]:
        """A server in a process of its own, ended on leaving the context."""
        command = [sys.executable, "-m", "tests.fakes.openai_server"]
        # When this process is killed the pipe closes, which ends the server too.
        command += ["--delay", str(delay_seconds), "--model", MODEL_NAME, "--until-eof"]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        try:
            assert process.stdout is not None
            ports = json.loads(process.stdout.readline())
            yield cls(ports["port"], ports["control_port"])
        finally:
            process.communicate(timeout=10)

    @classmethod
    @contextmanager
    def in_thread(cls, *, delay_seconds: float = 0.0) -> Iterator[FakeModel]:
        """A server in a thread of this process, which starts faster."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()

        def run(work: Callable[[], Any]) -> Any:
            return asyncio.run_coroutine_threadsafe(work(), loop).result(timeout=10)

        async def make() -> OpenAIServer:
            fake = OpenAIServer(model=MODEL_NAME, delay_seconds=delay_seconds)
            await fake.start()
            return fake

        try:
            server = run(make)
            try:
                yield cls(server.port, server.control_port)
            finally:
                run(server.stop)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=10)
            loop.close()

    # ---- orders to it ------------------------------------------------------------------------

    def behave(self, **behaviour: Any) -> None:
        """Set how every call is treated from now on; see `behaviour.Behaviour` for the fields."""
        self._order({"default": behaviour})

    def queue(self, *behaviours: Mapping[str, Any]) -> None:
        """Set how the next calls are treated, one each, before the default applies again."""
        self._order({"queue": list(behaviours)})

    def release(self) -> None:
        """Let every call that hangs or drips go on."""
        self._order({"release": True})

    def refuse_connections(self) -> None:
        """Close the listening socket: whoever connects is refused."""
        self._order({"listening": False})

    def accept_connections(self) -> None:
        """Listen again, on the same port."""
        self._order({"listening": True})

    def reset(self) -> None:
        """Forget all calls, release those in flight, listen, and answer as at the start."""
        self._order({"reset": True})

    # ---- what it got -------------------------------------------------------------------------

    def read_ledger(self, query: str = "", timeout_seconds: float = 10.0) -> dict[str, Any]:
        """Everything the server recorded: requests, total, in_flight, in_flight_max, tokens."""
        with _OPENER.open(f"{self._control_url}/requests{query}", timeout=timeout_seconds) as reply:
            ledger: dict[str, Any] = json.load(reply)
        return ledger

    def read_calls(self) -> list[dict[str, Any]]:
        """The calls so far, oldest first; the fields are those of `records.Call`."""
        calls: list[dict[str, Any]] = self.read_ledger()["requests"]
        return calls

    def count_calls(self) -> int:
        """The number of calls since the start or the last reset."""
        return int(self.read_ledger()["total"])

    def count_tokens(self) -> int:
        """The tokens to be paid for all calls so far, by the server's own count."""
        return int(self.read_ledger()["tokens"])

    def wait_for_calls(
        self, total: int, *, closed: int = 0, timeout_seconds: float = 10.0
    ) -> list[dict[str, Any]]:
        """Wait until `total` calls have come and `closed` of them are over.

        Raises:
            AssertionError: they had not in that time.
        """
        query = f"?total={total}&closed={closed}&timeout_seconds={timeout_seconds}"
        ledger = self.read_ledger(query, timeout_seconds + 10)
        seen, over = ledger["total"], ledger["total"] - ledger["in_flight"]
        is_enough = seen >= total and over >= closed
        assert is_enough, (
            f"the model got {seen} calls, {over} of them over, in {timeout_seconds} s;"
            f" {total} were expected, {closed} of them over"
        )
        calls: list[dict[str, Any]] = ledger["requests"]
        return calls

    def _order(self, order: Mapping[str, Any]) -> None:
        request = urllib.request.Request(
            f"{self._control_url}/control",
            data=json.dumps(order).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            _OPENER.open(request, timeout=10).close()
        except urllib.error.HTTPError as error:
            raise ValueError(json.load(error)["error"]) from None
