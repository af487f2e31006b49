"""Guards of rights: by command, by page and over HTTP."""

from __future__ import annotations

from tests.guards.table import guard

PEOPLE = (
    guard(
        "people without control of an assistant are refused",
        "operations/rights/acts.py",
        "        if may_control(script, person, is_staff=staff, right=right):",
        "        if True:",
        "test_b9_who_has_no_right_is_refused_and_that_is_recorded",
    ),
    guard(
        "acts on the whole game need its owner",
        "operations/rights/acts.py",
        "if staff if right is Right.STAFF else is_owner(person):",
        "if staff:",
        "test_the_games_caps_need_an_admin",
    ),
    guard(
        "only people who may configure an assistant confirm its guidelines",
        "approvals/people.py",
        "        return _has(head_of(script, question), person, right)",
        "        return True",
        "test_a_player_cannot_allow_it",
    ),
    guard(
        "nobody else can make an assistant propose a guideline",
        "tools/guidelines.py",
        "        if not all_hold(character, turn, Right.CONFIGURE):",
        "        if False:",
        "test_a_player_cannot_bring_it_about",
    ),
    guard(
        "no assistant controls assistants",
        "runtime/rights/bodies.py",
        'if getattr(person, "assistant_script", None) is not None and not person.sessions.count():',
        "if False:",
        "test_no_assistant_has_a_say",
    ),
    guard(
        "the API and the pages check the same rights",
        "operations/rights/acts.py",
        "    refused = refusal(act, person, result.data)\n    if refused is None:",
        "    refused = refusal(act, person, result.data)\n    if True:",
        "tests/api/test_memory.py::test_somebody_is_exported_and_forgotten",
    ),
    guard(
        "the API answers nothing without an account",
        "api/base.py",
        "if self.needs_account and not known:",
        "if False:",
        "test_who_is_not_logged_in_is_told_what_to_send",
    ),
    guard(
        "a change from a browser needs the CSRF token",
        "api/people.py",
        "return [TokenAccess(), BearerAccess(), SessionAccess()] if has_tokens()",
        "return [TokenAccess(), type('Open', (SessionAccess,), {'enforce_csrf': lambda *_: None})()] if has_tokens()",
        "test_a_change_needs_the_csrf_token",
    ),
    guard(
        "banned accounts may not use the API",
        "operations/rights/acts.py",
        "if DefaultAccount.is_banned(username=str(account.username), ip=address):",
        "if False:",
        "test_a_banned_account",
    ),
    guard(
        "inactive accounts may not use the API",
        "operations/rights/acts.py",
        "if account is None or not account.is_active:",
        "if account is None:",
        "test_an_account_that_is_switched_off",
    ),
    guard(
        "accounts of assistants may not use the API",
        "operations/rights/acts.py",
        'if account.attributes.get("assistant_body"):',
        "if False:",
        "test_an_assistant_gets_none",
    ),
    guard(
        "a quelled account has the rights of its character",
        "runtime/rights/people.py",
        "if _is_account(being) and being.attributes.get(QUELLED):",
        "if False:",
        "test_hole_b13_a_quelled_account_has_what_its_character_has",
    ),
    guard(
        "attempts to get a token are limited by address",
        "api/tokens.py",
        "if not throttle.allow_request(request, view):",
        "if False:",
        "test_hole_c15_thirty_names_from_one_address",
    ),
    guard(
        "wrong attempts to get a token are limited by name",
        "api/tokens.py",
        "if wrong.is_over(request, view) and not",
        "if False and not",
        "test_wrong_tries_are_counted_by_name",
    ),
    guard(
        "requests are limited",
        "api/base.py",
        "            if not throttle.allow_request(request, self):",
        "            if False:",
        "test_changes_are_counted_by_account",
    ),
    guard(
        "an invalid setting keeps it from acting",
        "assistant_script.py",
        "return self.work.safety_problem or ability",
        "return ability",
        "test_l2_a_wrong_setting_stops_her_with_its_name",
    ),
    guard(
        "a body that cannot act keeps it from acting",
        "runtime/ability.py",
        'return " ".join(answer.split()) or UNABLE_LINE',
        'return ""',
        "tests/shell/test_can_act.py::test_it_neither_speaks_nor_acts_by_hand",
    ),
    guard(
        "its lock decides who may hush it",
        "operations/conversation/listening.py",
        "if not body.access(being, LOCK, default=True):",
        "if False:",
        "tests/shell/test_hush.py::test_the_lock_decides",
    ),
)
