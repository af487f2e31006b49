"""Runs A2A's compatibility kit against a game: `make a2a-tck A2A_TCK=<its folder>`.

The kit is not part of this project and is not downloaded. It sends no token, and it names a
scenario in the id of a message, which no model sees. So a proxy in front of the game adds the
token, and replaces the words by the id, for this module's own model. The game itself is unchanged.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from aiohttp import ClientPayloadError, ClientSession, ClientTimeout, web

from tests.fakes.answers import compose_completion, read_text
from tests.fakes.behaviour import Behaviour
from tests.fakes.handle import MODEL_NAME
from tests.journeys.a2a_client import Peer, settings_of, token_of
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, Game, make_product_folder
from tests.journeys.ports import ClaimedPorts

FOLDER, PYTHON = "A2A_TCK", "A2A_TCK_PYTHON"
ABSENT = (
    f"{FOLDER} names no folder of the kit. Get https://github.com/a2aproject/a2a-tck, branch "
    f"1.0-dev, and type: make a2a-tck {FOLDER}=<its folder> {PYTHON}=<a Python with what it needs>"
)
SCENARIO = re.compile(r"tck-[\w-]+|test-resubscribe-[\w-]+")
ASKING, SLOW = ("tck-input-required", "tck-infer-ctx"), "test-resubscribe"
STEPS = 5  # the default limit, after which an assistant asks
TEXTS = {"tck-artifact-text": "Generated text content"}
FILE = {"name": "output.txt", "media_type": "text/plain"}
# Attachments that come before the report.
ATTACHED: dict[str, dict[str, Any]] = {
    "tck-artifact-file": {"tool": "attach_file", "arguments": {**FILE, "content": "tck"}},
    "tck-stream-artifact-file": {"tool": "attach_file", "arguments": {**FILE, "content": "tck"}},
    "tck-artifact-file-url": {
        "tool": "attach_file",
        "arguments": {**FILE, "url": "https://example.com/output.txt"},
    },
    "tck-artifact-data": {
        "tool": "attach_data",
        "arguments": {"name": "data", "data": {"key": "value", "count": 42}},
    },
}
TALK = {"tck-message-response": "Direct message response"}
# Known failures and their reasons: both are bugs of the kit.
EXPLAINED = {
    "test_response_content_type": "the protocol itself says application/a2a+json (11.1)",
    "CORE-SEND-003": "the kit's own words want an error for that file, and its test wants none",
}
FAILED = re.compile(r"^FAILED (\S+::\S+)", re.MULTILINE)
SLOW_SECONDS = 6.0
KEPT = ("content-type", "accept", "a2a-version", "a2a-extensions", "last-event-id")
OWN = ("content-length", "transfer-encoding", "connection", "date", "server")


class Model:
    """A model that acts out the scenario named by the id of a message."""

    def __init__(self) -> None:
        self._count = 0

    async def complete(self, request: web.Request) -> web.Response:
        """Answer one call."""
        body = await request.json()
        self._count += 1
        texts = [read_text(each) for each in body["messages"] if each.get("role") == "user"]
        matches = SCENARIO.findall(texts[-1]) if texts else []
        scenario = matches[-1] if matches else ""
        if scenario.startswith(SLOW):
            await asyncio.sleep(SLOW_SECONDS)
        name = re.sub(r"-[0-9a-f]+$", "", scenario)
        arguments = {"message": TEXTS.get(name, "Hello from TCK")}
        call: dict[str, Any] = {"tool": "report", "arguments": arguments}
        steps = count_steps(body["messages"])
        if name in ATTACHED and not steps:
            call = ATTACHED[name]
        if scenario.startswith(ASKING) and steps < STEPS:
            call = {"tool": "write_note", "arguments": {"text": f"step {self._count}"}}
        behaviour = Behaviour(calls=(call,))
        if name in TALK:
            behaviour = Behaviour(content=TALK[name], style="plain")
        return web.json_response(compose_completion(body, behaviour, self._count))


def count_steps(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of tool calls since the last text."""
    since = takewhile(lambda each: each.get("role") != "user", reversed(messages))
    return sum(each.get("role") == "tool" for each in since)


