"""Models: those there are to choose from, a test of one, and the room that prompts have in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from twisted.internet.defer import Deferred

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.turn.fullness import Fullness
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm import local
from evennia_ai.llm.check import CheckResult, check_endpoints
from evennia_ai.llm.check import Report as Report
from evennia_ai.llm.endpoints import LOCAL_MODEL, PRESETS, SCRIPTED, from_provider
from evennia_ai.llm.local.pinned import QWEN
from evennia_ai.llm.local_transport import places_of_game
from evennia_ai.operations.models.shown_prompts import next_prompt
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.result import Result
from evennia_ai.runtime import services

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


def loading_hint(script: AssistantScript | None) -> str:
    """The words for staff while the demo brain of an assistant, or of the game, is loaded.

    Raises:
        ConfigurationError: what is set does not fit together.
    """
    endpoint = script.endpoint() if script is not None else services.endpoint()
    return local.loading(places_of_game()[0]) if endpoint.is_local else ""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model to choose: its provider and its name, both empty for the game's, and a line on it."""

    provider: str
    model: str
    text: str


def known_models() -> Result[list[ModelChoice]]:
    """The models that an assistant can be given, the game's first."""
    try:
        game = services.endpoint()
        stand_ins = services.fallbacks()
    except ConfigurationError as error:
        return Result.invalid(f"The game's model is not set up: {error}")
    rows = [ModelChoice("", "", f"the game's: {game.describe()}")]
    seen = {(game.provider, game.model)}
    offered = [*stand_ins, *(from_provider(provider, "", game) for provider in OFFERED)]
    for endpoint in offered:
        # One with an address of its own cannot be kept: a provider and a name do not say it all.
        if endpoint.provider in PRESETS and (endpoint.provider, endpoint.model) not in seen:
            seen.add((endpoint.provider, endpoint.model))
            model = "" if endpoint.model in (LOCAL_MODEL, SCRIPTED) else endpoint.model
            rows.append(ModelChoice(endpoint.provider, model, endpoint.describe()))
    return Result(True, f"{len(rows)} models", rows)


def choose_model(text: str) -> Result[ModelChoice]:
    """A model as somebody types it: a provider and a model's name, or one of the two."""
    provider, _, model = text.strip().partition(" ")
    provider = provider.casefold() if provider.casefold() in PRESETS else provider
    if provider not in PRESETS:
        provider, model = "", text.strip()
    if " " in model.strip() or not (provider or model):
        return Result.invalid(
            f"Type a model's name, or a provider ({', '.join(PRESETS)}) and a name."
        )
    try:
        endpoint = from_provider(provider, model.strip(), services.endpoint())
    except ConfigurationError as error:
        return Result.invalid(f"That will not do: {error}")
    row = ModelChoice(provider, model.strip(), endpoint.describe())
    return Result(True, row.text, row)


def check_chosen(provider: str, model: str) -> Deferred[Report]:
    """Try a model with real requests, before anybody has it.

    Raises:
        ConfigurationError: what is chosen does not fit together.
    """
    endpoint = from_provider(provider, model, services.endpoint())
    return check_endpoints(endpoint, services.pool(), paid=partial(MeteredClient, None))


def check_model(script: AssistantScript | None = None) -> Deferred[Report]:
    """Try the model of an assistant, or the game's, with real requests.

    They are counted as what they are, and the caps on what it costs hold for them. The last line
    says whether the assistant's prompt, or the game's fullest, has room in its model's context.

    Raises:
        ConfigurationError: what is set does not fit together.
    """
    endpoint = script.endpoint() if script is not None else services.endpoint()
    checked = check_endpoints(endpoint, services.pool(), paid=partial(MeteredClient, script))
    scripts = list_assistants() if script is None else [script]
    return checked.addCallback(with_room, scripts)


NAME = "prompt"
# As many are looked at for a check of the whole game.
MOST_CHECKED = 50


def with_room(report: Report, scripts: Sequence[AssistantScript]) -> Report:
    """A check's report with one more line: the fullest prompt among some assistants'."""
    found = [(script, fullness_of(script)) for script in scripts[:MOST_CHECKED]]
    known = [(script, fullness) for script, fullness in found if fullness is not None]
    if not known:
        return report
    script, fullest = max(known, key=lambda item: item[1].tokens / item[1].most)
    line = CheckResult(NAME, *fullest.checked(str(script.key)))
    return Report(report.title, (*report.lines, line))


def fullness_of(script: AssistantScript) -> Fullness | None:
    """The room that a short whisper takes in a context; None where it has no prompt yet."""
    if script.work is None:
        return None
    try:
        return next_prompt(script, script.obj).prompt.fullness
    except ConfigurationError:
        return None
