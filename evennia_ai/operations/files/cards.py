"""Character cards: looked at, given to an assistant, made an assistant of, and given back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from django.db import transaction
from twisted.internet import reactor

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.cards.card_use import BOOK, BookEntry, CardUse, book_of, given_back, use_of
from evennia_ai.core.cards.character_card import CharacterCard, as_json, as_png, new_card, read_card
from evennia_ai.core.memory.recollection import WORLD, MemoryKind
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.errors import ImportFileError
from evennia_ai.memory import lore
from evennia_ai.memory_store import rows
from evennia_ai.models import CardFile
from evennia_ai.operations.assistants.creation import create_assistant
from evennia_ai.operations.files.exports import save_given_back
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.settings.changing import signed, update_settings
from evennia_ai.runtime import state

MOST_LINES, MOST_NAMED = 30, 100
JSON, PNG = "json", "png"
KINDS = (JSON, PNG)


@dataclass(frozen=True, slots=True)
class CardShown:
    """The use that is made of a card, before or after it is stored."""

    key: Annotated[str, note("The assistant that it is for.")]
    name: Annotated[str, note("As the card has it.")]
    persona: Annotated[str, note("Who it is, from description, personality and scenario.")]
    card_notes: Annotated[str, note("What its maker wrote for a model; data, below the rules.")]
    lore: Annotated[int, note("Entries of its book that are told.")]
    lore_texts: Annotated[list[str], note("Each entry: its keywords, or `always`, and its text.")]
    unused: Annotated[list[str], note("What is kept for the way out, and not used.")]


def read(raw: bytes) -> Result[CharacterCard]:
    """The card in a file."""
    try:
        card = read_card(raw)
    except ImportFileError as error:
        return Result(False, f"That is not a card that can be taken: {error}.")
    return Result(True, f"The card of {card.name}", card)


def show_card(card: CharacterCard, key: str = "") -> Result[CardShown]:
    """The parts of a card that would be stored, and those kept and not used.

    Args:
        key: the assistant's name; "": as the card has it.
    """
    use = use_of(card)
    shown = CardShown(
        key=key or card.name,
        name=card.name,
        persona=use.persona,
        card_notes=use.notes,
        lore=len(use.book.entries),
        lore_texts=list(map(_entry_text, use.book.entries)),
        unused=_unused(use),
    )
    return Result(True, "\n".join(_lines(shown)), shown)


def _entry_text(entry: BookEntry) -> str:
    said = "always" if entry.terms.is_constant else ", ".join(entry.keywords)
    return f"{said}: {entry.text}"


def _unused(use: CardUse) -> list[str]:
    fields = [f"{one_line(name, 60)}: kept, and not used" for name in use.unused[:MOST_NAMED]]
    more = len(use.unused) - len(fields)
    return [*fields, *([f"{more} further fields"] if more else []), *use.book.unused]


def _lines(shown: CardShown) -> list[str]:
    # Whole: a yes is given to each word that a model will be told.
    lines = [f"The card of {shown.name}, for {shown.key}. Stored is:"]
    for what, text in (("persona", shown.persona), ("notes, below the rules", shown.card_notes)):
        if text:
            lines.append(f"  {what} ({len(text):,} characters): {_indented(text)}")
    if shown.lore:
        lines.append(f"  lore: {counted(shown.lore, 'entries') if shown.lore > 1 else '1 entry'}")
        lines += [f"    {_indented(text)}" for text in shown.lore_texts]
    if shown.unused:
        lines.append("Kept for the way out, and not used:")
        lines += [f"  {each}" for each in shown.unused[:MOST_LINES]]
        if len(shown.unused) > MOST_LINES:
            lines.append(f"  and {len(shown.unused) - MOST_LINES} more")
    return lines


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")


# ---- in ----------------------------------------------------------------------------------------


def import_card(
    card: CharacterCard,
    script: AssistantScript | None = None,
    *,
    key: str = "",
    location: GameObject | None = None,
    by: str = "",
    maker: Being | None = None,
) -> Result[CardShown]:
    """Give a card to an assistant, or make one of it; all of it or nothing.

    What an assistant had of a card before, persona and lore, is replaced.

    Args:
        script: the assistant; None: a new one is made.
        key, location, maker: of the new one, as `create_assistant` takes them; key "": the card's.
    """
    use = use_of(card)
    with signed(by or str(getattr(maker, "key", ""))), transaction.atomic():
        if script is None:
            made = create_assistant(
                key or card.name,
                location=location,
                persona=use.persona,
                settings={"card_notes": use.notes} if use.notes else {},
                maker=maker,
            )
            if not made.ok:
                return made.as_refusal()
            script, told = made.data.script, made.message
        else:
            changes = {"persona": use.persona or None, "card_notes": use.notes or None}
            changed = update_settings(script, changes)
            if not changed.ok:
                return changed.as_refusal()
            told = f"{script.key} has the card of {card.name}."
        _store(script, card, use)
    return Result(True, told, show_card(card, str(script.key)).data)


def _store(script: AssistantScript, card: CharacterCard, use: CardUse) -> None:
    at = reactor.seconds()
    lore.remove_book(script.pk, BOOK)
    entries = [
        (lore.made(entry.text, keywords=entry.keywords, audience=WORLD, at=at), entry.terms)
        for entry in use.book.entries
    ]
    lore.insert(script.pk, entries)
    CardFile.objects.update_or_create(
        assistant=script.pk,
        defaults={"chara": card.chara, "ccv3": card.ccv3, "picture": card.picture},
    )
    audit.record("card_imported", script, name=card.name, entries=len(entries))


# ---- out ---------------------------------------------------------------------------------------


def export_card(script: AssistantScript, kind: str = JSON) -> bytes:
    """The card of an assistant as a file, as it came but for what was changed since.

    One that was never given a card has one made of who it is.

    Args:
        kind: one of KINDS.
    """
    kept = CardFile.objects.filter(assistant=script.pk).first()
    persona, notes = (str(state.read(script, name)) for name in ("persona", "card_notes"))
    if kept is None:
        card = _made_of(script, persona, notes)
    else:
        card = CharacterCard(kept.chara, kept.ccv3, bytes(kept.picture))
    card = given_back(card, persona, notes)
    return as_png(card) if kind == PNG else as_json(card)


def _made_of(script: AssistantScript, persona: str, notes: str) -> CharacterCard:
    # What only some may know is not part of who it is.
    own = rows.of(script.pk, kind=MemoryKind.LORE, audience=WORLD).order_by("id")
    entries = (BookEntry(row.text, tuple(row.tags), lore.terms_of(row.terms)) for row in own)
    fields = {"name": str(script.key), "description": persona, "system_prompt": notes}
    return new_card(**fields, character_book=book_of(entries))


def save_card(script: AssistantScript, kind: str = "") -> Result[str]:
    """Write the card of an assistant into a new file.

    Args:
        kind: one of KINDS; "": a picture where it came as one, else JSON.

    Returns:
        data: the path.
    """
    if not kind:
        pictures = CardFile.objects.filter(assistant=script.pk).exclude(picture=b"")
        kind = PNG if pictures.exists() else JSON
    saved = save_given_back(f"card-{script.key}", kind, export_card(script, kind))
    return saved.after(f"{script.key}'s card.")
