"""The budget of one player, who has it with all assistants together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from evennia_ai.budget import ledger
from evennia_ai.core.safety.prices import NAME as PRICES
from evennia_ai.core.settings.budget import BudgetConfig, BudgetSpan, Scope
from evennia_ai.core.text.words import counted
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import find_being, key_of
from evennia_ai.operations.budget.caps import CapRow, as_data, budget_settings, now_of, tables
from evennia_ai.operations.naming import list_assistants, persons_called
from evennia_ai.operations.result import Result, note


@dataclass(frozen=True, slots=True)
class PlayerBudget:
    """Caps of one player, and how much of each is used."""

    person: Annotated[str, note("Such as `*#3`.")]
    name: str
    standings: Annotated[list[CapRow], note("The caps that the game sets.")]
    with_assistants: Annotated[
        dict[str, list[CapRow]],
        note("The caps with each assistant whose settings have lower ones, by its name."),
    ]
    assistants: Annotated[
        dict[str, float], note("Each assistant's share of the month's tokens, from 0 to 1.")
    ]
    unpriced_calls: Annotated[int, note("Model calls of this month without a configured price.")]


def find_player(name: str) -> Result[str]:
    """Find a player's id by the name of an account or a character, or by an id such as "*#3"."""
    persons = {each for each in persons_called(name.strip()) if find_being(each) is not None}
    if len(persons) == 1:
        return Result(True, "", persons.pop())
    if persons:
        return Result.conflict(
            f"Several people are called {name[:40]}; give the account's name, or its number "
            "such as *#3."
        )
    return Result.not_found(f"There is no player called {name[:40]!r}.")


def budget_of_player(person: str) -> Result[PlayerBudget]:
    """Report use and caps of one player.

    Args:
        person: the player's id, such as "*#3".
    """
    now, name = now_of(next(iter(list_assistants()), None)), key_of(person)
    try:
        configs = configs_of_player()
        reports = {
            key: ledger.report(Scope.PLAYER, person, config, now) for key, config in configs.items()
        }
    except ConfigurationError as error:
        return Result.invalid(f"No model call is made: {error}.")
    own = reports[""]
    shown = {name: own} | {f"With {key}": each for key, each in reports.items() if key}
    lines = [line for table in tables(shown, now) for line in table]
    names = {str(script.key).casefold(): str(script.key) for script in list_assistants()}
    shares = {names.get(key, key): share for key, share in own.shares.items()}
    parts = [f"{key} {share * 100:.0f} %" for key, share in shares.items()]
    lines.append(f"  by assistant {'   '.join(parts) or 'none yet'}")
    unpriced = own.unpriced[BudgetSpan.MONTH]
    if unpriced:
        lines.append(f"Of {counted(unpriced, 'calls')} this month the price is not known: {PRICES}")
    data = PlayerBudget(
        person=person,
        name=name,
        standings=as_data(own, now),
        with_assistants={key: as_data(each, now) for key, each in reports.items() if key},
        assistants=shares,
        unpriced_calls=unpriced,
    )
    return Result(True, "\n".join(lines), data)


def configs_of_player() -> Mapping[str, BudgetConfig]:
    """The game's caps of a player under "", and those of each assistant that has lower ones.

    Raises:
        ConfigurationError: a cap of the game is wrong. An assistant whose own are wrong calls no
            model, and is left out.
    """
    game = ledger.config_for({})
    configs = {"": game}
    for script in list_assistants():
        try:
            config = ledger.config_for(budget_settings(script))
        except ConfigurationError:
            continue
        if config.player != game.player:
            configs[str(script.key)] = config
    return configs
