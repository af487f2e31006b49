"""Tools by need: few are shown, and the others can be found by `find_tools`."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.test.utils import override_settings
from evennia.utils import create

from evennia_ai.core.hearing.inbox import OWN, TASK
from evennia_ai.core.turn.conversation import call_message, user_message
from evennia_ai.core.turn.needs import FIND_TOOLS
from evennia_ai.core.turn.tokens import estimate
from evennia_ai.core.turn.toolspec import ToolCall, ToolGroup
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.scripted import completion
from evennia_ai.llm.token_counter import load_encoding
from evennia_ai.runtime import services, state
from evennia_ai.tools import TOOL_REGISTRY, showing, tool
from tests.asked import AT_HAND, SET_ASIDE, equip, on_offer, shown_for, tally, turn_of
from tests.game.support import GameTest, whispers

TRIVIAL = "hello, who are you?"
MOST_TOKENS = 1500
ALWAYS = {"say", "whisper", "emote", "look", "noop", "recall_memories", "store_memory", FIND_TOOLS}


def names_of(specs: Any) -> list[str]:
    """The names of our tools, without those that other tests register."""
    ours = {name for name, each in TOOL_REGISTRY.items() if each.module.startswith("evennia_ai")}
    return [name for name in specs if name in ours]


# Tools that other tests register count as well.
@override_settings(EVENNIA_AI_MAX_TOOLS_OFFERED=100)
class NeedCase(GameTest):
    def shown(self, text: str, **changes: Any) -> list[str]:
        return names_of(shown_for(self.ada_script, turn_of(text, **changes)))


class TestSize(NeedCase):
    def sent(self) -> tuple[list[str], list[Any]]:
        """The texts and our tools in the newest model call."""
        body = self.model.bodies[-1]
        tools = [each for each in body["tools"] if names_of([each["function"]["name"]])]
        return [str(message["content"]) for message in body["messages"]], tools

    def test_a_trivial_whisper(self) -> None:
        """The bound holds by our estimate and by tiktoken."""
        self.ask(f"whisper Ada = {TRIVIAL}", whispers("I am Ada."))
        texts, tools = self.sent()
        assert len(texts) == 2
        for count in filter(None, (estimate, load_encoding("o200k_base"))):
            tokens = sum(count(text) + 4 for text in texts) + count(json.dumps(tools))
            assert 500 < tokens <= MOST_TOKENS

    @override_settings(EVENNIA_AI_TOOLS_BY_NEED=False)
    def test_it_would_cost_more(self) -> None:
        """The bound means something: with every tool shown it is exceeded."""
        self.ask(f"whisper Ada = {TRIVIAL}", whispers("I am Ada."))
        texts, tools = self.sent()
        assert sum(map(estimate, texts)) + estimate(json.dumps(tools)) > MOST_TOKENS

    def test_what_is_always_shown(self) -> None:
        assert ALWAYS == set(self.shown(TRIVIAL))


class TestRequests(NeedCase):
    """Requests that each need a certain tool, to an assistant with a use for every tool."""

    def setUp(self) -> None:
        super().setUp()
        equip(self.ada_script)

    def test_at_hand(self) -> None:
        """All are reachable, and nine of ten are shown at once."""
        result = tally(self.ada_script, AT_HAND)
        assert [] == result.unreachable
        assert result.share_at_once >= 0.9, result.one_look_away
        assert max(result.sizes) < len(on_offer(self.ada_script, turn_of(TRIVIAL)))

    def test_set_aside(self) -> None:
        """Requests that were not used to choose the cues, some in other languages."""
        result = tally(self.ada_script, SET_ASIDE)
        assert [] == result.unreachable
        assert result.share_at_once >= 0.75, result.one_look_away

    def test_every_tool_can_be_looked_up(self) -> None:
        """Each is shown at once, or after its group was looked up."""
        # Sleep and goals are not a speaker's business, and attachments are for remote agents.
        own = {"create_goal", "go_to_sleep", "split_goal", "attach_data", "attach_file"}
        offered = names_of(on_offer(self.ada_script, turn_of(TRIVIAL)))
        turn = turn_of(TRIVIAL)
        for group in {spec.group for spec in on_offer(self.ada_script, turn).values()} - {None}:
            TOOL_REGISTRY[FIND_TOOLS].execute(self.ada, query=group.name, turn=turn)
        assert set(offered) - own == set(names_of(shown_for(self.ada_script, turn)))


class TestWhatCallsForThem(NeedCase):
    def test_the_name_of_a_thing_in_any_language(self) -> None:
        """A thing is handled and an exit is walked; a being is only spoken to."""
        kind = "evennia.objects.objects.DefaultObject"
        create.create_object(kind, "Laterne", location=self.room1)
        assert "get" in self.shown("nimm bitte die Laterne")
        assert "get" not in self.shown("kennst du Mira?")
        self.ada.locks.remove("tool_move")
        create.create_object(
            "evennia.objects.objects.DefaultExit",
            "Hafen",
            location=self.room1,
            destination=self.room2,
        )
        assert "move" in self.shown("komm mit zum Hafen")
        assert "move" not in self.shown(TRIVIAL)

    def test_nowhere(self) -> None:
        self.ada.location = None
        assert "get" in self.shown("take it")

    def test_what_is_answered_by_a_page_or_on_a_channel(self) -> None:
        for source in ("page", "channel"):
            turn = turn_of(TRIVIAL)
            turn.events = (replace(turn.event, source=source),)
            turn.event = turn.events[-1]
            assert source in shown_for(self.ada_script, turn)
        assert not {"page", "channel"} & set(self.shown(TRIVIAL))

    def test_a_matter_goes_on(self) -> None:
        """The message before counts, and a recent call; older ones do not."""
        ask, answer = user_message("Tom says: give me a lamp"), user_message("Tom says: hello")
        assert "get" in self.shown("the brass one", history=[ask])
        assert "get" not in self.shown("the brass one", history=[ask, answer, answer])
        called = call_message(ToolCall("c1", "get", {"item": "lamp"}))
        assert "get" in self.shown("well done", history=[called, answer, answer])
        much = [answer] * showing.MESSAGES_BACK
        assert "get" not in self.shown("well done", history=[called, *much])

    def test_looked_up_in_another_language(self) -> None:
        """The second prompt starts with the tools of the first, for the provider's cache."""
        create.create_object("evennia.objects.objects.DefaultObject", "lamp", location=self.room1)
        looks = completion(None, (FIND_TOOLS, {"query": "hands"}))
        takes = completion(None, ("get", {"item": "lamp"}))
        self.ask("whisper Ada = heb das bitte auf", looks, takes)
        first, second = ([each["function"] for each in body["tools"]] for body in self.model.bodies)
        assert first == second[: len(first)]
        assert "get" in [each["name"] for each in second]
        assert ["lamp"] == [thing.key for thing in self.ada.contents]

    def test_the_first_tools_are_always_the_same(self) -> None:
        """A provider's cache needs the same order and the same texts."""
        prompts = [list(shown_for(self.ada_script, turn_of(each.text)).items()) for each in AT_HAND]
        shortest = min(prompts, key=len)
        assert all(shortest == each[: len(shortest)] for each in prompts)
        assert all(
            ours is others
            for each in prompts
            for (_, ours), (_, others) in zip(shortest, each, strict=False)
        )


