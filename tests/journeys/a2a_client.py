"""The official A2A client as a peer with an account of its own, and raw requests."""

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import uuid4

import httpx
import pytest
from a2a.client import Client, ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict

from tests.journeys.clients import Player
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, UNHURRIED, Game
from tests.journeys.ports import port as port
from tests.journeys.staging import run
from tests.journeys.web import PAGE, Raw, Web, ask_raw

T = TypeVar("T")
WAIT_SECONDS = 70.0
BINDINGS = ("JSONRPC", "HTTP+JSON")
LOOK: dict[str, Any] = {"tool": "look", "arguments": {}}


def report(text: str, **more: Any) -> dict[str, Any]:
    """A model's behaviour: it reports on its task."""
    return {"calls": [{"tool": "report", "arguments": {"message": text}}], **more}


def message(text: str = "", task: str = "", context: str = "", **metadata: Any) -> Message:
    result = Message(
        message_id=str(uuid4()),
        role=Role.ROLE_USER,
        task_id=task,
        context_id=context,
        parts=[Part(text=text)] if text else [Part(text="(see metadata)")],
    )
    if metadata:
        result.metadata.update(metadata)
    return result


class Peer:
    """An external agent, with an account's token, that asks one assistant."""

    def __init__(self, port: int, token: str, assistant: str = "ada") -> None:
        self.port, self.token, self.assistant = port, token, assistant
        self.url = f"http://127.0.0.1:{port}/a2a/{assistant}"

    def do(
        self,
        use: Callable[[Client], Awaitable[T]],
        binding: str = "JSONRPC",
        *,
        streaming: bool = False,
    ) -> T:
        """Fetch the card, connect, use the client, and disconnect."""

        async def main() -> T:
            headers = {"Authorization": f"Bearer {self.token}"}
            async with httpx.AsyncClient(headers=headers, timeout=WAIT_SECONDS) as http:
                config = ClientConfig(
                    streaming=streaming,
                    httpx_client=http,
                    supported_protocol_bindings=[binding],
                )
                client = await ClientFactory(config).create_from_url(self.url)
                return await use(client)

        return asyncio.run(main())

    def send(self, said: Message, binding: str = "JSONRPC", *, waits: bool = True) -> Task:
        """Send one message, and return the task as it stands then.

        Args:
            waits: until the task is over, or asks something.
        """
        request = SendMessageRequest(
            message=said, configuration=SendMessageConfiguration(return_immediately=not waits)
        )

        async def use(client: Client) -> Task:
            return [answer async for answer in client.send_message(request)][-1].task

        return self.do(use, binding)

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until the A2A server answers, which takes longer than the game itself.

        Raises:
            OSError: it does not answer in time.
        """
        end = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def ask(self, text: str, *, waits: bool = True, **metadata: Any) -> Task:
        return self.send(message(text, **metadata), waits=waits)

    def answer(self, task: str, text: str = "", *, waits: bool = True, **metadata: Any) -> Task:
        return self.send(message(text, task, **metadata), waits=waits)

    def refusal(self, said: Message) -> str:
        with pytest.raises(A2AError) as refused:
            self.send(said)
        return str(refused.value)

    def get(self, task: str, binding: str = "JSONRPC") -> Task:
        return self.do(lambda client: client.get_task(GetTaskRequest(id=task)), binding)

    def cancel(self, task: str) -> Task:
        return self.do(lambda client: client.cancel_task(CancelTaskRequest(id=task)))

    def tasks(self, **wanted: Any) -> list[Task]:
        listed = self.do(lambda client: client.list_tasks(ListTasksRequest(**wanted)))
        return list(listed.tasks)

    def hook(self, task: str, url: str, token: str = "") -> TaskPushNotificationConfig:
        """Register an address for the notifications of a task."""
        config = TaskPushNotificationConfig(task_id=task, url=url, token=token, id="mine")
        return self.do(lambda client: client.create_task_push_notification_config(config))

    def stream(self, text: str) -> list[StreamResponse]:
        """All events of a new task's stream, to its end."""
        request = SendMessageRequest(message=message(text))

        async def use(client: Client) -> list[StreamResponse]:
            return [each async for each in client.send_message(request)]

        return self.do(use, streaming=True)

    def raw(
        self, method: str, path: str = "", body: Any = None, length: int = -1, **headers: str
    ) -> Raw:
        """Send one request as given.

        Args:
            path: below the assistant's address; below the server's if it begins with "//".
            body: bytes, or a value to encode as JSON.
            length: the Content-Length to claim; -1 for the true one.
            headers: with `_` for `-`; an empty one is not sent.
        """
        sent = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "A2A-Version": "1.0",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if length >= 0:
            sent["Content-Length"] = str(length)
        whole = path[1:] if path.startswith("//") else f"/a2a/{self.assistant}{path}"
        return ask_raw(self.port, method, whole, data, sent)

    def call(self, name: str, params: Any = None, **headers: str) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params or {}}
        return self.raw("POST", body=body, **headers).told


def state_of(task: Task) -> str:
    return TaskState.Name(task.status.state).removeprefix("TASK_STATE_")


def text_of(task: Task) -> str:
    return "\n".join(part.text for part in task.status.message.parts if part.text)


def answer_of(task: Task) -> str:
    return "\n".join(part.text for each in task.artifacts for part in each.parts)


def question_of(task: Task) -> dict[str, Any]:
    parts = [part for part in task.status.message.parts if part.WhichOneof("content") == "data"]
    (part,) = parts
    return dict(MessageToDict(part.data))


def settings_of(port: int, **more: Any) -> dict[str, Any]:
    """Settings of a game without rate limits, in which every assistant has a card."""
    config = {"writes_per_minute": 0, "tokens_per_minute": 1000, "reads_per_minute": 0}
    server = {"port": port, "assistants": ["*"], "allowed_origins": [PAGE], **more}
    return {
        **UNHURRIED,
        "EVENNIA_AI_API_CONFIG": config,
        "EVENNIA_AI_A2A_CONFIG": server,
    }


@pytest.fixture(scope="module")
def game_settings(port: int) -> dict[str, Any]:
    return settings_of(port, hook_networks=["127.0.0.1/32"])


def token_of(game: Game, name: str, password: str, scope: str = "usual") -> str:
    login = {"username": name, "password": password, "scope": scope}
    return str(Web(game.ports.web).get_done("POST", "token/", login)["token"])


def make_account(admin: Player, name: str, password: str) -> None:
    """Make an account without a character, as an owner does for a peer."""
    run(admin, f"create_account({name!r}, '', {password!r})")


@pytest.fixture(scope="module")
def owner(game: Game, port: int) -> Peer:
    """A peer with the owner's account, which may control every assistant."""
    peer = Peer(port, token_of(game, ADMIN_NAME, ADMIN_PASSWORD))
    peer.wait()
    return peer


@pytest.fixture(scope="module")
def stranger(game: Game, port: int) -> Peer:
    """A peer with a player's account."""
    with game.log_in_admin() as admin:
        make_account(admin, "Peer", "lantern-oak-51")
    peer = Peer(port, token_of(game, "Peer", "lantern-oak-51"))
    peer.wait()
    return peer


@pytest.fixture
def rested(game: Game) -> None:
    """Ada may act, has met nobody and has no request open; no staff are online."""
    with game.log_in_admin() as admin:
        run(
            admin,
            "from evennia_ai.runtime import services\nservices.pool().breakers.reset_all()\n"
            "operations.reset_history(ada)\nada.work.senders.people.clear()",
        )
