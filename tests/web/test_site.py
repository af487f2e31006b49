"""The workbench in the website of a game that does not configure it."""

from django.conf import settings
from django.test import override_settings
from django.urls import reverse

from evennia_ai import apps
from evennia_ai.web import site
from tests.web.support import WebTest


class SiteTest(WebTest):
    def test_the_games_own_addresses_are_as_they_were(self) -> None:
        """The game's addresses come first, so ours replace none."""
        game = settings.EVENNIA_AI_ROOT_URLCONF
        assert "server.conf.urls" == game
        assert [*site.urlpatterns[:-1]] == [*site._game.urlpatterns]
        assert "/" == reverse("index")
        assert "/ai/" == self.address("now")

    def test_the_sites_menu_leads_to_the_workbench(self) -> None:
        link = f'href="{self.address("now")}"'
        shown = self.client_of("owner").get("/").content.decode()
        assert link in shown
        assert "Characters" in shown
        assert link not in self.client_of("anonymous").get("/").content.decode()

    def test_it_can_be_left_out(self) -> None:
        before = settings.ROOT_URLCONF
        with override_settings(
            EVENNIA_AI_WEB_CONFIG={"enabled": False}, ROOT_URLCONF="server.conf.urls"
        ):
            apps._add_pages()
            assert "server.conf.urls" == settings.ROOT_URLCONF
        assert before == settings.ROOT_URLCONF

    def test_an_address_that_the_game_has_itself_is_told(self) -> None:
        assert [] == apps.check_pages(None)
        with override_settings(EVENNIA_AI_WEB_CONFIG={"path": "characters"}):
            (problem,) = apps.check_pages(None)
        assert "the game has a page at /characters/ itself" in problem.msg
