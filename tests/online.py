"""A player behind a character, for games that no client is connected to."""

from __future__ import annotations

from typing import Any

import evennia
from evennia.server.serversession import ServerSession
from evennia.utils.ansi import strip_ansi


def connect(number: int = 0) -> ServerSession:
    """A connection to the game, through which nobody has logged in yet.

    Args:
        number: its own, which no other of the game has; 0: the next that is free.
    """
    handler = evennia.SESSION_HANDLER
    made = ServerSession()
    made.init_session("telnet", ("127.0.0.1", 4000), handler)
    made.sessid = number or max(handler, default=0) + 1
    handler.portal_connect(made.get_sync_data())
    session: ServerSession = handler.session_from_sessid(made.sessid)
    return session


def log_in(account: Any, number: int = 0) -> ServerSession:
    """A session of an account that has just logged in, and plays nobody yet.

    Args:
        number: as of `connect`.
    """
    session = connect(number)
    evennia.SESSION_HANDLER.login(session, account, testmode=True)
    return session


def lines_shown(account: Any = None) -> list[str]:
    """The lines that clients were sent where sending is watched, without markup.

    Args:
        account: whose clients; None: everybody's.
    """
    calls = evennia.SESSION_HANDLER.data_out.call_args_list
    texts = [
        call.kwargs["text"]
        for call in calls
        if "text" in call.kwargs and account in (None, call.args[0].account)
    ]
    return [strip_ansi(text if isinstance(text, str) else text[0]) for text in texts]


def put_online(character: Any, number: int, account: Any = None) -> ServerSession:
    """Let a session play a character, as if its player had just come in.

    Args:
        number: the session's own, which no other of the game has.
        account: whose session it is; None: of nobody, who gets no pages.
    """
    session = connect(number)
    session.logged_in = True
    session.puppet, session.puid = character, character.id
    if account is not None:
        session.account, session.uid, session.uname = account, account.id, account.username
    character.sessions.add(session)
    return session
