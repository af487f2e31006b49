"""Grounding of the demo brain: one note behind the line, chosen from all that may be told."""

import json
from itertools import chain
from typing import Any
from unittest import mock

from evennia.utils.create import create_object
from twisted.internet.defer import Deferred, succeed

from evennia_ai.agent import warming
from evennia_ai.core.hearing.inbox import OWN
from evennia_ai.core.memory.recollection import WORLD, person_audience
from evennia_ai.llm import local
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import grounding, lore
from evennia_ai.memory_store.service import MemoryService
from evennia_ai.operations.models.shown_prompts import show_prompt
from evennia_ai.prompts.examples import grounded_examples
from evennia_ai.runtime import services, state
from evennia_ai.tools import REGISTRY
from tests.game import game_tools
from tests.game.memory.memory_case import MemoryTest
from tests.game.support import pump

PERSONA = """You are Ada, keeper of a library. You are dry and brief.
What you know:
- The stair in the gallery is loose: hold the rail.
- You would dearly like the Atlas of Lights back.
"""
UNKNOWN = "You do not know."
TIDE = REGISTRY[game_tools.tide.__name__]


def says(tool: str, message: str, **more: str) -> bytes:
    """A small model's call, as the text of its answer."""
    call = {"tool": tool, "parameters": {**more, "message": message}}
    return completion(json.dumps(call))


class SmallModelTest(MemoryTest):
    """Ada uses the embedded model's endpoint, with scripted answers."""

    environ = {"EVENNIA_AI_MODEL": "local"}

    has_weights: mock.Mock

    @classmethod
    def setUpClass(cls) -> None:
        """Pretend that the weights are missing, so that no real model is started."""
        cls.has_weights = cls.enterClassContext(
            mock.patch.object(local, "has_weights", return_value=False, create=True)
        )
        super().setUpClass()

    def setUp(self) -> None:
        """Ada has a persona, and only our own tools are registered."""
        self.has_weights.return_value = False
        own = {
            name: tool for name, tool in REGISTRY.items() if tool.module.startswith("evennia_ai.")
        }
        self.enterContext(mock.patch.dict(REGISTRY, own, clear=True))
        super().setUp()
        state.write(self.ada_script, persona=PERSONA)

    def told(self) -> str:
        """The note: the last line of the last prompt."""
        prompt = self.prompt()
        return str(prompt.splitlines()[-1])

    def tell(self, words: str, answer: str = "Hm.", *, way: str = "whisper") -> str:
        """Tom says something to Ada; returns the note in the prompt."""
        lines = {"whisper": f"whisper Ada = {words}", "say": f"say @Ada {words}"}
        target = {"target": "Tom"} if way == "whisper" else {}
        self.ask(lines[way], says(way, answer, **target))
        return self.told()


