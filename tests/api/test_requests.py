"""Validation of requests: every mistake gets one clear answer."""

import json

from django.test.utils import override_settings

from evennia_ai import operations
from evennia_ai.runtime import state
from tests.api.support import ApiTest

GOAL = {"text": "Find the lost atlas."}


class TestBodies(ApiTest):
    def test_what_is_no_json_is_refused(self) -> None:
        for name, raw in {
            "no JSON": b"{",
            "not UTF-8": b'{"text": "\xff"}',
            "a number that is none": b'{"text": NaN}',
            "a name twice": b'{"text": "a", "text": "b"}',
            "half a character": b'{"text": "\\ud800"}',
            "a null character": b'{"text": "\\u0000"}',
            "a huge whole number": b'{"text": "a", "priority": 99999999999999999999}',
            "a huge number": b'{"text": "a", "priority": 1e999}',
            "thousands of digits": b'{"priority": ' + b"9" * 5000 + b"}",
            "nested too deeply": b'{"a":' * 100 + b"1" + b"}" * 100,
            "nested beyond reason": b"[" * 90_000,
            "no mapping": b"[]",
            "only a text": b'"text"',
            "a null": b"null",
        }.items():
            with self.subTest(name):
                error = self.fault(400, "POST", "assistants/Ada/goals/", raw)
                assert "invalid" == error["code"]
        assert [] == operations.list_goals(self.ada_script).data.goals

    def test_a_body_that_is_no_object_is_told_so(self) -> None:
        for raw in (b"[]", b'"text"', b"7"):
            error = self.fault(400, "POST", "assistants/Ada/goals/", raw)
            assert {"body": ["This must be an object."]} == error["fields"]

    def test_bounds_of_a_number_in_an_address_are_those_of_its_field(self) -> None:
        for path, bounds in (
            ("assistants/?offset=x", "0 to 999999999"),
            ("assistants/?limit=x", "1 to 999999999"),
            ("assistants/Ada/memory/search/?q=a&limit=x", "1 to 50"),
        ):
            (error,) = self.fault(400, "GET", path)["fields"].values()
            assert [f"This must be a whole number from {bounds}."] == error

    def test_a_body_that_is_too_long_is_refused(self) -> None:
        error = self.fault(413, "POST", "assistants/Ada/goals/", b" " * 100_001)
        assert {"code": "too_large", "message": "The body is longer than 100,000 bytes."} == error

    def test_the_right_is_checked_before_the_body(self) -> None:
        """A stranger learns nothing of the bounds on bodies, either."""
        text = {"content_type": "text/plain"}
        for raw, options in ((b"{", {}), (b" " * 100_001, {}), (b"a", text)):
            path = "assistants/Ada/goals/"
            self.fault(403, "POST", path, raw, who="player", **options)
            self.fault(404, "POST", "assistants/Nobody/goals/", raw, **options)
            self.fault(401, "POST", path, raw, who=None, **options)

    def test_only_json_is_read_and_sent(self) -> None:
        for kind, body in (
            ("application/x-www-form-urlencoded", b"text=a"),
            ("multipart/form-data; boundary=x", b"--x\r\n\r\n--x--"),
            ("multipart/form-data", b"broken"),
            ("text/plain", b"a"),
        ):
            with self.subTest(kind):
                path = "assistants/Ada/goals/"
                response = self.call("POST", path, body, content_type=kind)
                assert 415 == response.status_code
        self.fault(406, "GET", "assistants/", headers={"accept": "text/html"})
        self.get("assistants/", headers={"accept": "text/html, */*;q=0.1"})

    def test_an_unknown_field_is_named(self) -> None:
        error = self.fault(400, "POST", "assistants/Ada/goals/", GOAL | {"prio": 3})
        faults = {"prio": ["There is no such field here; known are: text, priority, parent, when."]}
        assert faults == error["fields"]
        assert error["message"].startswith("What was given cannot be taken: prio: There is no")
        self.fault(400, "POST", "assistants/Ada/start/", {"now": True})

    def test_values_of_another_type_are_refused(self) -> None:
        for field, value in (
            ("text", 5),
            ("text", True),
            ("text", None),
            ("text", ""),
            ("text", "  "),
            ("text", ["a"]),
            ("text", "a" * 301),
            ("priority", "5"),
            ("priority", True),
            ("priority", 5.5),
            ("priority", 0),
            ("priority", 11),
            ("priority", None),
        ):
            with self.subTest(f"{field} {value!r}"[:40]):
                error = self.fault(400, "POST", "assistants/Ada/goals/", GOAL | {field: value})
                assert [field] == list(error["fields"])

    def test_an_empty_body_is_a_body_with_nothing_in_it(self) -> None:
        for kind in ("application/json", "application/x-www-form-urlencoded"):
            response = self.call("POST", "assistants/Ada/emergency/stop/", b"", content_type=kind)
            assert 200 == response.status_code
        self.fault(400, "POST", "assistants/Ada/goals/", b"")

    def test_what_is_no_mapping_is_no_empty_body(self) -> None:
        """Where every field is optional, a wrong body must not stop anybody by mistake."""
        for raw in (b"null", b"[]", b"0", b"false", b'""'):
            for path in ("assistants/Ada/emergency/stop/", "emergency/stop/"):
                with self.subTest(f"{path} {raw!r}"):
                    self.fault(400, "POST", path, raw)
        assert "waiting_for_event" == self.get("assistants/Ada/status/")["state"]


