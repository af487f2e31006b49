"""In a game of descriptions, masks and languages: names as they are seen, and speech as emotes."""

from typing import Any

import pytest

from evennia_ai import operations
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.errors import ToolError
from evennia_ai.llm.scripted import completion
from evennia_ai.memory_store import rows
from evennia_ai.messages import incoming, outgoing
from evennia_ai.models import EntityProfile
from evennia_ai.operations.rights import find_all_allowed
from evennia_ai.runtime import names, state
from evennia_ai.tools.speech import find_online
from tests.game.messages.rp_world import RolePlayTest
from tests.game.people import Person
from tests.game.support import GameTest, says, whispers


class TestHearing(RolePlayTest):
    def test_a_speaker_is_named_as_the_body_sees_them(self) -> None:
        self.type(self.tom, "say good day")
        assert "a tall man" == self.heard().heard.sender_name
        assert "a tall man" == self.heard(self.ada_script).heard.sender_name
        self.golem.recog.add(self.tom, "Red")
        self.type(self.tom, "say good day")
        assert "Red" == self.heard().heard.sender_name
        assert "a tall man" == self.heard(self.ada_script).heard.sender_name

    def test_it_is_called_as_the_speaker_sees_it(self) -> None:
        self.mira.recog.add(self.golem, "Grumpy")
        for person, line, is_called in (
            (self.tom, "say stone giant, hello", True),
            (self.tom, "say @a stone giant hello", True),
            (self.tom, "@stone giant hello", True),
            (self.tom, "say /giant, hello", True),
            (self.tom, "say thank you, stone giant", True),
            (self.tom, "say Grumpy, hello", False),
            (self.tom, "say short woman, hello", False),
            (self.mira, "say Grumpy, hello", True),
            (self.mira, "say @grumpy hello", True),
            (self.mira, "@grumpy hello", True),
            (self.mira, "say I saw a stone giant yesterday", False),
        ):
            self.ask(line, says("Well."), person=person)
            rule = next(
                each.verdict.name
                for each in self.golem_script.work.decisions.newest()
                if each.heard.sender_id == person.dbref
            )
            assert is_called == (rule == "direct_address"), line
            self.model.answers.clear()

    def test_an_address_is_no_part_of_what_is_said(self) -> None:
        self.ask("say @stone giant what now?", says("Nothing."))
        assert 'says to you (trust 0.7): "what now?"' in self.prompts()[-1]

    def test_a_whisper_by_description(self) -> None:
        """The words are heard without the unparsed emote that rpsystem leaves in them."""
        self.ask("whisper stone giant = psst", whispers("Yes?", "a tall man"))
        record = self.heard()
        assert ("psst", "direct_message") == (record.heard.body, record.verdict.name)
        assert 'A stone giant whispers "Yes?"' == self.tom.seen[-1]
        assert not any("Yes?" in line for line in self.mira.seen)

    def test_an_emote_at_it_is_context(self) -> None:
        self.type(self.tom, "emote nods to /giant and to /short woman.")
        record = self.heard()
        assert "nods to a stone giant and to a short woman." == record.heard.body
        assert "posed_at" == record.verdict.name

    def test_a_language_that_it_does_not_speak(self) -> None:
        """The game sends a body garbled words unless it knows the language."""
        self.type(self.tom, 'emote says elvish"the door is open"')
        assert '"tdio"' in self.heard().heard.body
        self.golem.db.languages = ["elvish"]
        self.type(self.tom, 'emote says elvish"the door is open"')
        assert '"the door is open"' in self.heard().heard.body

    def test_words_given_apart_that_were_altered_for_it(self) -> None:
        """The `speech` argument counts only if the line that was sent contains it."""
        for line, expected in (
            ('a tall man says, "xy zz"', "xy zz"),
            ('a tall man says, "the door is open now"', "the door"),
        ):
            text = (line, {"type": "say", "speech": "the door"})
            heard = incoming.read(text, self.tom, self.golem)
            assert expected == heard.body


