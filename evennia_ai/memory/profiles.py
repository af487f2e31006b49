"""Profiles of the beings that an assistant knows, and what of them a prompt is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import islice

from django.db import connection
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from evennia.objects.objects import DefaultCharacter

from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.memory import profiles as core
from evennia_ai.core.memory.recollection import (
    MemoryKind,
    Recollection,
    Seeker,
    is_for_all,
    point_of,
)
from evennia_ai.core.safety.persona import about_itself
from evennia_ai.core.text import dates
from evennia_ai.core.text.cleaning import name_as_data, one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.memory import talks
from evennia_ai.memory.consent import may_remember, names_of
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.memory_store import rows
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.models.entity_profile import note_written, written
from evennia_ai.models.statements import marks, select
from evennia_ai.runtime import names, state
from evennia_ai.runtime.assistant import Assistant

MOST_OTHERS = 5
MOST_LOOKED_AT = 30
MOST_OF_OTHERS = 3
MOST_DUE = 20
MOST_OBSERVATIONS = 40
OBSERVATIONS_TO_THINK = 5
LONGEST_NAME = 60
NEVER = -1.0
# What another process of the game wrote is seen after this.
FRESH_SECONDS = 60.0
# Facts that were drawn from entries of the journal would be observed twice.
# The time comes last: MySQL takes what is set for what was there, from there on.
_MET_AGAIN = (
    f"UPDATE {EntityProfile._meta.db_table} SET name = %s, "
    "meetings = meetings + CASE WHEN last_at <= %s THEN 1 ELSE 0 END, "
    "favour = CASE WHEN last_at <= %s THEN favour + (1.0 - favour) * %s ELSE favour END, "
    "last_at = %s WHERE assistant = %s AND entity = %s"
)
_OBSERVED = Q(kind=MemoryKind.JOURNAL) | Q(kind=MemoryKind.FACT, cites=[])


def of(script: Assistant, entity: str) -> EntityProfile | None:
    """An assistant's profile of a being ("*#3", "#12"); None of one it never met."""
    found: EntityProfile | None = _of(script).filter(entity=entity).first()
    return found


def _of(script: Assistant) -> QuerySet[EntityProfile]:
    return EntityProfile.objects.filter(assistant=script.pk)


def meet(script: Assistant, entity: str, name: str) -> None:
    """Note that a being was talked with, within a transaction of the caller's.

    It is another meeting when the last one is a quarter of an hour ago and no talk goes on, of
    which the profile may be told a minute late. Costs one statement, and two for somebody new.
    """
    now, shown = script.clock.seconds(), one_line(name, LONGEST_NAME)
    is_talk = talks.going_on(script, entity) is not None
    since = NEVER if is_talk else now - core.MEETING_SECONDS
    with connection.cursor() as cursor:
        values = (shown, since, since, core.FAVOUR_OF_A_MEETING, now, script.pk, entity)
        cursor.execute(_MET_AGAIN, values)
        is_known = bool(cursor.rowcount)
    if is_known:
        note_written(script.pk)
    else:
        met = EntityProfile(
            assistant=script.pk,
            entity=entity,
            entity_type="player" if entity.startswith("*") else "character",
            name=shown,
            favour=core.FAVOUR_OF_A_MEETING,
            meetings=1,
            first_at=now,
            last_at=now,
        )
        # Another process may meet the same being at this moment.
        EntityProfile.objects.bulk_create([met], ignore_conflicts=True)


# ---- telling -----------------------------------------------------------------------------------


def told(
    script: Assistant,
    turn: Turn,
    seeker: Seeker | None = None,
    memories: Iterable[Recollection] = (),
) -> str:
    """Notes for a prompt of whoever speaks, and briefly of others who are there.

    A turn that is told something of this person's that nobody else may know is private from then
    on. Reads the profiles of all with one statement, and with none where nothing of them changed.

    Args:
        seeker: for whom the prompt is made; None: as the turn says.
        memories: told in the same prompt; what they say is not said here again.
    """
    points = {point_of(memory.text) for memory in memories}
    event, seeker = turn.event, seeker or seeker_of(script, turn)
    speaker = "" if event.kind in (OWN, TASK) else event.face
    others = _others(script.obj, event)
    known = _known(script, {speaker, *others} - {""})
    lines = []
    if speaker and may_remember(script, person=speaker, sender_id=event.sender_id):
        lines += _speaker_lines(script, turn, known.get(speaker), seeker, points)
    met = [(known[who], name) for who, name in others.items() if who in known]
    told_of = (_other_line(profile, name, seeker, points) for profile, name in met)
    lines += list(islice(filter(None, told_of), MOST_OTHERS))
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _ProfilesRead:
    """Profiles of some beings as they were read; it is in the work of whoever knows them.

    Attributes:
        at: seconds on the assistant's clock.
        written: as `written` gave it before.
    """

    at: float
    written: tuple[int, int]
    entities: frozenset[str]
    profiles: Mapping[str, EntityProfile]


def _known(script: Assistant, entities: Iterable[str]) -> Mapping[str, EntityProfile]:
    """The profiles of those of some beings of whom something may be remembered."""
    wanted = frozenset(entity for entity in entities if may_remember(script, person=entity))
    if not wanted:
        return {}
    work, now, number = script.work, script.clock.seconds(), written(script.pk)
    kept: _ProfilesRead | None = work.profiles
    if (
        kept is None
        or (kept.written, kept.entities) != (number, wanted)
        # The machine's clock may have been set back.
        or not 0 <= now - kept.at < FRESH_SECONDS
    ):
        where = f"assistant = %s AND entity IN {marks(len(wanted))}"
        found = select(EntityProfile, where, (script.pk, *wanted))
        kept = work.profiles = _ProfilesRead(
            now, number, wanted, {row.entity: row for row in found}
        )
    return kept.profiles


