"""Several endpoints of the game's model, as shown to staff and programs."""

import os
from unittest import mock

import pytest
from django.test import override_settings

from evennia_ai import operations
from evennia_ai.api.bodies import plain
from evennia_ai.commands.overview import status_lines
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.monitoring import equipment, health, metrics
from evennia_ai.runtime import services
from tests.game.support import GameTest

A, B = "http://127.0.0.1:9/v1", "http://127.0.0.2:9/v1"
ENVIRON = {"OPENAI_BASE_URL": A, "EVENNIA_AI_MODEL": "m", "OPENAI_API_KEY": ""}
BOTH = override_settings(
    EVENNIA_AI_ENDPOINTS=[{"base_url": A, "weight": 3}, {"base_url": B, "most_calls": 8}]
)


class EndpointsShownTest(GameTest):
    """Ada's game lists two addresses of its model."""

    def setUp(self) -> None:
        """Three calls went to the first address and one to the second, which failed."""
        super().setUp()
        self.enterContext(mock.patch.dict(os.environ, ENVIRON))
        with BOTH:
            endpoint = services.endpoint()
            spread = services.pool().spread(endpoint)
            for place in (0, 0, 0, 1):
                spread.begin(endpoint.replicas[place])
                spread.count(endpoint.replicas[place])
            for place in (0, 0, 1):
                spread.end(endpoint.replicas[place])
            self.breaker = services.pool().breaker_of(endpoint.each[1])
            self.breaker.force_open()

    def tearDown(self) -> None:
        self.breaker.reset()
        super().tearDown()

    @BOTH
    def test_status_tells_of_each(self) -> None:
        data = operations.status(self.ada_script).data
        first, second = plain(data)["endpoints"]
        assert (A, "closed", 3.0, 0, 1, 3, 0.75) == tuple(
            first[key]
            for key in (
                "base_url",
                "state",
                "weight",
                "most_calls",
                "in_flight",
                "calls",
                "share",
            )
        )
        assert (B, "open", 0.25) == (second["base_url"], second["state"], second["share"])
        lines = "\n".join(status_lines(data))
        assert (
            f"endpoint  {A} closed: 1 calls under way, 3 so far, which is 75% of all; weight 3"
        ) in lines

    @BOTH
    def test_health_tells_staff_alone(self) -> None:
        rows = plain(health.health(with_reasons=True).data)["endpoints"]
        assert [A, B] == [each["base_url"] for each in rows]
        assert "endpoints" not in plain(health.health().data)
        text = metrics.metrics().decode()
        assert f'evennia_ai_endpoint_calls_in_flight{{endpoint="{A}"}} 1.0' in text
        assert f'evennia_ai_endpoint_calls_total{{endpoint="{B}"}} 1.0' in text

    @BOTH
    def test_the_workbench_says_what_to_do(self) -> None:
        parts = {part["name"]: part for part in equipment.equipment().data.parts}
        assert ("good", "bad") == tuple(parts[f"Endpoint {each}"]["level"] for each in (A, B))
        assert "retried automatically" in parts[f"Endpoint {B}"]["advice"]

    @BOTH
    def test_one_of_two_left_alone_is_no_rest(self) -> None:
        """An assistant pauses only if no endpoint is left."""
        assert "closed" == services.pool().breaker_of(services.endpoint()).state.value

    def test_one_address_alone_is_not_listed(self) -> None:
        data = operations.status(self.ada_script).data
        assert [] == data.endpoints
        assert "endpoint" not in "\n".join(status_lines(data))

    @BOTH
    @override_settings(EVENNIA_AI_ENDPOINTS=[{"base_url": B}])
    def test_a_wrong_list_is_found_at_the_start(self) -> None:
        """The server's start finds it, not the first player who speaks."""
        with pytest.raises(ConfigurationError, match="does not list"):
            services.check_settings()
        assert health.health(with_reasons=True).ok
