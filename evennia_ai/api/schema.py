"""The table of all endpoints, and the OpenAPI schema that is generated from it.

URLs are matched in the order of the table. The schema is generated once, and independently of the
game's own drf-spectacular settings.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

from django.urls import include, path, reverse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import patched_settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evennia_ai.api import (
    accounting,
    assistants,
    bundles,
    cards,
    control,
    goals,
    history,
    lore,
    memory,
    monitoring,
    people_memory,
    questions,
    requests,
    settings,
    tokens,
)
from evennia_ai.api.base import ApiView
from evennia_ai.api.bodies import plain
from evennia_ai.api.fields import StrictMapping
from evennia_ai.api.problems import CODES
from evennia_ai.api.results import components
from evennia_ai.api.rows import Row
from evennia_ai.core.settings.budget import CAPS
from evennia_ai.operations.control import ASSISTANT, GAME
from evennia_ai.operations.conversation.goals import KINDS, SETTERS, STATUSES
from evennia_ai.operations.monitoring.capacity import STATES as BREAKERS
from evennia_ai.operations.monitoring.health import HEALTH
from evennia_ai.operations.rights.tokens import SCOPES
from evennia_ai.operations.tools.held_back import CHANGED, NEW

TABLE: tuple[Row, ...] = (
    *monitoring.ROWS,
    *tokens.ROWS,
    *questions.ROWS,
    *goals.ROWS,
    *control.ROWS,
    *assistants.ROWS,
    *settings.ROWS,
    *history.ROWS,
    *accounting.ROWS,
    *memory.ROWS,
    *people_memory.ROWS,
    *lore.ROWS,
    *cards.ROWS,
    *bundles.ROWS,
)

TAGS = tuple(dict.fromkeys(row.route.tag for row in TABLE))

# The version of the API, not of the package: clients rely on it.
VERSION = "1.0.0"

DESCRIPTION = """\
An API for everything that staff can do with the AI assistants of this game.

Authenticate with the header `Authorization: Token <token>` (or `Bearer <token>`), or with a session
of the game's website and its CSRF token. All errors have the body
`{"error": {"code", "message", "fields"}}`. Unknown fields in a body and unknown parameters in a URL
are errors.
"""

SCHEMES = {
    "token": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`Token <token>` or `Bearer <token>`, with a token from `token/`.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "sessionid",
        "description": "A login on the game's website; changes need its CSRF token too.",
    },
}

# Every setting that has an effect on the schema, so that the game's own cannot change it.
SETTINGS = {
    "TITLE": "AI assistants",
    "VERSION": VERSION,
    "DESCRIPTION": DESCRIPTION,
    "TAGS": [tag._asdict() for tag in TAGS],
    "OAS_VERSION": "3.0.3",
    "ENFORCE_NON_BLANK_FIELDS": False,
    "APPEND_PATHS": {},
    "DISABLE_DOCSTRING_DESCRIPTIONS": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "COMPONENT_SPLIT_PATCH": False,
    "DISABLE_ERRORS_AND_WARNINGS": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "evennia_ai.api.schema.tell_of_bodies",
    ],
    "PREPROCESSING_HOOKS": [],
    "SERVERS": [],
    "SECURITY": [],
    "SCHEMA_PATH_PREFIX": "",
    "SCHEMA_PATH_PREFIX_TRIM": False,
    # Otherwise drf-spectacular makes up names, and warns if two enums would get the same.
    "ENUM_NAME_OVERRIDES": {
        "HealthStatus": HEALTH,
        "GoalStatus": STATUSES,
        "GoalSetter": SETTERS,
        "GoalKind": KINDS,
        "BreakerScope": [GAME, ASSISTANT],
        "BreakerState": BREAKERS,
        "EndOfGoalStatus": requests.ENDS,
        "MemoryKind": requests.KINDS,
        "TokenScope": SCOPES,
        "WhyHeld": [NEW, CHANGED],
        "CapName": list(CAPS),
        "ProblemCode": sorted(set(CODES.values())),
    },
    "AUTHENTICATION_WHITELIST": None,
    "RENDERER_WHITELIST": None,
    "PARSER_WHITELIST": None,
}

_LOCK = threading.Lock()


def tell_of_bodies(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Postprocessing hook: a change needs at least one field, and unknown fields are errors."""
    shapes = result["components"]["schemas"]
    for name in ("ChangedAssistant", "ChangedLore"):
        shapes[name]["minProperties"] = 1
    for name, kind in vars(requests).items():
        if isinstance(kind, type) and issubclass(kind, StrictMapping) and name in shapes:
            shapes[name]["additionalProperties"] = False
            for field in shapes[name].get("properties", {}).values():
                # drf-spectacular's second choice, an empty text, would match both.
                field |= field.pop("oneOf", [{}])[0]
    return result


@lru_cache(maxsize=4)
def _make(prefix: str) -> dict[str, Any]:
    patterns = [path(prefix.lstrip("/"), include("evennia_ai.api.urls"))]
    parts = {"securitySchemes": SCHEMES, "schemas": components(TABLE)}
    with patched_settings(SETTINGS | {"APPEND_COMPONENTS": parts}):
        schema = SchemaGenerator(patterns=patterns).get_schema(request=None, public=True)
        return dict(plain(schema))


def openapi() -> dict[str, Any]:
    """The schema, with the paths at which the game has mounted the API."""
    prefix = reverse("evennia_ai_api:schema").removesuffix("schema/")
    with _LOCK:  # `patched_settings` changes drf-spectacular's settings for the whole process
        return _make(prefix)


@extend_schema(exclude=True)
class Schema(ApiView):
    """The OpenAPI schema."""

    needs_account = False

    def get(self, request: Request) -> Response:
        """Return the schema, also to anonymous requests: the same is in the public docs."""
        return Response(openapi())
