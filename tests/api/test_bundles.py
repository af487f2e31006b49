"""Export and import of whole assistants over the API."""

import json
from base64 import b64decode, b64encode
from typing import Any

from evennia_ai import operations
from evennia_ai.api import bundles
from evennia_ai.operations.bundles import file as bundle_file
from evennia_ai.runtime import state
from evennia_ai.runtime.game_thread import finish
from tests.api.support import ApiTest
from tests.bundle_samples import empty


class TestBundles(ApiTest):
    def test_there_and_back(self) -> None:
        """The import keeps the data and starts disabled; a second one of that name is refused."""
        sent = self.call("POST", "assistants/Ada/export/")
        assert 200 == sent.status_code, sent.content
        raw = b64decode(sent.told["file"])
        assert "Ada" == finish(bundle_file.read_bundle(raw)).manifest.name
        body = {"file": sent.told["file"], "key": "Bea", "location": self.room1.dbref}
        shown = self.call("POST", "imports/preview/", {k: body[k] for k in ("file", "key")}).told
        assert ("Bea", "Ada", []) == (shown["key"], shown["name"], shown["problems"])
        assert operations.find_assistant("Bea") is None
        response = self.call("POST", "imports/", body)
        assert 201 == response.status_code, response.content
        bea: Any = operations.find_assistant("Bea")
        assert (self.room1, False) == (bea.obj.location, state.read(bea, "enabled"))
        again = self.call("POST", "imports/preview/", {k: body[k] for k in ("file", "key")}).told
        assert again["problems"]
        assert 409 == self.call("POST", "imports/", body).status_code

    def test_they_wait_among_the_slow_ones(self) -> None:
        """A whole assistant takes long, so these requests may not use the places of quick ones."""
        assert all(row.is_long for row in bundles.ROWS)

    def test_what_is_wrong_is_said(self) -> None:
        file = b64encode(empty()).decode()
        for body in (
            {"file": "AAAA"},
            {"file": "A"},
            {"file": file, "people": {"Tom": "Nobody"}},
            {"file": file, "people": {"Tom": 3}},
            {"file": file, "enable": "yes"},
            {"file": file, "strange": 1},
        ):
            refused = self.call("POST", "imports/", body)
            assert 400 == refused.status_code, json.dumps(body)[:80]
        assert operations.find_assistant("Edda") is None
        large = {"file": "A" * (bundles.LONGEST_FILE + 200_000)}
        assert 413 == self.call("POST", "imports/", large).status_code
