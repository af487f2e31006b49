"""Every endpoint with every method, each with a valid request."""

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from tests.bundle_samples import empty

ONE = "assistants/{key}/"
ME = f"{ONE}me/"
ROOM = "{room}"
# Placeholders that `stock.address` fills: Mira's account, a private memory of hers, a private
# memory of the requesting account, and a lore entry.
CARD = b64encode(b'{"name": "Edda", "description": "Edda copies old charts."}').decode()
BUNDLE = b64encode(empty()).decode()
MIRA, MEMORY, OWN, LORE = "{person}", "{memory}", "{own}", "{lore}"


@dataclass(frozen=True, eq=False)
class Case:
    """One request.

    Attributes:
        path: below `/api/ai/`.
        is_once: the answer differs once the request has succeeded.
    """

    method: str
    path: str
    body: Any = None
    is_once: bool = False

    @property
    def changes(self) -> bool:
        """True where the request could change the answers to later ones."""
        return self.method != "GET"

    @property
    def of_one(self) -> bool:
        return self.path.startswith(ONE)

    @property
    def of_owner(self) -> bool:
        return self.path == f"{ONE}export/"

    @property
    def of_oneself(self) -> bool:
        """True where every account may do it, for itself alone."""
        return self.path.startswith((ME, "questions/", "tokens/"))


