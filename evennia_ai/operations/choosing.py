"""What somebody chooses who makes an assistant: its name, its model, the room it stands in."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from evennia.objects.objects import DefaultRoom
from evennia.typeclasses.tags import Tag
from evennia.utils.search import search_object
from twisted.internet.defer import Deferred

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm import local
from evennia_ai.llm.check import Report, check_endpoint
from evennia_ai.llm.endpoints import LOCAL_MODEL, PRESETS, SCRIPTED, Endpoint, from_provider
from evennia_ai.llm.local.pinned import QWEN
from evennia_ai.operations.naming import problem_of_name, problem_of_owner
from evennia_ai.operations.result import Problem, Result
from evennia_ai.runtime import services
from evennia_ai.runtime.rights import lets, meets

LONGEST_PERMISSION = 200
OFFERED = ("local", SCRIPTED)
NO_BRAIN = (
    "It has nothing to think with yet: {why}. Either install the demo brain (pip install "
    '"evennia-ai[local]"), or name a model of your own in server/conf/secret_settings.py: '
    "EVENNIA_AI_MODEL, with OPENAI_API_KEY, OPENAI_BASE_URL or both. Then: evennia reload, and in "
    "the game: assistant check"
)
NOT_FETCHED = "The first answer takes a while: the demo brain ({size:,} MB) is fetched before it."


def brain_hint(script: AssistantScript) -> str:
    """The words for staff where an assistant cannot think yet, or not at once; else ""."""
    try:
        is_local = script.endpoint().is_local
    except ConfigurationError as error:
        return NO_BRAIN.format(why=str(error).rstrip("."))
    if not is_local:
        return ""
    if not local.is_installed():
        return NO_BRAIN.format(why="the package of the demo brain is not installed")
    megabytes = round(QWEN.size_bytes / 1e6)
    return "" if local.has_weights() else NOT_FETCHED.format(size=megabytes)


def check_name(name: str) -> Result:
    """Whether a new assistant may have a name.

    Returns:
        data: "name", as it will be kept.
    """
    line = " ".join(name.split())
    if problem := problem_of_name(line):
        return Result(False, problem)
    if problem := problem_of_owner(line):
        return Result(False, problem, problem=Problem.CONFLICT)
    return Result(True, f"{line} is free.", {"name": line})


def known_models() -> Result:
    """The models that an assistant can be given, the game's first.

    Returns:
        data: "models": [{"provider", "model", "text"}]; both empty for the game's.
    """
    try:
        game = services.endpoint()
        stand_ins = services.fallbacks()
    except ConfigurationError as error:
        return Result(False, f"The game's model is not set up: {error}")
    rows = [{"provider": "", "model": "", "text": f"the game's: {game.describe()}"}]
    seen = {(game.provider, game.model)}
    offered = [*stand_ins, *(from_provider(provider, "", game) for provider in OFFERED)]
    for endpoint in offered:
        if _can_be_named(endpoint) and (endpoint.provider, endpoint.model) not in seen:
            seen.add((endpoint.provider, endpoint.model))
            rows.append(_row(endpoint))
    return Result(True, f"{len(rows)} models", {"models": rows})


def _can_be_named(endpoint: Endpoint) -> bool:
    """Whether a provider and a model say all about it; an address of its own cannot be kept."""
    return endpoint.provider in PRESETS


def _row(endpoint: Endpoint) -> dict[str, str]:
    fixed = {LOCAL_MODEL, SCRIPTED}
    model = "" if endpoint.model in fixed else endpoint.model
    return {"provider": endpoint.provider, "model": model, "text": endpoint.describe()}


def choose_model(text: str) -> Result:
    """A model as somebody types it: a provider and a model's name, or one of the two.

    Returns:
        data: "provider", "model" and "text".
    """
    provider, _, model = text.strip().partition(" ")
    provider = provider.casefold() if provider.casefold() in PRESETS else provider
    if provider not in PRESETS:
        provider, model = "", text.strip()
    if " " in model.strip() or not (provider or model):
        return Result(
            False, f"Type a model's name, or a provider ({', '.join(PRESETS)}) and a name."
        )
    try:
        endpoint = from_provider(provider, model.strip(), services.endpoint())
    except ConfigurationError as error:
        return Result(False, f"That will not do: {error}")
    row = {"provider": provider, "model": model.strip(), "text": endpoint.describe()}
    return Result(True, endpoint.describe(), row)


def check_chosen(provider: str, model: str) -> Deferred[Report]:
    """Try a model with real requests, before anybody has it.

    Raises:
        ConfigurationError: what is chosen does not fit together.
    """
    endpoint = from_provider(provider, model, services.endpoint())
    return check_endpoint(endpoint, services.pool(), paid=partial(MeteredClient, None))


def check_permission(text: str, being: Any) -> Result:
    """Whether a permission, or a lock string, is one.

    Args:
        being: anybody, on whom it is tried.

    Returns:
        data: "permission", as it will be kept.
    """
    words = one_line(text, LONGEST_PERMISSION)
    if "(" in words:
        try:
            meets(being, words, being)
        except ConfigurationError as error:
            return Result(False, f"That will not do: {error}")
        return Result(True, words, {"permission": words})
    known = {name.casefold(): name for name in settings.PERMISSION_HIERARCHY}
    found = known.get(words.casefold()) or known.get(words.casefold().removesuffix("s"))
    if found is None and words:
        kept = Tag.objects.filter(db_tagtype="permission", db_key__iexact=words)
        found = words if kept.exists() else None
    if found is None:
        told = f"There is no permission {words!r}; there are {', '.join(known.values())}."
        return Result(False, told, problem=Problem.MISSING)
    return Result(True, found, {"permission": found})


def find_room(being: Any, text: str) -> Result:
    """A room by its name or its "#12", where somebody may put an assistant.

    Returns:
        data: "room".
    """
    words = text.strip()
    found = search_object(words, use_dbref=True) if words else ()
    rooms = [thing for thing in found if isinstance(thing, DefaultRoom)]
    if not rooms:
        told = f"There is no room named {words!r}. Type its name, or its number such as #2."
        return Result(False, told, problem=Problem.MISSING)
    if len(rooms) > 1:
        names = ", ".join(f"{room.key} ({room.dbref})" for room in rooms[:10])
        return Result(False, f"Several rooms are called so; type a number: {names}.")
    if not lets(rooms[0], being, "teleport_here", default=True):
        told = f"You may not put anybody into {rooms[0].key}."
        return Result(False, told, problem=Problem.FORBIDDEN)
    return Result(True, str(rooms[0].key), {"room": rooms[0]})
