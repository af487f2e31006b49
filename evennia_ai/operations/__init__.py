"""The one door: everything people and programs can do with an assistant is a function here.

Each gives a `Result` with a sentence and a typed value; commands and other front ends check rights
and format, nothing more.
"""

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.operations.adoption import adopt, find_npc, refuse_release, release
from evennia_ai.operations.assistants import create_assistant, find_assistant, give_account
from evennia_ai.operations.auditing import audit_difference, audit_log, audit_state, check_audit
from evennia_ai.operations.budget import budget_of, raise_budget, usage
from evennia_ai.operations.control import (
    breakers,
    clear,
    clear_all,
    find_breaker,
    reset_breaker,
    reset_history,
    set_all_enabled,
    set_enabled,
    status,
    stop,
    stop_all,
)
from evennia_ai.operations.conversation import ask, export_history, show_history, tell
from evennia_ai.operations.explaining import heard, last_addressed, why
from evennia_ai.operations.exports import archive_audit, export_audit
from evennia_ai.operations.goals import add_goal, close_goal, list_goals
from evennia_ai.operations.lifecycle import (
    clone_assistant,
    delete_assistant,
    describe,
    update_assistant,
)
from evennia_ai.operations.listening import (
    hush,
    set_channel,
    set_muted,
    unhush,
)
from evennia_ai.operations.lore import add_lore, change_lore, list_lore, remove_lore
from evennia_ai.operations.memories import (
    add_memory,
    correct_memory,
    forget_all,
    forget_memory,
    list_memories,
    search_memories,
    show_memory,
)
from evennia_ai.operations.memory_upkeep import (
    memory_status,
    put_to_sleep,
    reindex_memories,
    sleep_status,
    wake_up,
)
from evennia_ai.operations.models import check_model
from evennia_ai.operations.monitoring import health
from evennia_ai.operations.naming import assistant_called, assistant_for, list_assistants
from evennia_ai.operations.own_memory import (
    correct_known,
    export_known,
    forget_everything,
    forget_known,
    set_remembered,
    what_is_known,
)
from evennia_ai.operations.profiles import find_person, list_profiles, show_profile
from evennia_ai.operations.questions import answer, questions
from evennia_ai.operations.result import Problem, Result
from evennia_ai.operations.rights import is_owner, is_staff, may_control, refusal, refuse_control
from evennia_ai.operations.settings import (
    act_to_configure,
    configuration,
    set_setting,
    show_setting,
    unset_setting,
    update_settings,
)
from evennia_ai.operations.tokens import list_tokens, make_token, revoke_token, revoke_tokens
from evennia_ai.operations.tools import execute_tool, list_tools, parse_arguments
from evennia_ai.operations.traces import trace

__all__ = [
    "AssistantScript",
    "Problem",
    "Result",
    "act_to_configure",
    "add_goal",
    "add_lore",
    "add_memory",
    "adopt",
    "answer",
    "archive_audit",
    "ask",
    "assistant_called",
    "assistant_for",
    "audit_difference",
    "audit_log",
    "audit_state",
    "breakers",
    "budget_of",
    "change_lore",
    "check_audit",
    "check_model",
    "clear",
    "clear_all",
    "clone_assistant",
    "close_goal",
    "configuration",
    "correct_known",
    "correct_memory",
    "create_assistant",
    "delete_assistant",
    "describe",
    "execute_tool",
    "export_audit",
    "export_history",
    "export_known",
    "find_assistant",
    "find_breaker",
    "find_npc",
    "find_person",
    "forget_all",
    "forget_everything",
    "forget_known",
    "forget_memory",
    "give_account",
    "health",
    "heard",
    "hush",
    "is_owner",
    "is_staff",
    "last_addressed",
    "list_assistants",
    "list_goals",
    "list_lore",
    "list_memories",
    "list_profiles",
    "list_tokens",
    "list_tools",
    "make_token",
    "may_control",
    "memory_status",
    "parse_arguments",
    "put_to_sleep",
    "questions",
    "raise_budget",
    "refusal",
    "refuse_control",
    "refuse_release",
    "reindex_memories",
    "release",
    "remove_lore",
    "reset_breaker",
    "reset_history",
    "revoke_token",
    "revoke_tokens",
    "search_memories",
    "set_all_enabled",
    "set_channel",
    "set_enabled",
    "set_muted",
    "set_remembered",
    "set_setting",
    "show_history",
    "show_memory",
    "show_profile",
    "show_setting",
    "sleep_status",
    "status",
    "stop",
    "stop_all",
    "tell",
    "trace",
    "unhush",
    "unset_setting",
    "update_assistant",
    "update_settings",
    "usage",
    "wake_up",
    "what_is_known",
    "why",
]
