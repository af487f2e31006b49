"""Words of a line: short forms written out, and the significant words without endings.

Short forms, common words and endings are English; other languages are only split into words.
"""

from __future__ import annotations

import re
from functools import lru_cache

from evennia_ai.core.text.words import WORD, as_matched

# Chat spellings, most of them without their apostrophe.
_SHORT_FORMS = {
    "aint": "is not",
    "anybodys": "anybody's",
    "arent": "are not",
    "b4": "before",
    "bc": "because",
    "btw": "by the way",
    "cant": "cannot",
    "couldnt": "could not",
    "cuz": "because",
    "didnt": "did not",
    "doesnt": "does not",
    "dont": "do not",
    "dunno": "do not know",
    "gimme": "give me",
    "gonna": "going to",
    "gotta": "have to",
    "gr8": "great",
    "hasnt": "has not",
    "havent": "have not",
    "hows": "how is",
    "im": "I am",
    "isnt": "is not",
    "ive": "I have",
    "kinda": "kind of",
    "lemme": "let me",
    "nite": "night",
    "outta": "out of",
    "plz": "please",
    "pls": "please",
    "r": "are",
    "rn": "right now",
    "shes": "she is",
    "shouldnt": "should not",
    "sth": "something",
    "thats": "that is",
    "theres": "there is",
    "thx": "thanks",
    "tmrw": "tomorrow",
    "tonite": "tonight",
    "u": "you",
    "ur": "your",
    "wanna": "want to",
    "wasnt": "was not",
    "wat": "what",
    "watcha": "what are you",
    "whatcha": "what are you",
    "whats": "what is",
    "whens": "when is",
    "wheres": "where is",
    "whos": "who is",
    "wont": "will not",
    "wouldnt": "would not",
    "y'all": "you all",
    "youre": "you are",
}
_SHORT_FORM = re.compile(
    rf"\b(?:{'|'.join(sorted(_SHORT_FORMS, key=len, reverse=True))})\b(?!')", re.I
)
_COMMON_TEXT = (
    "a about an and any are as at be been being by can could did do does ever find for from get "
    "had has have he her here him his how i if in into is it its just may me might my no not of on "
    "or our out please she should show so some tell than thank thanks that the their them then "
    "there they this to up us was we were what what's when where where's which who who's whom will "
    "with would you your"
)
_COMMON = frozenset(_COMMON_TEXT.split())
_ENDINGS = ("ings", "ing", "ers", "ies", "ed", "es", "er", "s")


def written_out(line: str) -> str:
    """A line with chat's short forms written out, which makes it more similar to what it means."""
    return _SHORT_FORM.sub(lambda match: _SHORT_FORMS[as_matched(match[0])], line)


@lru_cache(maxsize=4096)
def telling_words(text: str) -> frozenset[str]:
    """The significant words of a text without endings; cached for notes, met with every line."""
    words = WORD.findall(text.casefold().replace("’", "'"))  # noqa: RUF001
    return frozenset(_stem(word.removesuffix("'s")) for word in words if word not in _COMMON)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        # At least three letters stay, so that words such as "king" are left alone.
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
