"""An agent by the official SDK, as a program: `python -m tests.journeys.remote_agent PORT`.

Its behaviour is set at `/control`, and `/heard` returns all that it received. A test talks to it
through `Agent`.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    Task,
    TaskState,
    TaskStatus,
)
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

ROOT = Path(__file__).resolve().parents[2]
WAIT_SECONDS = 30.0
NAME = "Atlas"


class Agent:
    def __init__(self, port: int) -> None:
        self.port = port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def behave(self, **order: Any) -> None:
        """Set its behaviour from now on: see `Program`."""
        self._ask("POST", "/control", order)

    def heard(self) -> list[dict[str, Any]]:
        """The received messages with their metadata, and cancels, the oldest first."""
        return list(self._ask("GET", "/heard"))

    def cancels(self) -> list[str]:
        return [each["task"] for each in self.heard() if each["kind"] == "cancel"]

    def messages(self) -> list[dict[str, Any]]:
        return [each for each in self.heard() if each["kind"] == "message"]

    def wait_for(self, count: int, kind: str = "message") -> list[dict[str, Any]]:
        """Wait until so many requests of a kind have come.

        Raises:
            AssertionError: they have not come in time.
        """
        end = time.monotonic() + WAIT_SECONDS
        while True:
            entries = [each for each in self.heard() if each["kind"] == kind]
            if len(entries) >= count:
                return entries
            assert time.monotonic() < end, self.heard()
            time.sleep(0.05)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        asking = HTTPConnection("127.0.0.1", self.port, timeout=WAIT_SECONDS)
        try:
            data = None if body is None else json.dumps(body)
            asking.request(method, path, data, {"Content-Type": "application/json"})
            return json.loads(asking.getresponse().read())
        finally:
            asking.close()


@contextmanager
def running(port: int) -> Iterator[Agent]:
    """An agent in a process of its own; ended on the way out."""
    command = [sys.executable, "-m", "tests.journeys.remote_agent", str(port)]
    process = subprocess.Popen(command, cwd=ROOT)
    agent = Agent(port)
    try:
        end = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                agent.behave()
                break
            except OSError:
                assert process.poll() is None, "the agent ended"
                assert time.monotonic() < end, "the agent does not answer"
                time.sleep(0.1)
        yield agent
    finally:
        process.kill()
        process.wait(10)


class Program(AgentExecutor):
    """The agent itself.

    Its orders are: `does` ("answer", "ask", "consent", "fail", "break", "redirect", "redirect
    card"); `answers`, HTTP statuses by the ends of addresses, with the `code` of JSON-RPC;
    `seconds` before it answers; `text`; `then`, the text once a question is answered; the `size` of
    an answer; `usage`; and `bindings`, `url`, `tenant` and `description` of its card.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.orders: dict[str, Any] = {}
        self.heard: list[dict[str, Any]] = []

    def card(self) -> AgentCard:
        paths = {"JSONRPC": "/rpc", "HTTP+JSON": ""}
        interfaces = [
            AgentInterface(
                url=self.orders.get("url", f"http://127.0.0.1:{self.port}{paths[binding]}"),
                protocol_binding=binding,
                protocol_version="1.0",
                tenant=self.orders.get("tenant", ""),
            )
            for binding in self.orders.get("bindings", ["JSONRPC"])
        ]
        return AgentCard(
            name=NAME,
            description=self.orders.get("description", "Knows where every place is."),
            version="1",
            supported_interfaces=interfaces,
            capabilities=AgentCapabilities(streaming=False, push_notifications=False),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
            skills=[AgentSkill(id="find", name="Find", description="Finds places.", tags=["x"])],
        )

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        headers = context.call_context.state.get("headers") or {}
        self.heard.append(
            {
                "kind": "message",
                "text": context.get_user_input(),
                "task": context.task_id,
                "metadata": MessageToDict(context.message.metadata),
                "authorization": headers.get("authorization", ""),
                "tenant": context.call_context.tenant,
            }
        )
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        is_new = context.current_task is None
        if is_new:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            task = Task(id=context.task_id, context_id=context.context_id, status=status)
            if "usage" in self.orders:
                task.metadata.update({"usage": self.orders["usage"]})
            await event_queue.enqueue_event(task)
        await updater.start_work()
        await asyncio.sleep(self.orders.get("seconds", 0))
        text = self.orders.get("text", "In the north wing.")
        text = text if is_new else self.orders.get("then", text)
        await self._end(updater, updater.new_agent_message([Part(text=text)]), is_new=is_new)

    async def _end(self, updater: TaskUpdater, said: Message, *, is_new: bool) -> None:
        does = self.orders.get("does", "answer")
        if does == "ask" and is_new:
            await updater.requires_input(said)
        elif does == "consent":
            await updater.requires_auth(said)
        elif does == "fail":
            await updater.failed(said)
        else:
            size = self.orders.get("size", 0)
            await updater.add_artifact([Part(text="x" * size)] if size else list(said.parts))
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.heard.append({"kind": "cancel", "task": context.task_id})
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    async def control(self, request: Request) -> Response:
        """Take orders, and clear the received messages."""
        self.orders = await request.json()
        self.heard.clear()
        return JSONResponse({})

    async def tell(self, _: Request) -> Response:
        return JSONResponse(self.heard)

    async def show_card(self, _: Request) -> Response:
        if self.orders.get("does") == "redirect card":
            return RedirectResponse("http://127.0.0.1:1/card.json")
        return JSONResponse(agent_card_to_dict(self.card()))

    def app(self) -> Any:
        """Its routes, behind the failures that are ordered."""
        handler = DefaultRequestHandler(self, InMemoryTaskStore(), self.card())
        inner = Starlette(
            routes=[
                Route("/control", self.control, methods=["POST"]),
                Route("/heard", self.tell),
                Route("/.well-known/agent-card.json", self.show_card),
                *create_jsonrpc_routes(handler, "/rpc"),
                *create_rest_routes(handler),
            ]
        )

        async def gate(scope: Any, receive: Any, send: Any) -> None:
            does, path = self.orders.get("does", ""), scope.get("path", "")
            for end, status in self.orders.get("answers", {}).items():
                if path.endswith(end):
                    self.heard.append({"kind": "refused", "path": path, "at": time.monotonic()})
                    error = {"message": "No.", "code": self.orders.get("code", 0)}
                    await JSONResponse({"error": error}, status)(scope, receive, send)
                    return
            is_asked = path == "/rpc" or path.startswith(("/message", "/tasks"))
            if not (is_asked and does in ("break", "redirect")):
                await inner(scope, receive, send)
                return
            self.heard.append({"kind": does})
            response: Response = JSONResponse({}, 503)
            if does == "redirect":
                response = RedirectResponse(f"http://127.0.0.1:{self.port}/heard", 307)
            await response(scope, receive, send)

        return gate


if __name__ == "__main__":
    number = int(sys.argv[1])
    uvicorn.run(Program(number).app(), host="127.0.0.1", port=number, log_level="error")
