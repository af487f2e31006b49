"""The one door: everything people and programs can do with an assistant is a function here.

Each gives a `Result`; commands and other front ends check rights and format, nothing more.
"""

from evennia_ai.operations.assistants import (
    create_assistant,
    find_assistant,
    give_account,
    list_assistants,
)
from evennia_ai.operations.auditing import (
    archive_audit,
    audit_difference,
    audit_log,
    audit_state,
    check_audit,
    export_audit,
)
from evennia_ai.operations.budget import budget_of, raise_budget
from evennia_ai.operations.channels import set_channel
from evennia_ai.operations.configuring import (
    act_to_configure,
    configuration,
    set_setting,
    show_setting,
    unset_setting,
    update_settings,
)
from evennia_ai.operations.executing import execute_tool, list_tools, parse_arguments
from evennia_ai.operations.explaining import heard, why
from evennia_ai.operations.goals import add_goal, close_goal, list_goals
from evennia_ai.operations.hushing import hush, unhush
from evennia_ai.operations.lifecycle import (
    clone_assistant,
    delete_assistant,
    describe,
    update_assistant,
)
from evennia_ai.operations.monitoring import health
from evennia_ai.operations.people import forget_person, set_muted
from evennia_ai.operations.questions import answer, questions
from evennia_ai.operations.result import Problem, Result
from evennia_ai.operations.rights import is_owner, is_staff, refusal
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
from evennia_ai.operations.talk import export_history, show_history
from evennia_ai.operations.telling import ask, tell
from evennia_ai.operations.upkeep import breakers, find_breaker, reset_breaker, usage

__all__ = [
    "Problem",
    "Result",
    "act_to_configure",
    "add_goal",
    "answer",
    "archive_audit",
    "ask",
    "audit_difference",
    "audit_log",
    "audit_state",
    "breakers",
    "budget_of",
    "check_audit",
    "check_model",
    "clear",
    "clone_assistant",
    "close_goal",
    "configuration",
    "create_assistant",
    "delete_assistant",
    "describe",
    "execute_tool",
    "export_audit",
    "export_history",
    "find_assistant",
    "find_breaker",
    "forget_person",
    "give_account",
    "health",
    "heard",
    "hush",
    "is_owner",
    "is_staff",
    "list_assistants",
    "list_goals",
    "list_tools",
    "may_control",
    "parse_arguments",
    "questions",
    "raise_budget",
    "refusal",
    "refuse_control",
    "reset_breaker",
    "reset_history",
    "set_channel",
    "set_enabled",
    "set_muted",
    "set_setting",
    "show_history",
    "show_setting",
    "status",
    "stop",
    "stop_all",
    "tell",
    "unhush",
    "unset_setting",
    "update_assistant",
    "update_settings",
    "usage",
    "why",
]
