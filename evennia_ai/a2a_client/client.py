"""Requests to one remote agent, over pinned connections. All of it runs on the asyncio lane.

A request that the agent may have begun is never repeated. The caller may retry only after a
`NotSentError`, which means that nothing was begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evennia_ai.a2a_client.addresses import (
    Answered,
    NotSentError,
    UnknownHostError,
    exchange,
    locate,
)
from evennia_ai.a2a_client.cards import RemoteCard, read_card
from evennia_ai.a2a_client.protocol import (
    CANCEL,
    FAILED_THERE,
    GET,
    NOT_BEGUN,
    REFUSED,
    SEND,
    AgentMessage,
    AgentRefusedError,
    NoEntryError,
    OutgoingRequest,
    RemoteStanding,
    in_its_words,
    read_json,
    read_standing,
    refusal_of,
    request_of,
)
from evennia_ai.core.settings.remote import SETTING, Remote

MOST_BYTES = 1_000_000
REQUEST_SECONDS = 20.0
PROTOCOL = "1.0"
# HTTP statuses after which nothing was begun: not authorized, not now, redirected, not implemented.
NO_ENTRY, NOT_NOW, ELSEWHERE, CANNOT = (401, 403), (425, 429), (307, 308), (501, 505)
# Any other 4xx means the same unless a JSON-RPC code says otherwise. Not these: 408 (timeout), 424
# (failed dependency) and 499 (client closed the request) also end work that was under way.
UNKNOWN = (408, 424, 499)
REDIRECTS = "it answers {status}, to be asked elsewhere; nothing is sent to where it points"
REFUSES = "it does not let this game in (HTTP {status})"


class Client:
    """The requests of A2A to one agent."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def card(self) -> RemoteCard:
        """Fetch the agent's card.

        Raises:
            ConnectionError: the agent cannot be reached, or has no usable card.
        """
        request = OutgoingRequest("GET", self._remote.card_url, None, "application/json")
        # Without the token: the card is public, and has not been compared with its pin yet.
        answer = await self._exchange(request, REQUEST_SECONDS, is_secret=False)
        if answer.status != 200:
            raise ConnectionError(f"its card is not there (HTTP {answer.status})")
        try:
            return read_card(read_json(answer.body), self._remote)
        except ValueError as error:
            raise ConnectionError(str(error)) from None

    async def send(self, card: RemoteCard, message: AgentMessage, seconds: float) -> RemoteStanding:
        """Send a message.

        Raises:
            NotSentError: there was no connection, or the agent takes no requests now.
            ConnectionError: it failed, and the agent may have begun.
            NoEntryError: the agent does not authorize this game.
            AgentRefusedError: the agent refused; the text has its words.
        """
        return await self._call(card, SEND, message.as_params(), seconds)

    async def get(self, card: RemoteCard, task: str) -> RemoteStanding:
        """Fetch the state of a task; raises as `send`."""
        return await self._call(card, GET, {"id": task, "historyLength": 0}, REQUEST_SECONDS)

    async def cancel(self, card: RemoteCard, task: str) -> RemoteStanding:
        """Cancel a task; raises as `send`."""
        return await self._call(card, CANCEL, {"id": task}, REQUEST_SECONDS)

    async def _call(
        self, card: RemoteCard, call: str, params: Mapping[str, object], seconds: float
    ) -> RemoteStanding:
        answer = await self._exchange(request_of(card, call, params), seconds, is_secret=True)
        status = answer.status
        if status in NO_ENTRY:
            raise NoEntryError(REFUSES.format(status=status))
        if status in NOT_NOW:
            raise NotSentError(f"it takes nothing now (HTTP {status})", may_pass=False)
        if status in CANNOT or (400 <= status < 500 and status not in UNKNOWN):
            refusal, code = refusal_of(answer.body)
            why = self._remote.without_token(refusal)
            if code is not None and code not in NOT_BEGUN:
                raise ConnectionError(in_its_words(f"{FAILED_THERE} ({code})", why))
            raise AgentRefusedError(in_its_words(f"{REFUSED} (HTTP {status})", why))
        if status != 200:
            raise ConnectionError(f"it answered HTTP {status}")
        # An agent may echo the token it was sent, which neither people nor models may read.
        try:
            standing = read_standing(card, read_json(answer.body))
        except (AgentRefusedError, ConnectionError) as error:
            raise type(error)(self._remote.without_token(str(error))) from None
        return replace(standing, text=self._remote.without_token(standing.text))

    async def _exchange(
        self, request: OutgoingRequest, seconds: float, *, is_secret: bool
    ) -> Answered:
        """Send one request to the IP address that its host resolves to now.

        Args:
            is_secret: the token is sent along.
        """
        remote = self._remote
        headers = {"Accept": "application/json, application/a2a+json", "A2A-Version": PROTOCOL}
        if request.body is not None:
            headers["Content-Type"] = request.media
        if is_secret and remote.token:
            headers["Authorization"] = f"Bearer {remote.token}"
        allows = f"networks in {SETTING}[{remote.name!r}]"
        try:
            place = await locate(request.url, remote.config.networks, allows)
        except ValueError as error:
            # DNS may recover; an address in a forbidden network stays forbidden.
            may_pass = isinstance(error, UnknownHostError)
            raise NotSentError(str(error), may_pass=may_pass) from None
        try:
            answer = await exchange(
                request.method,
                request.url,
                place,
                data=request.body,
                headers=headers,
                seconds=seconds,
                most_bytes=MOST_BYTES,
            )
        except TimeoutError:
            raise ConnectionError(f"no answer within {seconds:g} s") from None
        # By HTTP these two ask to repeat the POST elsewhere. After another 3xx, such as 303, the
        # agent may have handled it.
        if answer.status in ELSEWHERE:
            raise NotSentError(REDIRECTS.format(status=answer.status), may_pass=False)
        if 300 <= answer.status < 400:
            raise ConnectionError(REDIRECTS.format(status=answer.status))
        return answer