class TestWhereAllAreShown(NeedCase):
    """Turns in which every tool is shown."""

    def all_of(self, **changes: Any) -> set[str]:
        """The names of all tools that are of use to a new assistant."""
        with override_settings(EVENNIA_AI_TOOLS_BY_NEED=False):
            return set(self.shown(TRIVIAL, **changes))

    def test_a_task_and_her_own_turns(self) -> None:
        """Their words do not tell which tools they will need."""
        for kind in (TASK, OWN):
            turn = turn_of(TRIVIAL)
            turn.events = (replace(turn.event, kind=kind),)
            turn.event = turn.events[-1]
            shown = set(names_of(shown_for(self.ada_script, turn)))
            assert self.all_of() <= shown
            assert (kind == TASK) is ("report" in shown)

    def test_without_the_tool_that_finds_them(self) -> None:
        every = self.all_of()
        assert FIND_TOOLS not in every
        self.ada.locks.add(f"tool_{FIND_TOOLS}:false()")
        assert every == set(self.shown(TRIVIAL))

    def test_a_context_with_a_few_tools(self) -> None:
        names = ["read_journal", "search_journal", "recall_memories", "noop"]
        state.write(self.ada_script, context_configs={"tick_event": {"tool_filter": names}})
        assert sorted(names) == sorted(self.shown(TRIVIAL))

    def test_a_setting_that_is_neither(self) -> None:
        wrong = override_settings(EVENNIA_AI_TOOLS_BY_NEED="yes")
        with wrong, pytest.raises(ConfigurationError) as caught:
            services.check_settings()
        assert "EVENNIA_AI_TOOLS_BY_NEED is 'yes'; it must be True or False" == str(caught.value)


