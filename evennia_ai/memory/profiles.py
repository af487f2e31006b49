"""Profiles of the people that an assistant knows, and their text in a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice

from django.db import connection
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from evennia_ai.core.hearing.inbox import OWN, TASK, Event
from evennia_ai.core.memory import profiles as core
from evennia_ai.core.memory.namesakes import (
    Labels,
    former_name,
    former_names,
    may_name_another,
    named_others,
    with_former_names,
)
from evennia_ai.core.memory.recollection import (
    MemoryKind,
    Recollection,
    Seeker,
    is_for_all,
    person_audience,
    point_of,
)
from evennia_ai.core.safety.persona import about_itself
from evennia_ai.core.text import dates
from evennia_ai.core.text.cleaning import name_as_data, one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn import namesakes
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.memory import modes, talks
from evennia_ai.memory.consent import may_remember, names_of
from evennia_ai.memory.seeking import beings_of, seeker_of
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
# Profiles are cached; changes by another process are seen after this many seconds.
FRESH_SECONDS = 60.0
# `last_at` is set last: MySQL evaluates assignments in order, and later ones see the new value.
_MEET_SQL = (
    f"UPDATE {EntityProfile._meta.db_table} SET name = %s, "
    "meetings = meetings + CASE WHEN last_at <= %s THEN 1 ELSE 0 END, "
    "favour = CASE WHEN last_at <= %s THEN favour + (1.0 - favour) * %s ELSE favour END, "
    "last_at = %s WHERE assistant = %s AND entity = %s"
)
# Facts with sources are left out, as their journal entries are observations already.
_OBSERVED = Q(kind=MemoryKind.JOURNAL) | Q(kind=MemoryKind.FACT, cites=[])


def of(script: Assistant, entity: str) -> EntityProfile | None:
    """The profile of a being ("*#3", "#12"); None if the assistant never met it."""
    profile: EntityProfile | None = _of(script).filter(entity=entity).first()
    return profile


def _of(script: Assistant) -> QuerySet[EntityProfile]:
    return EntityProfile.objects.filter(assistant=script.pk)


def meet(script: Assistant, entity: str, name: str) -> None:
    """Record a talk with a being, in the caller's transaction.

    After a quarter of an hour of silence it counts as another meeting. Runs one query, or two for
    somebody new.
    """
    # The profile may be a minute behind a talk (see `talks.is_just_met`), so the talk decides.
    now, short_name = script.clock.seconds(), one_line(name, LONGEST_NAME)
    _note_former_name(script, entity, short_name)
    is_talk = talks.going_on(script, entity) is not None
    since = NEVER if is_talk else now - core.MEETING_SECONDS
    with connection.cursor() as cursor:
        values = (short_name, since, since, core.FAVOUR_OF_A_MEETING, now, script.pk, entity)
        cursor.execute(_MEET_SQL, values)
        is_known = bool(cursor.rowcount)
    if is_known:
        note_written(script.pk)
    else:
        profile = EntityProfile(
            assistant=script.pk,
            entity=entity,
            entity_type="player" if entity.startswith("*") else "character",
            name=short_name,
            favour=core.FAVOUR_OF_A_MEETING,
            meetings=1,
            first_at=now,
            last_at=now,
        )
        # Another process may insert the same profile at the same moment.
        EntityProfile.objects.bulk_create([profile], ignore_conflicts=True)


def _note_former_name(script: Assistant, entity: str, name: str) -> None:
    """Keep the name that a being was met under and has no longer, for the being alone."""
    cached: _ProfilesRead | None = script.work.profiles
    before = cached.profiles.get(entity) if cached is not None else None
    if before is None or before.name == name:
        return
    # Another character of the same player is no new name.
    if before.name in {names.name_of(each, script.obj) for each in beings_of(entity)}:
        return
    profile = of(script, entity)
    if profile is not None:
        date = dates.full(dates.moment(profile.last_at, modes.now(script)))
        text, audience = former_name(profile.name, date), person_audience(entity)
        item: core.ProfileAttribute = {"text": text, "audience": audience, "at": profile.last_at}
        _of(script).filter(pk=profile.pk).update(
            attributes=core.with_former_name(profile.attributes, item)
        )


def names_of_others(
    script: Assistant, turn: Turn, seeker: Seeker, memories: Sequence[Recollection]
) -> Labels:
    """Labels for those whom memories name otherwise than they are called now, by key.

    Runs one query where somebody else's memory mentions the seeker's name, at most once a minute,
    and one more in each turn where it is a fact.
    """
    others: set[str] = set()
    if may_name_another(seeker, memories):
        cached: _ProfilesRead | None = script.work.profiles
        profile = cached.profiles.get(seeker.person) if cached is not None else None
        profile = profile or of(script, seeker.person)
        points = profile.attributes if profile is not None else ()
        seeker = with_former_names(seeker, [(item["text"], item["at"]) for item in points])
        others = _namesakes(script, seeker, memories)
    person = seeker.person if seeker.is_private else ""
    bearers = namesakes.bearers(script.work.history, turn.named, person)
    return named_others(memories, seeker, bearers, others)


def _namesakes(script: Assistant, seeker: Seeker, memories: Iterable[Recollection]) -> set[str]:
    """Ids of others who told facts with the seeker's name, and have or had it themselves."""
    tellers = {
        memory.person
        for memory in memories
        if memory.kind == MemoryKind.FACT and seeker.name in memory.text
    } - {"", seeker.person}
    profiles = _of(script).filter(entity__in=tellers) if tellers else ()
    return {
        profile.entity
        for profile in profiles
        if seeker.name in {profile.name, *former_names(item["text"] for item in profile.attributes)}
    }


