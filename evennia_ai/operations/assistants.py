"""Finding and making assistants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.utils.create import create_account, create_object, create_script
from evennia.utils.search import search_script_tag

from evennia_ai.assistant_account import AssistantAccount
from evennia_ai.assistant_script import TAG_CATEGORY, AssistantScript, tag_of
from evennia_ai.core.text import one_line
from evennia_ai.operations.result import Result

BODY = "evennia_ai.assistant_character.AssistantCharacter"
ANY_TAG = "ai_assistant"
# Who asks an assistant to leave its post shall not get it to, and builders may stop it and set what
# it does; an owner may change both.
LOCKS = "tool_move:false();control:perm(Builder)"


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
) -> Result:
    """Make an assistant: a character in a room and the script that moves it.

    Args:
        key: its name, unique among assistants.
        location: the room it stands in.
        desc: what people see when they look at it.
        persona: who it is and what it knows, for the model.
        lines: "thinking" (a list) and "failure" (a text) of its own, in which {name} is its name;
            "examples", pairs of what is asked and how it answers, which help a small model.
        typeclass: its body; any typeclass with `HearsForAssistant`. It stays where it is until its
            lock `tool_move` is lifted, and whom its lock `control` names has a say over it.

    Returns:
        data: "script" and "character".
    """
    name = one_line(key, 60)
    if not name:
        return Result(False, "An assistant needs a name, for example: assistant create Edda")
    if find_assistant(name) is not None:
        return Result(False, f"There is an assistant named {name} already; choose another name.")
    character = create_object(
        typeclass,
        key=name,
        location=location,
        home=location,
        aliases=list(aliases),
        attributes=[("desc", desc or f"{name} is an assistant, an AI.")],
        locks=LOCKS,
    )
    script = _attach_script(name, character, persona, lines or {})
    return Result(
        True,
        f"{name} is awake{_where(location)}. Try: whisper {name} = hello",
        {"script": script, "character": character},
    )


def _where(location: Any) -> str:
    return f" in {location.key}" if location is not None else ", but nowhere: move her to a room"


def _attach_script(
    name: str, character: Any, persona: str, lines: Mapping[str, Any]
) -> AssistantScript:
    own = {
        "assistant_key": name,
        "persona": persona,
        "examples": [list(pair) for pair in lines.get("examples", ())],
        "thinking_lines": list(lines.get("thinking", ())),
        "failure_line": lines.get("failure", ""),
    }
    return create_script(
        AssistantScript,
        key=name,
        obj=character,
        attributes=[(key, value) for key, value in own.items() if value],
        tags=[(tag_of(name), TAG_CATEGORY), (ANY_TAG, TAG_CATEGORY)],
    )


def give_account(script: AssistantScript) -> Result:
    """Make an account in the assistant's name, so that the game's own `page` reaches it.

    Nobody can log in to it: it has no password.
    """
    name = str(script.key)
    if AccountDB.objects.filter(username__iexact=name).exists():
        return Result(
            False, f"There is an account named {name} already; an assistant needs its own."
        )
    account = create_account(name, "", None, typeclass=AssistantAccount)
    account.set_unusable_password()
    account.save()
    account.db.assistant_body = script.obj
    return Result(
        True, f"{name} has an account now. Try: page {name} = hello", {"account": account}
    )
