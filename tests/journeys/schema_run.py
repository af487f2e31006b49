"""A bounded walk through the API by its own OpenAPI schema, as one person, with schemathesis.

The engine is the one that its command line runs. All faults are collected, so that a failing test
shows each of them once, with a line of curl that repeats it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.journeys.web import API

# Phases whose requests are derived from the schema, always the same, and phases that generate them.
# The first name an existing assistant: otherwise most requests would only get a 404.
WORKED_OUT, MADE_UP = ("examples", "coverage"), ("fuzzing", "stateful")
SEED = 6
MOST_SHOWN = 12
# Requests that fit the schema and may still be refused, by rules that no schema can express: a room
# that exists, a name without invisible characters, a setting and its value, a time in words, an
# offered choice, the arguments of one tool, a text that is not about the assistant itself, a card.
MEANT = (
    ("POST", "assistants/"),
    ("POST", "adopt/"),
    ("PUT", "assistants/{key}/"),
    ("PATCH", "assistants/{key}/"),
    ("POST", "assistants/{key}/clone/"),
    ("PATCH", "assistants/{key}/configuration/"),
    ("GET", "assistants/{key}/audit/state/"),
    ("GET", "assistants/{key}/trace/"),
    ("POST", "assistants/{key}/questions/{number}/answer/"),
    ("POST", "questions/{number}/answer/"),
    ("POST", "assistants/{key}/tools/{name}/execute/"),
    ("POST", "assistants/{key}/memory/"),
    ("GET", "assistants/{key}/memory/search/"),
    ("PATCH", "assistants/{key}/memory/{memory}/"),
    ("PATCH", "assistants/{key}/me/memory/{id}/"),
    ("POST", "lore/"),
    ("PATCH", "lore/{memory}/"),
    ("POST", "assistants/{key}/goals/"),
    ("POST", "lore/packs/"),
    ("POST", "cards/"),
    ("POST", "cards/preview/"),
    ("PUT", "assistants/{key}/card/"),
    ("POST", "imports/"),
    ("POST", "imports/preview/"),
)
After = Callable[[str, str, dict[str, Any], int], None]


@dataclass(frozen=True)
class Walk:
    """The plan of a walk.

    Attributes:
        headers: headers that identify the person.
        spare: headers of an account whose token may be revoked; None to treat it like the others.
        name: name of an assistant that may be changed in any way.
        doomed: name of an assistant that may be deleted.
        phases: phases of schemathesis.
        examples: number of generated requests for each operation, beside those that are derived
            from the schema.
        has_logins: True to try names and passwords too.
        in_every_way: operations that get invalid requests too; None for all.
        after: called after each response: method, path as in the schema, path parameters, status.
    """

    root: str
    headers: dict[str, str]
    spare: dict[str, str] | None
    name: str
    doomed: str
    phases: tuple[str, ...]
    examples: int
    has_logins: bool
    in_every_way: set[tuple[str, str]] | None
    after: After


@dataclass
class Seen:
    """The result of a walk.

    Attributes:
        requests: number of requests by status.
        done: operations with a successful request.
        tried: all operations that were tried.
        faults: each fault once.
    """

    requests: Counter[int] = field(default_factory=Counter)
    done: set[tuple[str, str]] = field(default_factory=set)
    tried: set[tuple[str, str]] = field(default_factory=set)
    faults: dict[tuple[str, ...], str] = field(default_factory=dict)

    def describe(self) -> str:
        shown = list(self.faults.values())[:MOST_SHOWN]
        return "\n\n".join([f"{len(self.faults)} faults in {dict(self.requests)}", *shown])


def walk(plan: Walk) -> Seen:
    seen = Seen()
    for phases in (WORKED_OUT, MADE_UP):
        chosen = [name for name in phases if name in plan.phases]
        if chosen:
            _walk(plan, chosen, seen)
    return seen


def _walk(plan: Walk, phases: list[str], seen: Seen) -> None:
    # Imported only by the worker that walks, and not by each that collects tests here.
    import schemathesis
    from schemathesis import engine
    from schemathesis.engine import events

    config = schemathesis.Config.from_dict(_configuration(plan, phases))
    schema = schemathesis.openapi.from_url(f"{plan.root}{API}schema/", config=config)

    def after_call(context: Any, case: Any, response: Any) -> None:
        method, path = case.method.upper(), case.path.removeprefix(API)
        status = int(response.status_code)
        seen.requests[status] += 1
        if 200 <= status < 300:
            seen.done.add((method, path))
        plan.after(method, path, case.path_parameters or {}, status)

    schema.hook(after_call)
    for event in engine.from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            seen.faults |= dict(_faults_of(event.recorder))
            if event.label:
                method, _, path = str(event.label).partition(" ")
                seen.tried.add((method, path.removeprefix(API)))
        elif isinstance(event, (events.NonFatalError, events.FatalError)):
            seen.faults["the run itself", repr(event)[:200]] = repr(event)


def _faults_of(recorder: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    for number, checks in recorder.checks.items():
        for check in checks:
            if check.status.value != "failure":
                continue
            failure, entry = check.failure_info.failure, recorder.interactions.get(number)
            answer = entry.response.content[:500] if entry is not None and entry.response else b""
            lines = (f"{recorder.label}: {check.name}: {failure.title}", failure.message)
            text = "\n".join(
                (*lines, check.failure_info.code_sample, answer.decode("utf-8", "replace"))
            )
            yield (recorder.label, check.name, failure.title), text


def _configuration(plan: Walk, phases: list[str]) -> dict[str, Any]:
    """The contents of an equivalent schemathesis.toml."""
    return {
        "seed": SEED,
        "base-url": plan.root,
        "headers": plan.headers,
        "workers": 1,
        "continue-on-failure": True,
        "request-timeout": 60,
        "output": {"sanitization": {"enabled": False}},
        "generation": {
            "deterministic": True,
            "database": "none",
            "max-examples": plan.examples,
            "no-shrink": True,
            "mode": "all" if plan.in_every_way is None else "positive",
        },
        "phases": {name: _phase(name, phases) for name in (*WORKED_OUT, *MADE_UP)},
        "parameters": {
            "path.key": _key(plan.name, "names", phases),
            "path.setting": {"dictionary": "settings", "probability": 0.6},
            "path.name": {"dictionary": "tools", "probability": 0.6},
        },
        "dictionaries": {
            "names": {"values": [plan.name, plan.name.lower()]},
            "doomed": {"values": [plan.doomed]},
            "settings": {"values": ["tick_rate", "execution_config.max_iterations_per_tick"]},
            "tools": {"values": ["look", "say", "time", "whisper"]},
        },
        "operations": list(_exceptions(plan, phases)),
    }


def _key(name: str, dictionary: str, phases: list[str]) -> Any:
    is_named = phases[0] in WORKED_OUT
    return name if is_named else {"dictionary": dictionary, "probability": 0.8}


def _phase(name: str, phases: list[str]) -> dict[str, Any]:
    enabled = {"enabled": name in phases}
    # Names from a response may be those of assistants that the walk must not change.
    return enabled if name == "stateful" else enabled | {"extra-data-sources": {"responses": False}}


def _exceptions(plan: Walk, phases: list[str]) -> Iterator[dict[str, Any]]:
    whole = plan.in_every_way or set()
    for method, path in dict.fromkeys((*MEANT, *sorted(whole))):
        entry = _of(method, path)
        if (method, path) in MEANT:
            entry["checks"] = {"positive_data_acceptance": {"enabled": False}}
        if (method, path) in whole:
            entry["generation"] = {"mode": "all"}
        yield entry
    doomed = {"path.key": _key(plan.doomed, "doomed", phases)}
    yield _of("DELETE", "assistants/{key}/") | {"parameters": doomed}
    yield _of("POST", "token/") | {"enabled": plan.has_logins}
    if plan.spare is not None:
        for path in ("token/", "tokens/", "tokens/{number}/"):
            yield _of("DELETE", path) | {"headers": plan.spare}


def _of(method: str, path: str) -> dict[str, Any]:
    """One operation; a method and a path as separate keys would match all of either."""
    return {"include-name": f"{method} {API}{path}"}
