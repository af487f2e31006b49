"""Service layer: everything people and programs can do with an assistant is a function here.

Each operation returns a `Result` with a sentence and a typed value; commands and other front ends
only check rights and format the result. The parameter `by` is the actor's name for the audit log.
`look` says who reads, and so which private words are shown; without it all of them are masked.

    assistants    create, adopt, change, clone and delete assistants
    conversation  tell, ask and answer remotely; what an assistant hears; its goals
    turns         turns as they happen, recorded, traced and explained
    dry_runs      try a message without storing anything
    memory        memories, profiles, lore, nightly consolidation, state of the store
    models        choice of model, prompts and texts
    settings      show, check and change settings
    tools         run tools by hand, hold tools back
    rights        acts, web callers, access tokens, private words
    budget        caps, and spending by day
    audit         the audit log, its consistency check, undo of edits
    monitoring    health, equipment, endpoints and workers, counts for metrics
    files         exports, imports, character cards, lore packs
    bundles       move an assistant to another game
    peers         external agents, over A2A

Beside the packages: `control` (start, stop, breakers), `naming` and `guarding` of names,
and `result` and `times`, which all of them use.
"""

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.operations.assistants.adoption import adopt, find_npc, refuse_release, release
from evennia_ai.operations.assistants.creation import create_assistant, give_account
from evennia_ai.operations.assistants.lifecycle import clone_assistant, delete_assistant
from evennia_ai.operations.audit.log import audit_log, check_audit
from evennia_ai.operations.budget.caps import budget_of
from evennia_ai.operations.control import (
    clear,
    clear_all,
    reset_history,
    set_all_enabled,
    set_enabled,
    stop,
    stop_all,
)
from evennia_ai.operations.conversation.goals import add_goal, close_goal, list_goals
from evennia_ai.operations.conversation.listening import hush, set_channel, set_muted, unhush
from evennia_ai.operations.conversation.questions import answer, questions
from evennia_ai.operations.files.exports import archive_audit, export_audit
from evennia_ai.operations.memory.lore import add_lore, change_lore, list_lore, remove_lore
from evennia_ai.operations.memory.memories import (
    add_memory,
    correct_memory,
    forget_all,
    forget_memory,
    list_memories,
    search_memories,
    show_memory,
)
from evennia_ai.operations.memory.own import (
    correct_known,
    export_known,
    forget_everything,
    forget_known,
    set_remembered,
    what_is_known,
)
from evennia_ai.operations.memory.profiles import find_person, list_profiles, show_profile
from evennia_ai.operations.memory.upkeep import (
    memory_status,
    put_to_sleep,
    reindex_memories,
    wake_up,
)
from evennia_ai.operations.models.choosing import check_model
from evennia_ai.operations.monitoring.status import glances, status
from evennia_ai.operations.naming import assistant_for, find_assistant, list_assistants
from evennia_ai.operations.result import ProblemKind, Result
from evennia_ai.operations.rights.acts import may_control
from evennia_ai.operations.rights.tokens import list_tokens, make_token, revoke_token, revoke_tokens
from evennia_ai.operations.tools.running import execute_tool
from evennia_ai.operations.turns.explaining import last_addressed, why
from evennia_ai.operations.turns.traces import trace

__all__ = [
    "AssistantScript",
    "ProblemKind",
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
    "glances",
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
