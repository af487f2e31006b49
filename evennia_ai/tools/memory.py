"""Tools for long-term memory: searching it, and storing a fact."""

from __future__ import annotations

from evennia_ai.core.hearing.inbox import OWN
from evennia_ai.core.memory import journal as core
from evennia_ai.core.memory.recollection import MemoryKind, SourceType
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolError
from evennia_ai.memory import consent, journal, recalling
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.messages.incoming import face_of
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.names import folded
from evennia_ai.tools.registry import tool
from evennia_ai.tools.senses import names_of

MOST_A_TURN = 5
LONGEST_QUERY = 300
WRITERS = ("store_memory", "add_journal_entry")


def check_count(turn: Turn) -> None:
    """Limit how many memories one turn may write.

    Raises:
        ToolError: the limit is reached.
    """
    if sum(map(turn.acts.count, WRITERS)) >= MOST_A_TURN:
        raise ToolError(f"you wrote down {MOST_A_TURN} things in this turn; that is enough")


@tool(category="safe_chain", only_reads=True)
async def recall_memories(character: Character, query: str, *, turn: Turn) -> str:
    """Look into your memory for what you know about something or somebody.

    Args:
        query: what you want to know, in a few words.
    """
    script = character.assistant_script
    if not query.strip():
        raise ToolError("say in a few words what you want to know")
    memories = await recalling.search(script, query[:LONGEST_QUERY], seeker_of(script, turn))
    if memories is None:
        raise ToolError(
            "your memory cannot be searched right now; that does not mean that you know nothing"
        )
    return journal.told(script, turn, memories) or "you remember nothing about that"


@tool(category="async_required")
def store_memory(
    character: Character, text: str, importance: int | None = None, about: str = "", *, turn: Turn
) -> str:
    """Keep a fact for good: what you learned of a person or the world, never of yourself.

    Args:
        text: one or two sentences in the third person, of at most 500 characters.
        importance: 1 (trifle) to 10 (vital); leave it out if you are not sure.
        about: name of whoever or whatever it is about.
    """
    script = character.assistant_script
    check_count(turn)
    _check_about(character, about)
    is_own = turn.event.kind == OWN
    memory = journal.write(
        script,
        turn,
        text,
        MemoryKind.FACT,
        source_type=SourceType.OBSERVATION if is_own else SourceType.DIRECT,
        importance=importance,
        tags=(about,),
    )
    return f"kept as [{memory.key[: core.SHORT_KEY]}]"


def _check_about(character: Character, about: str) -> None:
    """Refuse a fact about somebody present who must not be remembered."""
    wanted, room = folded(about.strip()), character.location
    beings = (
        [being for being in room.contents if wanted in names_of(being, character)] if room else []
    )
    script = character.assistant_script
    for being in beings:
        if not consent.may_remember(
            script, person=face_of(being, character), sender_id=being.dbref
        ):
            raise ToolError(journal.NOT_REMEMBERED)
