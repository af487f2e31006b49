"""Random walks over everything that can happen: safety holds, and no message is lost."""

import os
from collections import Counter
from collections.abc import Callable
from random import SystemRandom
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from evennia_ai import emergency, operations
from tests import postgres
from tests.game.walks import tools
from tests.game.walks.accounts import Listener
from tests.game.walks.case import WalkedCase
from tests.game.walks.model import BAD, EVERY, FAULTS, GOOD, STEPS
from tests.profiles import IS_THOROUGH

# PostgreSQL is several times slower, and the rules that are walked do not depend on the database.
MANY, USUAL = (80, 5) if postgres.is_default() else (400, 40)
USUAL_WALKS = MANY if IS_THOROUGH else USUAL
WALKS = int(os.environ.get("EVENNIA_AI_WALKS", USUAL_WALKS))
USUAL_SEED = 859_799_840  # once found a fault: a server killed during a wait for a task
LENGTH = int(os.environ.get("EVENNIA_AI_WALK_STEPS", "30"))
# Shrinking a failing walk takes minutes.
PHASES = (
    (Phase.generate, Phase.shrink) if os.environ.get("EVENNIA_AI_SHRINK") else (Phase.generate,)
)
PEOPLE = st.sampled_from(("Tom", "Mira"))
KEYS = st.sampled_from(("Ada", "Ada", "Ada", "Brass"))
WAYS = st.sampled_from(("whisper", "say"))
SMALL = st.integers(0, 3)
TIMES = st.sampled_from((0.5, 5.0, 11.0, 31.0, 61.0, 130.0, 400.0, 1000.0))
LIMITS = st.sampled_from(
    (
        {"execution_config": {"max_iterations_per_tick": 1, "sub_agents_enabled": True}},
        {"execution_config": {"multi_action_enabled": False, "sub_agents_enabled": True}},
        {"safety_config": {"loop": {"max_model_calls_per_tick": 1}}},
        {"safety_config": {"loop": {"max_tool_calls_per_context": 1}}},
        {"safety_config": {"loop": {"max_iterations_per_task": 2}}},
        {"safety_config": {"loop": {"max_tokens_per_task": 10}}},
        {"safety_config": {"timeout": {"tick_seconds": 10}}},
        {"safety_config": {"on_limit": {"modes": {"model_call_seconds": "interactive"}}}},
        {
            "execution_config": {"max_iterations_per_tick": 1},
            "safety_config": {"on_limit": {"mode": "auto_extend"}},
        },
        {
            "execution_config": {"max_iterations_per_tick": 1},
            "safety_config": {"on_limit": {"ask_timeout_seconds": 0}},
        },
        {"safety_config": {"loop": "nonsense"}},
        {"safety_config": {}, "budget_config": {}, "execution_config": {}},
        {"budget_config": {"assistant": {"calls_per_minute": 1}}},
        {"budget_config": {"assistant": {"tokens_per_day": 2500}}},
        {"budget_config": {"assistant": {"tokens_total": 2500}}},
        {"budget_config": {"player": {"tokens_per_day": 3000}}},
    )
)
ACTS: dict[str, Callable[..., Any]] = {
    "stop": lambda script: operations.stop(script, "a test", by="Tom"),
    "clear": lambda script: operations.clear(script, by="Tom"),
    "disable": lambda script: operations.set_enabled(script, False, by="Tom"),
    "enable": lambda script: operations.set_enabled(script, True, by="Tom"),
    "reset": lambda script: operations.reset_history(script, by="Tom"),
    "hush": lambda script: operations.hush(script, find_person()),
    "unhush": lambda script: operations.unhush(script, find_person()),
}


def find_person() -> Any:
    return Listener.objects.all_family().get(db_key="Mira")