class TestSafety(NeedCase):
    """Showing tools grants nothing."""

    def test_nothing_can_be_reached_that_could_not(self) -> None:
        """A locked tool is not shown, described, found or run."""
        self.ada.locks.add("tool_get:false()")
        create.create_object("evennia.objects.objects.DefaultObject", "lamp", location=self.room1)
        looks = completion(None, (FIND_TOOLS, {"query": "hands"}))
        takes = completion(None, ("get", {"item": "lamp"}))
        self.ask("whisper Ada = take the lamp", looks, takes, whispers("I cannot."))
        for body in self.model.bodies:
            assert "get" not in [each["function"]["name"] for each in body["tools"]]
            assert "hands (drop, give)" in json.dumps(body["tools"])
        texts = [m["content"] for m in self.model.bodies[-1]["messages"] if m["role"] == "tool"]
        assert "get:" not in texts[0]
        assert "there is no tool" in texts[1]
        assert [] == self.ada.contents

    def test_what_the_turn_may_not_use_is_not_found(self) -> None:
        """The model would call it, and read that there is no such tool."""
        names = [FIND_TOOLS, "whisper", "drop"]
        state.write(self.ada_script, context_configs={"tick_event": {"tool_filter": names}})
        looks = completion(None, (FIND_TOOLS, {"query": "hands"}))
        self.ask("whisper Ada = take the lamp", looks, whispers("I cannot."))
        result = json.loads(self.prompt())
        assert ["drop"] == [line.partition(":")[0] for line in result["result"].splitlines()]

    def test_what_is_offered_does_not_depend_on_it(self) -> None:
        """A tool may be called whether it was shown or not."""
        with override_settings(EVENNIA_AI_TOOLS_BY_NEED=False):
            every = set(on_offer(self.ada_script, turn_of(TRIVIAL)))
        assert every | {FIND_TOOLS} == set(on_offer(self.ada_script, turn_of(TRIVIAL)))


class TestOfAGame(NeedCase):
    """Tools of a game are always shown, unless they have a group."""

    def register(self, **options: Any) -> None:
        def price(character: Any) -> str:
            """Tell what a fish costs."""
            return "two pennies"

        tool(**options)(price)
        self.addCleanup(TOOL_REGISTRY.pop, "price")

    def is_shown(self, text: str) -> bool:
        return "price" in shown_for(self.ada_script, turn_of(text))

    def test_one_that_says_nothing(self) -> None:
        self.register(category="safe_chain")
        assert self.is_shown(TRIVIAL)

    def test_one_of_a_group(self) -> None:
        """A cue of the group shows it; `find_tools` lists it otherwise."""
        self.register(group=ToolGroup("shop", ("buy", "sell")))
        assert not self.is_shown(TRIVIAL)
        assert self.is_shown("I was buying fish")
        shown = shown_for(self.ada_script, turn_of(TRIVIAL))
        assert "shop (price)" in shown[FIND_TOOLS].description

    def test_a_group_without_cues(self) -> None:
        """The words of the tool itself are its cues, as for tools of MCP servers."""
        self.register(group=ToolGroup("shop"))
        assert not self.is_shown(TRIVIAL)
        assert self.is_shown("how much are the fish?")

    def test_a_group_that_is_none(self) -> None:
        for group, problem in (
            ("shop", "its group is 'shop'; it must be like ToolGroup('shop', ('buy', 'sell'))"),
            (ToolGroup("a shop"), "its group is named 'a shop'; a name is letters, digits, _ and"),
            (ToolGroup("shop", "buy"), "the cues of its group are 'buy'; they must be words"),
            (ToolGroup("shop", ("",)), "the cues of its group are ('',); they must be words"),
        ):
            with self.subTest(problem):
                with pytest.raises(ConfigurationError) as caught:
                    self.register(group=group)
                assert problem in str(caught.value)
