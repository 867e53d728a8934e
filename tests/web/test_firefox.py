"""The pages in Firefox: what matters most, on the page of a server and on a site without one."""

import json
from collections.abc import Iterator

import pytest

from tests.support.firefox import Firefox, firefox

pytestmark = [pytest.mark.slow, pytest.mark.everywhere]

KBK = "fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"
PHONE = (390, 664)
START = "White wins by a little: Black gets down to one move in 4 plies (0.56 : 0.44)."
TODAY = """import(new URL("page/api.js", document.baseURI))
    .then(({fresh}) => fresh("r/puzzle", {day: new Date().toISOString().slice(0, 10)}))
    .then(JSON.stringify)"""


@pytest.fixture(scope="module")
def fox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    """A browser; without one the tests are skipped."""
    with firefox(tmp_path_factory.mktemp("profile")) as found:
        yield found
        assert found.wrong == []


def test_the_explorer_says_the_value_and_moves_by_mouse_and_keys(fox: Firefox, address: str) -> None:
    fox.visit(f"{address}/")
    fox.expect(fox.text("#sentence"), START)
    fox.expect(fox.text("#value"), "G1.5")
    fox.expect("document.querySelectorAll('#moves button').length > 0", True)
    assert fox.violations() == []
    fox.click_square("g5")
    fox.click_square("h5")
    fox.expect(f"({fox.text('#sentence')}).includes('in 3 plies')", True)
    assert fox.evaluate("location.search") == f"?{KBK}&line=Kh5"
    fox.press("ArrowLeft")
    fox.expect(fox.text("#sentence"), START)
    fox.press("ArrowRight")
    fox.expect(f"({fox.text('#sentence')}).includes('in 3 plies')", True)


@pytest.mark.parametrize("page", ["", "play?side=white&" + KBK, "puzzles"])
def test_nothing_is_wider_than_a_phone(fox: Firefox, address: str, page: str) -> None:
    fox.visit(f"{address}/{page}", *PHONE)
    fox.expect("document.querySelectorAll('#board [data-piece]').length > 2", True)
    assert not fox.too_wide()
    assert fox.violations() == []


def test_a_game_is_played_against_the_tables(fox: Firefox, address: str) -> None:
    fox.visit(f"{address}/play?{KBK}&side=black")
    fox.expect(fox.text("#name"), "Your move: Black")
    fox.click_square("g5", turned=True)
    fox.click_square("h5", turned=True)
    fox.expect("document.querySelectorAll('#played .step').length", 3)
    fox.expect(fox.text("#name"), "Your move: Black")


def test_a_puzzle_is_solved(fox: Firefox, address: str) -> None:
    fox.visit(f"{address}/puzzles")
    fox.expect(f"({fox.text('#task')}).includes('One move alone')", True)
    puzzle = json.loads(fox.evaluate(TODAY))
    best = puzzle["moves"][0]
    for square in (best["uci"][:2], best["uci"][2:4]):
        fox.click_square(square, turned=puzzle["fen"].split()[1] == "b")
    if len(best["uci"]) == 4:
        fox.expect(fox.text("#solved"), "1")


def test_light_and_dark_are_chosen(fox: Firefox, address: str) -> None:
    fox.visit(f"{address}/")
    paper = "getComputedStyle(document.body).backgroundColor"
    fox.expect("document.querySelectorAll('#moves button').length > 0", True)
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 27)"}
    is_dark = fox.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for name, colour in sorted(colours.items(), reverse=is_dark):
        fox.click("#scheme")
        fox.expect("document.documentElement.dataset.scheme", name)
        assert fox.evaluate(paper) == colour
        assert fox.violations() == []
    fox.click("#scheme")
