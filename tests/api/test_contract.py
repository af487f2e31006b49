"""The API keeps the promises of its version 1.0.0 to clients."""

import json
from pathlib import Path

from evennia_ai.api.schema import openapi
from tests.api.contract import promises
from tests.api.support import ApiTest

HERE = Path(__file__).parent
PROMISED = HERE / "promised.txt"
DIFFERENCES = HERE / "promised_differences.json"


class TestContract(ApiTest):
    def test_what_was_promised_is_kept(self) -> None:
        """Nothing is lost or new without a stated reason."""
        then, now = set(PROMISED.read_text("utf-8").splitlines()), promises(openapi())
        reasons = json.loads(DIFFERENCES.read_text("utf-8"))
        gone = {line for each in reasons for line in each["gone"]}
        new = {line for each in reasons for line in each["new"]}
        assert all(each["reason"] for each in reasons)
        assert sorted(gone) == sorted(then - now)
        assert sorted(new) == sorted(now - then)

    def test_a_difference_is_noticed(self) -> None:
        """Each kind of promise that is removed from a schema is missed."""
        schema = json.loads(json.dumps(openapi()))
        whole = promises(schema)
        status = schema["paths"]["/api/ai/assistants/{key}/status/"]["get"]
        del status["responses"]["404"]
        del schema["components"]["schemas"]["Goal"]["properties"]["priority"]
        goal = schema["paths"]["/api/ai/assistants/{key}/goals/"]["post"]
        del goal["requestBody"]["content"]["application/json"]["examples"]
        events = schema["paths"]["/api/ai/assistants/{key}/events/"]["get"]
        events["parameters"] = [each for each in events["parameters"] if each["name"] != "reveal"]
        del schema["paths"]["/api/ai/lore/"]["post"]
        lost = sorted(whole - promises(schema))
        assert [
            "GET assistants/{key}/events/ query reveal: string, one of ['false', 'true'], "
            "minLength 1, optional",
            "GET assistants/{key}/goals/ 200.closed[].priority: integer",
            "GET assistants/{key}/goals/ 200.goals[].priority: integer",
            "GET assistants/{key}/status/ may go wrong with 400, 401 WWW-Authenticate, 403, 404, "
            "406, 429 Retry-After, 503 Retry-After",
            "POST assistants/{key}/goals/ body example Request",
        ] == [line for line in lost if not line.startswith("POST lore")]
        assert "POST lore/ body.text: string" in {line.partition(",")[0] for line in lost}
