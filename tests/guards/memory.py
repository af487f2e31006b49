"""Guards of private words and memories."""

from tests.guards.table import guard

MEMORY = (
    guard(
        "a prompt contains only memories that its asker may know",
        "core/memory/recollection.py",
        "    if memory.audience in seeker.audiences:\n        return True\n    return is_open",
        "    return True\n    return is_open",
        "test_who_may_know",
    ),
    guard(
        "a trial as another person shows nothing that is private to that person",
        "operations/dry_runs/running.py",
        "    if speaker.is_known:\n        return event\n",
        "    return event\n",
        "test_as_somebody_else",
    ),
    guard(
        "telemetry has private words only if that is set",
        "agent/telemetry.py",
        "    if _audiences_of(record) and not read.private_words:\n",
        "    if False:\n",
        "test_open_words",
    ),
    guard(
        "telemetry has no words of people who opted out of being remembered",
        "agent/telemetry.py",
        "    return not prompt_has_unstorable_words(script, record.turn)",
        "    return True",
        "test_never_of_those_who_do_not_want_it",
    ),
    guard(
        "the conversation in a prompt contains no private words of others",
        "core/turn/conversation.py",
        "if PRIVATE_TO not in message or (person and message[PRIVATE_TO] == person)",
        "if True",
        "test_no_secret_of_one_is_sent_for_another",
    ),
    guard(
        "nothing private is told while others listen",
        "runtime/audience.py",
        "    return next(listeners(body, event), None) is None",
        "    return True",
        "test_before_others_she_was_told_nothing",
    ),
    guard(
        "words that were overheard in private are told to nobody else",
        "core/hearing/perception.py",
        "return tuple(item for item in overheard if item.may_be_told_to(person))",
        "return tuple(overheard)",
        "test_tellable",
    ),
    guard(
        "forgetting a person also deletes the conclusions",
        "memory/forgetting.py",
        "keys = [*mine, *conclusions(script.pk, mine)]",
        "keys = [*mine]",
        "test_what_was_concluded_goes_too",
    ),
    guard(
        "forgetting a person deletes the memories",
        "memory/forgetting.py",
        "        rows.remove(script.pk, keys)\n        EntityProfile.objects.filter(assistant=script.pk, entity=person).delete()",
        "        EntityProfile.objects.filter(assistant=script.pk, entity=person).delete()",
        "test_nothing_of_hers_is_left",
    ),
    guard(
        "forgetting a memory also deletes its sources",
        "memory/reaching.py",
        "        rows.remove(assistant, [memory.key for memory in self.reach.gone])\n",
        "",
        "test_what_a_fact_came_from_is_gone_with_it",
    ),
    guard(
        "nobody can delete what somebody else said",
        "memory/reaching.py",
        "        if not person:\n",
        "        if True:\n",
        "test_what_somebody_else_said_is_not_reached",
    ),
    guard(
        "the record of a turn contains no private words",
        "core/turn/executions.py",
        "return masked(text) if is_private else one_line(text, LONGEST_WORD)",
        "return one_line(text, LONGEST_WORD)",
        "test_of_a_private_one_no_word",
    ),
)
