"""The audit log: one line for each request that changes something, or tried to."""

from datetime import datetime
from typing import Any

from django.test.utils import override_settings

from tests.api.support import ApiTest
from tests.game.support import PASSWORD


class TestRecord(ApiTest):
    def line(self, method: str, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
        with self.audited() as lines:
            self.call(method, path, body, **options)
        (line,) = lines
        return dict(line)

    def test_a_change_leaves_one_line(self) -> None:
        line = self.line("PATCH", "assistants/Ada/configuration/", {"max_history": 40})
        at = datetime.fromisoformat(line.pop("timestamp"))
        assert at.tzinfo is not None
        expected = {
            "user": self.account.username,
            "method": "PATCH",
            "endpoint": "/api/ai/assistants/Ada/configuration/",
            "assistant_key": "Ada",
            "action": "configure",
            "field": ["max_history"],
            "new_value": {"max_history": 40},
            "status_code": 200,
            "success": True,
        }
        assert expected == line

    def test_what_is_refused_leaves_one_too(self) -> None:
        for status, method, path, body, options in (
            (400, "POST", "assistants/Ada/goals/", {"text": 5}, {}),
            (400, "POST", "assistants/Ada/goals/", b"{", {}),
            (401, "POST", "assistants/Ada/stop/", None, {"who": None}),
            (403, "POST", "assistants/Ada/stop/", None, {"who": "builder"}),
            (404, "POST", "assistants/Edda/stop/", None, {}),
            (404, "POST", "nothing/", None, {}),
            (405, "PUT", "assistants/", {}, {}),
            (406, "POST", "assistants/Ada/stop/", None, {"headers": {"accept": "text/html"}}),
            (409, "POST", "assistants/Ada/start/", None, {}),
            (413, "POST", "assistants/Ada/goals/", b" " * 200_000, {}),
            (415, "POST", "assistants/Ada/goals/", b"a", {"content_type": "text/plain"}),
        ):
            with self.subTest(status):
                line = self.line(method, path, body, **options)
                assert (status, False) == (line["status_code"], line["success"])
        with override_settings(EVENNIA_AI_API_CONFIG={"writes_per_minute": 1}):
            self.call("POST", "assistants/Ada/stop/")
            assert 429 == self.line("POST", "assistants/Ada/stop/")["status_code"]

    def test_who_only_looks_leaves_none(self) -> None:
        with self.audited() as lines:
            self.get("assistants/")
            self.fault(404, "GET", "assistants/Edda/")
            self.call("HEAD", "assistants/")
        assert [] == lines

    def test_nothing_secret_is_in_it(self) -> None:
        login = {"username": "Berit", "password": PASSWORD}
        line = self.line("POST", "token/", login, who=None)
        assert {"username": "Berit", "password": "***"} == line["new_value"]
        changes = {"llm_extra_params": {"api_key": "sk-secret"}, "persona": "a" * 5000}
        line = self.line("PATCH", "assistants/Ada/configuration/", changes)
        assert {"api_key": "***"} == line["new_value"]["llm_extra_params"]
        assert 5002 == line["new_value"]["persona"]["characters"]

    def test_no_words_of_people_are_in_it(self) -> None:
        """Of instructions and tool arguments only the lengths are logged."""
        line = self.line("POST", "assistants/Ada/tell/", {"instruction": "Go home."}, who="builder")
        assert {"instruction": "(8 characters)"} == line["new_value"]
        body = {"arguments": {"message": "Hello.", "times": 2}}
        line = self.line("POST", "assistants/Ada/tools/say/execute/", body, who="builder")
        assert {"message": "(6 characters)", "times": 2} == line["new_value"]["arguments"]
        body = {"arguments": {"lines": ["Hello."], "to": {"name": "Tom"}}}
        line = self.line("POST", "assistants/Ada/tools/say/execute/", body, who="builder")
        arguments = {"lines": ["(6 characters)"], "to": {"name": "(3 characters)"}}
        assert arguments == line["new_value"]["arguments"]

    def test_names_in_it_are_cut(self) -> None:
        """Otherwise one request could fill the log."""
        body = {"x" * 5000 + str(number): 1 for number in range(10)}
        line = self.line("PATCH", "assistants/Ada/configuration/", body)
        assert 2000 > max(len(name) for name in line["field"])
        line = self.line("POST", f"assistants/{'x' * 5000}/stop/")
        assert 200 == len(line["assistant_key"])
        assert 200 == len(line["endpoint"])