class TestSpeaking(RolePlayTest):
    def test_each_sees_the_names_they_know(self) -> None:
        self.mira.recog.add(self.golem, "Grumpy")
        outgoing.say(self.golem, "Good day.", hops=1)
        outgoing.emote(self.golem, "Golem bows", hops=1)
        assert ['A stone giant says, "Good day."', "A stone giant bows."] == self.tom.seen
        assert ['Grumpy says, "Good day."', "Grumpy bows."] == self.mira.seen

    def test_a_pose_ends_in_one_sign(self) -> None:
        """A full stop is added where the pose ends in no sign of a sentence, of any script."""
        poses = ("waves", "waves.", "手を振る。", "手を振る")
        for action in poses:
            outgoing.emote(self.golem, action, hops=1)
        shown = ("waves.", "waves.", "手を振る。", "手を振る.")
        assert [f"A stone giant {action}" for action in shown] == self.tom.seen

    def test_nothing_is_read_into_its_words(self) -> None:
        """References, languages and placeholders are neutralised, and the words are still said."""
        words = 'and/or, /tall man, {x} {#3} @ home, he said "hi", elvish"x", |rred'
        outgoing.say(self.golem, words, hops=1)
        line = self.mira.seen[-1].replace("\u2060", "")
        shown = "and/or, /tall man, (x) (#3) ＠ home, he said 'hi', elvish'x', |rred"  # noqa: RUF001
        assert f'A stone giant says, "{shown}"' == line
        outgoing.emote(self.golem, "waves {x} to /nobody", hops=1)
        assert "A stone giant waves (x) to /nobody." == self.tom.seen[-1].replace("\u2060", "")

    def test_its_speech_has_the_marks_of_an_assistant(self) -> None:
        """Other assistants must not take it for a person's, nor it itself hear it."""
        outgoing.say(self.golem, "stone giant, @Ada, hello", hops=2)
        record: DecisionTrace = self.heard(self.ada_script)
        assert (True, 2) == (record.heard.from_assistant, record.heard.hops)
        assert self.golem_script.work.decisions.count == 0
        self.type(self.tom, "say hm")
        assert not self.heard(self.ada_script).heard.from_assistant

    def test_whoever_muted_it_hears_nothing(self) -> None:
        self.type(self.mira, "assistant mute stone giant")
        self.forget()
        outgoing.say(self.golem, "Good day.", hops=1)
        assert ([], 1) == (self.mira.seen, len(self.tom.seen))
        with pytest.raises(ToolError, match="a short woman wants to hear nothing"):
            outgoing.whisper(self.golem, self.mira, "psst", hops=1)

    def test_a_reference_to_it_tells_nobody_its_key(self) -> None:
        """The game shows each its own key, and what it heard is shown to who said it."""
        self.type(self.tom, "emote nods to /stone giant and looks at /short woman.")
        assert "nods to a stone giant and looks at a short woman." == self.heard().heard.body
        self.ask("say /stone giant, hello", says("Yes."))
        assert 1 == len(self.model.bodies)
        text = self.read(self.tom, "assistant why stone giant full")
        assert "a stone giant, hello" in text
        assert "Golem" not in text

    def test_a_look_at_itself_tells_nobody_its_key(self) -> None:
        """The game shows each its own key, and what it saw is in the export of its partner."""
        look = completion(None, ("look", {"target": "Golem"}))
        self.ask("whisper stone giant = who are you?", look, whispers("A giant.", "tall man"))
        export = operations.export_known(self.golem_script, self.tom.account).data
        seen = [message["content"] for message in export.conversation if message["role"] == "tool"]
        assert "a stone giant" in seen[0]
        assert "Golem" not in repr(export.conversation)

    def test_lines_of_its_own(self) -> None:
        outgoing.announce(self.golem, outgoing.STOPPED_LINE, hops=1)
        assert ["a stone giant does not seem to hear you."] == self.tom.seen


class TestPlayers(RolePlayTest):
    def test_the_list(self) -> None:
        """Players read the description; whoever controls it reads the key."""
        assert "a stone giant is here, an AI." in self.read(self.tom, "assistant")
        self.golem.locks.add(f"ai_control:id({self.mira.id})")
        assert "Golem is here, an AI." in self.read(self.mira, "assistant")

    def test_what_is_done_to_all_tells_no_keys(self) -> None:
        """The workbench and REST named the assistants of others by their keys."""
        self.ada.locks.add(f"ai_control:id({self.mira.id})")
        mine, refused = find_all_allowed("stop", self.mira, counts_as_staff=False)
        assert ([self.ada_script], ["a stone giant"]) == (mine, [name for name, _ in refused])

    def test_of_two_that_look_alike_both_are_refused(self) -> None:
        """The refusals were kept by the name that is seen, so one of them was lost."""
        self.golem.sdesc.add("Ada")
        self.ada.locks.add("ai_control:false()")
        self.golem.locks.add("ai_control:false()")
        mine, refused = find_all_allowed("stop", self.tom, counts_as_staff=True)
        assert ([], ["Ada", "Ada"]) == (mine, [name for name, _ in refused])

    def test_commands_find_it_as_the_game_does(self) -> None:
        """A description, a word of it or a recog finds it; the key does not."""
        self.mira.recog.add(self.golem, "Grumpy")
        for person, name in ((self.tom, "stone giant"), (self.tom, "giant"), (self.mira, "grumpy")):
            text = self.read(person, f"assistant mute {name}")
            assert "no longer hears you" in text
            assert "Golem" not in text
            assert "hears you again" in self.read(person, f"assistant unmute {name}")
            assert "is quiet here" in self.read(person, f"hush {name}")
            self.type(person, f"unhush {name}")
        text = self.read(self.tom, "assistant mute golem")
        assert "There is no assistant named golem. There are: Ada, a stone giant." in text
        assert "named golem is here" in self.read(self.tom, "hush golem")

    def test_one_that_is_elsewhere_is_not_told_of(self) -> None:
        """A player who knows its description may still mute it."""
        self.golem.location = self.room2
        assert "stone giant" not in self.read(self.tom, "assistant mute nobody")
        assert "no longer hears you" in self.read(self.tom, "assistant mute a stone giant")

    def test_why(self) -> None:
        self.ask("say stone giant, hello", says("Yes."))
        for name in ("stone giant", "giant"):
            text = self.read(self.tom, f"assistant why {name} full")
            assert "a stone giant, message 1 of a tall man" in text
            assert "Golem" not in text

    def test_what_is_remembered(self) -> None:
        self.ask("say stone giant, hello", says("Yes, what is it, then?"))
        text = self.read(self.tom, "assistant memory stone giant")
        assert 'A tall man said: "stone giant, hello" a stone giant answered' in text
        number = text.split()[8]
        line = f"assistant memory correct {number} stone giant = I sail."
        self.type(self.tom, f"assistant memory correct {number} = I sail.")
        assert "Golem" not in self.read(self.tom, line)


