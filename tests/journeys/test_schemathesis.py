"""The OpenAPI schema against the running server, for people of different rights."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import PASSWORD, Enter
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, UNHURRIED, Game
from tests.journeys.schema_run import Seen, Walk, walk
from tests.journeys.staging import find_trouble, measure_log, read_new_log, run
from tests.journeys.web import API, Web
from tests.profiles import IS_THOROUGH

# No rate limits.
API_CONFIG = {
    "reads_per_minute": 0,
    "writes_per_minute": 0,
    "anonymous_per_minute": 0,
    "tokens_per_minute": 0,
    "metrics": "staff",
    # A machine that is busy with other tests is not the fault of the API.
    "timeout_seconds": 60,
}
PEOPLE = {
    "Astrid": "Admin",
    "Bo": "Builder",
    "Pia": "Player",
    "Gast": "Guest",
    "Tom": "Player",
}
PROBE, DOOMED = "Probe", "Doomed"
RESIDENTS = ("Ada", "Brass")
# The schema's own example has the second.
ROOM, SCRIPTORIUM = "The Reading Room", "The Scriptorium"
MAKE_PEOPLE = f"""
kinds = {{'Guest': 'evennia.accounts.accounts.DefaultGuest'}}
for name, right in {PEOPLE!r}.items():
    account = create_account(name, '', {PASSWORD!r}, typeclass=kinds.get(right))
    account.permissions.clear()
    account.permissions.add(right)
create_object('world.rooms.Room', key={SCRIPTORIUM!r})
for assistant in (ada, brass):
    assistant.obj.locks.add('ai_control:perm(Developer)')
"""
TOKEN_OF = """
from evennia_ai.operations.rights import token_store
told = token_store.make(evennia.search_account({!r})[0], '')[0]
"""
OPEN = {("GET", "health/"), ("POST", "token/")}
ME = "assistants/{key}/me/memory/"
EVERYBODY = OPEN | {
    ("GET", "questions/"),
    ("DELETE", "token/"),
    ("GET", "tokens/"),
    ("DELETE", "tokens/"),
    ("DELETE", "tokens/{number}/"),
    ("GET", ME),
    ("PATCH", ME),
    ("DELETE", ME),
    ("GET", f"{ME}export/"),
    ("PATCH", f"{ME}{{id}}/"),
    ("DELETE", f"{ME}{{id}}/"),
}
WORKED_OUT = ("examples", "coverage")


@dataclass(frozen=True)
class Person:
    """A person of certain rights, and the walk that they take.

    Attributes:
        name: the account; "" for nobody.
        may: the operations that may succeed; None for most.
        phases, examples, has_logins: see `Walk`. Links from one answer to the next lead to the
            residents too, so only a person without a right over them follows these.
        is_thorough: True to send invalid requests to each operation, and derived ones to every
            eighth one. Everybody sends all of it only in `make proof`: one serializer reports what
            is invalid, and a person without a right is refused whatever they send, which
            tests/api/test_rights.py checks.
    """

    name: str
    may: set[tuple[str, str]] | None
    phases: tuple[str, ...] = WORKED_OUT
    examples: int = 4 if IS_THOROUGH else 2
    has_logins: bool = False
    is_thorough: bool = False


# On this walk an admin may do all that a superuser may: the superuser sends the derived requests
# and the admin the generated ones. Builder, player and guest walk only in `make proof`.
RIGHTS = [
    pytest.param(Person(ADMIN_NAME, None, has_logins=True, is_thorough=True), id="superuser"),
    pytest.param(
        Person(
            "Astrid",
            None,
            ("examples", "fuzzing", "stateful"),
            has_logins=True,
            is_thorough=True,
        ),
        id="admin",
    ),
    pytest.param(Person("", OPEN, has_logins=True), id="anonymous"),
]
if IS_THOROUGH:
    RIGHTS += [
        pytest.param(Person("Bo", None), id="builder"),
        pytest.param(Person("Pia", EVERYBODY), id="player"),
        pytest.param(Person("Gast", OPEN), id="guest"),
    ]


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    return {**UNHURRIED, "EVENNIA_AI_API_CONFIG": API_CONFIG}


@pytest.fixture(scope="module")
def owner(game: Game) -> Web:
    """The owner's program, in a game with an account of every right."""
    with game.log_in_admin() as admin:
        run(admin, MAKE_PEOPLE, 60)
    return Web.with_token(game.ports.web, ADMIN_NAME, ADMIN_PASSWORD)