# ---- telling -----------------------------------------------------------------------------------


def prompt_text(
    script: Assistant,
    turn: Turn,
    seeker: Seeker | None = None,
    memories: Iterable[Recollection] = (),
) -> str:
    """The prompt's notes about the speaker, and briefly about others who are present.

    If they include something that only the speaker may know, the turn becomes private. Runs one
    query, or none if no profile has changed.

    Args:
        seeker: for whom the prompt is made; None: derived from the turn.
        memories: memories in the same prompt, which are not repeated here.
    """
    points = {point_of(memory.text) for memory in memories}
    event, seeker = turn.event, seeker or seeker_of(script, turn)
    speaker = "" if event.kind in (OWN, TASK) else event.face
    others = _bystanders(script.obj, event)
    known = _cached_profiles(script, frozenset((speaker, *others)) - {""})
    lines = []
    if speaker in known and may_remember(script, person=speaker, sender_id=event.sender_id):
        lines += _speaker_lines(script, turn, known[speaker], seeker, points)
    acquaintances = (
        (known[who], name)
        for who, (name, being_id) in others.items()
        if who in known and may_remember(script, person=who, sender_id=being_id)
    )
    told_of = (_other_line(profile, name, seeker, points) for profile, name in acquaintances)
    lines += list(islice(filter(None, told_of), MOST_OTHERS))
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _ProfilesRead:
    """A cache of profiles, in the assistant's `work`.

    Attributes:
        at: time of reading, in seconds of the assistant's clock.
        written: result of `written` at that time.
    """

    at: float
    written: tuple[int, int]
    entities: frozenset[str]
    profiles: Mapping[str, EntityProfile]


def _cached_profiles(script: Assistant, wanted: frozenset[str]) -> Mapping[str, EntityProfile]:
    """The profiles of those beings, which the caller may use only with their consent."""
    if not wanted:
        return {}
    work, now, number = script.work, script.clock.seconds(), written(script.pk)
    cached: _ProfilesRead | None = work.profiles
    if (
        cached is None
        or (cached.written, cached.entities) != (number, wanted)
        # Negative if the machine's clock has been set back.
        or not 0 <= now - cached.at < FRESH_SECONDS
    ):
        where = f"assistant = %s AND entity IN {marks(len(wanted))}"
        profiles = select(EntityProfile, where, (script.pk, *wanted))
        cached = work.profiles = _ProfilesRead(
            now, number, wanted, {row.entity: row for row in profiles}
        )
    return cached.profiles


def _bystanders(body: GameObject, event: Event) -> dict[str, tuple[str, str]]:
    """The other unmasked characters in the room: name and id by the id of the person."""
    if body.location is None:
        return {}
    beings = filter(names.is_character, body.location.contents)
    besides = (_person_of(body), event.person, event.sender_id)
    bystanders = {}
    for being in islice(beings, MOST_LOOKED_AT):
        who = _person_of(being)
        if who not in besides and not names.mask_of(being, body):
            bystanders[who] = names.name_of(being, body), str(being.dbref)
    return bystanders