CASES = (
    Case("GET", "assistants/"),
    Case("POST", "assistants/", {"key": "Edda"}, is_once=True),
    Case("GET", ONE),
    Case("PUT", ONE, {"desc": "Grey.", "persona": "", "location": ROOM, "aliases": []}),
    Case("PATCH", ONE, {"desc": "Grey."}),
    Case("DELETE", ONE, is_once=True),
    Case("POST", f"{ONE}clone/", {"key": "Edda"}, is_once=True),
    Case("POST", "adopt/", {"npc": "Brutus"}, is_once=True),
    Case("POST", f"{ONE}release/"),
    Case("GET", "tools/held/"),
    Case("POST", "tools/wiki__read/allow/", {"mark": "3f9a2c11d07e84b6a0c95d2e7716fb38"}),
    Case("GET", f"{ONE}status/"),
    Case("POST", f"{ONE}start/"),
    Case("POST", f"{ONE}stop/", is_once=True),
    Case("POST", f"{ONE}emergency/stop/", {"reason": "a test"}),
    Case("POST", f"{ONE}emergency/clear/", is_once=True),
    Case("GET", f"{ONE}configuration/"),
    Case("PATCH", f"{ONE}configuration/", {"max_history": 40}),
    Case("GET", f"{ONE}configuration/max_history/"),
    Case("DELETE", f"{ONE}configuration/max_history/"),
    Case("GET", f"{ONE}edits/"),
    Case("POST", f"{ONE}undo/", {"number": 2}),
    Case("POST", f"{ONE}redo/"),
    Case("GET", f"{ONE}history/"),
    Case("GET", f"{ONE}history/?format=export"),
    Case("DELETE", f"{ONE}history/"),
    Case("GET", f"{ONE}events/"),
    Case("GET", f"{ONE}events/1/"),
    Case("GET", f"{ONE}trace/"),
    Case("GET", f"{ONE}prompts/"),
    Case("GET", f"{ONE}goals/"),
    Case("POST", f"{ONE}goals/", {"text": "Find the lost atlas."}),
    Case("PATCH", f"{ONE}goals/1/", {"status": "completed"}, is_once=True),
    Case("GET", f"{ONE}audit/"),
    Case("GET", f"{ONE}audit/1/"),
    Case("GET", f"{ONE}audit/state/"),
    Case("GET", f"{ONE}audit/difference/?a=1&b=1"),
    Case("GET", f"{ONE}usage/"),
    Case("POST", f"{ONE}budget/raise/", {"cap": "tokens_per_day", "amount": 5}),
    Case("POST", "budget/raise/", {"cap": "tokens_per_day", "amount": 5}),
    Case("GET", f"people/{MIRA}/budget/"),
    Case("POST", f"people/{MIRA}/budget/raise/", {"cap": "tokens_per_day", "amount": 5}),
    Case("GET", "peers/"),
    Case("GET", f"{ONE}breakers/"),
    Case("POST", f"{ONE}breakers/llm:scripted/reset/"),
    Case("POST", f"{ONE}breakers/tool:say/reset/"),
    Case("GET", f"{ONE}questions/"),
    Case("POST", f"{ONE}questions/999/answer/", {"answer": "yes"}),
    Case("GET", f"{ONE}tools/"),
    Case("POST", f"{ONE}tools/look/execute/"),
    Case("POST", f"{ONE}tell/", {"instruction": "Say hello."}),
    Case("GET", f"{ONE}requests/dinner-7/"),
    Case("GET", f"{ONE}memory/"),
    Case("POST", f"{ONE}memory/", {"text": "The atlas is in the east tower."}),
    Case("GET", f"{ONE}memory/search/?q=atlas"),
    Case("GET", f"{ONE}memory/status/"),
    Case("POST", f"{ONE}memory/reindex/"),
    Case("GET", f"{ONE}memory/{MEMORY}/"),
    Case("PATCH", f"{ONE}memory/{MEMORY}/", {"text": "Mira sails on Sunday."}),
    Case("DELETE", f"{ONE}memory/{MEMORY}/", is_once=True),
    Case("GET", f"{ONE}profiles/"),
    Case("GET", f"{ONE}profiles/{MIRA}/"),
    Case("GET", f"{ONE}people/{MIRA}/memory/"),
    Case("DELETE", f"{ONE}people/{MIRA}/memory/"),
    Case("GET", f"{ME}memory/"),
    Case("GET", f"{ME}memory/export/"),
    Case("PATCH", f"{ME}memory/", {"is_remembered": False}),
    Case("DELETE", f"{ME}memory/"),
    Case("PATCH", f"{ME}memory/{OWN}/", {"text": "She sails on Sunday."}),
    Case("DELETE", f"{ME}memory/{OWN}/"),
    Case("GET", f"{ONE}sleep/"),
    Case("POST", f"{ONE}sleep/", {"hours": 4}),
    Case("POST", f"{ONE}wake/"),
    Case("GET", "lore/"),
    Case("POST", "lore/", {"text": "The lighthouse is old.", "keywords": ["lighthouse"]}),
    Case("PATCH", f"lore/{LORE}/", {"keywords": ["beacon"]}),
    Case("DELETE", f"lore/{LORE}/", is_once=True),
    Case("POST", "cards/", {"file": CARD}, is_once=True),
    Case("POST", "cards/preview/", {"file": CARD}),
    Case("GET", f"{ONE}card/"),
    Case("GET", f"{ONE}card/?format=png"),
    Case("PUT", f"{ONE}card/", {"file": CARD}),
    Case("POST", f"{ONE}export/"),
    Case("POST", "imports/", {"file": BUNDLE}, is_once=True),
    Case("POST", "imports/preview/", {"file": BUNDLE}),
    Case("GET", "lore/packs/"),
    Case("POST", "lore/packs/", {"pack": "harbour", "entries": []}),
    Case("POST", "lore/packs/?preview=true", {"pack": "harbour", "entries": []}),
    Case("GET", "lore/packs/written-here/"),
    Case("POST", "emergency/stop/", {"reason": "a test"}),
    Case("POST", "emergency/clear/"),
    Case("POST", "start/"),
    Case("POST", "stop/"),
    Case("GET", "questions/"),
    Case("POST", "questions/999/answer/", {"answer": "yes"}),
    Case("GET", "health/"),
    Case("GET", "metrics/"),
    Case("GET", "schema/"),
    Case("POST", "token/", {"username": "Astrid", "password": "lanterns-are-bright"}),
    Case("DELETE", "token/"),
    Case("GET", "tokens/"),
    Case("DELETE", "tokens/999999/"),
    Case("DELETE", "tokens/"),
)
