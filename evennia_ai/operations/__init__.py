"""The one door: everything people and programs can do with an assistant is a function here.

Each gives a `Result` with a sentence and a typed value; commands and other front ends check rights
and format, nothing more. `by` is the name of whoever does it, for the record; `look` is who looks:
without it nobody does, who sees no private words. The modules by what they are about:

    being there   assistants, adoption, lifecycle, removing, naming, guarding (of names), leftovers
    acting        control, models, tools, questions, conversation, goals
    prompts       prompts, shown_prompts, texts
    hearing       hearing, listening, explaining, traces
    settings      settings, setting_rows, setting_checks, edits, undoing
    memory        memories, memory_rows, memory_upkeep, memory_trials, nights, own_memory,
                  acquaintances, lore, profiles, exports
    in and out    cards, lore_packs, imports
    rights, money rights, callers (from the web), revealing (of private words), tokens, token_store,
                  budget, spending
    watching      auditing, audit_check, monitoring, equipment, observing, times, result
"""

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.operations.adoption import adopt, find_npc, refuse_release, release
from evennia_ai.operations.assistants import create_assistant, find_assistant, give_account
from evennia_ai.operations.auditing import audit_log, check_audit
from evennia_ai.operations.budget import budget_of
from evennia_ai.operations.control import (
    clear,
    clear_all,
    reset_history,
    set_all_enabled,
    set_enabled,
    status,
    stop,
    stop_all,
)
from evennia_ai.operations.explaining import last_addressed, why
from evennia_ai.operations.exports import archive_audit, export_audit
from evennia_ai.operations.goals import add_goal, close_goal, list_goals
from evennia_ai.operations.lifecycle import clone_assistant, delete_assistant
from evennia_ai.operations.listening import hush, set_channel, set_muted, unhush
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
    wake_up,
)
from evennia_ai.operations.models import check_model
from evennia_ai.operations.naming import assistant_for, list_assistants
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
from evennia_ai.operations.rights import may_control
from evennia_ai.operations.tokens import list_tokens, make_token, revoke_token, revoke_tokens
from evennia_ai.operations.tools import execute_tool
from evennia_ai.operations.traces import trace

__all__ = [
    "AssistantScript",
    "Problem",
    "Result",
    "add_goal",
    "add_lore",
    "add_memory",
    "adopt",
    "answer",
    "archive_audit",
    "assistant_for",
    "audit_log",
    "budget_of",
    "change_lore",
    "check_audit",
    "check_model",
    "clear",
    "clear_all",
    "clone_assistant",
    "close_goal",
    "correct_known",
    "correct_memory",
    "create_assistant",
    "delete_assistant",
    "execute_tool",
    "export_audit",
    "export_known",
    "find_assistant",
    "find_npc",
    "find_person",
    "forget_all",
    "forget_everything",
    "forget_known",
    "forget_memory",
    "give_account",
    "hush",
    "last_addressed",
    "list_assistants",
    "list_goals",
    "list_lore",
    "list_memories",
    "list_profiles",
    "list_tokens",
    "make_token",
    "may_control",
    "memory_status",
    "put_to_sleep",
    "questions",
    "refuse_release",
    "reindex_memories",
    "release",
    "remove_lore",
    "reset_history",
    "revoke_token",
    "revoke_tokens",
    "search_memories",
    "set_all_enabled",
    "set_channel",
    "set_enabled",
    "set_muted",
    "set_remembered",
    "show_memory",
    "show_profile",
    "status",
    "stop",
    "stop_all",
    "trace",
    "unhush",
    "wake_up",
    "what_is_known",
    "why",
]
