"""One agent elsewhere, asked over connections that are pinned. All of it runs on the asyncio lane.

What may have been begun is not sent again: only where no connection came about is a message tried
a second time, by whoever sends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evennia_ai.a2a_client.addresses import UnknownHostError, locate
from evennia_ai.a2a_client.cards import RemoteCard, read_card
from evennia_ai.a2a_client.pinned import Answered, NotSentError, exchange
from evennia_ai.a2a_client.protocol import (
    CANCEL,
    GET,
    NOT_BEGUN,
    SEND,
    AgentMessage,
    AgentRefusedError,
    NoEntryError,
    OutgoingRequest,
    RemoteStanding,
    code_of,
    complaint_of,
    read_json,
    read_standing,
    request_of,
)
from evennia_ai.core.settings.remote import SETTING, Remote

MOST_BYTES = 1_000_000
REQUEST_SECONDS = 20.0
PROTOCOL = "1.0"
# Of the answers of HTTP that are no yes: it does not let this game in; it has not looked at what it
# was asked; it is to be asked elsewhere, or cannot do that. By none of them anything was begun, nor
# by another 4xx, unless a code of JSON-RPC says otherwise; but for 408, 424 and 499, which are also
# said of what was under way.
NO_ENTRY, NOT_NOW, ELSEWHERE, CANNOT = (401, 403), (425, 429), (307, 308), (501, 505)
UNKNOWN = (408, 424, 499)
REDIRECTS = "it answers {status}, to be asked elsewhere; nothing is sent to where it points"
REFUSES = "it does not let this game in (HTTP {status})"


class Client:
    """One agent."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def card(self) -> RemoteCard:
        """Its card, as it is now.

        Raises:
            ConnectionError: it cannot be reached, or there is no card that can be used.
        """
        request = OutgoingRequest("GET", self._remote.card_url, None, "application/json")
        # A card is public, and the token waits until it was compared with what was allowed.
        told = await self._asked(request, REQUEST_SECONDS, is_secret=False)
        if told.status != 200:
            raise ConnectionError(f"its card is not there (HTTP {told.status})")
        try:
            return read_card(read_json(told.body), self._remote)
        except ValueError as error:
            raise ConnectionError(str(error)) from None

    async def send(self, card: RemoteCard, message: AgentMessage, seconds: float) -> RemoteStanding:
        """Send a message.

        Raises:
            NotSentError: no connection came about, or it takes nothing now.
            ConnectionError: it failed, and may have begun.
            NoEntryError: it does not let this game in.
            AgentRefusedError: it does not do that; the text has its words.
        """
        return await self._call(card, SEND, message.as_params(), seconds)

    async def get(self, card: RemoteCard, task: str) -> RemoteStanding:
        """A task as it stands; raises as `send`."""
        return await self._call(card, GET, {"id": task, "historyLength": 0}, REQUEST_SECONDS)

    async def cancel(self, card: RemoteCard, task: str) -> RemoteStanding:
        """Call a task off; raises as `send`."""
        return await self._call(card, CANCEL, {"id": task}, REQUEST_SECONDS)

    async def _call(
        self, card: RemoteCard, call: str, params: Mapping[str, object], seconds: float
    ) -> RemoteStanding:
        told = await self._asked(request_of(card, call, params), seconds, is_secret=True)
        if told.status in NO_ENTRY:
            raise NoEntryError(REFUSES.format(status=told.status))
        if told.status in NOT_NOW:
            raise NotSentError(f"it takes nothing now (HTTP {told.status})", may_pass=False)
        if told.status in CANNOT or (400 <= told.status < 500 and told.status not in UNKNOWN):
            why = self._remote.without_token(complaint_of(told.body))
            if (code := code_of(told.body)) is not None and code not in NOT_BEGUN:
                raise ConnectionError(f"it failed: {why or code}")
            raise AgentRefusedError(why or f"it refuses that (HTTP {told.status})")
        if told.status != 200:
            raise ConnectionError(f"it answered HTTP {told.status}")
        standing = read_standing(card, read_json(told.body))
        # An agent may repeat its token, which neither people nor models may read.
        return replace(standing, text=self._remote.without_token(standing.text))

    async def _asked(
        self, request: OutgoingRequest, seconds: float, *, is_secret: bool
    ) -> Answered:
        """One request to the machine that its address means now.

        Args:
            is_secret: the token goes along.
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
            may_pass = isinstance(error, UnknownHostError)
            raise NotSentError(str(error), may_pass=may_pass) from None
        try:
            told = await exchange(
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
        if told.status in ELSEWHERE:
            raise NotSentError(REDIRECTS.format(status=told.status), may_pass=False)
        if 300 <= told.status < 400:
            raise ConnectionError(REDIRECTS.format(status=told.status))
        return told
