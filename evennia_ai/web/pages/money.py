"""The page of tokens and money: usage by day, assistant, player, model and purpose, and caps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from urllib.parse import urlencode

from evennia_ai import operations
from evennia_ai.core.text.words import money
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.budget.caps import BudgetReport, CapRow, known_cost, standings_of
from evennia_ai.operations.budget.players import PlayerBudget, budget_of_player, find_player
from evennia_ai.operations.budget.raising import raise_budget, raise_player_budget
from evennia_ai.operations.budget.spending import BENCH, DAYS, Spending, SpentDay, SpentOn, spending
from evennia_ai.operations.peers import overview
from evennia_ai.operations.rights import is_allowed
from evennia_ai.runtime.rights import name_before
from evennia_ai.web.charts import NOTHING, Chart, bars
from evennia_ai.web.forms import time_shown
from evennia_ai.web.rows import ONE, Action, Page, Shown, Visit, page_address

SPANS = (7, DAYS, 90)
UNPRICED = "No call in this time had a known price."
FREE = "Usage in this time had no known cost."
# Budgets that belong to no assistant, by key: the name, and the button that raises a cap.
GAMES = {"": ("The whole game", "raise-game"), BENCH: ("The test bench", "raise-bench")}
ALL, ALL_NAME = "all_games", "All games that share this ledger"
CAP_NAMES = {
    "tokens_per_day": "tokens today",
    "tokens_per_month": "tokens this month",
    "tokens_total": "tokens in all",
    "cost_per_day": "money today",
    "cost_per_month": "money this month",
    "calls_per_minute": "calls this minute",
}


# ---- looking -----------------------------------------------------------------------------------


def _show(visit: Visit) -> Shown:
    scripts = {str(script.key): script for script in operations.list_assistants()}
    name = visit.query.get("assistant", "")
    assistant, days = name if name in scripts else "", _days_of(visit)
    whose = {"": None, **scripts}
    game, tried = operations.budget_of(None), operations.budget_of(None, is_bench=True)
    budgets = {"": _standings(game), **standings_of(list(scripts.values()))}
    bench = _caps(BENCH, None, _standings(tried), visit)
    caps = [_caps(key, script, budgets[key], visit) for key, script in whose.items()]
    result = spending(days, assistant)
    shown = {
        # First the game, then the test bench, then the assistants.
        "caps": [*_caps_of_all(game), *caps[:1], bench, *caps[1:]],
        "assistants": [(key, name_before(each, visit.account)) for key, each in scripts.items()],
        "assistant": assistant,
        "spans": SPANS,
        "span": days,
        "problem": "" if result.ok else result.message,
        "peers": _peers(),
        "player": _player(visit),
    }
    if not result.ok:
        return shown
    return {**shown, **_figures(result, _daily_cap(budgets[assistant]))}


def _peers() -> Shown:
    """The external agents, with times in the game's time zone; none if they are not known."""
    result = overview.list_peers()
    if not result.ok:
        return {}
    data = result.data
    return {
        "peers": [
            {
                **row,
                "last_at": time_shown(row["last_at"]),
                "cost": _cost(row["cost_month"], row["unpriced_calls"]),
            }
            for row in data.peers
        ],
        "tasks": [{**row, "made_at": time_shown(row["made_at"])} for row in data.tasks],
        "remotes": [{**row, "cost": _cost(row["cost_month"])} for row in data.remotes],
    }


def _cost(dollars: float, unpriced: int = 0) -> str:
    return known_cost(money(dollars), dollars, unpriced)


def _standings(budget: Result[BudgetReport]) -> Result[list[CapRow]]:
    return budget.with_data(budget.data.standings) if budget.ok else budget.as_refusal()


def _daily_cap(budget: Result[list[CapRow]]) -> float:
    """The cap on a day's tokens, without what was added for today only; 0 if there is none."""
    rows = budget.data if budget.ok else ()
    days = (row for row in rows if row["name"] == "tokens_per_day" and row["cap"])
    return next((row["cap"] - row["granted"] for row in days), 0)