class TestMasks(RolePlayTest):
    """A person who wears a mask is somebody else."""

    def setUp(self) -> None:
        """Let Golem meet Tom and be told a secret."""
        super().setUp()
        self.ask("whisper stone giant = the password is kestrel", whispers("I see.", "tall man"))
        self.settle()
        EntityProfile.objects.filter(entity="*#1").update(
            attributes=[{"text": "Fond of ale.", "audience": "world", "at": 0.0}], meetings=3
        )
        self.forget()

    def test_nothing_of_the_face_is_known_of_the_mask(self) -> None:
        self.type(self.tom, "mask a grinning wolf")
        self.ask("whisper wolf = hm")  # the mask of the speaker is the name of nobody else
        self.ask("whisper stone giant = who am I?", whispers("I do not know.", "grinning wolf"))
        (prompt,) = self.prompts()
        assert "a grinning wolf" in prompt
        for word in ("kestrel", "tall man", "ale", "Tom"):
            assert word not in prompt
        self.type(self.tom, "unmask")
        self.ask("whisper stone giant = and now?", whispers("Tall man!", "tall man"))
        prompt = self.prompts()[-1]
        assert "kestrel" in prompt
        assert "Fond of ale" in prompt
        assert "who am I?" not in prompt, "what the wolf whispered is the wolf's"

    def test_a_mask_is_remembered_within_the_talk_alone(self) -> None:
        """Nothing of it goes to the journal, the profiles or the notes."""
        before = rows.of(self.golem_script.pk).count()
        self.type(self.tom, "mask a grinning wolf")
        self.ask("whisper stone giant = I bite", whispers("Oh.", "grinning wolf"))
        note = completion(None, ("write_note", {"text": "The wolf bites."}))
        self.ask("whisper stone giant = again", note, whispers("Oh.", "grinning wolf"))
        assert "I bite" in self.prompts()[-1]
        self.settle()
        assert before == rows.of(self.golem_script.pk).count()
        assert 1 == EntityProfile.objects.filter(assistant=self.golem_script.pk).count()
        assert [] == list(state.read(self.golem_script, "notes"))
        self.type(self.tom, "unmask")
        self.type(self.tom, "mask a sad owl")
        self.ask("whisper stone giant = hoo", whispers("Oh.", "sad owl"))
        assert "I bite" not in self.prompts()[-1]

    def test_others_are_not_told_of_whom_they_do_not_see(self) -> None:
        self.ask("say stone giant, hello", says("Yes."), person=self.mira)
        assert "Fond of ale" in self.prompts()[-1]
        self.type(self.tom, "mask a grinning wolf")
        self.ask("say stone giant, hello again", says("Yes."), person=self.mira)
        assert "Fond of ale" not in self.prompts()[-1].split("hello again")[0].split("hello")[0]
        assert "grinning wolf: " not in self.prompts()[-1]

    def test_a_mask_is_no_way_round_limits(self) -> None:
        """Mutes, hushes and counts belong to the player behind it."""
        self.type(self.tom, "assistant mute stone giant")
        self.type(self.tom, "mask a grinning wolf")
        self.type(self.tom, "say stone giant, hello")
        assert ("muted", "*#1") == (self.heard().verdict.name, self.heard().heard.person)

    def test_a_talk_does_not_go_on_under_a_mask(self) -> None:
        """The person whom it answered last has to address it again."""
        hearing = {**state.read(self.golem_script, "hearing_config"), "engagement_seconds": 60}
        state.write(self.golem_script, hearing_config=hearing)
        self.ask("say stone giant, hello", says("Yes."))
        self.type(self.tom, "mask a grinning wolf")
        self.type(self.tom, "say and what now?")
        assert "default" == self.heard().verdict.name

    def test_who_masks_meanwhile_is_not_found_by_the_face(self) -> None:
        self.type(self.tom, "whisper stone giant = hello")
        self.type(self.tom, "mask a grinning wolf")
        self.model.answers.append(completion(None, ("noop", {})))
        self.model.answer(whispers("Hello.", "a tall man"))
        self.settle()
        assert "a tall man is not here; here are" in self.prompts()[-1]

    def test_the_player_owns_what_was_said_behind_the_mask(self) -> None:
        self.type(self.tom, "mask a grinning wolf")
        self.ask("whisper stone giant = I bite", whispers("Oh.", "grinning wolf"))
        assert "I bite" in self.read(self.tom, "assistant memory export stone giant")
        self.type(self.tom, "assistant forget everything stone giant")
        self.type(self.tom, "yes")
        assert "I bite" not in repr(self.golem_script.work.history)

    def test_a_model_that_guesses_a_key_finds_nobody(self) -> None:
        """It finds nobody here and nobody to page, and no account is named to it."""
        guess = completion(None, ("whisper", {"target": "Tom", "message": "I know you"}))
        self.type(self.tom, "mask a grinning wolf")
        self.ask("say stone giant, hello", guess, says("Who are you?"), person=self.mira)
        assert "Tom is not here; here are" in self.prompts()[-1]
        with pytest.raises(ToolError, match="nobody named Tom is online"):
            find_online("Tom", "", self.golem)
        account = find_online("a grinning wolf [masked]", "", self.golem)
        assert self.tom.account == account
        assert "a grinning wolf [masked]" == names.name_of(account, self.golem)


