"""A player behind a character, for games that no client is connected to."""

from __future__ import annotations

from typing import Any

import evennia
from evennia.server.serversession import ServerSession


def put_online(character: Any, number: int, account: Any = None) -> ServerSession:
    """Let a session play a character, as if its player had just come in.

    Args:
        number: the session's own, which no other of the game has.
        account: whose session it is; None: of nobody, who gets no pages.
    """
    handler = evennia.SESSION_HANDLER
    made = ServerSession()
    made.init_session("telnet", ("127.0.0.1", 4000), handler)
    made.sessid = number
    handler.portal_connect(made.get_sync_data())
    session: ServerSession = handler.session_from_sessid(number)
    session.logged_in = True
    session.puppet, session.puid = character, character.id
    if account is not None:
        session.account, session.uid, session.uname = account, account.id, account.username
    character.sessions.add(session)
    return session
