"""Character cards exchanged with `@lenml/char-card-reader`, in both directions.

`make endpoints` installs it; without it or node these tests are skipped.
"""

import json
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from evennia_ai.core.cards import png
from evennia_ai.core.cards.card_use import use_of
from evennia_ai.core.cards.character_card import (
    CharacterCard,
    as_json,
    as_png,
    changed,
    new_card,
    read_card,
)
from tests.core.cards.test_character_cards import V1, V2, V3
from tests.endpoints.programs import PACKAGES, PLACE

READER = PACKAGES / "@lenml" / "char-card-reader"
READ = """
import { CharacterCard } from "@lenml/char-card-reader";
import { readFileSync } from "node:fs";
const path = process.argv[1];
const raw = readFileSync(path);
const card = path.endsWith(".png")
  ? await CharacterCard.from_file(raw)
  : CharacterCard.from_json(JSON.parse(raw.toString("utf8")));
const { raw_data } = card;
console.log(JSON.stringify({
  raw_data, name: card.name, v1: card.toSpecV1(), v2: card.toSpecV2(), v3: card.toSpecV3(),
  entries: card.get_book().entries,
}));
"""
BOOK = {
    "name": "Charts",
    "scan_depth": 2,
    "token_budget": 300,
    "recursive_scanning": False,
    "extensions": {"x": {"y": [0, "é", None]}},
    "entries": [
        {
            "keys": ["chart", "Karte"],
            "secondary_keys": ["old"],
            "selective": True,
            "content": "Charts of the “north” are {{char}}'s.\\n",
            "extensions": {"selectiveLogic": 3},
            "enabled": True,
            "insertion_order": 5,
            "use_regex": False,
        }
    ],
}
pytestmark = pytest.mark.skipif(
    not (READER.is_dir() and shutil.which("node")),
    reason="NO CARD IS READ BY OTHERS: `make endpoints` gets the reader, and node is needed",
)


def read_there(folder: Path, name: str, content: bytes) -> dict[str, Any]:
    """The reader's view of a file."""
    path = folder / name
    path.write_bytes(content)
    command = ["node", "--input-type=module", "-e", READ, str(path)]
    done = subprocess.run(command, cwd=PLACE, capture_output=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stderr.decode()
    card: dict[str, Any] = json.loads(done.stdout)
    return card


@pytest.mark.parametrize("card", [V1, V2, V3], ids=["v1", "v2", "v3"])
def test_ours_are_read_there(card: dict[str, Any], tmp_path: Path) -> None:
    """Every field survives in the picture that we write, unknown fields too."""
    there = read_there(tmp_path, "card.png", as_png(read_card(json.dumps(card).encode())))
    fields = card.get("data", card)
    assert fields["name"] == there["name"]
    assert fields == {name: there["raw_data"]["data"][name] for name in fields}


def test_theirs_is_read_here_and_goes_back(tmp_path: Path) -> None:
    """A version 3 card of the reader is kept byte for byte, and field by field in a picture."""
    whole = {**V2, "data": {**V2["data"], "character_book": BOOK}}  # type: ignore[dict-item]
    v3_card = read_there(tmp_path, "card.json", json.dumps(whole).encode())["v3"]
    raw = json.dumps(v3_card, ensure_ascii=False).encode()
    card = read_card(raw)
    assert ("chara_card_v3", raw) == (json.loads(card.ccv3)["spec"], as_json(card))
    (entry,) = use_of(card).book.entries
    assert (("chart", "Karte"), ("old",), "all", 2, 300) == (
        entry.keywords,
        entry.terms.also,
        entry.terms.also_as,
        entry.terms.depth,
        entry.terms.budget,
    )
    back = read_there(tmp_path, "back.png", as_png(card))
    assert v3_card == back["raw_data"]
    assert v3_card == back["v3"]
    assert BOOK["entries"] == back["entries"]


def test_a_change_is_read_there_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    """A change is written into both versions of the card, since a program may read either."""
    card = changed(read_card(as_png(new_card(name="Edda", extensions={"a": 1}))), description="é")
    for version in (card, CharacterCard(chara=card.chara)):
        there = read_there(tmp_path, "card.png", as_png(version))["raw_data"]["data"]
        assert ("é", {"a": 1}) == (there["description"], there["extensions"])


def test_a_picture_with_the_older_text_alone(tmp_path: Path) -> None:
    """A picture with only a version 2 card reads the same in both programs."""
    old = json.dumps(V2, ensure_ascii=False)
    texts = [("chara", b64encode(old.encode()))]
    raw = png.write_chunks(png.with_texts(png.plain_picture(), texts))
    there = read_there(tmp_path, "old.png", raw)["raw_data"]
    assert V2["data"] == there["data"] == read_card(raw).data
