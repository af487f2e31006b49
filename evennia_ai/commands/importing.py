"""The subcommands of `assistant` that import and export cards, lore packs and assistants."""

from __future__ import annotations

from collections.abc import Generator

from evennia_ai.commands.base import Steps, first_word
from evennia_ai.commands.words import WordCommand, subcommand
from evennia_ai.core.cards.lore_pack import LONGEST_PACK
from evennia_ai.errors import ImportFileError
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.bundles import reading, writing
from evennia_ai.operations.bundles.parts import MOST_PACKED, Bundle
from evennia_ai.operations.bundles.reading import BundleShown
from evennia_ai.operations.bundles.writing import ENDING
from evennia_ai.operations.files import cards, lore_packs
from evennia_ai.operations.files.imports import read_import, typed_and_rest

IMPORT, EXPORT, ALL = "import", "export", "all"
IMPORT_ALL = "import assistant"
ALIKE = (
    "{name} has an account of the same name here. Is that the same person as in {game}? If so, "
    "that account may hear what {name} told there in private."
)
# Nobody answers more questions than this with care.
MOST_ASKED = 20
MANY_ALIKE = (
    "{count} of them have accounts of the same name here, too many to ask about. Say who is the "
    "same, such as: where Tom is Tom, Mo is Mo. All others stay strangers."
)
LOOK, CHANGE = "show memories", "change lore"
REPLACED = "This replaces {name}'s persona and what came from an earlier card."


def _parse_order(rest: str) -> tuple[str, str, str | None]:
    """Parse `<file> [as <new name> | = <name>]`; missing parts are "", "" and None."""
    # Not by a regular expression, which can backtrack for hours on a line of many blanks.
    file, sign, name = rest.partition("=")
    if sign:
        return file.strip(), "", name.strip()
    file, word, new = f" {rest}".rpartition(" as ")
    return (file.strip(), new.strip(), None) if word else (rest.strip(), "", None)


def _parse_bundle_order(rest: str) -> tuple[str, str, dict[str, str]]:
    """Parse a line such as "ada.zip as Bea where Tom is Thomas, Mo is Mo".

    Returns:
        The file, a new name, and the account here by each player there.

    Raises:
        ImportFileError: the part after "where" is malformed.
    """
    head, word, tail = f"{rest} ".partition(" where ")
    file, new, _ = _parse_order(head.strip())
    pairs = dict[str, str]()
    for each in tail.split(",") if word else ():
        there, verb, here = each.partition(" is ")
        if not (verb and there.strip() and here.strip()):
            raise ImportFileError("after 'where' it has to go on as in: Tom is Thomas, Mo is Mo")
        pairs[there.strip()] = here.strip()
    return file, new, pairs


