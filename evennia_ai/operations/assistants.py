"""Finding and making assistants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from evennia.accounts.models import AccountDB
from evennia.utils.create import create_account, create_object, create_script
from evennia.utils.search import search_script_tag

from evennia_ai import audit
from evennia_ai.assistant_account import AssistantAccount
from evennia_ai.assistant_script import TAG_CATEGORY, AssistantScript, tag_of
from evennia_ai.operations.configuring import prepare, signed
from evennia_ai.operations.naming import namesake_of, problem_of_name
from evennia_ai.operations.result import Problem, Result
from evennia_ai.operations.setting_rows import UNSET

BODY = "evennia_ai.assistant_character.AssistantCharacter"
ANY_TAG = "ai_assistant"
# Who asks an assistant to leave its post shall not get it to, and builders may stop it and set what
# it does; an owner may change both.
LOCKS = "tool_move:false();control:perm(Builder)"
PLAIN_DESC = "{name} is an assistant, an AI."


def find_assistant(key: str) -> AssistantScript | None:
    """The assistant of that name, in any case."""
    found = search_script_tag(tag_of(key.strip()), category=TAG_CATEGORY)
    return next(iter(found), None)


def list_assistants() -> list[AssistantScript]:
    """All assistants of the game, by name."""
    found = search_script_tag(ANY_TAG, category=TAG_CATEGORY)
    return sorted(found, key=lambda script: str(script.key).casefold())


def create_assistant(
    key: str,
    *,
    location: Any = None,
    desc: str = "",
    persona: str = "",
    aliases: Sequence[str] = (),
    lines: Mapping[str, Any] | None = None,
    typeclass: Any = BODY,
    settings: Mapping[str, Any] | None = None,
    by: str = "",
) -> Result:
    """Make an assistant: a character in a room and the script that moves it; both or neither.

    Args:
        key: its name, unique among assistants and characters.
        location: the room it stands in.
        desc: what people see when they look at it.
        persona: who it is and what it knows, for the model.
        lines: "thinking" (a list) and "failure" (a text) of its own, in which {name} is its name;
            "examples", pairs of what is asked and how it answers, which help a small model.
        typeclass: its body; any typeclass with `HearsForAssistant`. It stays where it is until its
            lock `tool_move` is lifted, and whom its lock `control` names has a say over it.
        settings: further settings by path, as `update_settings` takes them.
        by: who makes it, for the record.

    Returns:
        data: "script" and "character".
    """
    name = " ".join(key.split())
    if refused := _refusal(name, aliases):
        return refused
    found = prepare(_given(persona, lines or {}) | dict(settings or {}), lambda _: UNSET)
    if found.errors:
        told = f"{name} is not made: {'; '.join(found.errors.values())}"
        return Result(False, told, {"errors": found.errors})
    with signed(by), transaction.atomic():
        if audit.is_begun(name):
            audit.close(name, "another assistant of this name is made")
        character = _make_body(name, typeclass, location, desc, aliases)
        script = _attach_script(name, character, found.values)
    told = f"{name} is awake{_where(location)}. Try: whisper {name} = hello"
    return Result(True, told, {"script": script, "character": character})


def _refusal(name: str, aliases: Sequence[str]) -> Result | None:
    """Why nobody can be called so, or None."""
    if problem := problem_of_name(name):
        return Result(False, problem)
    if problem := next(filter(None, map(problem_of_name, aliases)), ""):
        return Result(False, f"{name} is not made. {problem}")
    whose = "an assistant" if find_assistant(name) is not None else ""
    whose = whose or ("a character" if namesake_of(name) is not None else "")
    told = f"There is {whose} named {name} already; choose another name."
    return Result(False, told, problem=Problem.CONFLICT) if whose else None


def _given(persona: str, lines: Mapping[str, Any]) -> dict[str, Any]:
    given = {
        "persona": persona,
        "examples": lines.get("examples", ()),
        "thinking_lines": lines.get("thinking", ()),
        "failure_line": lines.get("failure", ""),
    }
    return {name: value for name, value in given.items() if value}


def _make_body(name: str, typeclass: Any, location: Any, desc: str, aliases: Sequence[str]) -> Any:
    return create_object(
        typeclass,
        key=name,
        location=location,
        home=location,
        aliases=list(aliases),
        attributes=[("desc", desc or PLAIN_DESC.format(name=name))],
        locks=LOCKS,
    )


def _where(location: Any) -> str:
    return f" in {location.key}" if location is not None else ", but nowhere: move her to a room"


def _attach_script(name: str, character: Any, own: Mapping[str, Any]) -> AssistantScript:
    given = [(setting, value) for setting, value in own.items() if value is not None]
    return create_script(
        AssistantScript,
        key=name,
        obj=character,
        attributes=[("assistant_key", name), *given],
        tags=[(tag_of(name), TAG_CATEGORY), (ANY_TAG, TAG_CATEGORY)],
    )


def give_account(script: AssistantScript) -> Result:
    """Make an account in the assistant's name, so that the game's own `page` reaches it.

    Nobody can log in to it: it has no password.
    """
    name = str(script.key)
    if AccountDB.objects.filter(username__iexact=name).exists():
        return Result(
            False,
            f"There is an account named {name} already; an assistant needs its own.",
            problem=Problem.CONFLICT,
        )
    account = create_account(name, "", None, typeclass=AssistantAccount)
    account.set_unusable_password()
    account.save()
    account.db.assistant_body = script.obj
    return Result(
        True, f"{name} has an account now. Try: page {name} = hello", {"account": account}
    )
