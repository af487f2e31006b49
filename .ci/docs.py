"""Renews the tables that are made from the code, in README.md and docs/.

Usage: python .ci/docs.py [--check]

A table stands between `<!-- table: NAME -->` and `<!-- /table -->`. With --check nothing is
written: a stale table is named and the exit code is 1.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- /table -->)", re.DOTALL)


def as_table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]]) + "\n"


def _shown(default: object) -> str:
    return "" if default in ("", (), [], {}, None) else f"`{default}`"


def game_settings() -> str:
    """What a game sets."""
    from evennia_ai.core.settings import GAME_SETTINGS

    rows = [(f"`{name}`", _shown(s.default), s.text) for name, s in GAME_SETTINGS.items()]
    return as_table(("setting", "default", "what it does"), rows)


def attributes() -> str:
    """What one assistant keeps."""
    from evennia_ai.core.settings import ATTRIBUTES

    rows = [
        (f"`db.{name}`", _shown(s.default), s.text + (" (read only)" if s.is_state else ""))
        for name, s in ATTRIBUTES.items()
    ]
    return as_table(("attribute", "default", "what it does"), rows)


def tools() -> str:
    """The tools that come with the package."""
    from evennia_ai.tools import REGISTRY, load_modules

    load_modules()
    rows = []
    for tool in REGISTRY.values():
        wanted = tool.spec.parameters["required"]
        names = [n if n in wanted else f"{n}?" for n in tool.spec.parameters["properties"]]
        call = f"`{tool.spec.name}({', '.join(names)})`"
        rows.append((call, tool.spec.category.value, tool.spec.description))
    return as_table(("tool", "category", "what it does"), rows)


def rules() -> str:
    """The rules of hearing."""
    from evennia_ai.core.rules import RULES

    def result(outcome: object) -> str:
        return f"as `{outcome.__name__}` says" if callable(outcome) else str(outcome)

    rows = [(rule.number, f"`{rule.name}`", rule.text, result(rule.outcome)) for rule in RULES]
    return as_table(("rule", "name", "when", "result"), rows)


def hearing_config() -> str:
    """What one player may ask for, and how long things count."""
    from evennia_ai.core.manners import HearingConfig

    # Python 3.13 takes a docstring's indentation away, the others keep it.
    text = inspect.cleandoc(HearingConfig.__doc__ or "")
    texts = dict(re.findall(r"^ {4}([\w, ]+): (.+(?:\n {8}.+)*)", text, re.MULTILINE))
    said = {name: " ".join(t.split()) for names, t in texts.items() for name in names.split(", ")}
    rows = [
        (f"`{entry.name}`", f"`{entry.default}`", said[entry.name])
        for entry in fields(HearingConfig)
    ]
    return as_table(("key of `db.hearing_config`", "default", "what it does"), rows)


def trust() -> str:
    """What each way of speaking deserves."""
    from evennia_ai.core.trust import ADDRESSED_TRUST, BASE_TRUST, RELAYED_TRUST

    rows: list[tuple[object, ...]] = [(source, value) for source, value in BASE_TRUST.items()]
    rows.append(("anything that names the assistant, at least", ADDRESSED_TRUST))
    rows.append(("a channel's message that a bot relays, at most", RELAYED_TRUST))
    return as_table(("source", "trust"), rows)


def commands() -> str:
    """The commands' own help."""
    from evennia_ai.commands import CmdAssistant, CmdHistory, CmdPage

    shown = (CmdAssistant, CmdHistory, CmdPage)
    texts = [inspect.cleandoc(command.__doc__ or "") for command in shown]
    return "".join(f"```\n{text}\n```\n" for text in texts)


TABLES: Mapping[str, Callable[[], str]] = {
    table.__name__: table
    for table in (game_settings, attributes, tools, rules, commands, hearing_config, trust)
}


def renewed(text: str) -> str:
    """A document with every table made anew."""
    return BLOCK.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], text)


def _set_up_game() -> None:
    """The demo game's settings, with a database that is nobody's."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "server.conf.settings")
    import django
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = ":memory:"
    django.setup()
    import evennia

    evennia._init()


def main(arguments: list[str]) -> int:
    """Renew or check; return the exit code."""
    _set_up_game()
    stale = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        old = path.read_text(encoding="utf-8")
        if (new := renewed(old)) != old:
            stale.append(path)
            if "--check" not in arguments:
                path.write_text(new, encoding="utf-8")
    is_check = "--check" in arguments
    for path in stale:
        print(f"{path.relative_to(ROOT)} {'is stale: make docs' if is_check else 'renewed'}")
    return 1 if stale and is_check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
