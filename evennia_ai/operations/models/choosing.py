"""Choice of a model: those on offer, a test of one, and how full its context is by a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from twisted.internet.defer import Deferred, succeed

from evennia_ai.agent.preparation import generation_of
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget.spending import MeteredClient
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.fullness import Fullness
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm import local
from evennia_ai.llm.answer_limits import Generation
from evennia_ai.llm.check import CheckResult, check_endpoint
from evennia_ai.llm.check import Report as Report
from evennia_ai.llm.endpoints import LOCAL_MODEL, PRESETS, SCRIPTED, from_provider
from evennia_ai.llm.local.pinned import QWEN
from evennia_ai.llm.local_transport import places_of_game
from evennia_ai.operations.models.shown_prompts import next_prompt
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.result import Result
from evennia_ai.runtime import game_thread, services

OFFERED = ("local", SCRIPTED)
NO_BRAIN = (
    "It has nothing to think with yet: {why}. Either install the demo brain (pip install "
    '"evennia-ai[local]"), or name a model of your own in server/conf/secret_settings.py: '
    "EVENNIA_AI_MODEL, with OPENAI_API_KEY, OPENAI_BASE_URL or both. Then: evennia reload, and in "
    "the game: assistant check"
)
NOT_FETCHED = "The first answer takes a while: the demo brain ({size:,} MB) is fetched before it."


def brain_hint(script: AssistantScript) -> str:
    """A hint for staff where an assistant's model is missing or not downloaded yet; else ""."""
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
    """A hint for staff while the demo model of an assistant, or of the game, is being loaded.

    Raises:
        ConfigurationError: settings do not fit together.
    """
    endpoint = script.endpoint() if script is not None else services.endpoint()
    return local.loading(places_of_game()[0]) if endpoint.is_local else ""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model on offer; provider and name are both empty for the game's own."""

    provider: str
    model: str
    text: str


def known_models() -> Result[list[ModelChoice]]:
    """List the models that an assistant can be given, the game's first."""
    try:
        game = services.endpoint()
        fallbacks = services.fallbacks()
    except ConfigurationError as error:
        return Result.invalid(f"The game's model is not set up: {error}")
    rows = [ModelChoice("", "", f"the game's: {game.describe()}")]
    seen = {(game.provider, game.model)}
    offered = [*fallbacks, *(from_provider(provider, "", game) for provider in OFFERED)]
    for endpoint in offered:
        # An endpoint with its own URL cannot be offered: only provider and name are stored.
        if endpoint.provider in PRESETS and (endpoint.provider, endpoint.model) not in seen:
            seen.add((endpoint.provider, endpoint.model))
            model = "" if endpoint.model in (LOCAL_MODEL, SCRIPTED) else endpoint.model
            rows.append(ModelChoice(endpoint.provider, model, endpoint.describe()))
    return Result(True, counted(len(rows), "models"), rows)


def choose_model(text: str) -> Result[ModelChoice]:
    """Read a model as typed: a provider and a model's name, or one of the two."""
    provider, _, model = text.strip().partition(" ")
    provider = provider.casefold() if provider.casefold() in PRESETS else provider
    # One word that is no provider is a model's name, at the provider of the game's model.
    if provider not in PRESETS:
        provider, model = "", text.strip()
    if " " in model.strip() or not (provider or model):
        return Result.invalid(
            f"Type a model's name, or a provider ({', '.join(PRESETS)}) and a name."
        )
    try:
        endpoint = from_provider(provider, model.strip(), services.endpoint())
    except ConfigurationError as error:
        return Result.invalid(f"That does not work: {error}")
    row = ModelChoice(provider, model.strip(), endpoint.describe())
    return Result(True, row.text, row)


def check_chosen(provider: str, model: str) -> Deferred[Report]:
    """Test a model with real requests before it is assigned to an assistant.

    Raises:
        ConfigurationError: provider and model do not fit together.
    """
    endpoint = from_provider(provider, model, services.endpoint())
    return check_endpoint(endpoint, services.pool(), paid=partial(MeteredClient, None))


def check_model(script: AssistantScript | None = None) -> Deferred[Report]:
    """Test the model of an assistant, or the game's, with real requests.

    The requests are charged and capped like others. The last line of the report says if the prompt
    of the assistant, or the largest prompt of the game, fits into the model's context.

    Raises:
        ConfigurationError: settings do not fit together.
    """
    endpoint = script.endpoint() if script is not None else services.endpoint()
    checked = check_endpoint(
        endpoint,
        services.pool(),
        paid=partial(MeteredClient, script),
        generation=generation_of(script) if script is not None else Generation(),
    )
    scripts = list_assistants() if script is None else [script]
    return checked.addCallback(_with_room, scripts[:MOST_CHECKED])


NAME = "prompt"
# Assistants whose prompts are built for a check of the whole game, and of these without a pause:
# each takes milliseconds.
MOST_CHECKED, AT_ONCE = 50, 5


def _with_room(report: Report, scripts: Sequence[AssistantScript]) -> Deferred[Report]:
    # Adds a line to a check's report: the fullest prompt among some assistants'.
    steps = _add_fullest(report, scripts)
    is_many = len(scripts) > AT_ONCE
    return game_thread.paced(steps) if is_many else succeed(game_thread.finish(steps))


def _add_fullest(report: Report, scripts: Sequence[AssistantScript]) -> game_thread.Steps[Report]:
    known: list[tuple[AssistantScript, Fullness]] = []
    for script in scripts:
        # It may be deleted meanwhile.
        if script.pk is not None and (fullness := fullness_of(script)) is not None:
            known.append((script, fullness))
        yield
    if not known:
        return report
    script, fullest = max(known, key=lambda item: item[1].tokens / item[1].most)
    line = CheckResult(NAME, *fullest.checked(str(script.key)))
    return Report(report.title, (*report.lines, line))


def fullness_of(script: AssistantScript) -> Fullness | None:
    """Fullness of the model's context with the prompt of a short whisper; None without a prompt."""
    if script.work is None:
        return None
    try:
        return next_prompt(script, script.obj).prompt.fullness
    except ConfigurationError:
        return None
