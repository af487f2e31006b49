"""Edits over the API: listed, undone and redone, with the rights that they needed."""

from evennia_ai.runtime import state
from tests.api.support import ApiTest

ADA = "assistants/Ada/"


class TestUndo(ApiTest):
    def test_back_and_again(self) -> None:
        """Several settings of one request are one edit."""
        body = {"tick_rate": 10, "max_history": 30}
        self.call("PATCH", f"{ADA}configuration/", body)
        (edit,) = self.call("GET", f"{ADA}edits/").told["edits"]
        assert {"tick_rate", "max_history"} == {each["name"] for each in edit["changes"]}
        assert self.account.key == edit["by"]
        answer = self.call("POST", f"{ADA}undo/", {"number": edit["number"]}).told
        assert edit["number"] == answer["number"]
        assert {"name": "tick_rate", "old": 10, "value": 5} in answer["changes"]
        assert 5 == state.read(self.ada_script, "tick_rate")
        assert [edit] == self.call("GET", f"{ADA}edits/").told["undone"]
        assert 200 == self.call("POST", f"{ADA}redo/").status_code
        assert 30 == state.read(self.ada_script, "max_history")
        assert 200 == self.call("POST", f"{ADA}undo/", {}).status_code
        assert 50 == state.read(self.ada_script, "max_history")

    def test_what_cannot_be(self) -> None:
        """With nothing to undo the request conflicts, and a number must not be a string."""
        for path in ("undo/", "redo/"):
            self.fault(409, "POST", f"{ADA}{path}")
        self.fault(400, "POST", f"{ADA}undo/", {"number": "12"})

    def test_powers_need_an_owner(self) -> None:
        """Undoing an edit needs the right to make it."""
        self.call("PATCH", f"{ADA}configuration/", {"command_allowlist": ["look"]})
        self.fault(403, "POST", f"{ADA}undo/", who="builder with control")
        assert ["look"] == list(state.read(self.ada_script, "command_allowlist"))
        assert 200 == self.call("POST", f"{ADA}undo/", who="admin").status_code
        assert [] == list(state.read(self.ada_script, "command_allowlist"))
