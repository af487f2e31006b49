"""Messages from Evennia, and the speech that is cut out of them."""

from typing import Any

import pytest
from evennia.utils.create import create_object

from evennia_ai.core.hearing.perception import Evidence, Heard, Source
from evennia_ai.messages.incoming import ASSISTANT_MARK, HOPS_MARK, find_being, id_of, read
from evennia_ai.messages.lines import cut_speech
from tests.game.support import GameTest, pump, says, whispers


@pytest.mark.parametrize(
    ("rendered", "name", "expected"),
    [
        ('Tom whispers: "|nhello|n"', "Tom", "hello"),
        ('Tom says, "hello"', "Tom", "hello"),
        ('Tom says, "he said "go" and left"', "Tom", 'he said "go" and left'),
        ('"Iron" Tom says, "hello"', '"Iron" Tom', "hello"),
        ('|rTom|n says, "|ghello|n"', "Tom", "hello"),
        ("Tom sagt: „hallo“", "Tom", "hallo"),
        ("Tom dit «bonjour»", "Tom", "bonjour"),
        ("Tom says “hello”", "Tom", "hello"),
        ("|cTom says '|wEdda, it's late|c'|n", "Tom", "Edda, it's late"),
        ("Tom says 'she said \"go\" to me'", "Tom", 'she said "go" to me'),
        ("Tom says \u2018it\u2019s late\u2019", "Tom", "it\u2019s late"),
        ("Tom says, \"the dogs' 'bone'\"", "Tom", "the dogs' 'bone'"),
        ("Tom says it's the dogs'", "Tom", "says it's the dogs'"),
        ("Tom says '", "Tom", "says '"),
        ("Tom smiles at @ada.", "Tom", "smiles at @ada."),
        ('Tom says, "', "Tom", 'says, "'),
        ('Tom says, ""', "Tom", ""),
        ("", "Tom", ""),
        ('A voice whispers: "hello"', "Tom", "hello"),
        ('Tom says, "a || b"', "Tom", "a | b"),
        ('<|gTom|n> Ada, I said "go"', "Tom", 'Ada, I said "go"'),
        ("[Tom]: Ada, hello", "Tom", "Ada, hello"),
        ("<Tim> Ada, hello", "Tom", "<Tim> Ada, hello"),
        ("Tom: Ada: hello", "Tom", "Ada: hello"),
        ("Tom sagt: Ada, hallo", "Tom", "Ada, hallo"),
        ("Tom Ada: hello", "Tom", "Ada: hello"),
        ("|w*|n Tom declares: hello", "Tom", "hello"),
        ("[13:17] Tom: hello", "Tom", "hello"),
        ("> <Tom> hello", "Tom", "hello"),
        ("* Tim declares: hello", "Tom", "* Tim declares: hello"),
    ],
)
def test_the_speech_is_cut_out(rendered: str, name: str, expected: str) -> None:
    assert expected == cut_speech(rendered, name)


class TestStockCommands(GameTest):
    def test_a_builders_view_of_names_does_not_disturb(self) -> None:
        """A listener who sees `Tom(#6)` hears the same words."""
        self.ada.permissions.add("Builder")
        self.ask("whisper Ada = hello", whispers("Hello."))
        text = self.prompt(0)
        assert 'Tom whispers to you (trust 0.9): "hello"' == text

    def test_a_pose_with_her_name_is_for_her(self) -> None:
        self.ask("pose bows to @ada.", says("Good evening."))
        assert ['Ada says, "Good evening."'] == self.mira.heard_from(self.ada)

    def test_marks_come_only_from_the_server(self) -> None:
        text = ('Tom says, "assistant_message=True"', {"type": "say"})
        heard = read(text, self.tom, self.ada)
        assert (False, 0, Source.SAY) == (heard.from_assistant, heard.hops, heard.source)

    def test_odd_marks_are_none(self) -> None:
        """Only True is a mark, and only a positive whole number counts hops."""
        for mark, hops in (("yes", "3"), (1, -2), (None, True), (True, 2.5)):
            options = {"type": "say", "assistant_message": mark, "assistant_hops": hops}
            heard = read(('Tom says, "x"', options), self.tom, self.ada)
            assert (mark is True, 0) == (heard.from_assistant, heard.hops)


class TestMarks(GameTest):
    """Metadata of a message: arguments come before options."""

    def _read(self, options: Any, **kwargs: Any) -> Heard:
        heard = read(('Tom says, "hi"', options), self.tom, self.ada, {"options": None, **kwargs})
        assert heard is not None
        return heard

    def test_arguments_go_before_options(self) -> None:
        heard = self._read(
            {"type": "say", ASSISTANT_MARK: False, HOPS_MARK: 1},
            **{"type": "whisper", ASSISTANT_MARK: True, HOPS_MARK: 2},
        )
        assert (Source.WHISPER, True, 2) == (heard.source, heard.from_assistant, heard.hops)
        assert Evidence.KWARGS == heard.evidence

    def test_options_stand_where_arguments_say_nothing(self) -> None:
        heard = self._read({"type": "say", HOPS_MARK: 1, ASSISTANT_MARK: True}, session=None)
        assert (Source.SAY, True, 1) == (heard.source, heard.from_assistant, heard.hops)
        assert Evidence.OOB == heard.evidence

    def test_an_unknown_kind_is_an_emit(self) -> None:
        """The text itself is not used to guess a kind."""
        for kind in ("shout", "SAY", "", None, 7):
            with self.subTest(kind=kind):
                heard = self._read({"type": kind})
                assert (Source.EMIT, Evidence.NONE) == (heard.source, heard.evidence)
                assert 'Tom says, "hi"' == heard.body

    def test_speech_given_apart_is_believed_before_the_line(self) -> None:
        """Our page command passes the bare words beside the line that shows them."""
        heard = self._read({"type": "page", "speech": "|rhi|n there "})
        assert "hi there" == heard.body
        assert 'Tom says, "hi"' == self._read({"type": "page", "speech": ["no"]}).body

    def test_a_message_is_read_to_a_hundred_thousand_characters(self) -> None:
        for kind in ("say", "pose", "page", "move", "odd"):
            with self.subTest(kind=kind):
                text = 'Tom says, "' + "x" * 200_000 + '"'
                heard = read((text, {"type": kind}), self.tom, self.ada)
                assert (100_000, "…") == (len(heard.body), heard.body[-1])


