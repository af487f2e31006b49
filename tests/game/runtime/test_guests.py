"""Guests, whose account is deleted as they leave."""

import evennia
from django.test import override_settings
from evennia.accounts.accounts import DefaultGuest
from evennia.accounts.models import AccountDB
from evennia.server import signals

from tests.game.approvals.interventions_case import QuestionsTest
from tests.game.support import pump


@override_settings(GUEST_ENABLED=True)
class TestGuests(QuestionsTest):
    def setUp(self) -> None:
        super().setUp()
        guest, errors = DefaultGuest.authenticate(ip="127.0.0.1")
        assert guest is not None, errors
        self.guest = guest
        self.come_back(guest)

    def test_a_guest_who_quits_is_gone(self) -> None:
        number, character = self.guest.id, self.guest.characters.all()[0]
        session = self.guest.sessions.all()[0]
        self.log_out(self.guest)
        pump()
        assert session.sessid not in evennia.SESSION_HANDLER
        assert not AccountDB.objects.filter(id=number).exists()
        assert character.pk is None

    def test_a_question_for_a_guest_who_quits_waits_for_others(self) -> None:
        self.put()
        self.log_out(self.guest)
        pump()
        assert 1 == len(self.open_numbers())

    def test_nothing_here_listens_to_what_guests_break(self) -> None:
        """Evennia sends this signal for an account that may be deleted already."""
        assert [] == signals.SIGNAL_ACCOUNT_POST_LOGOUT.receivers
