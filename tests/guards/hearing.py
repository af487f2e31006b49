"""Guards of hearing: senders, trust, and the number of messages."""

from __future__ import annotations

from tests.guards.table import guard

HEARING = (
    guard(
        "its own words start nothing",
        "core/hearing/rules.py",
        "return heard.from_assistant and heard.sender_id == ear.id",
        "return False",
        "tests/core/test_perception.py::test_rules",
    ),
    guard(
        "talk between assistants comes to an end",
        "core/hearing/rules.py",
        "return cap > 0 and heard.hops >= cap + heard.hops_granted",
        "return False",
        "tests/core/test_perception.py::test_rules",
    ),
    guard(
        "a task that goes from one to the next has as few hops",
        "tasks/delegations.py",
        "        hops=turn.hops,\n",
        "        hops=0,\n",
        "test_l4_depth_three_goes_and_the_fourth_is_refused_with_its_key",
    ),
    guard(
        "the muted do not hear it, and it does not hear them",
        "core/hearing/rules.py",
        "return sender.is_muted and not _is_self(heard, ear, sender)",
        "return False",
        "test_the_muted_are_not_heard",
    ),
    guard(
        "what kind a message is says the server, not its text",
        "messages/incoming.py",
        '    source = _source_of(marked.get("type"))\n',
        "    source = _source_of(marked.get(\"type\")) or (Source.WHISPER if 'whispers' in rendered else None)\n",
        "test_no_text_is_taken_for_metadata",
    ),
    guard(
        "who sent a message says the server",
        "messages/incoming.py",
        "        person=person_of(sender),\n",
        "        person=rendered.split()[0],\n",
        "test_all_characters_of_an_account_are_one_person",
    ),
    guard(
        "only the server says that an assistant spoke",
        "messages/incoming.py",
        "is_assistant = marked.get(ASSISTANT_MARK) is True",
        "is_assistant = ASSISTANT_MARK in str(marked) or 'assistant' in body",
        "test_no_text_is_taken_for_metadata",
    ),
    guard(
        "what a bot passes on is believed no more than a stranger",
        "core/hearing/trust.py",
        "        base = min(base, RELAYED_TRUST)\n",
        "        pass\n",
        "test_a_bot_never_raises_trust",
    ),
    guard(
        "a bot's rights are nobody's who speaks through it",
        "core/hearing/trust.py",
        "        override = None\n    if own",
        "    if own",
        "test_a_bots_permission_lends_nothing",
    ),
    guard(
        "a task is believed no more than what it came from",
        "tasks/delegations.py",
        "trust=min(event.trust for event in turn.events),",
        "trust=1.0,",
        "test_person_and_trust_travel_along",
    ),
    guard(
        "one person has only so many messages waiting",
        "core/hearing/rate_limits.py",
        "if waiting >= config.pending_per_player:",
        "if False:",
        "test_more_waiting_messages_are_refused",
    ),
    guard(
        "one person has only so many turns a minute",
        "core/hearing/rate_limits.py",
        "if not later:",
        "if True:",
        "test_more_turns_a_minute_are_refused_with_one_line",
    ),
    guard(
        "what waits for its next minute begins no sooner",
        "core/hearing/rate_limits.py",
        "if self.count(now) < config.calls_per_player:",
        "if True:",
        "test_it_waits_for_the_next_minute_and_is_answered",
    ),
    guard(
        "a line that calls nobody is answered by as many as are wanted",
        "agent/answerers.py",
        "if 0 < most <= len(chosen):",
        "if False:",
        "test_one_answers",
    ),
    guard(
        "a line that calls somebody is left to whom it calls",
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
        "people's words are data: no quote can be left",
        "core/text/cleaning.py",
        "return _JSON.encode(strip_control(text))",
        "return '\"' + text + '\"'",
        "test_quote_cannot_be_left",
    ),
    guard(
        "a name is data: it poses as no part of the conversation",
        "core/text/cleaning.py",
        "    return is_plain and is_short and not _ROLES.intersection(words)\n",
        "    return True\n",
        "test_a_name_is_a_name_or_quoted",
    ),
)
