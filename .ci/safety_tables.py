"""The tables of docs/safety.md, docs/safety_tests.md and docs/requests.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tables import as_table

if TYPE_CHECKING:
    from tests.named_tests import Named


def limits() -> str:
    """Return the limits."""
    from evennia_ai.core.safety.limits import LIMITS, Limit, per
    from evennia_ai.core.settings.budget import BudgetConfig, Scope
    from evennia_ai.core.settings.game import default_at
    from evennia_ai.core.text.words import number

    def default(limit: Limit) -> str:
        if "{scope}" not in limit.path:
            found = default_at(limit.path)
            return number(found) if found else "no limit"
        caps = {s: getattr(BudgetConfig().caps_of(s), limit.path.split(".")[-1]) for s in Scope}
        shown = [f"{scope} {number(cap)}" for scope, cap in caps.items() if cap]
        return ", ".join(shown) or "no limit"

    asked = {None: "yes", "unattended": "only if `on_limit.modes` says so"}

    rows = [
        (
            f"`{kind}`: {limit.text}",
            f"`{limit.path}`",
            default(limit),
            f"{limit.unit} {per(limit.span)}",
            asked[limit.mode] if limit.asks else "no",
            limit.denial.text
            + ("; and whoever asked waits, or it is locked" if limit.locks else ""),
        )
        for kind, limit in LIMITS.items()
    ]
    head = ("limit", "set by", "default", "counts", "asked?", "a no leads to")
    return as_table(head, rows)


def limit_reasons() -> str:
    """Return the reasons of decisions at a limit."""
    from evennia_ai.core.safety.limits import DecisionReason

    return as_table(("reason", "what it means"), [(f"`{r}`", r.text) for r in DecisionReason])


def safety_config() -> str:
    """Return the settings of safety."""
    from evennia_ai.core.settings.safety import SafetyConfig

    rows = []
    for section, line in SafetyConfig.model_fields.items():
        for name, below in type(line.default).model_fields.items():
            shown = f"`{below.default}`" if below.default != {} else ""
            rows.append((f"`{section}.{name}`", shown, below.description))
    return as_table(("key of `db.safety_config`", "default", "what it does"), rows)


def lockout_causes() -> str:
    """Return the causes of stops and lockouts."""
    from evennia_ai.core.safety.lockout import Cause, Lockout

    rows = [(f"`{c}`", f"`{Lockout(c, '', 0.0).state}`", c.text) for c in Cause]
    return as_table(("cause", "state", "what happened"), rows)


def lockout_moves() -> str:
    """Return the transitions between states of the lockout."""
    from evennia_ai.core.safety.lockout import TRANSITIONS, Move, State

    rows = [
        (by.text, *(f"`{TRANSITIONS[s, by]}`" if (s, by) in TRANSITIONS else "" for s in State))
        for by in Move
    ]
    return as_table(("what happens", *(f"while `{state}`" for state in State)), rows)


def budget_config() -> str:
    """Return the caps on tokens, money and calls."""
    from evennia_ai.core.settings.budget import BudgetConfig, Caps, Scope

    config = BudgetConfig()
    rows = [
        (f"`{name}`", cap.description, *(getattr(config.caps_of(s), name) for s in Scope))
        for name, cap in Caps.model_fields.items()
    ]
    return as_table(("cap", "what it bounds", *(f"of each `{scope}`" for scope in Scope)), rows)


def safety_cases() -> str:
    """Return every case of safety, its tests, and what other systems did instead."""
    from tests.safety_cases import CASES, find_tests

    tests = _links(find_tests())
    rows = [
        (name.upper(), case.promise, case.before or "the same", tests[name])
        for name, case in CASES.items()
    ]
    return as_table(("case", "here", "where it was learned from", "tests"), rows)


def holes() -> str:
    """Return every hole that was once open, and the tests that keep it closed."""
    from tests.holes import HOLES, find_tests

    tests = _links(find_tests())
    rows = [(name.upper(), promise, tests[name]) for name, promise in HOLES.items()]
    return as_table(("hole", "what holds now", "tests"), rows)


def guards() -> str:
    """Return every guard, its place, and the test that fails without it."""
    from tests.guards import GUARDS

    rows = [
        (each.text, _files(edit.path for edit in each.edits), _link(each.test)) for each in GUARDS
    ]
    return as_table(("guard", "taken out of", "the test that then fails"), rows)


def owasp() -> str:
    """Return every risk of OWASP's lists, and the tests against it."""
    from tests.owasp import RISKS

    rows = [
        (name, risk.title, risk.here, risk.guard, "<br>".join(map(_link, risk.tests)))
        for name, risk in RISKS.items()
    ]
    head = ("risk", "OWASP's title", "in a game", "what stands against it", "tests")
    return as_table(head, rows)


def feature_requests() -> str:
    """Return every feature request, and its tests."""
    from tests.feature_requests import REQUESTS

    rows = [
        (str(number), each.wish, each.here, "<br>".join(map(_link, each.tests)))
        for number, each in enumerate(REQUESTS, 1)
    ]
    return as_table(("", "what is asked for", "here", "tests"), rows)


def promises() -> str:
    """Return every promise, how it is kept, and its tests."""
    from tests.promises import PROMISES

    rows = [(each.told, each.kept, "<br>".join(map(_link, each.tests))) for each in PROMISES]
    return as_table(("promise", "how it is kept", "seen to work"), rows)


def _files(paths: Iterable[str]) -> str:
    """Return the files of the package, each once."""
    return ", ".join(f"`{path.removeprefix('evennia_ai/')}`" for path in dict.fromkeys(paths))


def _link(test: str) -> str:
    """Return a link to a test by its name."""
    from tests.named_tests import find

    name = test.rpartition("::")[2].removeprefix("test_")
    return f"[{name}](../{find(test)})"


def _links(found: Iterable[Named]) -> Mapping[str, str]:
    """Return links to the tests of each case, one a line."""
    links: dict[str, list[str]] = defaultdict(list)
    for case, path, name in found:
        links[case].append(f"[{name.removeprefix('test_')}](../{path})")
    return defaultdict(str, {case: "<br>".join(sorted(tests)) for case, tests in links.items()})
