"""The most important functions of the pages in Firefox, with a server and on a site without one."""

from collections.abc import Iterator

import pytest

from tests.support.firefox import Firefox, firefox

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive, pytest.mark.everywhere]

KBK = "fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"
START = "White wins by a little: in 2 moves Black gets down to one legal move (0.56 : 0.44)."


@pytest.fixture(scope="module")
def fox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    """A browser; without one the tests are skipped."""
    with firefox(tmp_path_factory.mktemp("profile")) as found:
        yield found
        assert found.wrong == []


def test_the_explorer_says_the_value_and_moves_by_mouse_and_keys(fox: Firefox, address: str) -> None:
    """The explorer works in the light and the dark scheme."""
    fox.visit(f"{address}/")
    fox.expect(fox.text("#sentence"), START)
    fox.expect("document.querySelectorAll('#moves button').length > 0", True)
    fox.click_square("g5")
    fox.click_square("h5")
    depth = "document.querySelector('#facts [data-plies]')?.dataset.plies"
    fox.expect(depth, "3")
    assert fox.evaluate("location.search") == f"?{KBK}&line=Kh5"
    for key, value in (("ArrowLeft", "4"), ("ArrowRight", "3")):
        fox.press(key)
        fox.expect(depth, value)
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 27)"}
    is_dark = fox.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for name, colour in sorted(colours.items(), reverse=is_dark):
        fox.click("#scheme")
        fox.expect("document.documentElement.dataset.scheme", name)
        assert fox.evaluate("getComputedStyle(document.body).backgroundColor") == colour
        assert fox.violations() == []
    fox.click("#scheme")


def test_a_game_is_played_against_the_tables(fox: Firefox, address: str) -> None:
    """A game works on a phone, where nothing is wider than the screen."""
    fox.visit(f"{address}/play?{KBK}&side=black", 390, 664)
    fox.expect(fox.text("#name"), "Your move: Black")
    assert not fox.too_wide()
    fox.click_square("g5", turned=True)
    fox.click_square("h5", turned=True)
    fox.expect("document.querySelectorAll('#played .step').length", 3)
    fox.expect(fox.text("#name"), "Your move: Black")
