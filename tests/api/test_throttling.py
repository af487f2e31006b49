"""Limits on the rate of requests."""

from django.test.utils import override_settings

from evennia_ai import operations
from tests.api.support import ApiTest

GOAL = {"text": "Find the lost atlas."}


class TestThrottling(ApiTest):
    def test_changes_are_counted_by_account(self) -> None:
        with override_settings(EVENNIA_AI_API_CONFIG={"writes_per_minute": 2}):
            path = "assistants/Ada/goals/"
            statuses = [self.call("POST", path, GOAL).status_code for _ in range(3)]
            assert [201, 201, 429] == statuses
            assert 201 == self.call("POST", path, GOAL, who="admin").status_code
            self.get("assistants/")
        assert 3 == len(operations.list_goals(self.ada_script).data.goals)

    def test_what_is_too_much_says_when_to_come_again(self) -> None:
        with override_settings(EVENNIA_AI_API_CONFIG={"reads_per_minute": 1}):
            self.get("assistants/")
            response = self.call("GET", "assistants/")
        assert 429 == response.status_code
        assert 0 < int(response.headers["Retry-After"]) <= 60
        assert "throttled" == response.told["error"]["code"]

    def test_nobody_is_counted_by_address(self) -> None:
        """Anonymous requests and those with a wrong token share a limit per address."""
        wrong = {"authorization": "Token wrong"}
        with override_settings(EVENNIA_AI_API_CONFIG={"anonymous_per_minute": 2}):
            assert 401 == self.call("GET", "assistants/", who=None).status_code
            assert 401 == self.call("GET", "assistants/", who=None, headers=wrong).status_code
            assert 429 == self.call("GET", "assistants/", who=None, headers=wrong).status_code
            assert 429 == self.call("GET", "assistants/", who=None).status_code
            elsewhere = self.call("GET", "assistants/", who=None, REMOTE_ADDR="10.0.0.2")
            assert 401 == elsewhere.status_code
            self.get("assistants/")

    def test_0_is_no_limit(self) -> None:
        with override_settings(EVENNIA_AI_API_CONFIG={"reads_per_minute": 0}):
            for _ in range(20):
                self.get("questions/")
