"""A scripted server that speaks the OpenAI chat completions protocol, and can misbehave.

    python -m tests.fakes.openai_server --port 0 [--delay 1.0] [--model NAME]

prints one line of JSON, {"port": ..., "control_port": ...}, and serves until a signal ends it, or
with --until-eof the end of its standard input. The model's own port has POST /v1/chat/completions,
GET /v1/models and POST /api/v1/generate (the older text-generation-webui shape). The control port
has, besides these:

    POST /control   {"default": {behaviour}, "queue": [{behaviour}, ...], "release": true,
                     "listening": false, "reset": true}; every key may be left out
    GET /requests   ?total=N&closed=N&timeout_seconds=S waits until so many calls came or ended

The ports differ so that the model's can refuse connections while the control goes on. A behaviour's
fields are those of `behaviour.Behaviour`. `FakeModel` in `handle` is the client of all this.
"""

import argparse
import asyncio
import json
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aiohttp import web

from tests.fakes.answers import compose_completion, count_tokens, refusal_of
from tests.fakes.behaviour import Behaviour, Script, read_behaviour
from tests.fakes.records import Call, Ledger

BACKLOG = 4096
PAGE = "<!doctype html><html><body><h1>502 Bad Gateway</h1><p>nginx</p></body></html>"
ERROR_TYPES = {401: "invalid_request_error", 404: "invalid_request_error", 429: "rate_limit_error"}