def _days_of(visit: Visit) -> int:
    text = visit.query.get("days", "")
    return next((days for days in SPANS if str(days) == text), DAYS)


def _figures(result: Result[Spending], cap: float) -> Shown:
    data = result.data
    whole = data.whole
    names = {name: None for day in data.days for name in day["by_assistant"]}
    tokens = {name: [day["by_assistant"].get(name, 0) for day in data.days] for name in names}
    return {
        "told": result.message,
        "charts": _charts(data.days, tokens, cap),
        "days": [_line(day, whole) for day in reversed(data.days) if day["calls"]],
        "sides": (
            _usage_table("By assistant", "Assistant", data.assistants, whole),
            _usage_table(
                "By player",
                "Player",
                data.players,
                whole,
                "Who spoke to it pays; what it did by itself is nobody's, and what staff try on "
                "the test bench is paid from the bench's own purse.",
            ),
            _usage_table("By model", "Model", data.models, whole),
            _usage_table("By purpose", "Purpose", list(map(_in_words, data.purposes)), whole),
        ),
    }


def _charts(
    days: Sequence[SpentDay], tokens: Mapping[str, Sequence[float]], cap: float
) -> tuple[Chart, ...]:
    dates = [day["key"] for day in days]
    cost = [day["cost_dollars"] for day in days]
    return (
        bars("tokens", "Tokens a day, by assistant", dates, tokens, "{:,.0f}".format, cap=cap),
        bars(
            "cost",
            "US dollars a day",
            dates,
            {"all models": cost},
            money,
            nothing=_no_cost(days),
        ),
    )


def _no_cost(days: Sequence[SpentDay]) -> str:
    """The sentence for an empty chart of costs: no calls, no known prices, or free models."""
    calls = sum(day["calls"] for day in days)
    unpriced = sum(day["unpriced_calls"] for day in days)
    if not calls:
        return NOTHING
    return UNPRICED if unpriced >= calls else FREE


def _usage_table(
    title: str, column: str, rows: Sequence[SpentOn], whole: SpentOn, note: str = ""
) -> Shown:
    """A table of usage, grouped by one criterion."""
    lines = [_line(row, whole) for row in rows]
    return {"title": title, "column": column, "lines": lines, "note": note}


def _in_words(purpose: SpentOn) -> SpentOn:
    return {**purpose, "name": purpose["name"].replace("_", " ")}


def _line(row: SpentOn, whole: SpentOn) -> Shown:
    """A line of usage, in words; `share` is its percentage of all tokens."""
    return {
        "name": row["name"],
        "calls": f"{row['calls']:,}",
        "prompt": f"{row['prompt_tokens']:,}",
        "completion": f"{row['completion_tokens']:,}",
        "tokens": f"{row['tokens']:,}",
        "cost": _cost(row["cost_dollars"], row["unpriced_calls"]),
        "share": round(100 * row["tokens"] / whole["tokens"]) if whole["tokens"] else 0,
    }


def _caps(
    key: str, script: AssistantScript | None, budget: Result[list[CapRow]], visit: Visit
) -> Shown:
    """The caps of an assistant, of the game (key "") or of the test bench (key `BENCH`).

    With the address of the button that raises a cap, what was typed there and refused, and the
    reason why the caps are not known, or "".
    """
    if script is not None:
        act, address = "raise budget", page_address("raise", key=key)
        name = name_before(script, visit.account)
    else:
        act, (name, button) = "raise budget of the game", GAMES[key]
        address = page_address(button)
    is_meant = visit.result is not None and visit.form.get("of", "") == key
    rows = budget.data if budget.ok else []
    return {
        "key": key,
        "name": name,
        "address": address,
        "rows": _in_order(rows),
        "raisable": [row["name"] for row in rows if row["cap"]],
        "may_raise": any(row["cap"] for row in rows) and is_allowed(act, visit.account, script),
        "problem": "" if budget.ok else budget.message,
        "typed": {name: visit.form.get(name, "") for name in ("cap", "amount")} if is_meant else {},
    }