class Proxy:
    """The proxy in front of the game."""

    def __init__(self, game_port: int) -> None:
        self._address = f"http://127.0.0.1:{game_port}"
        self.token = ""

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Forward one request, and stream its answer back."""
        path = request.raw_path
        if path.startswith("/.well-known/"):
            path = f"/a2a/ada{path}"
        body = with_scenario(await request.read())
        sent = {name: request.headers[name] for name in KEPT if name in request.headers}
        sent["Authorization"] = f"Bearer {self.token}"
        async with (
            ClientSession(timeout=ClientTimeout(total=120), auto_decompress=False) as session,
            session.request(
                request.method, self._address + path, data=body or None, headers=sent
            ) as reply,
        ):
            named = {name: v for name, v in reply.headers.items() if name.lower() not in OWN}
            answer = web.StreamResponse(status=reply.status, headers=named)
            await answer.prepare(request)
            with suppress(ClientPayloadError):  # if the game ends the stream, so does the proxy
                async for piece in reply.content.iter_any():
                    await answer.write(piece)
            await answer.write_eof()
            return answer


def with_scenario(body: bytes) -> bytes:
    """Return a request whose message has its id as words, if the id names a scenario."""
    try:
        data = json.loads(body)
    except ValueError:
        return body
    holder = data.get("params", data) if isinstance(data, dict) else None
    message = holder.get("message") if isinstance(holder, dict) else None
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        return body
    if SCENARIO.fullmatch(str(message.get("messageId"))):
        for part in message["parts"]:
            if isinstance(part, dict) and part.get("text"):
                # The answer to a question is always yes, so that the task goes on.
                part["text"] = "yes" if message.get("taskId") else message["messageId"]
    return json.dumps(data).encode()


class Loop:
    """An event loop in its own thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)


async def listen(handler: Any, port: int) -> None:
    """Serve all requests on a port."""
    app = web.Application(client_max_size=32 * 2**20)
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()


def main() -> int:
    """Run the kit.

    Returns:
        Its exit code; 2 if the folder is missing.
    """
    kit = Path(os.environ.get(FOLDER) or "/nowhere")
    if not (kit / "run_tck.py").is_file():
        print(ABSENT, file=sys.stderr)
        return 2
    python = os.environ.get(PYTHON) or str(kit / ".venv/bin/python")
    claimed, loop = ClaimedPorts(3), Loop()
    a2a, proxy_port, model_port = claimed.numbers
    proxy, address = Proxy(a2a), f"http://127.0.0.1:{proxy_port}"
    loop.do(listen(Model().complete, model_port))
    loop.do(listen(proxy.serve, proxy_port))
    with (
        tempfile.TemporaryDirectory() as folder,
        Game.make(Path(folder) / "game", make_product_folder) as game,
    ):
        game.build_product()
        game.ask_model_at(f"http://127.0.0.1:{model_port}/v1", MODEL_NAME)
        game.settings |= settings_of(
            a2a, address=address, tasks_per_peer=0, tasks_at_once=0, hook_networks=["127.0.0.1"]
        )
        game.start()
        proxy.token = token_of(game, ADMIN_NAME, ADMIN_PASSWORD)
        Peer(a2a, proxy.token).wait()
        command = [python, "run_tck.py", "--sut-host", address, *sys.argv[1:]]
        done = subprocess.run(command, cwd=kit, check=False, capture_output=True, text=True)
    print(done.stdout + done.stderr)
    return judge(done.stdout)


def judge(output: str) -> int:
    """Print which failures are explained.

    Returns:
        0 if all are, and something passed.
    """
    failed = sorted(set(FAILED.findall(output)))
    unexplained = 0
    for name in failed:
        why = next((why for part, why in EXPLAINED.items() if part in name), "")
        unexplained += not why
        print(f"{name}: {why or 'NOT EXPLAINED'}")
    print(f"{len(failed)} failed, {unexplained} of them unexplained")
    return int(bool(unexplained) or " passed" not in output)


if __name__ == "__main__":
    sys.exit(main())