def _person_of(being: GameObject) -> str:
    """The result of `messages.incoming.person_of`, without loading the account."""
    return f"*#{being.db_account_id}" if being.db_account_id is not None else str(being.dbref)


def _speaker_lines(
    script: Assistant, turn: Turn, profile: EntityProfile, seeker: Seeker, points: Set[str]
) -> list[str]:
    """The line about the speaker. None in a first talk, where the conversation says it all."""
    name, now = name_as_data(turn.event.sender_name), script.clock.seconds()
    talk = talks.going_on(script, profile.entity)
    if talk is None:
        when = f"last {dates.ago(now - profile.last_at)}"
    else:
        turns = counted(talk.turns, "answers")
        when = f"in talk with you, begun {dates.ago(now - talk.began_at)}, {turns} so far"
    details = (f"met {counted(profile.meetings, 'times')}", when)
    known = _tellable(profile, seeker, points)
    if talk is not None and profile.meetings == 1 and not known:
        return []
    turn.hold(*(item["audience"] for item in known))
    return [core.described(name, profile.favour, details, _texts(known))]


def _other_line(profile: EntityProfile, name: str, seeker: Seeker, points: Set[str]) -> str:
    """The line about a bystander, with public attributes only; "" without any."""
    known = _tellable(profile, seeker, points)
    open_ones = [item for item in known if is_for_all(item["audience"])]
    details = ("also here",)
    texts = _texts(open_ones[-MOST_OF_OTHERS:])
    if not texts:
        return ""
    return core.described(name_as_data(name), profile.favour, details, texts)


def _tellable(
    profile: EntityProfile, seeker: Seeker, points: Set[str]
) -> list[core.ProfileAttribute]:
    """Attributes that the seeker may know and that no memory in the prompt says already."""
    known = core.known_to(profile.attributes, profile.entity, seeker)
    return [item for item in known if point_of(item["text"]) not in points]


def _texts(attributes: Iterable[core.ProfileAttribute]) -> list[str]:
    return [one_line(str(item["text"]), core.LONGEST_ATTRIBUTE) for item in attributes]


# ---- the night ---------------------------------------------------------------------------------


def due(script: Assistant) -> Iterator[tuple[EntityProfile, list[Recollection]]]:
    """Profiles with at least five new observations, and these observations.

    At most 20 profiles of those who may be remembered, those with the most observations first, each
    with its oldest 40. Each profile's observations are only read when the iterator gets there.
    """
    later = _observed(script, OuterRef("entity"), OuterRef("consolidated"))
    count = later.order_by().values("person").annotate(count=Count("id")).values("count")
    waiting = _of(script).annotate(waiting=Subquery(count))
    enough = waiting.filter(waiting__gte=OBSERVATIONS_TO_THINK).order_by("-waiting", "id")
    profiles = (profile for profile in enough if may_remember(script, person=profile.entity))
    for profile in islice(profiles, MOST_DUE):
        unread = _observed(script, profile.entity, profile.consolidated).order_by("id")
        yield profile, rows.values(unread[:MOST_OBSERVATIONS])


def _observed(script: Assistant, entity: str | OuterRef, after: int | OuterRef) -> QuerySet[Memory]:
    """Observations of a being with an id above `after`."""
    trust = state.memory_config(script).min_source_trust
    memories = rows.current(script.pk, person=entity, id__gt=after, trust__gte=trust)
    return memories.filter(_OBSERVED)


def store(
    script: Assistant,
    profile: EntityProfile,
    attributes: Iterable[core.ProfileAttribute],
    favour: float,
    consolidated: int,
) -> bool:
    """Store the result of consolidating observations, in the caller's transaction.

    Attributes about the assistant itself are dropped. Changes by meetings in the meantime are kept.

    Args:
        attributes: the complete new list, {"text", "audience", "at"}.
        favour: the new favour, which may differ by 0.1 at most.
        consolidated: id of the newest memory that was taken into account.

    Returns:
        False if the being has been forgotten in the meantime, or must not be remembered.
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
