"""The pages of an assistant's turns: the list with its filters, and one turn in full.

The waterfall diagram is computed here, so that pages need no script; the table beside it says the
same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from evennia_ai.core.safety.notices import limit_words
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.turns import latest
from evennia_ai.operations.turns.latest import OUTCOMES, Sought
from evennia_ai.operations.turns.recorded import Recorded
from evennia_ai.operations.turns.sentences import NOBODY, cost_of
from evennia_ai.operations.turns.traces import Traced
from evennia_ai.web.forms import asked_number
from evennia_ai.web.rows import ONE, Page, Shown, Visit
from evennia_ai.web.stream import address_of_stream

# In units of the drawing: the widths of the column of names and of the whole, the height of a row,
# and the least width of a bar, so that a very short step is still visible.
NAMES, WIDTH, ROW, LEAST = 190, 800, 22, 3
LONGEST_NAME = 26
LEVELS = {"answered": "good", "silent": "quiet", "failed": "bad", "broke off": "bad"}


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar of a step.

    Attributes:
        y, middle: the top of its row, and the baseline of its text.
        x, width: position and width of the bar.
    """

    name: str
    kind: str
    y: int
    middle: int
    x: float
    width: float


def shown_turn(turn: Recorded) -> Shown:
    """Format a recorded turn for a page.

    Its `anchor` is its element id, the same each time that it is rendered; `level` selects a colour
    and a sign, as for cards; `who`, `how` and `number` are those of the newest message that it
    answers, or empty and 0.
    """
    newest = turn["heard"][-1] if turn["heard"] else None
    return {
        "row": turn,
        "anchor": _anchor(turn),
        "level": LEVELS.get(turn["state"], "busy"),
        "who": newest["sender"] if newest else "",
        "how": newest["source"] if newest else "",
        "number": newest["number"] if newest else 0,
        "cost": _cost(turn["cost_nano"], turn["unpriced_calls"]),
        "limits": list(map(limit_words, turn["limits"])),
        "steps": list(_steps(turn)),
        "bars": list(_bars(turn)),
        "height": ROW * len(turn["steps"]) + 4,
        "names": NAMES,
        "width": WIDTH,
    }


def _cost(nano: int, unpriced: int = 0) -> str:
    text = cost_of({"cost_nano": nano, "unpriced_calls": unpriced})
    return text.removeprefix("for ")


def _anchor(turn: Recorded) -> str:
    # With the time, since a crash may cause a turn's number to be used twice; only characters that
    # a CSS selector can have.
    when = "".join(filter(str.isalnum, turn["at"]))
    return f"turn-{turn['tick']}-{when}"


def _steps(turn: Recorded) -> Iterable[Shown]:
    """The steps of a turn, each with its number, its anchor on the page and its cost in words."""
    for number, step in enumerate(turn["steps"], start=1):
        unpriced = int(not step["is_priced"])
        cost = _cost(step["cost_nano"], unpriced) if step["kind"] == "model" else ""
        anchor = f"{_anchor(turn)}-{number}"
        yield {"number": number, "anchor": anchor, "cost": cost, "row": step}


def _bars(turn: Recorded) -> Iterable[Bar]:
    # Never 0, by which it divides.
    whole, room = max(turn["seconds"], 0.001), WIDTH - NAMES
    for place, step in enumerate(turn["steps"]):
        x = NAMES + room * min(1.0, step["begin"] / whole)
        width = max(LEAST, room * step["seconds"] / whole)
        yield Bar(
            name=f"{place + 1} {one_line(step['name'], LONGEST_NAME)}",
            kind=f"{step['kind']} {step['state']}",
            y=place * ROW + 4,
            middle=place * ROW + 17,
            x=round(min(x, WIDTH - LEAST), 1),
            width=round(min(width, max(LEAST, WIDTH - x)), 1),
        )


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
    result = latest.listing(script, sought, visit.look, visit.account)
    own = latest.autonomous_ticks(script)
    filters = {name: text for name, text in given.items() if text}
    older = result.data.next
    return {
        "result": None if result.ok or result.problem is ProblemKind.NOT_FOUND else result,
        "off": result.message if result.problem is ProblemKind.NOT_FOUND else "",
        "rows": [_row(turn, own) for turn in result.data.messages],
        "sought": {**given, "by_cost": by_cost},
        "outcomes": OUTCOMES,
        "is_sought": bool(filters) or by_cost,
        "older": urlencode({**filters, "before": older}) if older else "",
        "newest": urlencode(filters) if before is not None else None,
        "key": str(script.key),
        "stream": stream,
    }


def _show_one(visit: Visit) -> Shown:
    script, number, tick = visit.assistant, int(visit.path["number"]), asked_number(visit, "tick")
    result = latest.show_turn(script, number, visit.look, tick=tick, asker=visit.account)
    data = result.data if result.ok else latest.TurnInFull("", [], [], [])
    return {
        "result": None if result.ok else result,
        "why": data.why,
        "around": data.around,
        "turns": [shown_turn(turn) for turn in data.recorded],
        "is_missing": result.ok and not data.recorded,
        "key": str(script.key),
    }


PAGES = (
    Page(f"{ONE}turns/", "turns", "Turns", "events", _show_list),
    Page(f"{ONE}turns/<int:number>/", "turn", "Turn", "events", _show_one, in_menu=False),
)
ACTIONS = ()