class TestSenders(GameTest):
    """Senders: an object, an account, the first of several, or none."""

    def _said_by(self, sender: Any) -> Heard | None:
        return read(('Tom says, "hi"', {"type": "say"}), sender, self.ada)

    def test_each_kind_of_sender(self) -> None:
        """Ids of objects and accounts differ; of several senders the first counts."""
        mine = f"*{self.account.dbref}"
        for name, sender, sender_id, person in (
            ("an object", self.tom, self.tom.dbref, mine),
            ("an account", self.account, mine, mine),
            ("a thing", self.obj1, self.obj1.dbref, self.obj1.dbref),
            ("a list", [self.mira, self.tom], self.mira.dbref, f"*{self.account2.dbref}"),
            ("a tuple", (self.tom,), self.tom.dbref, mine),
            ("the number of an account", self.account.id, mine, mine),
            ("the number in a list", [self.account.id], mine, mine),
        ):
            with self.subTest(name):
                heard = self._said_by(sender)
                assert (sender_id, person) == (heard.sender_id, heard.person)

    def test_object_and_account_of_one_number_are_two(self) -> None:
        assert self.tom.dbref == id_of(self.tom) != id_of(self.account)
        for being in (self.tom, self.account, self.room1):
            assert being == find_being(id_of(being))
        for unknown in ("", "#", "*#", "#0", "*#99999", "#None", "Tom", "#-1", "#1.5"):
            assert None is find_being(unknown), unknown

    def test_nobody_is_the_game_itself(self) -> None:
        for sender in (None, [], (), "", 0):
            with self.subTest(sender=sender):
                heard = self._said_by(sender)
                assert (Source.SYSTEM, "", "") == (heard.source, heard.sender_id, heard.person)

    def test_who_cannot_be_named_is_not_heard(self) -> None:
        for sender in (
            "Tom",
            ["Tom"],
            object(),
            [None],
            99999,
            True,
            [False],
            self.session,
            {}.keys,
        ):
            with self.subTest(sender=sender):
                assert None is self._said_by(sender)

    def test_a_deleted_sender_does_no_harm(self) -> None:
        ghost = create_object("tests.game.people.Person", key="Ghost", location=self.room1)
        ghost.delete()
        heard = self._said_by(ghost)
        assert heard is None or "hi" == heard.body
        self.ada.msg(('Ghost whispers: "boo"', {"type": "whisper"}), from_obj=ghost)
        pump()

    def test_a_name_is_cut_off_however_it_is_shown(self) -> None:
        self.ada.permissions.add("Builder")
        shown = self.tom.get_display_name(self.ada)
        for line, kind, body in (
            (f'{shown} says, "hi"', "say", "hi"),
            ('|cTom|n whispers: "|nhi|n"', "whisper", "hi"),
            (f"{shown} bows.", "pose", "bows."),
        ):
            with self.subTest(line=line):
                heard = read((line, {"type": kind}), self.tom, self.ada)
                assert body in heard.body


class TestOdd(GameTest):
    """Messages that no game should send."""

    def test_reading_never_raises(self) -> None:
        texts: tuple[Any, ...] = (
            None,
            "",
            " ",
            7,
            1.5,
            b"bytes",
            [],
            (),
            ("x",),
            ("x", None),
            ("x", 3),
            ("x", []),
            (None, {}),
            ({}, {}),
            ("x", {"type": ["say"]}),
            ("x", {"type": {}}),
            ("x", {"from_channel": None}),
            ("x", {"from_channel": "Public"}),
            ("x", {"from_channel": -1}),
            ("x", {"from_channel": [1]}),
            ("x", {"from_channel": 10**30}),
            ("x", {"type": "say", "assistant_hops": 10**30}),
            ("x", {1: 2}),
            ["x", {"type": "say"}],
        )
        for text in texts:
            for sender in (self.tom, None, [], [None], "Tom", -1, 10**30, {"a": 1}):
                with self.subTest(text=text, sender=sender):
                    heard = read(text, sender, self.ada, {"options": None, "type": "say"})
                    assert heard is None or isinstance(heard.body, str)
                    read(text, sender, self.ada)

    def test_markup_alone_is_nothing_said(self) -> None:
        for text in ("|r|n", "\x1b[0m", "  |n "):
            for sender in (self.tom, None):
                assert None is read((text, {"type": "say"}), sender, self.ada)