class Walk(RuleBasedStateMachine):
    """One walk. The world checks its invariants after every step.

    Args:
        case: the test case, which makes the world.
        ends: counts the ends of the messages of all walks.
    """

    on_step: Callable[[str], None] | None = None

    def __init__(self, case: Any, ends: Counter[str]) -> None:
        super().__init__()
        self.world = case.begin()
        self.is_broken = False
        self._ends = ends

    def act(self, name: str, *arguments: Any, **more: Any) -> None:
        if Walk.on_step is not None:
            Walk.on_step(f"{name} {[a for a in arguments if isinstance(a, (str, int))]} {more}")
        self.is_broken = True
        getattr(self.world, name)(*arguments, **more)
        self.is_broken = False

    @property
    def is_asked(self) -> bool:
        return bool(self.world.model.held)

    @initialize(sent=st.lists(st.tuples(PEOPLE, WAYS), min_size=1, max_size=3))
    def it_begins(self, sent: list[tuple[str, str]]) -> None:
        self.somebody_speaks("Ada", sent)

    @rule(key=KEYS, sent=st.lists(st.tuples(PEOPLE, WAYS), min_size=1, max_size=3))
    def somebody_speaks(self, key: str, sent: list[tuple[str, str]]) -> None:
        """Send messages to an assistant in any state."""
        for person, way in sent:
            self.act("send", person, key, way)

    @rule(key=KEYS, sent=st.lists(st.tuples(PEOPLE, WAYS), min_size=1, max_size=3))
    def somebody_asks(self, key: str, sent: list[tuple[str, str]]) -> None:
        """Send messages to an assistant that may act."""
        self.act("do", operations.clear, key)
        self.somebody_speaks(key, sent)

    @rule(kinds=st.lists(st.sampled_from(sorted(EVERY)), max_size=4), is_late=st.booleans())
    def the_model_will_answer_at_once(self, kinds: list[str], is_late: bool) -> None:
        """Choose answers for the next calls, which then do not wait."""
        self.world.model.ready = list(kinds)
        self.world.model.is_late = is_late

    @precondition(lambda self: self.is_asked)
    @rule(kind=st.sampled_from(sorted(GOOD)), index=SMALL)
    def the_model_answers(self, kind: str, index: int) -> None:
        self.act("answer", kind, index)

    @precondition(lambda self: self.is_asked)
    @rule(kinds=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3), index=SMALL)
    def the_model_takes_steps(self, kinds: list[str], index: int) -> None:
        for kind in kinds:
            self.act("answer", kind, index)

    @precondition(lambda self: self.is_asked)
    @rule(kinds=st.lists(st.sampled_from(sorted({**BAD, **FAULTS})), min_size=1, max_size=3))
    def the_model_goes_wrong(self, kinds: list[str]) -> None:
        for kind in kinds:
            self.act("answer", kind)

    @rule(key=KEYS)
    def older_talk_is_summed_up(self, key: str) -> None:
        """Make one more model call, for which nobody waits."""
        self.act("sum_up", key)

    @precondition(lambda self: bool(tools.BEGUN))
    @rule(index=SMALL, fails=st.booleans())
    def a_tool_ends(self, index: int, fails: bool) -> None:
        self.act("end_tool", index, fails=fails)

    @rule(seconds=TIMES)
    def time_passes(self, seconds: float) -> None:
        """Let between half a second and a quarter of an hour pass."""
        self.act("pass_time", seconds)

    @precondition(lambda self: bool(self.world.questions()))
    @rule(text=st.sampled_from(("yes", "yes", "no", "N", "perhaps", "drop", "take")), index=SMALL)
    def somebody_decides(self, text: str, index: int) -> None:
        self.act("decide", text, index)

    @rule(text=st.sampled_from(("yes", "no")))
    def somebody_decides_too_late(self, text: str) -> None:
        """Answer a question, of which there may be none."""
        self.act("decide", text)

    @rule(key=KEYS, limits=LIMITS)
    def a_limit_is_set(self, key: str, limits: dict[str, Any]) -> None:
        """Set limits so low that questions come often, or to nonsense."""
        self.act("set", key, **limits)

    @rule(key=KEYS, act=st.sampled_from(sorted(ACTS)))
    def somebody_interferes(self, key: str, act: str) -> None:
        self.act("do", ACTS[act], key)

    @precondition(lambda self: self.is_asked)
    @rule(kind=st.sampled_from(("answer", "several", "call brass")))
    def somebody_stops_her_while_she_speaks(self, kind: str) -> None:
        self.act("stop_while_speaking", kind)

    @precondition(lambda self: self.is_asked)
    @rule(index=SMALL)
    def a_tool_stops_her(self, index: int) -> None:
        """Stop her between two calls of one reply."""
        self.act("answer", "stop midway", index)

    @rule()
    def all_are_stopped(self) -> None:
        self.act("do", operations.stop_all, "", "a test", by="Tom")

    @rule(is_orderly=st.booleans())
    def the_server_ends(self, is_orderly: bool) -> None:
        self.act("reload" if is_orderly else "crash")

    @precondition(lambda self: self.is_asked)
    @rule(kind=st.sampled_from(("answer", "text", "several")))
    def the_server_is_killed_while_she_speaks(self, kind: str) -> None:
        self.act("crash_while_speaking", kind)

    @invariant()
    def states_are_known(self) -> None:
        states = [emergency.state_of(script) for script in self.world.scripts.values()]
        assert all(isinstance(each, emergency.State) for each in states)

    def teardown(self) -> None:
        try:
            if not self.is_broken:
                self.world.drain()
                self._ends.update(self.world.accounts.ends)
        finally:
            self.world.close()


class TestWalks(WalkedCase):
    """The same walks in each run; new ones in `make proof`."""

    @pytest.fixture(autouse=True)
    def _seed(self, request: pytest.FixtureRequest) -> None:
        """The seed of the walks, which `--hypothesis-seed` sets."""
        given = request.config.getoption("--hypothesis-seed")
        own = SystemRandom().getrandbits(32) if IS_THOROUGH else USUAL_SEED
        self.seed = own if given is None else int(given)

    def walk(self, walks: int, number: int, length: int = LENGTH) -> Counter[str]:
        """Take this many walks from a seed. Returns the ends of all messages.

        Raises:
            Exception: an invariant is broken; a note says how to repeat the walks.
        """
        ends: Counter[str] = Counter()
        again = f"pytest {__file__} -k b15 --hypothesis-seed={number} (EVENNIA_AI_WALKS={walks})"
        try:
            run_state_machine_as_test(
                seed(number)(lambda: Walk(self, ends)),
                settings=settings(
                    max_examples=walks,
                    stateful_step_count=length,
                    deadline=None,
                    derandomize=False,
                    database=None,
                    phases=PHASES,
                    print_blob=False,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        except Exception as error:
            error.add_note(f"the same walks again: {again}")
            raise
        print(f"{walks} walks, --hypothesis-seed={number}: {dict(ends)}")
        return ends

    def test_b15_no_walk_breaks_anything(self) -> None:
        """No tool while stopped, no call after a kill, no message lost or doubled, no free call."""
        ends = self.walk(WALKS, self.seed)
        assert {"answered", "returned", "refused", "excused"} <= ends.keys()

    def test_hole_d30_a_seed_walks_the_same_walks(self) -> None:
        """A failure can be repeated from its seed; another seed takes other walks."""
        first, same, other = (self.traces(number) for number in (7, 7, 8))
        assert first == same != other

    def traces(self, number: int) -> list[str]:
        """The steps of two short walks."""
        steps: list[str] = []
        Walk.on_step = steps.append
        self.addCleanup(setattr, Walk, "on_step", None)
        self.walk(2, number, length=5)
        return steps