class ImportingWords(WordCommand):
    """The subcommands about character cards, lore packs and whole assistants."""

    @subcommand(
        "assistant import <file> [as <new name> | = <name>], assistant import {...} [...], "
        "assistant import <file>.zip [as <new name>] [where <player there> is <account here>, ...]",
        "Imports a character card (SillyTavern, versions 1 to 3), as PNG or JSON: from the folder "
        "that EVENNIA_AI_IMPORT_FOLDER names, or pasted. It makes an assistant where you stand, or "
        "with = gives the card to an existing one. It shows what will be stored, and what is kept "
        "but unused; then it asks. A .zip is a whole assistant of another game, with everything it "
        "knows; people you do not match with somebody here stay strangers to it.",
    )
    def _import_file(self, rest: str) -> Steps | None:
        # A .zip is a whole assistant; anything else is a card.
        if f"{rest} ".partition(" where ")[0].split(" as ")[0].strip().endswith(f".{ENDING}"):
            return self._reported(self._import_bundle(rest)) if self.may(IMPORT_ALL) else None
        return self._reported(self._import_card(rest))

    def _reported(self, steps: Steps) -> Steps:
        """Run the steps of an import, and say what is wrong with its file."""
        try:
            yield from steps
        except ImportFileError as error:
            self.show_usage(f"Nothing is imported: {error}.")

    def _is_to_be_stored(self) -> Generator[str, str, bool]:
        is_wanted = yield from self.confirm("Store it?")
        if not is_wanted:
            self.msg("Nothing is stored.")
        return is_wanted

    def _import_bundle(self, rest: str) -> Steps:
        file, new, people = _parse_bundle_order(rest)
        raw = read_import(file, MOST_PACKED)
        bundle: Result[Bundle] = yield from self.wait_for(reading.read(raw))
        if not bundle.ok:
            self.show_usage(bundle.message)
            return
        preview = reading.show_bundle(bundle.data, new, people)
        self.show_long(preview.message)
        if not preview.ok:
            return
        if not people and (people := (yield from self._same_people(preview.data))):
            self.show_long(reading.show_bundle(bundle.data, new, people).message)
        # Again: the right may have been taken away during the question.
        if (yield from self._is_to_be_stored()) and self.may(IMPORT_ALL):
            where, me = getattr(self.caller, "location", None), self.caller
            coming = reading.import_bundle(
                bundle.data, key=new, location=where, people=people, maker=me
            )
            self.show_later(coming)

    def _same_people(self, shown: BundleShown) -> Generator[str, str, dict[str, str]]:
        """Ask for each player with an account of the same name here if it is the same person."""
        if len(shown.alike) > MOST_ASKED:
            self.msg(literal(MANY_ALIKE.format(count=len(shown.alike))))
            return {}
        same = dict[str, str]()
        for name in shown.alike:
            if (yield from self.confirm(ALIKE.format(name=name, game=shown.game))):
                same[name] = name
        return same

    def _import_card(self, rest: str) -> Steps:
        raw, rest = typed_and_rest(rest)
        file, new, name = _parse_order(rest)
        if name == "" or "=" in (name or "") or bool(raw) is bool(file):
            self.show_usage("Which card, and for whom? Name its file, or paste its JSON.")
            return
        if (target := self._target(name)) is None:
            return
        card = cards.read(raw or read_import(file))
        if not card.ok:
            self.show_usage(card.message)
            return
        (script,) = target
        if (refused := cards.refusal_of(card.data, new, script)) is not None:
            self.show_usage(f"Nothing is imported. {refused.message}")
            return
        preview = cards.show_card(card.data, str(script.key) if script is not None else new)
        self.show_long(preview.message)
        if script is not None:
            self.msg(literal(REPLACED.format(name=script.key)))
        # Again: the assistant may be gone, or the right taken away.
        if (yield from self._is_to_be_stored()) and self._target(name) == target:
            where, me = getattr(self.caller, "location", None), self.caller
            self.show(cards.import_card(card.data, script, key=new, location=where, maker=me))

    def _target(self, given: str | None) -> tuple[AssistantScript | None] | None:
        """The assistant for a card, as a 1-tuple; (None,) for a new one; None if not allowed."""
        if given is None:
            return (None,) if self.may("create") else None
        script = self.pick_for(given, "configure")
        return (script,) if script is not None else None

    @subcommand(
        "assistant export [<name>] [png | json | all]",
        "Its card as a file, as it was imported, with later changes; an assistant that never had a "
        "card gets one made of its persona. With `all` it is the whole assistant, for another "
        "game, with every private word that it knows.",
    )
    def _export_file(self, rest: str) -> None:
        name, _, last = rest.rpartition(" ")
        if last.casefold() != ALL:
            self._export_card(rest)
        elif (script := self.pick(name)) is not None and self.may("export assistant", script):
            self.show_later(writing.save_assistant(script, by=self.by))

    def _export_card(self, rest: str) -> None:
        name, _, last = rest.rpartition(" ")
        kind = last.casefold() if last.casefold() in cards.KINDS else ""
        script = self.pick(name if kind else rest)
        if script is not None and self.may("show configuration", script):
            self.show(cards.save_card(script, kind))

    @subcommand(
        "assistant lore, assistant lore import <file> | {...}, assistant lore export [<pack>]",
        "Lore packs, YAML or JSON: lists them, imports one from the folder of imports after "
        "asking, or exports one into a file. Without a name it exports the lore that was written "
        "here.",
    )
    def _lore(self, rest: str) -> Steps | None:
        verb, rest = first_word(rest)
        if verb == IMPORT and rest:
            return self._reported(self._import_pack(rest)) if self.may(CHANGE) else None
        if verb == EXPORT:
            if self.may(LOOK):
                self.show(lore_packs.save_pack(rest or lore_packs.OWN))
        elif verb:
            self.show_usage()
        elif self.may(LOOK):
            self.show_long(lore_packs.list_packs().message)
        return None

    def _import_pack(self, rest: str) -> Steps:
        raw, more = typed_and_rest(rest)
        if raw and more:
            raise ImportFileError(f"nothing can follow the pack, but there is: {more[:60]}")
        pack = lore_packs.read(raw or read_import(rest, LONGEST_PACK))
        tried = lore_packs.import_pack(pack.data, is_tried=True) if pack.ok else pack
        self.show(tried)
        if not tried.ok:
            return
        # Again: the right may have been taken away during the question.
        if (yield from self._is_to_be_stored()) and self.may(CHANGE):
            self.show(lore_packs.import_pack(pack.data, by=self.by))
