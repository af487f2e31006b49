"""Words of a note as an assistant says them, and a small model's answer held to its note.

Persons are turned in English only: in other languages a fact is said as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evennia_ai.core.memory.asked import (
    SHORTEST_PIECE,
    UNABLE,
    UNASKED,
    UNKNOWN,
    AskedLine,
    is_order,
    is_question,
)
from evennia_ai.core.memory.grounding import Note
from evennia_ai.core.memory.wording import WORD, telling_words
from evennia_ai.core.text.cleaning import cut_at_sentence, one_line

MOST_NOTE_CHARS = 220
MOST_PERSONA_CHARS = 320
KNOWN = "You know: {note}"
# Said where a small model says something else, or where nothing is left of what it said.
DENIALS = {UNKNOWN: "I do not know that.", UNABLE: "I cannot do that."}
WELCOME, MET = "Welcome. What can I do for you?", "Well met."
FAREWELL, LISTENING = "Safe home.", "I am listening."
# The names of those who ask in the examples of prompts.
ASKERS = ("Nell", "Otto")
# The part of a note's telling words that an answer has to hold.
LEAST_HELD = 0.3

_KNOWN_BEFORE = KNOWN.format(note="")
_WHOLE_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_BULLET = re.compile(r"\s*[-*•]\s+")
_DENIES = re.compile(r"\b(?:not?|never|nothing|none|cannot|sorry)\b|n't\b", re.IGNORECASE)
# As somebody is called: behind a comma or a greeting, and at the end of a part of a sentence.
_ADDRESS = re.compile(
    r"(?P<before>(?i:\b(?:hello|hi|hey|welcome|bye|goodbye|farewell|thanks|thank you|home|met"
    rf"|morning|day|evening|night)),?|,) (?P<name>{'|'.join(ASKERS)})(?=[,.!?]|\W*\Z)"
)
_LEAVES = re.compile(r"\b(?:(?:good)?bye|farewell|see you|must (?:go|be off))\b", re.IGNORECASE)
_GREETS = re.compile(
    r"\A\W*(?:hello|hullo|hi|hiya|hey|yo|howdy|greetings"
    r"|(?:good )?(?:morning|day|afternoon|evening))\b"
    r"|\byou there\b|\banybody (?:there|in|home|here)\b",
    re.IGNORECASE,
)
_TO_ME = (
    "to|for|with|of|from|by|at|about|near|behind|beside|told|tell|tells|gave|give|gives|asked|ask"
    "|asks|show|shows|let|lets|owes"
)
_YOU = re.compile(
    rf"\b(?:(?P<me>(?:{_TO_ME}) )you|you are|you were|you're|yourself|yours|your|you)\b",
    re.IGNORECASE,
)
_I = re.compile(
    r"\b(?:i am|am i|i was|was i|i'm|i've|i'll|i'd|myself|mine|my|me|i)\b", re.IGNORECASE
)
_AS_I = {
    "you are": "I am",
    "you were": "I was",
    "you're": "I'm",
    "yourself": "myself",
    "yours": "mine",
    "your": "my",
    "you": "I",
}
_AS_YOU = {
    "i am": "you are",
    "am i": "are you",
    "i was": "you were",
    "was i": "were you",
    "i'm": "you are",
    "i've": "you have",
    "i'll": "you will",
    "i'd": "you would",
    "myself": "yourself",
    "mine": "yours",
    "my": "your",
    "me": "you",
    "i": "you",
}


def split_persona(text: str) -> tuple[str, tuple[str, ...]]:
    """The beginning of a persona, for every prompt, and all its sentences and facts as notes.

    Lines that begin with a dash are facts; a heading above them ends with a colon and is left out.
    Of prose the beginning is kept, to the end of a sentence.
    """
    prose: list[str] = []
    facts: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        bullet = _BULLET.match(line)
        if bullet:
            facts.append(line[bullet.end() :])
        elif not line.endswith(":"):
            prose.append(line)
    whole = " ".join(prose)
    told = filter(None, _WHOLE_SENTENCES.split(whole))
    return cut_at_sentence(whole, MOST_PERSONA_CHARS), (*told, *facts)


def as_spoken(fact: str) -> str:
    """A fact told to an assistant as "you", as it says it of itself."""

    def turned(found: re.Match[str]) -> str:
        if found["me"]:
            return f"{found['me']}me"
        return _AS_I[found[0].lower()]

    return _with_capital(_YOU.sub(turned, fact))


def as_told_back(line: str) -> str:
    """Words of a person about themselves, as somebody else tells them back: "I" becomes "you"."""
    turned = _I.sub(lambda found: _AS_YOU[found[0].lower()], line.strip())
    return _with_capital(turned if turned[-1:] in tuple(".!?") else f"{turned}.")


def _with_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def denies(text: str) -> bool:
    """True for a text that says of something that it is not so."""
    return _DENIES.search(text) is not None


def unaddressed(answer: str, known: str = "") -> str:
    """An answer that calls nobody by a name of the examples, but for names in a text."""

    def left(found: re.Match[str]) -> str:
        return found[0] if found["name"] in known else found["before"].rstrip(",")

    return _ADDRESS.sub(left, answer)


def hint(notes: Sequence[Note], line: str) -> str:
    """The line behind a question that says what a small model answers from."""
    if notes:
        text = " ".join(note.text for note in notes)
        told = one_line(cut_at_sentence(text, MOST_NOTE_CHARS), 300)
        return text if notes[0].is_decoy else KNOWN.format(note=told)
    if is_order(line):
        return UNABLE
    return UNKNOWN if is_question(line) else UNASKED


def mended(answer: str, line: str, told: str, names: str = "") -> str:
    """An answer without the question said back before it, and with no sentence told twice.

    A small model loses what it was told: an answer that is a part of the note, or holds nearly
    nothing of it, becomes the note, and one that claims something where nothing is known says that
    it does not know. Nobody is called by the name of who asks in the examples.

    Args:
        told: the hint, as `hint` made it.
        names: of the assistant and of whoever asks.
    """
    rest = unaddressed(_behind_echo(answer, line), f"{line} {told} {names}")
    said = " ".join(filter(None, dict.fromkeys(map(str.strip, _WHOLE_SENTENCES.split(rest)))))
    if told.startswith(_KNOWN_BEFORE):
        note = told.removeprefix(_KNOWN_BEFORE)
        return said if said not in note and _holds(said, note) else note
    denial = DENIALS.get(told, "")
    if denial and not denies(said):
        return denial
    if AskedLine(line).introduces and said.rstrip(".!?").casefold() in line.casefold():
        said = ""  # "my name is Jo" is not answered by "Jo."
    return said or (_kindly(line) if answer.strip() else answer)


def _kindly(line: str) -> str:
    """Something to say where a small model only said a line back."""
    if _LEAVES.search(line):
        return FAREWELL
    if AskedLine(line).introduces:
        return MET
    return WELCOME if _GREETS.search(line) else LISTENING


def _holds(answer: str, note: str) -> bool:
    """True where an answer tells what stands in a note, in whatever words."""
    wanted = telling_words(note)
    return len(wanted & telling_words(answer)) >= LEAST_HELD * len(wanted)


def _behind_echo(answer: str, line: str) -> str:
    echoed = [word.casefold() for word in WORD.findall(line)]
    found = list(WORD.finditer(answer))
    said = [match[0].casefold() for match in found]
    # A name may stand in front of it, as "Tom: where is he?"
    first = 0 if said[: len(echoed)] == echoed else 1
    behind = first + len(echoed)
    if len(echoed) < SHORTEST_PIECE or said[first:behind] != echoed:
        return answer
    return answer[found[behind].start() :] if len(found) > behind else ""
