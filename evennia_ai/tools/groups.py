"""Groups of the package's tools, with the words of a message that call for each group.

They are shown to the model by need, as most messages need none of them. Words that occur in every
second message are no cues; the model can still find tools with `find_tools`.
"""

from __future__ import annotations

from evennia_ai.core.turn.toolspec import ToolGroup


def _group(name: str, words: str, *phrases: str) -> ToolGroup:
    return ToolGroup(name, (*words.split(), *phrases))


HANDS = _group(
    "hands",
    "take took taken pick get got grab lift give gave given hand drop put bring brought carry hold "
    "held lend lent borrow pass fetch receive offer trade swap return snatch seize buy sell lay "
    "pocket",
    "let me have",
    "leave it",
    "i need the",
)
PLACES = _group(
    "places",
    "exit way path road door gate stairs where place room around alone anybody anyone somebody "
    "somewhere nearby find found search seek lost missing hidden surroundings",
    "who else",
    "who is here",
    "who's here",
    "who is with",
    "out of here",
)
TRAVEL = _group(
    "travel",
    "go walk run come follow leave move enter climb step travel lead escort accompany visit return "
    "north south east west northeast northwest southeast southwest upstairs downstairs outside "
    "inside away",
)
TIME = _group(
    "time", "time date day today tonight hour clock late early midnight noon night month year"
)
STATE = _group("state", "token budget quota workload backlog overload", "your state")
GUIDELINES = _group(
    "guidelines", "guideline manner behave behaviour behavior conduct", "from now on", "in future"
)
FAR = _group(
    "far",
    "page channel announce broadcast message send inform notify online absent",
    "let them know",
    "let him know",
    "let her know",
    "let everybody know",
    "let everyone know",
    "far away",
    "somewhere else",
)
NOTES = _group("notes", "note notebook write wrote written jot list reminder", "strike out")
JOURNAL = _group(
    "journal",
    "journal diary chronicle entry yesterday happen event recently lately write wrote record",
    "last night",
    "last week",
    "last month",
    "other day",
)
PROJECTS = _group("projects", "project plan undertaking", "work on", "working on", "worked on")
