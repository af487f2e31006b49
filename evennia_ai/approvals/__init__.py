"""The one door for all questions of an assistant to people.

There are two kinds. A dangerous call has to wait: the model is told so, and on a yes the call is
run by hand. A limit is waited for: the turn goes on with the answer. Both are kept in the database
under a number, put to each person one at a time, and answered, dropped or outlived exactly once.
"""

from evennia_ai.approvals.calls import ask_about_call
from evennia_ai.approvals.ending import claim, discard_all, discard_of, drop, give
from evennia_ai.approvals.people import asked_are_here, may_answer
from evennia_ai.approvals.presence import take_up, watch, withdraw_moot
from evennia_ai.approvals.requesting import ask
from evennia_ai.approvals.settling import call_of, close_call, notice, settled
from evennia_ai.approvals.store import (
    find,
    forget,
    move_in,
    pending,
    remove_all,
    stored,
    why_closed,
)
from evennia_ai.approvals.telling import as_seen
from evennia_ai.approvals.waits import start_anew

# Whoever logs in or out must be seen from the first question on, whatever asked it.
watch()

__all__ = [
    "as_seen",
    "ask",
    "ask_about_call",
    "asked_are_here",
    "call_of",
    "claim",
    "close_call",
    "discard_all",
    "discard_of",
    "drop",
    "find",
    "forget",
    "give",
    "may_answer",
    "move_in",
    "notice",
    "pending",
    "remove_all",
    "settled",
    "start_anew",
    "stored",
    "take_up",
    "why_closed",
    "withdraw_moot",
]
