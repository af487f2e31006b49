"""Guards of hearing: senders, trust, and the number of messages."""

from __future__ import annotations

from tests.guards.table import guard

HEARING = (
    guard(
        "its own words start no turn",
        "core/hearing/rules.py",
        "return heard.from_assistant and heard.sender_id == ear.id",
        "return False",
        "test_every_rule_with_every_source_and_evidence",
    ),
    guard(
        "a conversation between assistants ends",
        "core/hearing/rules.py",
        "return cap > 0 and heard.hops >= cap + heard.hops_granted",
        "return False",
        "test_every_rule_with_every_source_and_evidence",
    ),
    guard(
        "a delegated task keeps the count of hops",
        "tasks/delegations.py",
        "        hops=turn.hops,\n",
        "        hops=0,\n",
        "test_l4_depth_three_goes_and_the_fourth_is_refused_with_its_key",
    ),
    guard(
        "people who muted it do not hear it, and it does not hear them",
        "core/hearing/rules.py",
        "return sender.is_muted and not _is_self(heard, ear, sender)",
        "return False",
        "test_the_muted_are_not_heard",
    ),
    guard(
        "the server decides the kind of a message, not its text",
        "messages/incoming.py",
        "    source = _SOURCES.get(kind) if isinstance(kind, str) else None\n",
        "    source = Source.WHISPER if 'whispers' in rendered else _SOURCES.get(str(kind))\n",
        "test_no_text_is_taken_for_metadata",
    ),
    guard(
        "the server decides the sender of a message, not its text",
        "messages/incoming.py",
        "        person=person_of(sender),\n",
        "        person=rendered.split()[0],\n",
        "test_all_characters_of_an_account_are_one_person",
    ),
    guard(
        "only the mark of the server says that an assistant spoke",
        "messages/incoming.py",
        "is_assistant = marked.get(ASSISTANT_MARK) is True",
        "is_assistant = ASSISTANT_MARK in str(marked) or 'assistant' in body",
        "test_no_text_is_taken_for_metadata",
    ),
    guard(
        "a message that a bot relays is trusted no more than a stranger",
        "core/hearing/trust.py",
        "        base = min(base, RELAYED_TRUST)\n",
        "        pass\n",
        "test_a_bot_never_raises_trust",
    ),
    guard(
        "people who speak through a bot do not get its rights",
        "core/hearing/trust.py",
        "        override = None\n    if own",
        "    if own",
        "test_a_bots_permission_lends_nothing",
    ),
    guard(
        "a task is trusted no more than its source",
        "tasks/delegations.py",
        "trust=min(event.trust for event in turn.events),",
        "trust=1.0,",
        "test_person_and_trust_travel_along",
    ),
    guard(
        "the waiting messages of one person are limited",
        "core/hearing/rate_limits.py",
        "if waiting >= config.pending_per_player:",
        "if False:",
        "test_more_waiting_messages_are_refused",
    ),
    guard(
        "the turns of one person per minute are limited",
        "core/hearing/rate_limits.py",
        "if not later:",
        "if True:",
        "test_more_turns_a_minute_are_refused_with_one_line",
    ),
    guard(
        "a message that waits for its next minute begins no sooner",
        "core/hearing/rate_limits.py",
        "if self.count(now) < config.calls_per_player:",
        "if True:",
        "test_it_waits_for_the_next_minute_and_is_answered",
    ),
    guard(
        "a line that addresses nobody gets no more answers than configured",
        "agent/answerers.py",
        "if 0 < most <= len(chosen):",
        "if False:",
        "test_one_answers",
    ),
    guard(
        "a line that addresses an assistant is left to that one",
        "agent/answerers.py",
        "    if line.called:\n",
        "    if False:\n",
        "tests/shell/test_answerers.py::test_a_channel",
    ),
    guard(
        "a message that is too long is cut or refused",
        "agent/admission.py",
        "is_too_long = 0 < size.message_characters < len(heard.body)",
        "is_too_long = False",
        "test_l11_one_more_is_cut",
    ),
    guard(
        "people's words are data and cannot leave their quotes",
        "core/text/cleaning.py",
        "return _JSON.encode(strip_control(text))",
        "return '\"' + text + '\"'",
        "test_quote_cannot_be_left",
    ),
    guard(
        "a name is data and cannot pose as a part of the conversation",
        "core/text/cleaning.py",
        "    return is_plain and is_short and not _ROLES.intersection(words)\n",
        "    return True\n",
        "test_a_name_is_a_name_or_quoted",
    ),
)