@pytest.fixture(autouse=True)
def cleared(game: Game, owner: Web, model: FakeModel) -> Iterator[None]:
    """Two assistants to be changed and deleted; afterwards everything new is deleted.

    The test leaves no traceback in the game's log.
    """
    start = measure_log(game)
    for name in (PROBE, DOOMED):
        owner.get_done("POST", "assistants/", {"key": name, "location": ROOM})
    with game.log_in_admin() as admin:
        run(admin, f"find_assistant({PROBE!r}).obj.locks.add('ai_control:perm(Admin)')")
    yield
    there = owner.read("assistants/?limit=100")
    for key in [each["key"] for each in there["assistants"] if each["key"] not in RESIDENTS]:
        owner.get_done("DELETE", f"assistants/{key}/")
    while entries := owner.read("lore/?limit=100")["lore"]:
        for entry in entries:
            owner.get_done("DELETE", f"lore/{entry['key']}/")
    for key in RESIDENTS:
        owner.ask("POST", f"assistants/{key}/emergency/clear/")
    assert there["count"] == len(there["assistants"])
    assert [] == find_trouble(read_new_log(game, start))


def headers_of(game: Game, name: str) -> dict[str, str]:
    if not name:
        return {}
    with game.log_in_admin() as admin:
        return {"Authorization": f"Token {run(admin, TOKEN_OF.format(name))}"}


def wrongly_asked(owner: Web, person: Person) -> set[tuple[str, str]] | None:
    """The operations to which a person sends invalid requests too; None for all."""
    if IS_THOROUGH or (person.is_thorough and person.phases != WORKED_OUT):
        return None
    if not person.is_thorough:
        return person.may or set()
    paths = owner.read("schema/")["paths"].items()
    each = sorted((path.removeprefix(API), way.upper()) for path, ways in paths for way in ways)
    return {(method, path) for path, method in each[::8]}


def look_over(game: Game, owner: Web, person: Person) -> Seen:
    """Walk through the whole API as a person; what the walk stops or deletes is restored."""

    def after(method: str, path: str, values: dict[str, Any], status: int) -> None:
        if status != 200:
            return
        if path.endswith("stop/"):
            owner.get_done("POST", "emergency/clear/")
            owner.get_done("POST", "start/")
        elif (method, path, values.get("key")) == ("DELETE", "assistants/{key}/", DOOMED):
            owner.get_done("POST", "assistants/", {"key": DOOMED, "location": ROOM})

    may_give_back = person.may is None or ("DELETE", "token/") in person.may
    plan = Walk(
        root=owner.root,
        headers=headers_of(game, person.name),
        spare=headers_of(game, "Tom") if may_give_back else None,
        name=PROBE,
        doomed=DOOMED,
        phases=person.phases,
        examples=person.examples,
        has_logins=person.has_logins,
        in_every_way=wrongly_asked(owner, person),
        after=after,
    )
    return walk(plan)


@pytest.mark.parametrize("person", RIGHTS)
def test_the_server_keeps_to_its_schema(
    game: Game, owner: Web, enter: Enter, model: FakeModel, person: Person
) -> None:
    """No 5xx, no undocumented response, and nothing done without the right to it."""
    model.behave(content="As you wish.")
    seen = look_over(game, owner, person)
    assert not seen.faults, seen.describe()
    assert not [status for status in seen.requests if status >= 500]
    paths = owner.read("schema/")["paths"].values()
    left_out = 0 if person.has_logins else 1
    assert sum(map(len, paths)) - left_out == len(seen.tried - {("Stateful", "tests")})
    if person.may is not None:
        assert set() == seen.done - person.may
    model.reset()
    owner.ask("POST", "assistants/Ada/emergency/clear/")
    enter("Wren").ask("whisper ada = still there?", r'Ada whispers: "I heard: still there\?"')