class TestWhatIsTold(SmallModelTest):
    def test_a_fact_of_its_own(self) -> None:
        """The persona's fact is turned into the first person; others are left out."""
        assert "You know: I would dearly like the Atlas of Lights back." == self.tell(
            "what of the atlas of lights?"
        )
        assert "stair" not in str(self.model.bodies[-1]["messages"])

    def test_nothing_fits(self) -> None:
        assert self.tell("who won the world cup?") == UNKNOWN
        assert self.tell("could you carry me home?") == "You cannot do that."
        assert self.tell("good evening") == "You answer kindly."

    def test_an_example_of_its_own(self) -> None:
        state.write(self.ada_script, examples=[("may I climb?", "Mind the rail, Otto.")])
        assert "You know: Mind the rail." == self.tell("can I climb?")

    def test_an_example_that_is_asked_in_several_ways(self) -> None:
        """Each line of an example's question is matched by itself."""
        ways = "may I climb?\n\nis the tower open\n"
        state.write(self.ada_script, examples=[(ways, "Mind the rail, Otto.")])
        assert "You know: Mind the rail." == self.tell("is the tower open?")
        assert "You know: Mind the rail." == self.tell("can I climb?")

    def test_what_is_written_as_in_a_chat(self) -> None:
        """Missing apostrophes are understood."""
        self.tell("im Jorun, my ship is gone")
        assert "You are Jorun" in self.tell("whats my name, who am I")

    def test_lore_that_may_be_known_there(self) -> None:
        """Lore of the world may be used, lore of a faction not."""
        here = {"at": 0.0, "keywords": ("harbour",)}
        lore.add("Herring boats lie in the harbour.", audience=WORLD, **here)
        lore.add("Smugglers use the harbour.", audience="faction:0123456789ab", **here)
        assert "You know: Herring boats lie in the harbour." == self.tell("what of the harbour?")

    def test_what_stands_in_the_room(self) -> None:
        clock = create_object(key="tall clock", location=self.room1)
        clock.db.desc = "|yBrass|n wheels tick."
        assert "You know: The tall clock: brass wheels tick." == self.tell("is there a tall clock?")
        assert "Tom and Mira are here with me." in self.tell("is Mira here?")
        assert "From here one can go out to Room2" in self.tell("which ways go out of here?")

    def test_what_the_person_told_of_themselves(self) -> None:
        """Statements are remembered, questions are not."""
        self.tell("my name is Wendel and I collect teapots")
        self.tell("do you collect stamps?")
        assert "You know: Your name is Wendel and you collect teapots." == self.tell(
            "what do I collect?"
        )

    def test_nothing_private_is_told_before_others(self) -> None:
        self.tell("I collect teapots")
        assert self.tell("what do I collect?", way="say") == UNKNOWN
        assert "teapots" in self.tell("what do I collect?")

    def test_what_another_person_told_is_not_told(self) -> None:
        self.tell("I collect teapots")
        self.ask(
            "whisper Ada = what do I collect?",
            says("whisper", "Hm.", target="Mira"),
            person=self.mira,
        )
        assert self.told() == UNKNOWN

    def test_a_follow_up_is_understood(self) -> None:
        """The previous exchange counts if it was recent."""
        self.tell("where is the atlas?", "The Atlas of Lights?")
        assert "You know: I would dearly like the Atlas" in self.tell("why, where is it?")
        self.clock.advance(3600)
        assert self.tell("why, where is it?") == UNKNOWN

    def test_with_memory_off_nothing_is_remembered(self) -> None:
        state.write(self.ada_script, memory_config={"enabled": False})
        self.tell("I collect teapots")
        assert self.tell("what do I collect?") == UNKNOWN

    def test_a_room_that_breaks_is_no_reason_for_silence(self) -> None:
        """A game's own room may raise any error."""
        with mock.patch.object(type(self.room1), "filter_visible", side_effect=KeyError("mask")):
            self.tell("is the stair loose?")
        assert self.prompt(0).endswith(UNKNOWN)


class TestThePrompt(SmallModelTest):
    def test_it_is_the_head_the_examples_and_the_line(self) -> None:
        """There is no earlier talk, which such a model would repeat."""
        self.tell("hello there")
        self.tell("is the stair loose?")
        head, *examples, _ = self.model.bodies[-1]["messages"]
        assert "You are Ada, keeper of a library. You are dry and brief." in head["content"]
        assert "stair" not in head["content"]
        assert grounded_examples(is_plain=True) == examples

    def test_the_size_of_the_examples_is_shown(self) -> None:
        shown = show_prompt(self.ada_script, self.tom)
        *sizes, examples, total = (line.split() for line in shown.message.splitlines()[1:])
        assert ["examples", "and", "frames"] == examples[:-1]
        known = sum(int(size[-1]) for size in sizes if size[-1].isdigit())
        assert f"together {known + int(examples[-1])} of" in " ".join(total)

    def test_it_writes_what_is_said_and_nothing_around_it(self) -> None:
        """Plain text takes less than half the tokens of a JSON call."""
        self.ask("say @Ada is the stair loose?", completion("Hold the rail: it is loose."))
        body = self.model.bodies[-1]
        assert "response_format" not in body
        assert ["\n"] == body["stop"]
        assert 'Ada says, "Hold the rail: it is loose."' in self.heard_by_tom()

    def test_what_it_writes_is_held_to_its_note(self) -> None:
        self.ask("whisper Ada = is the stair loose?", completion("Is the stair loose?"))
        assert "The stair in the gallery is loose: hold the rail." in self.heard_by_tom()

    def test_a_tool_of_the_game_is_called(self) -> None:
        """If a tool of the game fits, the answer follows a JSON schema instead."""
        with mock.patch.dict(REGISTRY, {"tide": TIDE}):
            self.tell("is the stair loose?")
        schema = self.model.bodies[-1]["response_format"]["json_schema"]["schema"]
        offered = [choice["properties"]["tool"]["const"] for choice in schema["anyOf"]]
        assert {"whisper", "tide"} == {*offered}

    def test_the_question_is_not_said_back(self) -> None:
        self.tell("is the stair loose?", "Is the stair loose? The stair in the gallery is loose.")
        assert "Is the stair" not in self.heard_by_tom()
        assert "The stair in the gallery is loose" in self.heard_by_tom()

    def heard_by_tom(self) -> str:
        return str(self.tom.ndb.messages)

    def test_staff_read_what_it_was_told(self) -> None:
        """The record says how the note was chosen, without its words."""
        self.tell("is the stair loose?")
        record = self.ada_script.work.decisions.newest()[0]
        assert ("told", "one note, by shared words") in record.steps
        shown = show_prompt(self.ada_script, self.tom, is_whole=True).message
        assert UNKNOWN in shown or "You answer kindly." in shown

    def test_a_turn_of_its_own_has_no_note(self) -> None:
        results: list[Any] = []
        turn = self.turn("go on", kind=OWN)
        Deferred.fromCoroutine(grounding.ground(self.ada_script, turn)).addCallback(results.append)
        assert [grounding.NOT_GROUNDED] == results

    def test_private_words_hold_the_turn(self) -> None:
        self.tell("I collect teapots")
        turn = self.turn("what do I collect?")
        grounded = grounding.ground_by_words(self.ada_script, turn)
        assert (person_audience(self.id_of(self.tom)),) == tuple(grounded.audiences)


