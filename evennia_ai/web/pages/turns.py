"""The pages of an assistant's turns: the list with its filters, and one turn in full."""

from __future__ import annotations

from urllib.parse import urlencode

from evennia_ai.core.safety.notices import limit_words
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.turns import latest
from evennia_ai.operations.turns.latest import OUTCOMES, Sought
from evennia_ai.operations.turns.traces import NOBODY, Traced, cost_of
from evennia_ai.web.forms import asked_number
from evennia_ai.web.rows import ONE, Page, Shown, Visit
from evennia_ai.web.stream import address_of_stream
from evennia_ai.web.waterfall import LEVELS, shown_turn

SOUGHT = ("sender", "words", "outcome", "day")


def _row(turn: Traced, own: dict[float, int]) -> Shown:
    """Format a turn as a line of the list.

    Its `tick` leads to a turn that answered no message and is still in memory; `level` selects a
    colour and a sign, as for cards.
    """
    return {
        **turn,
        "tick": None if turn["number"] else own.get(turn["at_seconds"]),
        "who": turn["sender"] or NOBODY,
        "level": LEVELS.get(turn["result"], "busy"),
        "tokens": turn["prompt_tokens"] + turn["completion_tokens"],
        "cost": cost_of({**turn}).removeprefix("for "),
        "limits": list(map(limit_words, turn["limits"])),
    }


def _show_list(visit: Visit) -> Shown:
    script, query = visit.assistant, visit.query
    given = {name: query.get(name, "").strip()[:100] for name in SOUGHT}
    before, by_cost = asked_number(visit, "before"), query.get("order") == "cost"
    sought = Sought(**given, before=before, by_cost=by_cost)
    # Its mark is taken before anything is read, so that no change falls in between. Nothing is ever
    # added to an older page, so it needs no stream.
    stream = address_of_stream(str(script.key)) if before is None else ""
    found = latest.listing(script, sought, visit.look, visit.account)
    own = latest.autonomous_ticks(script)
    named = {name: text for name, text in given.items() if text}
    older = found.data.next
    return {
        "result": None if found.ok or found.problem is ProblemKind.NOT_FOUND else found,
        "off": found.message if found.problem is ProblemKind.NOT_FOUND else "",
        "rows": [_row(turn, own) for turn in found.data.messages],
        "sought": {**given, "by_cost": by_cost},
        "outcomes": OUTCOMES,
        "is_sought": bool(named) or by_cost,
        "older": urlencode({**named, "before": older}) if older else "",
        "newest": urlencode(named) if before is not None else None,
        "key": str(script.key),
        "stream": stream,
    }


def _show_one(visit: Visit) -> Shown:
    script, number, tick = visit.assistant, int(visit.path["number"]), asked_number(visit, "tick")
    found = latest.show_turn(script, number, visit.look, tick=tick, asker=visit.account)
    data = found.data if found.ok else latest.TurnInFull("", [], [], [])
    return {
        "result": None if found.ok else found,
        "why": data.why,
        "around": data.around,
        "turns": [shown_turn(turn) for turn in data.recorded],
        "is_missing": found.ok and not data.recorded,
        "key": str(script.key),
    }


PAGES = (
    Page(f"{ONE}turns/", "turns", "Turns", "events", _show_list),
    Page(f"{ONE}turns/<int:number>/", "turn", "Turn", "events", _show_one, in_menu=False),
)
ACTIONS = ()
