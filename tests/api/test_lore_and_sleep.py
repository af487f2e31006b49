"""Lore and sleep over the API, and the examples about memory in docs/api.md."""

import shlex
from itertools import pairwise
from pathlib import Path

from tests.api.stock import TOLD
from tests.api.support import ApiTest

API_PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
ROOT = "localhost:4001/api/ai/"
BEACON = {"text": "The beacon burns whale oil.", "keywords": ["beacon"], "audience": "world"}


class TestLore(ApiTest):
    def setUp(self) -> None:
        super().setUp()
        self.stock(None)

    def test_lore_lives_and_is_gone(self) -> None:
        response = self.call("POST", "lore/", BEACON)
        assert 201 == response.status_code, response.content
        path = f"lore/{response.told['lore']['key']}/"
        assert f"/api/ai/{path}" == response.headers["Location"]
        assert 200 == self.call("PATCH", path, {"keywords": ["oil", "whale"]}).status_code
        room = f"room {self.room1.dbref}"
        assert 200 == self.call("PATCH", path, {"audience": room}).status_code
        (entry,) = [
            row for row in self.get("lore/")["lore"] if row["key"] == response.told["lore"]["key"]
        ]
        assert (BEACON["text"], ["oil", "whale"]) == (entry["text"], entry["keywords"])
        assert entry["audience"].startswith("room")
        assert 200 == self.call("DELETE", path).status_code
        self.fault(404, "PATCH", path, {"keywords": ["oil"]})
        self.fault(404, "DELETE", path)
        assert [TOLD] == [row["key"] for row in self.get("lore/")["lore"]]

    def test_it_is_changed_by_owners_alone(self) -> None:
        assert self.get("lore/", who="builder")["lore"]
        for method, path, body in (
            ("POST", "lore/", BEACON),
            ("PATCH", f"lore/{TOLD}/", {"keywords": ["oil"]}),
            ("DELETE", f"lore/{TOLD}/", None),
        ):
            self.fault(403, method, path, body, who="builder with control")
            self.fault(403, method, path, body, who="player")
        self.fault(403, "GET", "lore/", who="player")

    def test_what_cannot_be_is_refused(self) -> None:
        """An audience cannot be one person, and an empty change is an error."""
        for audience in ("person:account-1", "*", "room", "room 2", "faction ", ""):
            with self.subTest(audience):
                error = self.fault(400, "POST", "lore/", BEACON | {"audience": audience})
                assert ["audience"] == list(error["fields"])
        self.fault(400, "POST", "lore/", BEACON | {"text": " "})
        self.fault(400, "POST", "lore/", BEACON | {"keywords": "beacon"})
        message = self.fault(400, "PATCH", f"lore/{TOLD}/", {})["message"]
        assert "Name at least one of: text, keywords, audience, importance." == message
        self.fault(404, "PATCH", "lore/1/", {"keywords": ["oil"]})


class TestSleep(ApiTest):
    def test_she_sleeps_and_wakes(self) -> None:
        path = "assistants/Ada/sleep/"
        assert "awake" == self.get(path)["mode"]
        self.fault(409, "POST", "assistants/Ada/wake/")
        asleep = self.call("POST", path, {"hours": 4.5})
        assert 200 == asleep.status_code, asleep.content
        assert "sleep" == self.get(path)["mode"]
        assert asleep.told["until"] == self.get(path)["until"]
        assert 200 == self.call("POST", "assistants/Ada/wake/").status_code
        assert "awake" == self.get(path)["mode"]

    def test_a_night_has_a_length(self) -> None:
        for hours in (0, 24.5, "4", True, None):
            with self.subTest(str(hours)):
                error = self.fault(400, "POST", "assistants/Ada/sleep/", {"hours": hours})
                assert ["hours"] == list(error["fields"])
        self.fault(403, "POST", "assistants/Ada/sleep/", who="builder")


class TestDocument(ApiTest):
    def test_its_examples_work(self) -> None:
        self.stock(self.ada_script)
        text = API_PAGE.read_text(encoding="utf-8")
        part = text.partition("## Memory\n")[2].partition("\n## ")[0].replace("\\\n", "")
        lines = [line for line in part.splitlines() if line.startswith("curl")]
        assert len(lines) > 3
        for line in lines:
            with self.subTest(line):
                words = shlex.split(line)
                given = dict(pairwise(words))
                (path,) = [word for word in words if word.startswith(ROOT)]
                body = given.get("-d", "").encode()
                response = self.call(given.get("-X", "GET"), path.removeprefix(ROOT), body)
                assert response.status_code < 300, response.content