def _player(visit: Visit) -> Shown:
    """The caps of the player in the query or in the form, as cards; empty if none is asked for."""
    name = visit.form.get("player", "") or visit.query.get("player", "").strip()
    if not name:
        return {"asked": "", "cards": ()}
    match = find_player(name)
    budget = budget_of_player(match.data) if match.ok else match.as_refusal()
    if not budget.ok:
        return {"asked": name, "cards": (), "problem": budget.message}
    data, rows = budget.data, _as_set(budget.data)
    typed = {each: visit.form.get(each, "") for each in ("cap", "amount")}
    card = {
        "key": data.person,
        "player": data.person,
        "name": data.name,
        "address": page_address("raise-player"),
        "rows": _in_order(data.standings),
        "raisable": rows,
        "may_raise": bool(rows) and is_allowed("raise budget of a player", visit.account),
        "typed": typed if visit.result is not None else {},
    }
    tighter = [
        {"key": key, "name": f"{data.name} with {key}", "rows": _in_order(each)}
        for key, each in data.with_assistants.items()
    ]
    return {"asked": data.name, "cards": [card, *tighter]}


def _as_set(budget: PlayerBudget) -> list[str]:
    """The names of the caps that are set for a player, by the game or by some assistant."""
    of_all = (budget.standings, *budget.with_assistants.values())
    is_set = {row["name"] for rows in of_all for row in rows if row["cap"]}
    return [name for name in CAP_NAMES if name in is_set]


def _caps_of_all(budget: Result[BudgetReport]) -> list[Shown]:
    # Caps that all games of a shared ledger have in common are raised in no single game.
    rows = budget.data.all_games if budget.ok else ()
    return [{"key": ALL, "name": ALL_NAME, "rows": _in_order(rows)}] if rows else []


def _in_order(rows: Iterable[CapRow]) -> list[Shown]:
    return [
        cap_shown(row) for row in sorted(rows, key=lambda row: list(CAP_NAMES).index(row["name"]))
    ]


def cap_shown(row: CapRow) -> Shown:
    """Format a cap for a page; `percent` is the used part, 0 to 100, or None if there is no cap."""
    form = money if row["name"].startswith("cost") else "{:,.0f}".format
    unpriced = row.get("unpriced_calls", 0)
    return {
        "name": row["name"],
        "what": CAP_NAMES[row["name"]],
        "used": known_cost(form(row["used"]), row["used"], unpriced),
        "cap": form(row["cap"]) if row["cap"] else "",
        "granted": form(row["granted"]) if row["granted"] else "",
        "resets": (row["resets_at"] or "never")[:16].replace("T", " "),
        "percent": min(100, round(100 * row["used"] / row["cap"])) if row["cap"] else None,
    }


# ---- raising -----------------------------------------------------------------------------------


def _raise(visit: Visit, *, is_bench: bool = False) -> Result:
    cap, amount = visit.form.get("cap", ""), visit.form.get("amount", "")
    return raise_budget(visit.script, cap, amount, visit.by, is_bench=is_bench)


def _raise_player(visit: Visit) -> Result:
    match = find_player(visit.form.get("player", ""))
    if not match.ok:
        return match
    cap, amount = visit.form.get("cap", ""), visit.form.get("amount", "")
    return raise_player_budget(match.data, cap, amount, visit.by)


def _page_of_player(visit: Visit, _result: Result) -> str:
    return f"{page_address('money')}?{urlencode({'player': visit.form.get('player', '')})}"


PAGES = (Page("money/", "money", "Money", "usage", _show),)
ACTIONS = (
    Action("money/raise/", "raise-game", "money", "raise budget of the game", _raise),
    Action(
        "money/raise-bench/",
        "raise-bench",
        "money",
        "raise budget of the game",
        partial(_raise, is_bench=True),
    ),
    Action(
        "money/raise-player/",
        "raise-player",
        "money",
        "raise budget of a player",
        _raise_player,
        goes_to=_page_of_player,
    ),
    Action(f"{ONE}raise/", "raise", "money", "raise budget", _raise),
)
