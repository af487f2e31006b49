"""Names that people would mistake for one another, whatever letters they are written with.

The table is derived from Unicode's confusables (UTS 39): letters of other scripts that look like a
Latin letter or digit, and that normalization leaves unchanged.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

# By the letter or digit that they look like.
_LOOKS_LIKE: dict[str, str] = {
    "2": "\u01a7\u03e8\u14bf\ua644\ua6ef\ua75a",
    "3": "\u01b7\u021c\u0417\u04e0\u2ccc\ua76a\ua7ab\U000118ca\U00016f3b\U0001d206",
    "4": "\u13ce\U000118af",
    "5": "\u01bc\U000118bb",
    "6": "\u0431\u13ee\u2cd2\U000118d5",
    "7": "\U000104d2\U000118c6\U0001d212",
    "8": "\u0223\u09ea\u0a6a\u0b03\U0001031a\U0001e8cb",
    "9": "\u09ed\u0a67\u0b68\u0d6d\u2cca\ua76e\U000118cc\U000118d6",
    "a": "\u0251\u03b1\u0430\u13aa\u15c5\u237a\ua4ee\U000102a0\U00016f40",
    "b": (
        "\u0184\u0392\u0412\u042c\u13cf\u13f4\u1472\u15af\u15f7\ua4d0\ua7b4\U00010282"
        "\U000102a1\U00010301"
    ),
    "c": (
        "\u03a3\u03c2\u0441\u13df\u1d04\u2ca5\ua4da\U000102a2\U00010302\U0001043d\U0001051c"
        "\U000118e9\U000118f2\U0001f74c"
    ),
    "d": "\u0501\u13a0\u13e7\u146f\u15de\u15ea\ua4d2\ua4d3",
    "e": ("\u0395\u0435\u04bd\u13ac\u212e\u22ff\u2d39\ua4f0\uab32\U00010286\U000118a6\U000118ae"),
    "f": (
        "\u03dc\u0584\u15b4\u1e9d\ua4dd\ua799\uab35\U00010287\U000102a5\U00010525\U000118c2"
        "\U0001d213"
    ),
    "g": "\u018d\u0261\u050c\u0581\u13c0\u13f3\u1d83\ua4d6",
    "h": "\u0397\u041d\u04bb\u0570\u13bb\u13c2\u157c\u2c8e\ua4e7\U000102cf",
    "i": "\u0131\u0269\u026a\u03b9\u0456\u04cf\u13a5\u2373\ua647\U000118c3",
    "j": "\u03f3\u0458\u13ab\u148d\ua4d9\ua7b2",
    "k": "\u039a\u041a\u13e6\u16d5\u2c94\ua4d7\U00010518",
    "l": (
        "\u0196\u01c0\u0399\u0406\u04c0\u05c0\u05d5\u05df\u0627\u0661\u06f1\u07ca\u13de"
        "\u14aa\u16c1\u2223\u23fd\u2502\u2c92\u2cd0\u2d4f\ua4e1\ua4f2\U0001028a\U00010309"
        "\U00010320\U0001041b\U00010526\U000118a3\U000118b2\U00016f16\U00016f28\U0001d22a"
        "\U0001e8c7"
    ),
    "m": "\u039c\u03fa\u041c\u13b7\u15f0\u16d6\u2c98\ua4df\U000102b0\U00010311",
    "n": "\u039d\u0578\u057c\u2c9a\ua4e0\U00010513",
    "o": (
        "\u03bf\u03c3\u043e\u0585\u05e1\u0647\u0665\u06be\u06c1\u06d5\u06f5\u07c0\u0966"
        "\u09e6\u0a66\u0ae6\u0b20\u0b66\u0be6\u0c02\u0c66\u0c82\u0ce6\u0d02\u0d20\u0d66"
        "\u0d82\u0e50\u0ed0\u101d\u1040\u10ff\u12d0\u1d0f\u1d11\u2c9f\u2d54\u3007\ua4f3"
        "\uab3d\U00010292\U000102ab\U0001042c\U000104ea\U00010516\U000114d0\U000118b5"
        "\U000118c8\U000118d7\U000118e0"
    ),
    "p": "\u03c1\u0440\u13e2\u146d\u2374\u2ca3\ua4d1\U00010295",
    "q": "\u051b\u0563\u0566\u2d55",
    "r": (
        "\u01a6\u0433\u13a1\u13d2\u1587\u1d26\u2c85\ua4e3\uab47\uab48\uab81\U000104b4"
        "\U00016f35\U0001d216"
    ),
    "s": "\u01bd\u0455\u054f\u13d5\u13da\ua4e2\ua731\U00010296\U00010448\U000118c1\U00016f3a",
    "t": (
        "\u03a4\u0422\u13a2\u22a4\u27d9\u2ca6\ua4d4\U00010297\U000102b1\U00010315\U000118bc"
        "\U00016f0a\U0001f768"
    ),
    "u": (
        "\u028b\u03c5\u057d\u1200\u144c\u1d1c\u222a\u22c3\ua4f4\ua79f\uab4e\uab52\U000104f6"
        "\U000118d8\U00016f42"
    ),
    "v": (
        "\u03bd\u0475\u05d8\u0667\u06f7\u13d9\u142f\u1d20\u2228\u22c1\u2d38\ua4e6\ua6df"
        "\U0001051d\U00011706\U000118c0\U00016f08\U0001d20d"
    ),
    "w": (
        "\u026f\u0461\u051d\u0561\u13b3\u13d4\u1d21\ua4ea\U0001170a\U0001170e\U0001170f"
        "\U000118e6\U000118ef"
    ),
    "x": (
        "\u00d7\u03a7\u0445\u1541\u157d\u166d\u166e\u16b7\u2573\u292b\u292c\u2a2f\u2cac"
        "\u2d5d\ua4eb\ua7b3\U00010290\U000102b4\U00010317\U00010322\U00010527\U000118ec"
    ),
    "y": (
        "\u0263\u028f\u03a5\u03b3\u0443\u04af\u10e7\u13a9\u13bd\u1d8c\u1eff\u2ca8\ua4ec"
        "\uab5a\U000102b2\U000118a4\U000118dc\U00016f43"
    ),
    "z": "\u0396\u13c3\u1d22\ua4dc\U000102f5\U000118a9\U000118c4\U000118e5",
}

_READ_AS = {ord(drawn): letter for letter, several in _LOOKS_LIKE.items() for drawn in several}
# Digits and signs used for letters; in a name nobody can tell 1, I, l and i apart.
_SPELLED_WITH = str.maketrans("0134578i|!$@", "oleastblllsa")
# Pairs of letters that look like one letter.
_PAIRS = (("rn", "m"), ("vv", "w"))
# Marks and invisible characters; and fillers, which are letters that are drawn as nothing.
_UNSEEN = ("Mn", "Me", "Cc", "Cf", "Cs", "Co", "Cn")
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")

# Names of the game's own voice or its staff, or words that the game's own lines begin with.
_GAME_VOICES = (
    "system",
    "the system",
    "server",
    "the server",
    "admin",
    "the admin",
    "administrator",
    "moderator",
    "mod",
    "staff",
    "support",
    "operator",
    "sysop",
    "root",
    "superuser",
    "developer",
    "game master",
    "gm",
    "console",
    "you",
    "someone",
    "somebody",
    "everyone",
    "everybody",
    "nobody",
    "anonymous",
)


@lru_cache(maxsize=4096)
def outlines(name: str) -> frozenset[str]:
    """The visual outlines of a name: names that share one look alike.

    A sign at an end may be a letter or nothing: `@da` looks like Ada, and `@Ada` does, too. None
    for a name without letters or digits.
    """
    text = unicodedata.normalize("NFKC", name)
    letters = [at for at, ch in enumerate(text) if ch.isalnum()]
    bare = text[letters[0] : letters[-1] + 1] if letters else ""
    return frozenset(filter(None, (skeleton(name), skeleton(bare))))


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """The visual outline of a name, with every sign at its ends read as a letter.

    Case, accents, invisible characters, spaces and punctuation are dropped, and a look-alike letter
    becomes the letter it looks like. For comparison only; "" for a name without letters or digits.
    """
    text = name
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(
            ch for ch in text if ch not in _FILLERS and unicodedata.category(ch) not in _UNSEEN
        ).translate(_READ_AS)
    text = text.casefold()
    if not text.isascii():
        # Once more, because the table has some capitals only as small letters.
        text = text.translate(_READ_AS)
    text = "".join(ch for ch in text.translate(_SPELLED_WITH) if ch.isalnum())
    for pair, letter in _PAIRS:
        text = text.replace(pair, letter)
    return text


def mistaken_for(name: str, others: Iterable[str]) -> str:
    """The first of `others` that a name could be mistaken for, or ""."""
    own_outlines = outlines(name)
    return next((other for other in others if not own_outlines.isdisjoint(outlines(other))), "")


def voice_of_game(name: str) -> str:
    """The word for the game or its staff that a name could be mistaken for, or ""."""
    return mistaken_for(name, _GAME_VOICES)
