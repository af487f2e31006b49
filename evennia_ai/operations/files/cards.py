"""Character cards: previewed, applied to an assistant, turned into a new one, and exported."""

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
from evennia_ai.operations.assistants.creation import create_assistant, refuse_names, take_back
from evennia_ai.operations.files.exports import save_export
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.settings.changing import prepare, signed, update_settings
from evennia_ai.operations.settings.rows import UNSET
from evennia_ai.prompts.placeholders import left_macros
from evennia_ai.runtime import state

MOST_LINES, MOST_NAMED = 30, 100
JSON, PNG = "json", "png"
KINDS = (JSON, PNG)


@dataclass(frozen=True, slots=True)
class CardShown:
    """The parts of a card that are used, before or after it is stored."""

    key: Annotated[str, note("Name of the assistant that it is for.")]
    name: Annotated[str, note("Name in the card.")]
    persona: Annotated[str, note("Persona, made from description, personality and scenario.")]
    card_notes: Annotated[
        str, note("Notes of the card's author for a model, which rank below the rules.")
    ]
    lore: Annotated[int, note("Number of its lore entries that are used.")]
    lore_texts: Annotated[
        list[str], note("Each entry with its keywords, or `always`, and its text.")
    ]
    unused: Annotated[
        list[str], note("Parts that are not used, and only stored for a later export.")
    ]


def read(raw: bytes) -> Result[CharacterCard]:
    """Read a card from a file."""
    try:
        card = read_card(raw)
    except ImportFileError as error:
        return Result(False, f"That card cannot be used: {error}.")
    return Result(True, f"The card of {card.name}", card)


def show_card(card: CharacterCard, key: str = "") -> Result[CardShown]:
    """Preview a card: the parts that would be used, and those that are only kept for export.

    Args:
        key: name of the assistant; "": the card's.
    """
    use = use_of(card)
    preview = CardShown(
        key=key or card.name,
        name=card.name,
        persona=use.persona,
        card_notes=use.notes,
        lore=len(use.book.entries),
        lore_texts=list(map(_entry_text, use.book.entries)),
        unused=_unused(use),
    )
    return Result(True, "\n".join(_lines(preview)), preview)


def _entry_text(entry: BookEntry) -> str:
    keys = "always" if entry.terms.is_constant else ", ".join(entry.keywords)
    return f"{keys}: {entry.text}"


def _unused(use: CardUse) -> list[str]:
    fields = [f"{one_line(name, 60)}: kept but not used" for name in use.unused[:MOST_NAMED]]
    more = len(use.unused) - len(fields)
    left = left_macros(use.persona, use.notes, *(entry.text for entry in use.book.entries))
    return [
        *fields,
        *([f"{more} further fields"] if more else []),
        *([f"macros that stay as written: {one_line(', '.join(left), 200)}"] if left else []),
        *use.book.unused,
    ]


def _lines(shown: CardShown) -> list[str]:
    # In full length: who approves a card approves each word that a model will read.
    lines = [f"The card of {shown.name}, for {shown.key}. It stores:"]
    for what, text in (("persona", shown.persona), ("notes, below the rules", shown.card_notes)):
        if text:
            lines.append(f"  {what} ({len(text):,} characters): {_indented(text)}")
    if shown.lore:
        lines.append(f"  lore: {counted(shown.lore, 'entries')}")
        lines += [f"    {_indented(text)}" for text in shown.lore_texts]
    if shown.unused:
        lines.append("Kept for a later export, but not used:")
        lines += [f"  {each}" for each in shown.unused[:MOST_LINES]]
        if len(shown.unused) > MOST_LINES:
            lines.append(f"  and {len(shown.unused) - MOST_LINES} more")
    return lines


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")


# ---- import ------------------------------------------------------------------------------------


def refusal_of(card: CharacterCard, key: str, script: AssistantScript | None) -> Result | None:
    """The refusal of a card that `import_card` would not store, or None: to say so before asking.

    Args:
        key, script: as in `import_card`.
    """
    if script is None and (refused := refuse_names(key or card.name, ())) is not None:
        return refused
    use = use_of(card)
    prepared = prepare({"persona": use.persona, "card_notes": use.notes}, lambda _: UNSET)
    return Result(False, f"{'; '.join(prepared.errors.values())}.") if prepared.errors else None


