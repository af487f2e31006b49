"""A game of the matrix, and a visit to it while it runs."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from tests.fakes.answers import compose_reply
from tests.fakes.handle import FakeModel
from tests.journeys.clients import PASSWORD, Player, TelnetClient
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, Game
from tests.journeys.staging import find_trouble, measure_log, read_new_log

WORKS = "yes"
# Evennia's answer to this marks the end of the output of the line before.
FENCE = "zzfence"
FENCED = b"Command 'zzfence'"
# A portal sends telnet's "no operation" at intervals.
KEEPALIVE = b"\xff\xf1"
# A step in a running game: returns its outcome in words for the table, or raises.
Step = Callable[["Visit"], str]


def become(player: Player, name: str, password: str) -> None:
    """Log in where the game puts an account into its character."""
    player.log_in(name, password)


@dataclass(frozen=True)
class Speech:
    """The commands that address an assistant in a game, and its answers; `{}` stands for words.

    Attributes:
        whisper, say, page: lines that a player types.
        whispered, said, paged: regular expressions for the answers; the answer to speech quotes all
            of it, with the assistant's name.
    """

    whisper: str = "whisper edda = {}"
    say: str = "say Edda, {}"
    page: str = "page edda = {}"
    whispered: str = 'Edda whispers: "{}"'
    said: str = 'Edda says, "{}"'
    paged: str = "Edda pages: {}"


@dataclass(frozen=True)
class Kind:
    """One row of the matrix.

    Attributes:
        name: a word for it, by which a test and a row are found.
        about: its name in the documents.
        settings: settings of the game beside Evennia's own.
        found: changes its files and settings before its database is made; programs that it starts
            beside the game are ended by the stack. None: it begins as a stock game.
        furnish: changes its files before it is started.
        build: makes its world before there is any assistant, typed by its owner.
        log_in: takes somebody with a name and a password into the game.
        arrive: takes a player who has logged in to where the assistant stands.
        settle: gives the new assistant what a body of this game needs, typed by its owner.
        speech: how people speak in it.
        probes: lines of Tom's whose answers must be as before when the app is taken out again.
        own: plays the part that only this game has.
        fight_or_leave: disturbs the assistant; None: its asker leaves while it thinks.
        is_quick: True if `make test` plays it too; `make proof` plays all.
    """

    name: str
    about: str
    settings: Mapping[str, object] = field(default_factory=dict)
    found: Callable[[Game, ExitStack], None] | None = None
    furnish: Callable[[Game], None] = lambda game: None
    build: Callable[[Player], None] = lambda owner: None
    log_in: Callable[[Player, str, str], None] = become
    arrive: Callable[[Player], None] = lambda player: None
    settle: Callable[[Player], None] = lambda owner: None
    speech: Speech = Speech()
    probes: tuple[str, ...] = ("look", "history", "assistant")
    own: Step | None = None
    fight_or_leave: Step | None = None
    is_quick: bool = False


class Visit:
    """A game of the matrix while it runs, with its owner and two players in it.

    Attributes:
        kind: the row of the matrix.
        game: the game.
        model: the scripted model that its assistants ask.
        kept: the files that README's steps change, as they were before.
        answers: the answers to the probes before the app was installed.
    """

    def __init__(self, kind: Kind, game: Game, model: FakeModel, stack: ExitStack) -> None:
        self.kind, self.game, self.model = kind, game, model
        self.kept: dict[str, str] = {}
        self.answers: dict[str, tuple[bytes, bytes]] = {}
        self._stack = stack
        self._log_start = measure_log(game)
        self.owner = self.open()
        kind.log_in(self.owner, ADMIN_NAME, ADMIN_PASSWORD)
        kind.build(self.owner)
        self.tom, self.bob = (self.enter(name, is_new=True) for name in ("Tom", "Bob"))

    def open(self) -> TelnetClient:
        """A client at the login screen, which is closed at the end of the visit."""
        return self._stack.enter_context(self.game.open_telnet())

    def enter(self, name: str, *, is_new: bool = False) -> TelnetClient:
        player = self.open()
        if is_new:
            player.create_account(name)
        self.kind.log_in(player, name, PASSWORD)
        self.kind.arrive(player)
        return player

    def reload(self) -> None:
        """Reload the game, and wait until everybody has read that it is back."""
        everybody = (self.owner, self.tom, self.bob)
        self._fence(everybody)
        self.game.launch("reload")
        for player in everybody:
            player.expect("Server restarted", 60)

    # ---- talking -----------------------------------------------------------------------------

    def whisper(self, player: Player, words: str) -> None:
        player.ask(self.kind.speech.whisper.format(words), self.whispered(words))

    def whispered(self, words: str) -> str:
        """A pattern for the assistant's whispered answer to words."""
        return self.kind.speech.whispered.format(re.escape(compose_reply(words)))

    def leave_it_thinking(self, player: Player, words: str) -> None:
        """Whisper to the assistant, and let the model hold its answer back until `release`."""
        calls = self.model.count_calls()
        self.model.queue({"kind": "hang"})
        player.send(self.kind.speech.whisper.format(words))
        self.model.wait_for_calls(calls + 1, timeout_seconds=30)

    def expect_one_answer(self, player: Player, words: str) -> None:
        """Check that a whisper was answered once, by the time a later one is."""
        self.whisper(player, f"after {words}")
        assert 1 == len(re.findall(self.whispered(words), player.transcript)), player.transcript

    # ---- looking -----------------------------------------------------------------------------

    def probe(self) -> dict[str, tuple[bytes, bytes]]:
        """The bytes that Tom and Bob receive for each of Tom's probes."""
        return {line: self.record(line) for line in self.kind.probes}

    def expect_as_before(self) -> None:
        """Check that every probe is answered as before the app was installed, byte for byte."""
        for line, reply in self.probe().items():
            before = self.answers[line]
            assert before == reply, f"{line!r} brought {reply}, and {before} before the install"

    def record(self, line: str) -> tuple[bytes, bytes]:
        """The bytes that Tom and Bob receive for a line of Tom's."""
        both = (self.tom, self.bob)
        self._fence(both)
        self.tom.send(line)
        self._fence(both)
        parts = [player.received.split(FENCED)[-2].replace(KEEPALIVE, b"") for player in both]
        return parts[0], parts[1]

    def _fence(self, players: Iterable[Player]) -> None:
        for player in players:
            player.ask(FENCE, f"Command '{FENCE}' is not available")

    def find_trouble(self) -> list[str]:
        """Lines of the server's log since the last call that report something broken."""
        log = read_new_log(self.game, self._log_start)
        self._log_start = measure_log(self.game)
        return find_trouble(log)
