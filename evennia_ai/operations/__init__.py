"""The one door: everything people and programs can do with an assistant is a function here.

Each gives a `Result` with a sentence and a typed value; commands and other front ends check rights
and format, nothing more. `by` is the name of whoever does it, for the record; `look` is who looks:
without it nobody does, who sees no private words. The modules by what they are about:

    being there   assistants, adoption, lifecycle, removing, naming, guarding (of names), leftovers
    acting        control, models, tools, questions, conversation, goals
    prompts       prompts, shown_prompts, texts
    hearing       hearing, listening, explaining, traces
    settings      settings, setting_rows, setting_checks, edits, undoing
    memory        memories, memory_rows, memory_upkeep, own_memory, lore, profiles, exports
    rights, money rights, revealing (of private words), tokens, token_store, budget
    watching      auditing, audit_check, monitoring, observing, times, result
"""

from evennia_ai.assistant_script import AssistantScript as AssistantScript
from evennia_ai.operations.adoption import adopt as adopt
from evennia_ai.operations.adoption import find_npc as find_npc
from evennia_ai.operations.adoption import refuse_release as refuse_release
from evennia_ai.operations.adoption import release as release
from evennia_ai.operations.assistants import create_assistant as create_assistant
from evennia_ai.operations.assistants import find_assistant as find_assistant
from evennia_ai.operations.assistants import give_account as give_account
from evennia_ai.operations.auditing import audit_log as audit_log
from evennia_ai.operations.auditing import check_audit as check_audit
from evennia_ai.operations.budget import budget_of as budget_of
from evennia_ai.operations.control import clear as clear
from evennia_ai.operations.control import clear_all as clear_all
from evennia_ai.operations.control import reset_history as reset_history
from evennia_ai.operations.control import set_all_enabled as set_all_enabled
from evennia_ai.operations.control import set_enabled as set_enabled
from evennia_ai.operations.control import status as status
from evennia_ai.operations.control import stop as stop
from evennia_ai.operations.control import stop_all as stop_all
from evennia_ai.operations.explaining import last_addressed as last_addressed
from evennia_ai.operations.explaining import why as why
from evennia_ai.operations.exports import archive_audit as archive_audit
from evennia_ai.operations.exports import export_audit as export_audit
from evennia_ai.operations.goals import add_goal as add_goal
from evennia_ai.operations.goals import close_goal as close_goal
from evennia_ai.operations.goals import list_goals as list_goals
from evennia_ai.operations.lifecycle import clone_assistant as clone_assistant
from evennia_ai.operations.lifecycle import delete_assistant as delete_assistant
from evennia_ai.operations.listening import hush as hush
from evennia_ai.operations.listening import set_channel as set_channel
from evennia_ai.operations.listening import set_muted as set_muted
from evennia_ai.operations.listening import unhush as unhush
from evennia_ai.operations.lore import add_lore as add_lore
from evennia_ai.operations.lore import change_lore as change_lore
from evennia_ai.operations.lore import list_lore as list_lore
from evennia_ai.operations.lore import remove_lore as remove_lore
from evennia_ai.operations.memories import add_memory as add_memory
from evennia_ai.operations.memories import correct_memory as correct_memory
from evennia_ai.operations.memories import forget_all as forget_all
from evennia_ai.operations.memories import forget_memory as forget_memory
from evennia_ai.operations.memories import list_memories as list_memories
from evennia_ai.operations.memories import search_memories as search_memories
from evennia_ai.operations.memories import show_memory as show_memory
from evennia_ai.operations.memory_upkeep import memory_status as memory_status
from evennia_ai.operations.memory_upkeep import put_to_sleep as put_to_sleep
from evennia_ai.operations.memory_upkeep import reindex_memories as reindex_memories
from evennia_ai.operations.memory_upkeep import wake_up as wake_up
from evennia_ai.operations.models import check_model as check_model
from evennia_ai.operations.naming import assistant_for as assistant_for
from evennia_ai.operations.naming import list_assistants as list_assistants
from evennia_ai.operations.own_memory import correct_known as correct_known
from evennia_ai.operations.own_memory import export_known as export_known
from evennia_ai.operations.own_memory import forget_everything as forget_everything
from evennia_ai.operations.own_memory import forget_known as forget_known
from evennia_ai.operations.own_memory import set_remembered as set_remembered
from evennia_ai.operations.own_memory import what_is_known as what_is_known
from evennia_ai.operations.profiles import find_person as find_person
from evennia_ai.operations.profiles import list_profiles as list_profiles
from evennia_ai.operations.profiles import show_profile as show_profile
from evennia_ai.operations.questions import answer as answer
from evennia_ai.operations.questions import questions as questions
from evennia_ai.operations.result import Problem as Problem
from evennia_ai.operations.result import Result as Result
from evennia_ai.operations.rights import may_control as may_control
from evennia_ai.operations.tokens import list_tokens as list_tokens
from evennia_ai.operations.tokens import make_token as make_token
from evennia_ai.operations.tokens import revoke_token as revoke_token
from evennia_ai.operations.tokens import revoke_tokens as revoke_tokens
from evennia_ai.operations.tools import execute_tool as execute_tool
from evennia_ai.operations.traces import trace as trace