class TestAddresses(ApiTest):
    def test_any_name_works(self) -> None:
        for name in ("Old Tom", "Märta", "Зоя", "O'Hara"):
            with self.subTest(name):
                response = self.call("POST", "assistants/", {"key": name})
                assert 201 == response.status_code, response.content
                assert name == self.get(f"assistants/{name.upper()}/")["key"]
                location = response.headers["Location"]
                assert location.isascii()
                assert 200 == self.client_of(self.account).get(location).status_code

    def test_names_that_cannot_be_are_not_found(self) -> None:
        for name in ("%00", "a%00b", "%ff", "%ed%a0%80", "%0a", "x" * 5000, "%2e%2e%2e", "😀"):
            with self.subTest(name[:20]):
                assert "missing" == self.fault(404, "GET", f"assistants/{name}/status/")["code"]

    def test_numbers_that_cannot_be_are_not_found(self) -> None:
        for number in ("999999999", "9999999999", "9" * 30, "-1", "1.5", "one", "%00", "٣"):
            with self.subTest(number):
                self.fault(404, "GET", f"assistants/Ada/events/{number}/")
                self.fault(404, "GET", f"assistants/Ada/audit/{number}/")
                self.fault(404, "POST", f"questions/{number}/answer/", {"answer": "yes"})

    def test_what_stands_after_the_question_mark_is_read_strictly(self) -> None:
        for query, field in (
            ("page=2", "page"),
            ("limit=0", "limit"),
            ("limit=x", "limit"),
            ("limit=", "limit"),
            ("limit=5.0", "limit"),
            ("limit=99999999999999999999", "limit"),
            ("limit=1&limit=2", "limit"),
            ("offset=-1", "offset"),
            ("offset=%00", "offset"),
        ):
            with self.subTest(query):
                error = self.fault(400, "GET", f"assistants/?{query}")
                assert [field] == list(error["fields"])
        self.fault(400, "POST", "assistants/Ada/start/?force=1")
        self.fault(400, "GET", "assistants/Ada/status/?format=xml")

    def test_an_address_without_anything_says_so(self) -> None:
        """A missing / at the end is pointed out, not redirected."""
        assert "There is nothing at this address." == self.fault(404, "GET", "wrong/")["message"]
        self.fault(404, "GET", "assistants/a%0Ab/events/-1/")
        wanted = "There is nothing at this address. Did you forget the / at its end?"
        assert wanted == self.fault(404, "POST", "assistants", {"key": "Edda"})["message"]
        with override_settings(FORCE_SCRIPT_NAME="/mud"):  # a proxy serves the game below a path
            assert wanted == self.fault(404, "GET", "assistants")["message"]
        assert None is operations.find_assistant("Edda")

    def test_a_method_that_is_not_there_is_refused(self) -> None:
        response = self.call("DELETE", "assistants/")
        assert (405, "GET, POST, HEAD") == (response.status_code, response.headers["Allow"])
        assert "method_not_allowed" == response.told["error"]["code"]
        self.fault(405, "OPTIONS", "assistants/")
        self.fault(405, "PATCH", "assistants/Ada/start/", {})
        assert 200 == self.call("HEAD", "assistants/").status_code

    def test_the_other_api_is_still_there(self) -> None:
        client = self.client_of(self.account)
        assert 200 == client.get("/api/objects/").status_code


