"""Renews the tables in README.md and docs/ that are generated from the code.

Usage: python .ci/docs.py [--check]

A table stands between `<!-- table: NAME -->` and `<!-- /table -->`. With --check nothing is
written: stale tables are named, and the exit code is 1.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import safety_tables
from tables import as_table, settings_table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- /table -->)", re.DOTALL)


# The groups of settings that have a table of their own, by the name of the table.
GROUPS = {
    "audit_config": "evennia_ai.core.settings.services.AuditConfig",
    "ledger_config": "evennia_ai.core.settings.services.LedgerConfig",
    "otel_config": "evennia_ai.core.settings.services.OtelConfig",
    "web_config": "evennia_ai.core.settings.services.WebConfig",
    "api_config": "evennia_ai.core.settings.services.ApiConfig",
    "a2a_config": "evennia_ai.core.settings.services.A2aConfig",
    "remote_config": "evennia_ai.core.settings.remote.RemoteConfig",
    "trace_config": "evennia_ai.core.settings.services.TraceConfig",
    "mcp_server_config": "evennia_ai.core.settings.services.McpServerConfig",
    "workers_config": "evennia_ai.core.settings.services.WorkersConfig",
    "breaker_config": "evennia_ai.core.settings.services.BreakerConfig",
    "hearing_config": "evennia_ai.core.hearing.rate_limits.HearingConfig",
    "execution_config": "evennia_ai.core.turn.execution.ExecutionConfig",
    "stale_answers": "evennia_ai.core.hearing.staleness.StaleAnswers",
    "autonomy_config": "evennia_ai.core.turn.autonomy.AutonomyConfig",
    "memory_config": "evennia_ai.core.settings.memory.MemoryConfig",
    "sleep_schedule": "evennia_ai.core.settings.memory.SleepSchedule",
}


def _shown(default: object) -> str:
    return "" if default in ("", (), [], {}, None) else f"`{default}`"


def _linked(text: str) -> str:
    """Turn the names of pages, as the game shows them, into links."""
    return re.sub(r"\bdocs/(\w+)\.md\b", r"[\1](\1.md)", text)


def game_settings() -> str:
    """Return the settings of a game."""
    from evennia_ai.core.settings.game import GAME_SETTINGS

    rows = [(f"`{name}`", _shown(s.default), _linked(s.text)) for name, s in GAME_SETTINGS.items()]
    return as_table(("setting", "default", "what it does"), rows)


def attributes() -> str:
    """Return the settings of an assistant."""
    from evennia_ai.core.settings.game import ATTRIBUTES

    rows = [
        (
            f"`db.{name}`",
            _shown(s.default),
            _linked(s.text) + (" (read only)" if s.is_state else ""),
        )
        for name, s in ATTRIBUTES.items()
    ]
    return as_table(("attribute", "default", "what it does"), rows)


def audit_events() -> str:
    """Return the events of the audit log."""
    from evennia_ai.core.safety.audit_events import EVENTS

    rows = [(f"`{name}`", k.text, "yes" if k.is_logged else "") for name, k in EVENTS.items()]
    return as_table(("event", "what it tells; names in braces are its details", "in the log"), rows)


def rights() -> str:
    """Return the rights, and the acts that need each."""
    from evennia_ai.operations.rights import ACTS
    from evennia_ai.runtime.rights import MEANINGS, Right

    settings = {right: f"`EVENNIA_AI_{right.name}_LOCK`" for right in (Right.STAFF, Right.OWNER)}
    rows = []
    for right, (text, otherwise) in MEANINGS.items():
        acts = ", ".join(act for act, needed in ACTS.items() if needed is right)
        rows.append((settings.get(right, f"`{right}`"), text, otherwise, acts))
    return as_table(("lock", "for", "where it is not set", "acts"), rows)


def tools() -> str:
    """Return the tools of the package."""
    from evennia_ai.tools import REGISTRY, load_modules

    load_modules(("evennia_ai.agent.delegating",))
    rows = []
    for tool in REGISTRY.values():
        wanted = tool.spec.parameters["required"]
        names = [n if n in wanted else f"{n}?" for n in tool.spec.parameters["properties"]]
        call = f"`{tool.spec.name}({', '.join(names)})`"
        rows.append((call, tool.spec.category.value, tool.spec.description))
    return as_table(("tool", "category", "what it does"), rows)


def tool_groups() -> str:
    """Return the groups of tools shown by need, and their cues."""
    from evennia_ai.tools import REGISTRY, load_modules

    load_modules(["evennia_ai.agent.delegating"])
    always = ", ".join(f"`{tool.name}`" for tool in REGISTRY.values() if tool.group is None)
    rows: list[tuple[object, ...]] = [("always", always, "nothing: they are always shown")]
    groups = dict.fromkeys(tool.group for tool in REGISTRY.values() if tool.group)
    for group in groups:
        names = ", ".join(f"`{tool.name}`" for tool in REGISTRY.values() if tool.group == group)
        rows.append((f"`{group.name}`", names, ", ".join(group.cues)))
    return as_table(("group", "tools, if they are of use", "called for by"), rows)


def rules() -> str:
    """Return the rules of hearing."""
    from evennia_ai.core.hearing.rules import RULES

    def result(outcome: object) -> str:
        return f"as `{outcome.__name__}` says" if callable(outcome) else str(outcome)

    rows = [(rule.number, f"`{rule.name}`", rule.text, result(rule.outcome)) for rule in RULES]
    return as_table(("rule", "name", "when", "result"), rows)


def components() -> str:
    """Return the nine components of a prompt."""
    from evennia_ai.prompts.components import ALWAYS_ON, COMPONENTS

    rows = [
        (
            component.id,
            f"`{component.key}`",
            "talk" if component.id == 5000 else component.where,
            component.description + (" (always on)" if component.id in ALWAYS_ON else ""),
        )
        for component in COMPONENTS.values()
    ]
    return as_table(("id", "key", "stands in", "what it tells"), rows)


def placeholders() -> str:
    """Return the placeholders of prompts."""
    from evennia_ai.prompts.placeholders import ALIASES, PLACEHOLDERS

    others = {name: alias for alias, name in ALIASES.items()}
    rows = [
        (
            f"`{{{name}}}`" + (f", `{{{others[name]}}}`" if name in others else ""),
            "head or tail" if item.is_stable else "tail",
            item.text,
        )
        for name, item in PLACEHOLDERS.items()
    ]
    return as_table(("name", "may stand in", "what it stands for"), rows)


def contexts() -> str:
    """Return the seven contexts."""
    from evennia_ai.core.turn.contexts import CONTEXTS, FULL

    rows = []
    for kind, context in CONTEXTS.items():
        shown = context.enabled_components
        parts = "all" if shown == FULL else ", ".join(str(int(part)) for part in shown)
        names = context.tool_filter
        tools = "all" if names is None else ", ".join(f"`{n}`" for n in sorted(names)) or "none"
        rows.append((f"`{kind}`", context.description, parts, tools, context.max_iterations))
    head = ("context", "when", "components", "tools, if they exist", "model calls")
    return as_table(head, rows)


def event_classes() -> str:
    """Return the classes of the task assessment."""
    from evennia_ai.core.turn.pattern import EVENT_CLASSES

    rows = [
        (
            row.name,
            ", ".join(sorted(row.keywords)) + (", ?" if row.name == "query" else ""),
            row.score,
            f"`{row.mode}`",
            row.iterations,
            "yes" if row.confirms else "",
        )
        for row in EVENT_CLASSES
    ]
    return as_table(("task", "words", "score", "mode", "model calls", "ask first"), rows)


def ways_out() -> str:
    """Return the ways out, who hears each, and what becomes of private words there."""
    from evennia_ai.core.hearing.audience import BY_CATEGORY, WAYS, Hearers

    stays = (Hearers.NOBODY, Hearers.SAME)
    ways = [(f"`{way.name}`", way) for way in WAYS.values()]
    ways += [(way.name, way) for way in BY_CATEGORY.values()]
    rows = [
        (name, way.hearers.value, "" if way.hearers in stays else way.otherwise.value)
        for name, way in ways
    ]
    return as_table(("way out", "who hears by it", "private words of others"), rows)


def endings() -> str:
    """Return the reasons why a turn ends."""
    from evennia_ai.core.turn.react import FAILURES, StopReason

    told = dict.fromkeys(FAILURES, "told that it failed")
    told[StopReason.STOPPED] = "told that it breaks off"
    rows = [(f"`{reason}`", reason.text, told.get(reason, "")) for reason in StopReason]
    return as_table(("stop reason", "when", "the person who waits is"), rows)


def trust() -> str:
    """Return the trust of each way of speaking."""
    from evennia_ai.core.hearing.trust import ADDRESSED_TRUST, BASE_TRUST, RELAYED_TRUST

    rows: list[tuple[object, ...]] = [(source, value) for source, value in BASE_TRUST.items()]
    rows.append(("anything that names the assistant, at least", ADDRESSED_TRUST))
    rows.append(("a channel's message that a bot relays, at most", RELAYED_TRUST))
    return as_table(("source", "trust"), rows)


def commands() -> str:
    """Return the help texts of the other commands that are in `help`."""
    from evennia_ai.commands import CmdAssistant
    from evennia_ai.commands.cmdset import COMMANDS

    others = [each for each in COMMANDS if each.auto_help and each is not CmdAssistant]
    texts = [inspect.cleandoc(command.__doc__ or "") for command in others]
    return "".join(f"```\n{text}\n```\n" for text in texts)


def command_words() -> str:
    """Return the words of `assistant`, as `assistant help <word>` shows them."""
    from evennia_ai.commands import CmdAssistant

    names: dict[tuple[str, str], list[str]] = {}
    for name, word in sorted(CmdAssistant.words.items()):
        if word.is_told:
            names.setdefault((word.how, word.text), []).append(f"`{name}`")
    rows = []
    for (usage, text), same in names.items():
        how = " or ".join(f"`{way}`" for way in usage.split(", assistant "))
        how = how.replace(" or `", " or `assistant ").replace("|", "\\|")
        rows.append((", ".join(same), how, text))
    return as_table(("word", "how it is typed", "what for"), rows)


def games() -> str:
    """Return the games it was tested in, and the results."""
    from tests.journeys.games.steps import STEPS
    from tests.journeys.games.table import as_rows

    return as_table(("game", *STEPS, "Evennia"), as_rows(STEPS))


TABLES: Mapping[str, Callable[[], str]] = {
    table.__name__: table
    for table in (
        game_settings,
        attributes,
        tools,
        tool_groups,
        rules,
        commands,
        command_words,
        trust,
        ways_out,
        endings,
        components,
        placeholders,
        contexts,
        rights,
        audit_events,
        event_classes,
        games,
        safety_tables.limits,
        safety_tables.limit_reasons,
        safety_tables.safety_config,
        safety_tables.lockout_causes,
        safety_tables.lockout_moves,
        safety_tables.budget_config,
        safety_tables.safety_cases,
        safety_tables.holes,
        safety_tables.guards,
        safety_tables.owasp,
        safety_tables.feature_requests,
        safety_tables.promises,
    )
}


def table_of(name: str) -> str:
    """Return the table of this name."""
    if name not in GROUPS:
        return TABLES[name]()
    module, group = GROUPS[name].rsplit(".", 1)
    return settings_table(getattr(importlib.import_module(module), group))


def renewed(text: str) -> str:
    """Return a document with every table renewed."""
    return BLOCK.sub(lambda found: found[1] + table_of(found[2]) + found[3], text)


def _set_up_game() -> None:
    """Set up the demo game's settings with an in-memory database."""
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