def _others(body: GameObject, event: Event) -> dict[str, str]:
    """The others in the room who wear no mask: the name by id."""
    if body.location is None:
        return {}
    beings = [thing for thing in body.location.contents if isinstance(thing, DefaultCharacter)]
    found = {
        _person_of(being): names.name_of(being, body)
        for being in beings[:MOST_LOOKED_AT]
        if not names.mask_of(being, body)
    }
    besides = (_person_of(body), event.person, event.sender_id)
    return {who: name for who, name in found.items() if who not in besides}


def _person_of(being: GameObject) -> str:
    """As `messages.incoming.person_of`, and without reading the account."""
    return f"*#{being.db_account_id}" if being.db_account_id is not None else str(being.dbref)


def _speaker_lines(
    script: Assistant, turn: Turn, profile: EntityProfile | None, seeker: Seeker, points: Set[str]
) -> list[str]:
    """A line of whoever speaks; none in a first talk, of which the conversation tells all."""
    if profile is None:
        return []
    name, now = name_as_data(turn.event.sender_name), script.clock.seconds()
    talk = talks.going_on(script, profile.entity)
    if talk is None:
        when = f"last {dates.ago(now - profile.last_at)}"
    else:
        turns = counted(talk.turns, "answers")
        when = f"in talk with you, begun {dates.ago(now - talk.began_at)}, {turns} so far"
    details = (f"met {counted(profile.meetings, 'times')}", when)
    known = _known_to(profile, seeker, points)
    if talk is not None and profile.meetings == 1 and not known:
        return []
    turn.hold(*(item["audience"] for item in known))
    return [core.described(name, profile.favour, details, _texts(known))]


def _other_line(profile: EntityProfile, name: str, seeker: Seeker, points: Set[str]) -> str:
    """Of somebody else only what several may know, and nothing where that is nothing."""
    known = _known_to(profile, seeker, points)
    open_ones = [item for item in known if is_for_all(item["audience"])]
    details = ("also here",)
    texts = _texts(open_ones[-MOST_OF_OTHERS:])
    if not texts:
        return ""
    return core.described(name_as_data(name), profile.favour, details, texts)


def _known_to(
    profile: EntityProfile, seeker: Seeker, points: Set[str]
) -> list[core.ProfileAttribute]:
    """The parts of a profile that may be told and that no memory beside it tells."""
    known = core.known_to(profile.attributes, profile.entity, seeker)
    return [item for item in known if point_of(item["text"]) not in points]


def _texts(attributes: Iterable[core.ProfileAttribute]) -> list[str]:
    return [one_line(str(item["text"]), core.LONGEST_ATTRIBUTE) for item in attributes]


# ---- the night ---------------------------------------------------------------------------------


def due(script: Assistant) -> Iterator[tuple[EntityProfile, list[Recollection]]]:
    """Those of whom five things or more were observed that their attributes do not know yet.

    At most 20, those with the most first, and of each the oldest 40 observations, read only as far
    as they are asked for.
    """
    later = _observed(script, OuterRef("entity"), OuterRef("consolidated"))
    count = later.order_by().values("person").annotate(count=Count("id")).values("count")
    waiting = _of(script).annotate(waiting=Subquery(count))
    enough = waiting.filter(waiting__gte=OBSERVATIONS_TO_THINK).order_by("-waiting", "id")
    for profile in enough[:MOST_DUE]:
        unread = _observed(script, profile.entity, profile.consolidated).order_by("id")
        yield profile, rows.values(unread[:MOST_OBSERVATIONS])


def _observed(script: Assistant, entity: str | OuterRef, after: int | OuterRef) -> QuerySet[Memory]:
    """Observations of a being that are newer than a memory's id."""
    trust = state.memory_config(script).min_source_trust
    seen = rows.current(script.pk, person=entity, id__gt=after, trust__gte=trust)
    return seen.filter(_OBSERVED)


def store(
    script: Assistant,
    profile: EntityProfile,
    attributes: Iterable[core.ProfileAttribute],
    favour: float,
    consolidated: int,
) -> bool:
    """Keep what was made of the observations, within a transaction of the caller's.

    What would tell of the assistant itself is left out. What meetings added meanwhile stays.

    Args:
        profile: as it was when this was thought of.
        attributes: all that is known of it now, {"text", "audience", "at"}.
        favour: how it is liked now, at most 0.1 more or less than the profile says.
        consolidated: id of the newest memory that was taken into account.

    Returns:
        Whether it is stored; not of a being that was forgotten meanwhile, or that wants nothing
        remembered.
    """
    now = _of(script).filter(pk=profile.pk).first()
    if now is None or not may_remember(script, person=now.entity):
        return False
    names = names_of(script)
    fit = [item for item in attributes if not about_itself(str(item["text"]), names)]
    _of(script).filter(pk=now.pk).update(
        attributes=core.bounded(fit),
        favour=core.nudged(now.favour, favour - profile.favour),
        consolidated=max(now.consolidated, consolidated),
    )
    return True