class TestPages(ApiTest):
    def test_a_list_goes_on_where_the_page_before_ended(self) -> None:
        for name in ("Edda", "brass", "Cole"):
            self.make(name)
        names, offset = [], 0
        while offset is not None:
            page = self.get(f"assistants/?limit=3&offset={offset}")
            names.append([each["key"] for each in page["assistants"]])
            assert 4 == page["count"]
            offset = page["next"]
        assert [["Ada", "brass", "Cole"], ["Edda"]] == names
        assert [] == self.get("assistants/?offset=999999999")["assistants"]

    def test_a_page_has_its_largest_size(self) -> None:
        self.make("Edda")
        with override_settings(EVENNIA_AI_API_CONFIG={"page_size": 1, "max_page_size": 1}):
            assert 1 == len(self.get("assistants/?limit=50")["assistants"])
            assert 1 == len(self.get("assistants/")["assistants"])

    def test_pages_may_be_set_larger_than_a_list_allows(self) -> None:
        most = {"page_size": 1000, "max_page_size": 1000}
        lists = ("memory", "history", "events", "trace", "audit", "profiles", "me/memory")
        with override_settings(EVENNIA_AI_API_CONFIG=most):
            for name in lists:
                self.get(f"assistants/Ada/{name}/")


class TestOutcomes(ApiTest):
    def test_settings_that_make_no_sense(self) -> None:
        changes = {"tick_rate": "soon", "no_such": 1, "max_history": 40}
        error = self.fault(400, "PATCH", "assistants/Ada/configuration/", changes)
        assert {"tick_rate", "no_such"} == set(error["fields"])
        assert 50 == state.read(self.ada_script, "max_history")
        self.fault(400, "PATCH", "assistants/Ada/configuration/", {})
        self.fault(400, "PATCH", "assistants/Ada/configuration/", {"is_ticking": True})

    def test_what_does_not_fit_its_state_is_a_conflict(self) -> None:
        self.fault(409, "POST", "assistants/Ada/start/")
        self.fault(409, "POST", "assistants/Ada/emergency/clear/")
        self.fault(409, "POST", "assistants/", {"key": "ada"})

    def test_a_fault_of_the_game_tells_nothing(self) -> None:
        """The details are in the log alone."""
        self.ada_script.attributes.add("metrics", 5)  # not a mapping, so reading it fails
        error = self.fault(500, "GET", "assistants/Ada/usage/")
        message = "Something went wrong in the game; its log has more."
        assert {"code": "internal", "message": message} == error

    def test_settings_of_the_api_that_make_no_sense(self) -> None:
        with override_settings(EVENNIA_AI_API_CONFIG={"page_size": 0}):
            error = self.fault(503, "GET", "assistants/")
        assert "EVENNIA_AI_API_CONFIG.page_size is 0" in error["message"]

    def test_text_with_half_a_character_can_be_sent(self) -> None:
        """A model may write a lone surrogate; it is sent as JSON's own escape."""
        self.ada.db.desc = "half \ud800 a character"
        response = self.call("GET", "assistants/Ada/")
        assert b"half \\ud800 a character" in response.content
        assert "half \ud800 a character" == json.loads(response.content)["desc"]

    def test_a_result_is_told_as_it_is(self) -> None:
        stopped = self.call("POST", "assistants/Ada/stop/").told
        assert {"message": "Ada is silent. To let it answer: assistant start Ada"} == stopped
        operations.set_enabled(self.ada_script, True)
        assert self.get("assistants/Ada/")["enabled"]
        assert stopped["message"] == operations.set_enabled(self.ada_script, False).message
