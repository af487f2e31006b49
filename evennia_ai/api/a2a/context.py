"""The context of a request: its sender, the assistant, and where its stream continues.

Events of a stream have numbers, from which a client continues after a break (`Last-Event-ID`). The
SDK does not write them. So the handler appends the number of each event that it yields to a queue
in the ASGI scope, and `NumberedStreams` writes it in front of the event.
"""

from __future__ import annotations

from collections import deque

from a2a.auth.user import User
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import ServerCallContextBuilder
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evennia_ai.api.a2a.calls import A2aCaller, PeerAccess
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.runtime.asgi_server import RequestTurn

CALLER, ACCESS, IDS, LAST_EVENT = "evennia_ai.caller", "access", "evennia_ai.ids", "last_event"
TURN = "evennia_ai.turn"
ASSISTANT = "assistant"
# Digits of an event's number; so many always fit a 64-bit column.
LONGEST_NUMBER = 18


class Owner(User):
    """The account that a token belongs to, as the SDK sees it."""

    def __init__(self, caller: A2aCaller) -> None:
        self._caller = caller

    @property
    def is_authenticated(self) -> bool:
        """Always true: the guard has refused everybody else."""
        return True

    @property
    def user_name(self) -> str:
        """The primary key of the account."""
        return str(self._caller.pk)


class Contexts(ServerCallContextBuilder):
    """Builds the context of a request that passed the guard."""

    def __init__(self, config: A2aConfig) -> None:
        self._config = config
        self._known: dict[str, AssistantScript] = {}

    def build(self, request: Request) -> ServerCallContext:
        """Build the context of a request."""
        caller: A2aCaller = request.scope[CALLER]
        last = request.headers.get("last-event-id", "")
        is_number = last.isdecimal() and len(last) <= LONGEST_NUMBER
        return ServerCallContext(
            user=Owner(caller),
            state={
                "headers": dict(request.headers),
                ACCESS: PeerAccess(
                    self._config, request.path_params[ASSISTANT], caller, self._known
                ),
                IDS: request.scope[IDS],
                TURN: request.scope[TURN],
                LAST_EVENT: int(last) if is_number else None,
            },
            requested_extensions=get_requested_extensions(
                request.headers.getlist(HTTP_EXTENSION_HEADER)
            ),
        )


def access_of(context: ServerCallContext) -> PeerAccess:
    """The sender's access to the assistant in the address."""
    access: PeerAccess = context.state[ACCESS]
    return access


def end_turn(context: ServerCallContext) -> None:
    """Let other requests run while this one waits."""
    turn: RequestTurn = context.state[TURN]
    turn.end()


class NumberedStreams:
    """An ASGI wrapper that writes the number of each streamed event."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and number the events that it streams."""
        ids: deque[int] = deque()
        scope[IDS] = ids

        async def numbered(message: Message) -> None:
            body = message.get("body", b"")
            # The SDK writes each event as one message that begins with "data:"; a ping begins with
            # a colon, and has no number.
            if ids and message["type"] == "http.response.body" and bytes(body[:5]) == b"data:":
                message = {**message, "body": b"id: %d\r\n" % ids.popleft() + body}
            await send(message)

        await self._app(scope, receive, numbered)
