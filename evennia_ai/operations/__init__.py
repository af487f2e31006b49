"""The one door: everything people and programs can do with an assistant is a function here.

Each gives a `Result`; commands and other front ends check rights and format, nothing more.
"""

from evennia_ai.operations.assistants import (
    create_assistant,
    find_assistant,
    give_account,
    list_assistants,
)
from evennia_ai.operations.budget import budget_of, raise_budget
from evennia_ai.operations.channels import set_channel
from evennia_ai.operations.explaining import why
from evennia_ai.operations.goals import add_goal, close_goal, list_goals
from evennia_ai.operations.hushing import hush, unhush
from evennia_ai.operations.people import forget_person, set_muted
from evennia_ai.operations.questions import answer, questions
from evennia_ai.operations.result import Result
from evennia_ai.operations.running import (
    check_model,
    clear,
    may_control,
    refuse_control,
    reset_history,
    set_enabled,
    status,
    stop,
    stop_all,
)

__all__ = [
    "Result",
    "add_goal",
    "answer",
    "budget_of",
    "check_model",
    "clear",
    "close_goal",
    "create_assistant",
    "find_assistant",
    "forget_person",
    "give_account",
    "hush",
    "list_assistants",
    "list_goals",
    "may_control",
    "questions",
    "raise_budget",
    "refuse_control",
    "reset_history",
    "set_channel",
    "set_enabled",
    "set_muted",
    "status",
    "stop",
    "stop_all",
    "unhush",
    "why",
]
