"""Components and templates of a game, and those of one assistant, which override them.

They are read for every turn, so that an edit has an effect at once, without a reload.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evennia_ai.errors import ConfigurationError
from evennia_ai.prompts.components import COMPONENTS, PromptComponent, read_components
from evennia_ai.prompts.placeholders import check_text

DEFAULT = "default"
_TEMPLATE_KEY = re.compile(r"[\w-]{1,40}\Z")
_OF_GAME = ("components", "templates")


@dataclass(frozen=True, slots=True)
class PromptRegistry:
    """The components and templates of one assistant.

    Attributes:
        templates: whole system prompts with {placeholders}, by the key that applies each.
    """

    components: Mapping[int, PromptComponent] = field(default_factory=lambda: COMPONENTS)
    templates: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        game: Mapping[str, object],
        components: Mapping[int, object] | None = None,
        templates: Mapping[str, str] | None = None,
    ) -> PromptRegistry:
        """Read the settings.

        Args:
            components, templates: the assistant's `prompt_components` and `prompt_templates`. A
                component with an id of the game's overrides only the fields it has.
        """
        of_game = _mapping(game, "EVENNIA_AI_PROMPTS", "{'components': {}, 'templates': {}}")
        if not (of_game or components or templates):
            return cls()
        unknown = [key for key in of_game if key not in _OF_GAME]
        if unknown:
            raise ConfigurationError(
                f"EVENNIA_AI_PROMPTS has no key {unknown[0]!r}; it has {', '.join(_OF_GAME)}"
            )
        theirs = _components(of_game.get("components", {}), "EVENNIA_AI_PROMPTS['components']")
        # Validated by themselves first, so that an error names the game's setting.
        read_components(theirs, "EVENNIA_AI_PROMPTS['components']")
        mine = _components(components or {}, "prompt_components")
        merged = {**theirs}
        for number, raw in mine.items():
            base = theirs.get(number, {})
            merged[number] = {**base, **raw} if isinstance(raw, Mapping) else raw
        return cls(
            read_components(merged, "prompt_components"),
            {
                **_templates(of_game.get("templates", {}), "EVENNIA_AI_PROMPTS['templates']"),
                **_templates(templates or {}, "prompt_templates"),
            },
        )

    def template(self, key: str) -> str:
        """The text of a template; "" for the default one.

        Raises:
            ConfigurationError: the key is unknown.
        """
        if key in ("", DEFAULT):
            return ""
        if key not in self.templates:
            known = ", ".join([DEFAULT, *self.templates])
            raise ConfigurationError(f"applied_template is {key!r}; there are {known}")
        return self.templates[key]


def _mapping(given: object, path: str, example: str) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{path} is {given!r}; it must be like {example}")
    return given


def _components(given: object, path: str) -> Mapping[Any, Any]:
    return _mapping(given, path, "{250: {'key': 'mood', 'content': 'You are glad.'}}")


def _templates(given: object, path: str) -> dict[str, str]:
    templates = {}
    for key, text in _mapping(given, path, "{'stern': 'You are {name}. ...'}").items():
        if not isinstance(key, str) or not _TEMPLATE_KEY.match(key) or key == DEFAULT:
            raise ConfigurationError(
                f"{path}: {key!r} is not a key for a template; it must be one word, not 'default'"
            )
        if not isinstance(text, str) or not text.strip():
            raise ConfigurationError(f"{path}[{key!r}] is {text!r}; it must be text")
        check_text(text, f"{path}[{key!r}]")
        templates[key] = text
    return templates
