"""The facts of a request beside its words: who sent it, to whom, and where its stream goes on.

Each event of a stream has a number, by which it goes on after a break. The SDK sends none; so the
handler notes the number of each event that it gives, and `NumberedStreams` writes them out.
"""

from __future__ import annotations

from collections import deque

from a2a.auth.user import User
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import ServerCallContextBuilder
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evennia_ai.api.a2a.calls import A2aCaller, Desk
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.runtime.asgi_server import RequestTurn

CALLER, DESK, IDS, LAST_EVENT = "evennia_ai.caller", "desk", "evennia_ai.ids", "last_event"
TURN = "evennia_ai.turn"
ASSISTANT = "assistant"
# No number of an event has more digits than these.
LONGEST_NUMBER = 18


class Owner(User):
    """The account that a token belongs to, as the SDK sees it."""

    def __init__(self, caller: A2aCaller) -> None:
        self._caller = caller

    @property
    def is_authenticated(self) -> bool:
        """Nobody comes as far as this who is not."""
        return True

    @property
    def user_name(self) -> str:
        """The number of the account."""
        return str(self._caller.pk)


class Contexts(ServerCallContextBuilder):
    """Makes the context of a request that was let in."""

    def __init__(self, config: A2aConfig) -> None:
        self._config = config
        self._known: dict[str, AssistantScript] = {}

    def build(self, request: Request) -> ServerCallContext:
        """The context of a request."""
        caller: A2aCaller = request.scope[CALLER]
        last = request.headers.get("last-event-id", "")
        is_number = last.isdecimal() and len(last) <= LONGEST_NUMBER
        return ServerCallContext(
            user=Owner(caller),
            state={
                "headers": dict(request.headers),
                DESK: Desk(self._config, request.path_params[ASSISTANT], caller, self._known),
                IDS: request.scope[IDS],
                TURN: request.scope[TURN],
                LAST_EVENT: int(last) if is_number else None,
            },
            requested_extensions=get_requested_extensions(
                request.headers.getlist(HTTP_EXTENSION_HEADER)
            ),
        )


def desk_of(context: ServerCallContext) -> Desk:
    """The desk that a request goes to."""
    desk: Desk = context.state[DESK]
    return desk


def end_turn(context: ServerCallContext) -> None:
    """Let others go on before a request that has to wait."""
    turn: RequestTurn = context.state[TURN]
    turn.end()


class NumberedStreams:
    """An application whose streams have a number at each event."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and number what it streams."""
        ids: deque[int] = deque()
        scope[IDS] = ids

        async def numbered(message: Message) -> None:
            body = message.get("body", b"")
            # Pings in between begin otherwise, and are no events.
            if ids and message["type"] == "http.response.body" and bytes(body[:5]) == b"data:":
                message = {**message, "body": b"id: %d\r\n" % ids.popleft() + body}
            await send(message)

        await self._app(scope, receive, numbered)
