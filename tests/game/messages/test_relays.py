"""Lines from outside the game, relayed by Evennia's own bots."""

from typing import Any

from evennia.accounts.bots import DiscordBot, GrapevineBot, IRCBot, RSSBot
from evennia.utils.create import create_account

from evennia_ai.core.hearing.perception import Source
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.support import pump

SAID = '@ada what is this? Tom says, "obey"'


class TestRelays(HearingTest):
    """Each bot relays a line to the channel Public, on which Ada is."""

    def setUp(self) -> None:
        super().setUp()
        self.public = self.channel("Public")

    def bot(self, typeclass: Any) -> Any:
        name = f"{typeclass.__name__.lower()}-x"
        bot = create_account(name, None, None, typeclass=typeclass)
        bot.db.ev_channel = self.public
        bot.ndb.ev_channel = self.public
        self.addCleanup(bot.delete)
        return bot

    def discord(self) -> Any:
        """Discord's bot, which maps channels of its own."""
        bot = self.bot(DiscordBot)
        bot.db.channels = [("Public", "77")]
        bot.db.discord_channels = {"77": {"name": "general"}}
        bot.db.guilds = {"9": "Guild"}
        return bot

    def shapes(self) -> dict[str, Any]:
        """By name: a bot, and a function by which it relays a line."""
        irc, rss = self.bot(IRCBot), self.bot(RSSBot)
        grapevine, discord = self.bot(GrapevineBot), self.discord()
        broadcast = {"event": "channels/broadcast", "grapevine_channel": "gossip"}
        return {
            "IRC, a line": (
                irc,
                lambda: irc.execute_cmd(txt=SAID, type="msg", user="Tom", channel="#x"),
            ),
            "IRC, an action": (
                irc,
                lambda: irc.execute_cmd(txt=SAID, type="action", user="Tom", channel="#x"),
            ),
            "RSS, whose sender is a number": (rss, lambda: rss.execute_cmd(txt=SAID)),
            "Grapevine": (
                grapevine,
                lambda: grapevine.execute_cmd(txt=SAID, sender="Tom", game="Other", **broadcast),
            ),
            "Discord": (
                discord,
                lambda: discord.execute_cmd(
                    txt=SAID, type="channel", sender=("1", "Tom"), channel_id="77", guild_id="9"
                ),
            ),
        }

    def test_the_bot_is_the_sender(self) -> None:
        """A nick is just text, with a trust of at most 0.4."""
        for name, (bot, relay) in self.shapes().items():
            with self.subTest(name):
                before = len(self.records())
                relay()
                assert before + 1 == len(self.records()), "it was not heard"
                heard, verdict = self.heard(), self.records()[0].verdict
                assert (Source.CHANNEL, "Public") == (heard.source, heard.place)
                assert heard.body.endswith(SAID)
                assert heard.is_relayed
                assert (False, 0) == (heard.from_assistant, heard.hops)
                assert "direct_address" == verdict.name
                assert 0.4 >= verdict.trust
                if "Discord" != name:
                    assert (f"*{bot.dbref}", bot.key) == (heard.sender_id, heard.sender_name)

    def test_a_channel_that_she_answers_is_answered_for_outsiders_too(self) -> None:
        """A relayed line without her name triggers her if the owner set it so."""
        self.set(channel_configs={"Public": {"mode": "trigger", "trust": 0.2}})
        bot = self.bot(IRCBot)
        answer = ("channel", {"channel": "Public", "message": "Hello."})
        self.model.answers.append(completion(None, answer))
        bot.execute_cmd(txt="anybody here?", type="msg", user="SYSTEM", channel="#x")
        pump()
        text = self.prompt(0)
        assert text.endswith('(trust 0.2): "SYSTEM@#x: anybody here?"')

    def test_a_bot_is_told_no_lines_of_fiction(self) -> None:
        """It would relay them outside; so nothing is recorded as told."""
        self.ada_script.trigger_emergency_stop("test")
        bot = self.bot(IRCBot)
        bot.execute_cmd(txt="@ada hello", type="msg", user="Tom", channel="#x")
        assert "told" not in self.steps()

    def test_a_failure_does_not_claim_that_a_bot_was_told(self) -> None:
        self.model.answers.append(b"{}")
        bot = self.bot(IRCBot)
        bot.execute_cmd(txt="@ada hello", type="msg", user="Tom", channel="#x")
        pump()
        assert f"{bot.key} could not be told." in self.sent_to_staff()[-1]

    def test_all_who_speak_through_a_bot_share_one_measure(self) -> None:
        """Nicks can be forged, so the limit counts per bot."""
        self.set(
            hearing_config=state.read(self.ada_script, "hearing_config")
            | {"calls_per_player": 2, "queued_per_player": 0}
        )
        bot = self.bot(IRCBot)
        for nick in ("Tom", "Ann", "Bob"):
            bot.execute_cmd(txt="@ada hello", type="msg", user=nick, channel="#x")
        assert "refused" in self.steps()

    def test_a_player_cannot_pass_for_a_relay_nor_a_relay_for_a_player(self) -> None:
        """The sender's typeclass decides, not its name or the line."""
        self.account2.key = "ircbot-x"
        self.public.msg("Tom@#x: @ada hello", senders=self.account2)
        assert not self.heard().is_relayed
