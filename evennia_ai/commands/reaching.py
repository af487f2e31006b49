"""The subcommands of `assistant` about reaching it: messaging, channel and account."""

from __future__ import annotations

from evennia.accounts.models import AccountDB

from evennia_ai import operations
from evennia_ai.commands.base import first_word
from evennia_ai.commands.words import WordCommand, subcommand
from evennia_ai.core.hearing.perception import AddressedBy
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.conversation.hearing import settings_of
from evennia_ai.operations.conversation.listening import MODES
from evennia_ai.operations.settings import changing

ALL_MODES = " | ".join(MODES)
# Words after the name, and the settings they stand for.
SWITCHES = {
    "hearing": "interaction_enabled",
    "addressing": "enable_addressing",
    "by": "addressed_by",
    "room": "room_messages",
    "hops": "max_agent_hops",
}
VERBS = (*SWITCHES, "channel", "account")


def _on(value: object) -> str:
    return "on" if value else "off"


def _called(key: str, addressed_by: str) -> str:
    if addressed_by == AddressedBy.AT:
        return "nothing but that is a call"
    return f"say {key}, ... and say thank you {key} are calls too"


class ReachingWords(WordCommand):
    """The subcommands about how people reach an assistant."""

    @subcommand(
        "assistant messaging <name> [hearing on | off, addressing on | off, by name | at, room "
        f"trigger | context | ignore, hops <number>, account, channel <channel> = {ALL_MODES}]",
        "How people can reach it, and how to set each way. Trigger answers everything that is "
        "said, context only listens, ignore answers only people who address it.",
    )
    def _messaging(self, rest: str) -> None:
        script, rest = self.whose(rest, VERBS)
        if script is None:
            return
        verb, value = first_word(rest)
        if not verb:
            if self.may("show configuration", script):
                self._show_ways(script)
        elif verb in SWITCHES and value:
            self._set_way(script, SWITCHES[verb], value)
        elif verb == "channel" and "=" in value:
            self._set_channel(script, value)
        elif verb == "account" and not value:
            if self.may("account", script):
                self.show(operations.give_account(script))
        else:
            self.show_usage()

    def _show_ways(self, script: AssistantScript) -> None:
        key, ears = str(script.key), settings_of(script)
        account = AccountDB.objects.filter(username__iexact=key).first()
        # A player may have an account of the same name.
        is_own = account is not None and account.db.assistant_body == script.obj
        page = f"page {key} = ..., for all of the game's ways" if is_own else f"page {key} = ..."
        lines = [
            f"{key} is reached by:",
            f"  hearing     {_on(ears['interaction_enabled'])}: whisper {key} = ..., and {page}",
            f"  addressing  {_on(ears['enable_addressing'])}: say @{key} ...",
            f"  by          {ears['addressed_by']}: {_called(key, ears['addressed_by'])}",
            f"  room        {ears['room_messages']}: what is said there to nobody in particular",
            f"  account     {'yes' if is_own else 'none'}",
            f"  hops        {ears['max_agent_hops']}: messages in a row among assistants",
        ]
        channels = ears["channel_configs"]
        for name, config in channels.items():
            # Not isinstance: Evennia's _SaverDict is no dict.
            mode = config.get("mode") if hasattr(config, "get") else config
            lines.append(f"  channel     {name}: {mode}")
        if not channels:
            lines.append("  channel     none")
        self.show_usage("\n".join(lines))

    def _set_way(self, script: AssistantScript, setting: str, value: str) -> None:
        if not self.may("configure", script):
            return
        word = {"on": "true", "off": "false"}.get(value.casefold(), value.casefold())
        self.show_or_usage(changing.set_setting(script, setting, word, by=self.by))

    @subcommand(
        f"assistant channel <name> <channel> = {ALL_MODES}",
        "What it does on a channel: answer everything that is said there, only listen, only answer "
        "people who address it, or leave.",
    )
    def _channel(self, rest: str) -> None:
        """Run `channel <name> <channel> = <mode>`; both names may have several words."""
        names, _, mode = rest.partition("=")
        script, channel = self.split_name(names.strip())
        if script is None:
            who, _, channel = names.strip().partition(" ")
        if not (mode.strip() and channel.strip()):
            self.show_usage()
            return
        script = script or self.pick(who)
        if script is not None:
            self._set_channel(script, f"{channel}={mode}")

    def _set_channel(self, script: AssistantScript, line: str) -> None:
        channel, _, mode = line.partition("=")
        if not (channel.strip() and mode.strip()):
            self.show_usage()
        elif self.may("channel", script):
            name, word = channel.strip(), mode.strip().casefold()
            self.show(operations.set_channel(script, name, word, person=self.caller))

    @subcommand(
        "assistant account [<name>]",
        "An account in its name, so that the game's own `page` reaches it. Nobody can log in to "
        "it.",
    )
    def _account(self, name: str) -> None:
        script = self.pick_for(name, "account")
        if script is not None:
            self.show(operations.give_account(script))