def import_card(
    card: CharacterCard,
    script: AssistantScript | None = None,
    *,
    key: str = "",
    location: GameObject | None = None,
    by: str = "",
    maker: Being | None = None,
) -> Result[CardShown]:
    """Apply a card to an assistant, or create one from it; completely or not at all.

    Persona and lore that an assistant had from an earlier card are replaced.

    Args:
        script: the assistant; None: a new one is created.
        key, location, maker: for a new one, as in `create_assistant`; key "": the card's name.
    """
    use, result = use_of(card), None
    try:
        with signed(by or str(getattr(maker, "key", ""))), transaction.atomic():
            if script is None:
                result = create_assistant(
                    key or card.name,
                    location=location,
                    persona=use.persona,
                    settings={"card_notes": use.notes} if use.notes else {},
                    maker=maker,
                )
                if not result.ok:
                    return result.as_refusal()
                bearer, message = result.data.script, result.message
            else:
                changes = {"persona": use.persona or None, "card_notes": use.notes or None}
                changed = update_settings(script, changes)
                if not changed.ok:
                    return changed.as_refusal()
                bearer, message = script, f"{script.key} has the card of {card.name}."
            _store(bearer, card, use)
    # The transaction undoes what was stored; this undoes what is in memory.
    except BaseException:
        take_back(result)
        if script is not None:
            _read_anew(script)
        raise
    return Result(True, message, show_card(card, str(bearer.key)).data)


def _read_anew(script: AssistantScript) -> None:
    # Evennia's attribute cache does not notice that the transaction was rolled back.
    script.attributes.reset_cache()
    if script.work is not None:
        script.work.drop_cached_settings()


def _store(script: AssistantScript, card: CharacterCard, use: CardUse) -> None:
    at = reactor.seconds()
    # Only lore of an earlier card: what staff wrote for the assistant has no book.
    lore.remove_book(script.pk, BOOK)
    entries = [
        (lore.build(entry.text, keywords=entry.keywords, audience=WORLD, at=at), entry.terms)
        for entry in use.book.entries
    ]
    lore.insert(script.pk, entries)
    CardFile.objects.update_or_create(
        assistant=script.pk,
        defaults={"chara": card.chara, "ccv3": card.ccv3, "picture": card.picture},
    )
    audit.record("card_imported", script, name=card.name, entries=len(entries))


# ---- export ------------------------------------------------------------------------------------


def export_card(script: AssistantScript, kind: str = JSON) -> bytes:
    """Export the card of an assistant: as it was imported, with what was changed since.

    For an assistant without a card, one is made from its persona, notes and lore.

    Args:
        kind: one of KINDS.
    """
    stored = CardFile.objects.filter(assistant=script.pk).first()
    persona, notes = (str(state.read(script, name)) for name in ("persona", "card_notes"))
    if stored is None:
        card = _made_of(script, persona, notes)
    else:
        card = CharacterCard(stored.chara, stored.ccv3, bytes(stored.picture))
    card = given_back(card, persona, notes)
    return as_png(card) if kind == PNG else as_json(card)


def _made_of(script: AssistantScript, persona: str, notes: str) -> CharacterCard:
    # Only lore that everybody may know: whoever gets the file can read it.
    own = rows.of(script.pk, kind=MemoryKind.LORE, audience=WORLD).order_by("id")
    entries = (BookEntry(row.text, tuple(row.tags), lore.terms_of(row.terms)) for row in own)
    fields = {"name": str(script.key), "description": persona, "system_prompt": notes}
    return new_card(**fields, character_book=book_of(entries))


def save_card(script: AssistantScript, kind: str = "") -> Result[str]:
    """Write the card of an assistant into a new file; the data is its path.

    Args:
        kind: one of KINDS; "": PNG where it came with a picture, else JSON.
    """
    if not kind:
        pictures = CardFile.objects.filter(assistant=script.pk).exclude(picture=b"")
        kind = PNG if pictures.exists() else JSON
    saved = save_export(f"card-{script.key}", kind, export_card(script, kind))
    return saved.after(f"{script.key}'s card.")
