"""Accounts that log in to games without a client, and the lines they are sent."""

from typing import Any

import evennia
from evennia.server.serversession import ServerSession
from evennia.utils.ansi import strip_ansi

from evennia_ai.testing import connect


def log_in(account: Any, number: int = 0) -> ServerSession:
    """Return a session of an account that has just logged in and plays nobody yet.

    Args:
        number: its session id; 0: the next free one.
    """
    session = connect(number)
    evennia.SESSION_HANDLER.login(session, account, testmode=True)
    return session


def lines_shown(account: Any = None) -> list[str]:
    """Return the lines that clients were sent while sending is watched, without markup.

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