class TestCosts(RolePlayTest):
    def test_a_reply_takes_no_more_statements(self) -> None:
        """Names by description cost no more than those of Evennia's own classes.

        The least of several counts is compared, as the ledger is written now and then.
        """
        counts: dict[str, list[int]] = {"Ada": [], "a stone giant": []}
        for name in (*counts, *counts, *counts):
            answer = whispers("Hello.", "a tall man")
            self.ask(f"whisper {name} = hello", answer)
            self.model.answers.append(answer)
            with self.statements() as taken:
                self.type(self.tom, f"whisper {name} = hello")
            counts[name].append(len(taken))
        assert min(counts["Ada"]) >= min(counts["a stone giant"]), counts


class RoleNameless(Person):
    """A character of a game whose way to show names is broken."""

    def get_display_name(self, looker: Any) -> str:
        raise KeyError(looker)


class TestStock(GameTest):
    def test_a_body_with_a_builders_rights_is_told_no_numbers(self) -> None:
        """Evennia shows a builder the numbers of objects beside their names."""
        self.ada.permissions.add("Builder")
        looks = [completion(None, ("look", given)) for given in ({}, {"target": "Mira"})]
        self.ask("whisper Ada = look around", *looks, whispers("Well."))
        assert f"(#{self.room1.id})" in self.ada.at_look(self.room1)
        prompt = repr(self.model.bodies[-1])
        assert "room_desc" in prompt
        assert "(#" not in prompt

    def test_whose_name_cannot_be_shown_is_heard_all_the_same(self) -> None:
        bo, _ = RoleNameless.create("Bo", None, location=self.room1)
        text = ('Bo says, "@ada hi"', {"type": "say"})
        self.model.answers.append(whispers("Hm."))
        self.ada.at_msg_receive(text=text, from_obj=bo)
        heard = self.ada_script.work.decisions.newest()[0].heard
        assert ("Bo", "@ada hi") == (heard.sender_name, heard.body)


def test_markup_and_numbers_are_no_part_of_a_name() -> None:
    """An override that breaks or returns nothing still leaves a name."""

    class Being:
        id, key, dbref = 12, "Tom", "#12"

        def __init__(self, show: Any) -> None:
            self.show = show

        def get_display_name(self, looker: Any, **kwargs: Any) -> Any:
            return self.show(looker, **kwargs)

    def broken(*_: Any, **__: Any) -> str:
        raise KeyError("title")

    for show, expected in (
        (lambda looker, **_: "|rSir Tom|n(#12)", "Sir Tom"),
        (lambda looker: "|gSir  Tom|n (#12)", "Sir Tom"),
        (lambda looker, **_: None, "somebody"),
        (broken, "Tom"),
    ):
        assert expected == names.name_of(Being(show), None)