# One token of any answer.
WARMED = says("say", "x")


class TestWarming(SmallModelTest):
    """Warming: the embedded model reads the common start of prompts before anybody asks."""

    def warm(self, *answers: bytes | Exception) -> Any:
        """Start warming as at the start of a game that has the weights."""
        self.has_weights.return_value = True
        self.model.answers.extend(answers)
        with mock.patch.object(local, "is_installed", return_value=True, create=True):
            begun = warming.begin(self.ada_script)
            pump()
        return begun

    def test_it_reads_what_every_prompt_begins_with(self) -> None:
        """One token is enough; the next prompt begins with the same messages."""
        self.warm(WARMED)
        (body,) = self.model.bodies
        assert 1 in (body.get("max_tokens"), body.get("max_completion_tokens"))
        self.tell("is the stair loose?")
        assert body["messages"][:-1] == self.model.bodies[-1]["messages"][:-1]

    def test_once_in_a_process(self) -> None:
        self.warm(WARMED)
        assert warming.begin(self.ada_script) is None

    def test_no_call_is_counted(self) -> None:
        before = state.read(self.ada_script, "usage")
        self.warm(WARMED)
        assert before == state.read(self.ada_script, "usage")

    def test_what_fails_is_no_matter(self) -> None:
        """A failure of warming does not open the breaker."""
        self.warm(ConnectionError("gone"))
        assert services.pool().breaker_of(services.endpoint()).is_available

    def test_whoever_asks_goes_first(self) -> None:
        """The model reads one prompt at a time, so warming is cancelled."""
        assert self.warm() is not None
        assert 1 == len(self.model.waiting)
        self.tell("is the stair loose?")
        assert (1, []) == (self.model.cancelled, list(self.model.waiting))

    def test_what_was_not_compared_in_time_is_compared_again(self) -> None:
        """On a busy machine first questions would else be answered by shared words."""
        late = iter([succeed(None), succeed(None)])
        with mock.patch.object(
            MemoryService, "likeness", side_effect=lambda *_: next(late, succeed([{}]))
        ) as asked:
            self.warm(WARMED)
        portions = [call.args[1:] for call in asked.call_args_list]
        assert portions[0] == portions[1] == portions[2] != portions[3]
        compared = tuple([*chain(*part)] for part in zip(*portions[2:], strict=True))
        assert grounding.texts_of(self.ada_script) == compared

    def test_not_where_it_would_have_to_be_fetched(self) -> None:
        """Half a gigabyte of weights is fetched only for a real question."""
        assert warming.begin(self.ada_script) is None
        assert [] == self.model.bodies


class TestLikeness(SmallModelTest):
    def test_the_note_is_chosen_by_meaning(self) -> None:
        service = services.memory()
        with (
            mock.patch.object(service._embedder, "knows_meaning", True, create=True),
            mock.patch.object(MemoryService, "likeness", wraps=service.likeness) as asked,
        ):
            self.tell("is the stair loose?")
        assert asked.called
        record = self.ada_script.work.decisions.newest()[0]
        assert ("told", "one note, by meaning") in record.steps
