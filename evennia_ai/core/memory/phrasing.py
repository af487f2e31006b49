"""Wording of a note as the assistant says it, and correction of a small model's answer.

Grammatical persons are changed in English only; in other languages a fact is said as written.
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
from evennia_ai.core.memory.wording import telling_words
from evennia_ai.core.text.cleaning import cut_at_sentence, one_line
from evennia_ai.core.text.words import WORD, as_matched

MOST_NOTE_CHARS = 220
MOST_PERSONA_CHARS = 320
KNOWN = "You know: {note}"
# Replacements for a small model's answer that contradicts its hint.
DENIALS = {UNKNOWN: "I do not know that.", UNABLE: "I cannot do that."}
WELCOME, MET = "Welcome. What can I do for you?", "Well met."
FAREWELL, LISTENING = "Safe home.", "I am listening."
# Names of the players in the examples of prompts.
ASKERS = ("Nell", "Otto")
# Share of a note's significant words that an answer must contain.
LEAST_HELD = 0.3

_KNOWN_BEFORE = KNOWN.format(note="")
_WHOLE_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_BULLET = re.compile(r"\s*[-*•]\s+")
_DENIES = re.compile(r"\b(?:not?|never|nothing|none|cannot|sorry)\b|n't\b", re.IGNORECASE)
# A name used as an address: after a comma or greeting, at the end of a part of a sentence.
_ADDRESS = re.compile(
    r"(?P<before>(?i:\b(?:hello|hi|hey|welcome|bye|goodbye|farewell|thanks|thank you|home|met"
    rf"|morning|day|evening|night)),?|,) (?P<name>{'|'.join(ASKERS)})(?=[,.!?]|\W*\Z)"
)
_LEAVETAKING = re.compile(
    r"\b(?:(?:good)?bye|farewell|see you|must (?:go|be off))\b", re.IGNORECASE
)
_GREETS = re.compile(
    r"\A\W*(?:hello|hullo|hi|hiya|hey|yo|howdy|greetings"
    r"|(?:good )?(?:morning|day|afternoon|evening))\b"
    r"|\byou there\b|\banybody (?:there|in|home|here)\b",
    re.IGNORECASE,
)
# Words after which "you" is an object, and becomes "me" rather than "I".
_BEFORE_ME = (
    "to|for|with|of|from|by|at|about|near|behind|beside|told|tell|tells|gave|give|gives|asked|ask"
    "|asks|show|shows|let|lets|owes"
)
_YOU = re.compile(
    rf"\b(?:(?P<me>(?:{_BEFORE_ME}) )you|you are|you were|you're|yourself|yours|your|you)\b",
    re.IGNORECASE,
)
_I = re.compile(
    r"\b(?:i am|am i|i was|was i|i'm|i've|i'll|i'd|myself|mine|my|me|i)\b", re.IGNORECASE
)
_TO_FIRST_PERSON = {
    "you are": "I am",
    "you were": "I was",
    "you're": "I'm",
    "yourself": "myself",
    "yours": "mine",
    "your": "my",
    "you": "I",
}
_TO_SECOND_PERSON = {
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
    """Split a persona into a beginning for every prompt, and all its sentences and facts as notes.

    Lines that begin with a dash are facts; a heading above them ends with a colon and is dropped.
    The beginning is as much of the prose as fits, to the end of a sentence.
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
    sentences = filter(None, _WHOLE_SENTENCES.split(whole))
    return cut_at_sentence(whole, MOST_PERSONA_CHARS), (*sentences, *facts)


def as_spoken(fact: str) -> str:
    """A fact written to an assistant as "you", in the first person."""

    def turned(match: re.Match[str]) -> str:
        if match["me"]:
            return f"{match['me']}me"
        return _TO_FIRST_PERSON[as_matched(match[0])]

    return _with_capital(_YOU.sub(turned, fact))


def as_told_back(line: str) -> str:
    """A person's words about themselves, told back to them: "I" becomes "you"."""
    turned = _I.sub(lambda match: _TO_SECOND_PERSON[as_matched(match[0])], line.strip())
    return _with_capital(turned if turned[-1:] in tuple(".!?") else f"{turned}.")


def _with_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def denies(text: str) -> bool:
    """True for a text that denies something."""
    return _DENIES.search(text) is not None


def unaddressed(answer: str, known: str = "") -> str:
    """An answer without addresses by the examples' names, unless they occur in the known text."""

    def left(match: re.Match[str]) -> str:
        return match[0] if match["name"] in known else match["before"].rstrip(",")

    return _ADDRESS.sub(left, answer)


def hint(notes: Sequence[Note], line: str) -> str:
    """The line after a question that tells a small model what to answer from."""
    if notes:
        text = " ".join(note.text for note in notes)
        note = one_line(cut_at_sentence(text, MOST_NOTE_CHARS), 300)
        return text if notes[0].is_decoy else KNOWN.format(note=note)
    if is_order(line):
        return UNABLE
    return UNKNOWN if is_question(line) else UNASKED


def mended(answer: str, line: str, given_hint: str, names: str = "") -> str:
    """An answer without an echo of the question, repeated sentences and wrong names.

    A small model loses what it was told: an answer that is a part of the note, or has almost
    nothing of it, becomes the whole note, and one that makes something up becomes a denial.
    """
    rest = unaddressed(_without_echo(answer, line), f"{line} {given_hint} {names}")
    text = " ".join(filter(None, dict.fromkeys(map(str.strip, _WHOLE_SENTENCES.split(rest)))))
    if given_hint.startswith(_KNOWN_BEFORE):
        note = given_hint.removeprefix(_KNOWN_BEFORE)
        return text if text not in note and _holds(text, note) else note
    denial = DENIALS.get(given_hint, "")
    if denial and not denies(text):
        return denial
    if AskedLine(line).introduces and text.rstrip(".!?").casefold() in line.casefold():
        text = ""  # an echo such as "Jo." is no answer to "my name is Jo"
    return text or (_polite_reply(line) if answer.strip() else answer)


def _polite_reply(line: str) -> str:
    """A polite reply for when a small model only echoed a line."""
    if _LEAVETAKING.search(line):
        return FAREWELL
    if AskedLine(line).introduces:
        return MET
    return WELCOME if _GREETS.search(line) else LISTENING


def _holds(answer: str, note: str) -> bool:
    """True if an answer tells what is in a note, in whatever words."""
    note_words = telling_words(note)
    return len(note_words & telling_words(answer)) >= LEAST_HELD * len(note_words)


def _without_echo(answer: str, line: str) -> str:
    echoed = [word.casefold() for word in WORD.findall(line)]
    matches = list(WORD.finditer(answer))
    words = [match[0].casefold() for match in matches]
    # A name may come before the echo, as in "Tom: where is he?"
    first = 0 if words[: len(echoed)] == echoed else 1
    behind = first + len(echoed)
    if len(echoed) < SHORTEST_PIECE or words[first:behind] != echoed:
        return answer
    return answer[matches[behind].start() :] if len(matches) > behind else ""
