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

from evennia_ai.assistant_script import AssistantScript as AssistantScript
from evennia_ai.operations.assistants.adoption import adopt as adopt
from evennia_ai.operations.assistants.adoption import find_npc as find_npc
from evennia_ai.operations.assistants.adoption import refuse_release as refuse_release
from evennia_ai.operations.assistants.adoption import release as release
from evennia_ai.operations.assistants.creation import create_assistant as create_assistant
from evennia_ai.operations.assistants.creation import give_account as give_account
from evennia_ai.operations.assistants.lifecycle import clone_assistant as clone_assistant
from evennia_ai.operations.assistants.lifecycle import delete_assistant as delete_assistant
from evennia_ai.operations.audit.log import audit_log as audit_log
from evennia_ai.operations.audit.log import check_audit as check_audit
from evennia_ai.operations.budget.caps import budget_of as budget_of
from evennia_ai.operations.control import clear as clear
from evennia_ai.operations.control import clear_all as clear_all
from evennia_ai.operations.control import reset_history as reset_history
from evennia_ai.operations.control import set_all_enabled as set_all_enabled
from evennia_ai.operations.control import set_enabled as set_enabled
from evennia_ai.operations.control import stop as stop
from evennia_ai.operations.control import stop_all as stop_all
from evennia_ai.operations.conversation.goals import add_goal as add_goal
from evennia_ai.operations.conversation.goals import close_goal as close_goal
from evennia_ai.operations.conversation.goals import list_goals as list_goals
from evennia_ai.operations.conversation.listening import hush as hush
from evennia_ai.operations.conversation.listening import set_channel as set_channel
from evennia_ai.operations.conversation.listening import set_muted as set_muted
from evennia_ai.operations.conversation.listening import unhush as unhush
from evennia_ai.operations.conversation.questions import answer as answer
from evennia_ai.operations.conversation.questions import questions as questions
from evennia_ai.operations.files.exports import archive_audit as archive_audit
from evennia_ai.operations.files.exports import export_audit as export_audit
from evennia_ai.operations.memory.lore import add_lore as add_lore
from evennia_ai.operations.memory.lore import change_lore as change_lore
from evennia_ai.operations.memory.lore import list_lore as list_lore
from evennia_ai.operations.memory.lore import remove_lore as remove_lore
from evennia_ai.operations.memory.memories import add_memory as add_memory
from evennia_ai.operations.memory.memories import correct_memory as correct_memory
from evennia_ai.operations.memory.memories import forget_all as forget_all
from evennia_ai.operations.memory.memories import forget_memory as forget_memory
from evennia_ai.operations.memory.memories import list_memories as list_memories
from evennia_ai.operations.memory.memories import search_memories as search_memories
from evennia_ai.operations.memory.memories import show_memory as show_memory
from evennia_ai.operations.memory.own import correct_known as correct_known
from evennia_ai.operations.memory.own import export_known as export_known
from evennia_ai.operations.memory.own import forget_everything as forget_everything
from evennia_ai.operations.memory.own import forget_known as forget_known
from evennia_ai.operations.memory.own import set_remembered as set_remembered
from evennia_ai.operations.memory.own import what_is_known as what_is_known
from evennia_ai.operations.memory.profiles import find_person as find_person
from evennia_ai.operations.memory.profiles import list_profiles as list_profiles
from evennia_ai.operations.memory.profiles import namesakes as namesakes
from evennia_ai.operations.memory.profiles import show_profile as show_profile
from evennia_ai.operations.memory.upkeep import memory_status as memory_status
from evennia_ai.operations.memory.upkeep import put_to_sleep as put_to_sleep
from evennia_ai.operations.memory.upkeep import reindex_memories as reindex_memories
from evennia_ai.operations.memory.upkeep import wake_up as wake_up
from evennia_ai.operations.models.choosing import check_model as check_model
from evennia_ai.operations.monitoring.status import glances as glances
from evennia_ai.operations.monitoring.status import status as status
from evennia_ai.operations.naming import assistant_for as assistant_for
from evennia_ai.operations.naming import find_assistant as find_assistant
from evennia_ai.operations.naming import list_assistants as list_assistants
from evennia_ai.operations.result import ProblemKind as ProblemKind
from evennia_ai.operations.result import Result as Result
from evennia_ai.operations.rights.acts import may_control as may_control
from evennia_ai.operations.rights.tokens import list_tokens as list_tokens
from evennia_ai.operations.rights.tokens import make_token as make_token
from evennia_ai.operations.rights.tokens import revoke_token as revoke_token
from evennia_ai.operations.rights.tokens import revoke_tokens as revoke_tokens
from evennia_ai.operations.tools.running import execute_tool as execute_tool
from evennia_ai.operations.turns.explaining import last_addressed as last_addressed
from evennia_ai.operations.turns.explaining import why as why
from evennia_ai.operations.turns.traces import trace as trace
