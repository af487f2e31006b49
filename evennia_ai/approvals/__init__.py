"""The single entry point for questions of an assistant to people.

There are two kinds. A dangerous call is not waited for: the model is told that it has to be
approved, and after a yes the call is run by hand. A limit is waited for: the turn goes on with the
answer. Both are stored under a number, put to each person one at a time, and answered, dropped or
expired exactly once.
"""

from evennia_ai.approvals.calls import ask_about_call
from evennia_ai.approvals.ending import claim, discard_all, discard_of, drop, give
from evennia_ai.approvals.people import asked_are_here, may_answer
from evennia_ai.approvals.presence import resume, watch, withdraw_moot
from evennia_ai.approvals.requesting import ask
from evennia_ai.approvals.settling import call_of, close_call, notice, settled
from evennia_ai.approvals.store import (
    find,
    forget,
    migrate_questions,
    pending,
    remove_all,
    stored,
    why_closed,
)
from evennia_ai.approvals.telling import as_seen
from evennia_ai.approvals.waits import start_anew

# Logins and logouts must be noticed from the first question on, whichever module asks it.
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
    "migrate_questions",
    "notice",
    "pending",
    "remove_all",
    "resume",
    "settled",
    "start_anew",
    "stored",
    "why_closed",
    "withdraw_moot",
]