class OpenAIServer:
    """The server's state and its request handlers, in one event loop."""

    def __init__(self, *, model: str = "scripted-model", delay_seconds: float = 0.0) -> None:
        self._model = model
        self._usual = Behaviour(delay_seconds=delay_seconds)
        self._script = Script(default=self._usual)
        self._ledger = Ledger(keep=10_000)
        self._released = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._site: web.BaseSite | None = None
        self._held: socket.socket | None = None
        self.port = 0
        self.control_port = 0

    async def start(self, port: int = 0) -> None:
        """Listen on loopback, the model on `port` or a free one, the control on another."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_post("/api/v1/generate", self._generate)
        app.router.add_post("/control", self._control)
        app.router.add_get("/requests", self._show_requests)
        # Without cancellation a handler never learns that its client has gone.
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0
        )
        await self._runner.setup()
        # A bound socket that never listens keeps the port ours while connections are refused.
        self._held = _bind(port)
        self.port = self._held.getsockname()[1]
        await self._listen()
        control = _bind(0)
        self.control_port = control.getsockname()[1]
        await web.SockSite(self._runner, control, backlog=BACKLOG).start()

    async def stop(self) -> None:
        """Release what hangs, close everything, and give the ports back."""
        self._release()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._held is not None:
            self._held.close()

    async def _listen(self) -> None:
        if self._site is None and self._runner is not None:
            self._site = web.SockSite(self._runner, _bind(self.port), backlog=BACKLOG)
            await self._site.start()

    async def _refuse(self) -> None:
        if self._site is not None and self._runner is not None:
            await self._site.stop()
            self._site = None
            # A client's pooled connections would otherwise still be served.
            for connection in self._runner.server.connections if self._runner.server else ():
                transport = connection.transport
                if transport and transport.get_extra_info("sockname")[1] == self.port:
                    transport.abort()

    def _release(self) -> None:
        released, self._released = self._released, asyncio.Event()
        released.set()

    # ---- control ---------------------------------------------------------------------------

    async def _control(self, request: web.Request) -> web.Response:
        try:
            await self._obey(await request.json())
        except (ValueError, TypeError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"ok": True})

    async def _obey(self, order: Mapping[str, Any]) -> None:
        unknown = sorted(set(order) - {"default", "queue", "release", "listening", "reset"})
        if unknown:
            raise ValueError(f"the control knows no {unknown[0]!r}")
        if order.get("reset"):
            self._script = Script(default=self._usual)
            self._ledger.clear()
        if "default" in order:
            self._script.default = read_behaviour(order["default"])
        self._script.queue.extend(read_behaviour(raw) for raw in order.get("queue", ()))
        if order.get("release") or order.get("reset"):
            self._release()
        if order.get("listening") or order.get("reset"):
            await self._listen()
        elif "listening" in order:
            await self._refuse()

    async def _show_requests(self, request: web.Request) -> web.Response:
        await self._ledger.wait_until(
            total=int(request.query.get("total", 0)),
            closed=int(request.query.get("closed", 0)),
            timeout_seconds=float(request.query.get("timeout_seconds", 0)),
        )
        return web.json_response(self._ledger.describe())

    # ---- the model -------------------------------------------------------------------------

    async def _list_models(self, request: web.Request) -> web.Response:
        model = {
            "id": self._model,
            "object": "model",
            "created": 1_700_000_000,
            "owned_by": "tests",
        }
        return web.json_response({"object": "list", "data": [model]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, lambda body, how, n: compose_completion(body, how, n))

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        def compose(body: Mapping[str, Any], how: Behaviour, index: int) -> dict[str, Any]:
            return {"results": [{"text": how.content or f"I heard you ({index})."}]}

        return await self._answer(request, compose)

    async def _answer(self, request: web.Request, compose: Any) -> web.StreamResponse:
        behaviour = self._script.take_next()
        body = await request.json()
        call = self._ledger.open_call(
            request.path,
            body,
            has_authorization="Authorization" in request.headers,
            behaviour=behaviour.kind,
        )
        is_answered = False
        try:
            if behaviour.delay_seconds:
                await asyncio.sleep(behaviour.delay_seconds)
            response = await self._carry_out(request, behaviour, call, compose)
            is_answered = behaviour.kind != "reset"
        finally:
            self._ledger.close_call(call, is_answered=is_answered)
        return response

    async def _carry_out(
        self, request: web.Request, how: Behaviour, call: Call, compose: Any
    ) -> web.StreamResponse:
        if how.kind == "reset":
            _cut(request)
            return web.Response()
        if how.kind == "hang":
            await self._released.wait()
        how = _unless_refused(call, how)
        if how.kind == "status":
            return _refusal(how)
        if how.kind == "html":
            return web.Response(text=PAGE, content_type="text/html")
        if how.kind == "empty_object":
            return web.json_response({})
        text = json.dumps(_counted(call, compose(call.body, how, call.index)))
        if how.kind == "drip":
            return await self._drip(request, text.encode(), how.drip_seconds)
        if how.kind == "truncated":
            text = text[: len(text) // 2]
        kind = "text/plain" if how.kind == "wrong_type" else "application/json"
        return web.Response(text=text, content_type=kind)

    async def _drip(
        self, request: web.Request, body: bytes, drip_seconds: float
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(body)
        await response.prepare(request)
        released = self._released
        sent = 0
        while sent < len(body) and not released.is_set():
            await response.write(body[sent : sent + 1])
            sent += 1
            try:
                await asyncio.wait_for(released.wait(), drip_seconds)
            except TimeoutError:
                continue
        await response.write(body[sent:])
        await response.write_eof()
        return response


def _unless_refused(call: Call, how: Behaviour) -> Behaviour:
    """The behaviour, or a refusal when the request has a member that it refuses."""
    if refused := refusal_of(call.body, how):
        error = {"message": refused, "type": "invalid_request_error"}
        return replace(how, kind="status", status=400, body=json.dumps({"error": error}))
    return how


def _counted(call: Call, composed: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer, once its tokens are counted in the call's record."""
    if "choices" in composed:
        call.prompt_tokens, call.completion_tokens = count_tokens(call.body, composed)
    return composed


def _bind(port: int) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    return sock


def _cut(request: web.Request) -> None:
    """End the connection with a reset rather than a close."""
    transport = request.transport
    if transport is not None:
        linger_off = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_off)
        transport.abort()


def _refusal(how: Behaviour) -> web.Response:
    headers = {}
    if how.retry_after_seconds is not None:
        headers["Retry-After"] = f"{how.retry_after_seconds:g}"
    kind = ERROR_TYPES.get(how.status, "server_error")
    error = {"message": f"scripted error {how.status}", "type": kind, "param": None, "code": None}
    text = how.body if how.body is not None else json.dumps({"error": error})
    return web.Response(
        status=how.status, text=text, headers=headers, content_type="application/json"
    )


async def _serve(options: argparse.Namespace) -> None:
    server = OpenAIServer(model=options.model, delay_seconds=options.delay)
    await server.start(options.port)
    print(json.dumps({"port": server.port, "control_port": server.control_port}), flush=True)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    if options.until_eof:
        asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    await ended.wait()
    await server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="port of the model; 0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--model", default="scripted-model", help="the name that /v1/models lists")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
