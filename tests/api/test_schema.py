"""The OpenAPI schema: valid, complete, and true of the responses."""

import re
import warnings
from collections.abc import Iterator
from typing import Any

from django.test.utils import override_settings
from drf_spectacular.validation import validate_schema
from jsonschema import Draft4Validator

from evennia_ai.api import requests, results, schema, urls
from evennia_ai.api.schema import TABLE
from evennia_ai.operations import add_goal
from tests.api.cases import CASES, LORE, MEMORY, OWN, ROOM, Case
from tests.api.contract import resolved
from tests.api.support import ApiTest
from tests.game.support import says


def _as_json_schema(part: Any) -> Any:
    """Convert a part of an OpenAPI 3.0 schema to JSON schema, where null is a type.

    `nullable` adds null to the `type` beside it, and to nothing else.
    """
    if isinstance(part, list):
        return [_as_json_schema(item) for item in part]
    if not isinstance(part, dict):
        return part
    result = {name: _as_json_schema(item) for name, item in part.items()}
    if result.pop("nullable", False) is True and "type" in result:
        result["type"] = [result["type"], "null"]
    return result


def _undocumented(schema: dict[str, Any], part: dict[str, Any], sent: Any) -> Iterator[str]:
    """Yield the names that a response has and the schema does not."""
    part, _ = resolved(schema, part)
    if isinstance(sent, list):
        for each in sent:
            yield from _undocumented(schema, part.get("items", {}), each)
    elif isinstance(sent, dict):
        known, others = part.get("properties", {}), part.get("additionalProperties")
        if known and not others:
            yield from (name for name in sent if name not in known)
        rest = others if isinstance(others, dict) else {}
        for name, value in sent.items():
            yield from _undocumented(schema, known.get(name, rest), value)


class TestSchema(ApiTest):
    def test_it_is_valid_and_made_without_a_warning(self) -> None:
        schema._make.cache_clear()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            document = self.get("schema/", who=None)
        validate_schema(document)
        assert "AI assistants" == document["info"]["title"]
        assert "/api/ai/assistants/{key}/" in document["paths"]

    def test_every_address_is_in_it(self) -> None:
        document = self.get("schema/", who=None)
        there = {re.sub(r"<\w+:", "<", str(pattern.pattern)) for pattern in urls.urlpatterns}
        named = {path.removeprefix("/api/ai/") for path in document["paths"]}
        named = {path.replace("{", "<").replace("}", ">") for path in named}
        assert {"schema/", r"^[\s\S]*$"} == there - named
        assert set() == named - there

    def test_every_operation_tells_enough(self) -> None:
        document = self.get("schema/", who=None)
        tags = {tag["name"] for tag in document["tags"]}
        names = []
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                with self.subTest(f"{method} {path}"):
                    names.append(operation["operationId"])
                    assert operation["summary"]
                    assert set(operation["tags"]) <= tags
                    assert {"400", "401", "403", "406", "429", "503"} <= set(operation["responses"])
                    if method != "get":
                        assert {"409", "413", "415"} <= set(operation["responses"])
                    if "{" in path:
                        assert "404" in operation["responses"]
                    for content in operation.get("requestBody", {}).get("content", {}).values():
                        assert content["examples"]
        assert len(names) == len(set(names))
        assert not [name for name in document["components"]["schemas"] if name.endswith("Enum")]

    def test_a_text_that_may_be_empty_may_be_empty_by_the_schema(self) -> None:
        """A body that matches two parts of a `oneOf` is one that strict clients do not send."""
        shapes = self.get("schema/", who=None)["components"]["schemas"]
        for name in ("NewAssistant", "ChangedAssistant", "WholeAssistant"):
            for field in ("desc", "persona"):
                Draft4Validator(shapes[name]["properties"][field]).validate("")

    def test_no_two_shapes_share_a_name(self) -> None:
        """A response named like a request body would replace it in the schema."""
        bodies = {name for name, kind in vars(requests).items() if isinstance(kind, type)}
        sent = results.components(TABLE)
        assert {"Status", "Done", "Problem"} <= set(sent)
        assert not bodies & set(sent)

    def check(self, document: dict[str, Any], case: Case, path: str, response: Any) -> None:
        known = document["paths"][f"/api/ai/{path.partition('?')[0]}"][case.method.lower()]
        answer = known["responses"][str(response.status_code)]
        if response.told is None:
            assert set(answer.get("content", {})) <= {"text/plain"}
            return
        part = answer["content"]["application/json"]["schema"]
        whole = {"components": document["components"], "allOf": [part]}
        Draft4Validator(_as_json_schema(whole)).validate(response.told)
        assert not list(_undocumented(document, part, response.told)), response.told

    def test_what_is_sent_is_what_it_says(self) -> None:
        """Each endpoint is asked for an assistant, for a missing one, and without the right."""
        document = self.get("schema/", who=None)
        add_goal(self.ada_script, "Count the books.")
        self.ada_script.work.breakers.get_or_create("tool:say")
        self.ask("whisper Ada = hello", says("Hello."), person=self.mira)
        self.stock(self.ada_script)
        config = {"metrics": "all", "tokens_per_minute": 0}
        # Reversed, so that the deletion of the assistant comes last.
        deletions = [case for case in reversed(CASES) if case.method == "DELETE"]
        with override_settings(EVENNIA_AI_API_CONFIG=config):
            for case in [case for case in CASES if case not in deletions] + deletions:
                for key, who in (("Ada", "superuser"), ("Nobody", "admin"), ("Ada", "player")):
                    with self.subTest(f"{case.method} {case.path} {key} {who}"):
                        self.try_one(document, case, key, who)

    def try_one(self, document: dict[str, Any], case: Case, key: str, who: str) -> None:
        if case.path == "schema/":
            return
        self.model.answers.clear()
        self.model.answers.append(says("Hello."))
        body = case.body
        if isinstance(body, dict):
            body = {k: self.room1.dbref if v == ROOM else v for k, v in body.items()}
        response = self.call(case.method, self.address(case.path, key, who), body, who=who)
        self.check(document, case, _template(case.path), response)


def _template(path: str) -> str:
    """Return the address of a case as the schema writes it."""
    path = path.replace(LORE, MEMORY).replace(OWN, "{id}")
    for is_value, name in (
        ("/999/answer/", "/{number}/answer/"),
        ("events/1/", "events/{number}/"),
        ("packs/written-here/", "packs/{pack}/"),
        ("goals/1/", "goals/{number}/"),
        ("audit/1/", "audit/{version}/"),
        ("configuration/max_history/", "configuration/{setting}/"),
        ("breakers/llm:scripted/", "breakers/{name}/"),
        ("breakers/tool:say/", "breakers/{name}/"),
        ("tools/look/", "tools/{name}/"),
        ("tools/wiki__read/", "tools/{name}/"),
        ("requests/dinner-7/", "requests/{name}/"),
        ("tokens/999999/", "tokens/{number}/"),
    ):
        path = path.replace(is_value, name)
    return path
