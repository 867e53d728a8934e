"""Sharing what the page shows: pictures, films and frames, in a browser."""

import io
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import chess
import pytest
from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import Browser, expect

from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.html.cards import MEN_FILE
from tbgen.probe.documents import points_document
from tbgen.web.wording import sentence
from tests.support.browsing import Visit
from tests.support.paths import ROOT

sys.path.append(str(ROOT / "scripts"))

from men import drawn

pytestmark = pytest.mark.slow
KBK = "8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"
SAID = """async answers => {
    const {sentence} = await import("/page/score.js")
    return answers.map(sentence)
}"""


def test_the_server_says_what_the_page_says(browser: Browser, address: str) -> None:
    """Of every kind of value, of either side."""
    rng, asked, expected = random.Random(1), [], []
    for _ in range(300):
        own, accrued, value = (GScore(rng.randrange(least, 28), rng.random() < 0.5) for least in (0, 2, 0))
        depth = rng.choice([None, 0, 1, 2, 17])
        turn = rng.random() < 0.5
        if own.rank < 2:
            value = own
        points = points_document(EXPONENTIAL, value)
        asked.append(
            {
                "fen": f"8/8/8/8/8/8/8/8 {'w' if turn else 'b'} - - 0 1",
                "value": str(value),
                "accrued": str(accrued),
                "depth": depth,
                "points": {"white": points.white, "black": points.black},
                "checkmate": own.rank == 0,
                "stalemate": own.rank == 1,
            }
        )
        expected.append(sentence(turn, own, accrued, value, depth))
    visit = Visit(browser, address)
    assert visit.page.evaluate(SAID, asked) == expected
    assert len(set(expected)) > 100
    visit.close()


def test_pictures_are_copied_and_lines_saved(browser: Browser, address: str) -> None:
    visit = Visit(browser, address, f"?fen={KBK}&line=Kh5_Kf4&at=1&side=black")
    page, said = visit.page, visit.page.locator("#said")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.locator("#sentence")).to_contain_text("in 3 plies")
    page.locator("#copy-picture").click()
    expect(said).to_have_text("Picture copied")
    size = page.evaluate(
        """async () => {
            const [item] = await navigator.clipboard.read()
            const picture = await createImageBitmap(await item.getType("image/png"))
            return [picture.width, picture.height]
        }"""
    )
    assert size == [1200, 630]
    with page.expect_download() as download:
        page.locator("#save-film").click()
    with Image.open(download.value.path()) as film:
        assert getattr(film, "n_frames", 1) == 3
    page.locator("#last").click()
    expect(page.locator("#sentence")).to_contain_text("in 2 plies")
    expect(page.locator("#line button")).to_have_count(2)
    with page.expect_download() as download:
        page.locator("#save-film").click()
    with Image.open(download.value.path()) as film:
        assert getattr(film, "n_frames", 1) == 3 + 2
    page.locator("#copy-embed").click()
    expect(said).to_have_text("Frame copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f'<iframe src="{address}/embed?fen={KBK}&line=Kh5_Kf4_')
    visit.close()
    assert visit.wrong == []


@contextmanager
def site_with(text: str) -> Iterator[str]:
    """The address of another site, whose only page is a text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_frame_of_another_site(browser: Browser, address: str) -> None:
    """It is stepped through by buttons and keys, and on by best play; the page itself stays out of frames."""
    frames = f'<iframe id="in" src="{address}/embed?fen={KBK}&line=Kh5&at=0"></iframe>'
    with site_with(f'{frames}<iframe id="out" src="{address}/?fen={KBK}"></iframe>') as other:
        visit = Visit(browser, other)
        frame = visit.page.frame_locator("#in")
        expect(frame.locator("#sentence")).to_contain_text("in 4 plies")
        expect(frame.locator("#mobility")).to_have_text("Black has three legal moves: G3.5")
        expect(frame.locator("#accrued-bar")).to_have_attribute("aria-label", "Accrued so far: G3.5")
        frame.locator("#count").click()
        expect(frame.locator("#board .marker-circle")).to_have_count(3)
        frame.locator("#forward").click()
        expect(frame.locator("#move")).to_have_text("1... Kh5")
        expect(frame.locator("#forward")).to_be_enabled()
        frame.locator("#last").click()
        expect(frame.locator("#sentence")).to_contain_text("that has accrued")
        frame.locator("#back").press("ArrowLeft")
        expect(frame.locator("#sentence")).to_contain_text("in 1 ply")
        expect(frame.locator("#mobility")).to_have_text("White has 17 legal moves: -G17.5")
        link = frame.locator("#explore").get_attribute("href") or ""
        assert link.startswith(f"./?fen={KBK}&line=Kh5_")
        assert visit.wrong != []
        assert all("frame-ancestors 'none'" in said for said in visit.wrong)
        visit.close()


@pytest.mark.everywhere
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_for_frames_fits_its_frame(scheme: str, browser: Browser, address: str) -> None:
    size = {"width": 420, "height": 600}
    visit = Visit(browser, address, f"embed?fen={KBK}&line=Kh5", viewport=size, color_scheme=scheme)
    expect(visit.page.locator("#sentence")).to_contain_text("in 3 plies")
    assert visit.page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert not visit.too_wide()
    assert visit.violations() == []
    visit.page.goto(f"{address}/embed?fen={chess.STARTING_FEN.replace(' ', '_')}&line=e4")
    expect(visit.page.locator("#mobility")).to_have_text("Black has 20 legal moves: G20.5")
    visit.close()
    assert visit.wrong == []


def test_a_frame_says_the_value_where_best_play_is_refused(browser: Browser, address: str) -> None:
    visit = Visit(browser, address, "embed")
    refusal = {"code": "missing_layer", "message": "no depths are stored"}
    visit.page.route("**/r/mainline*", lambda route: route.fulfill(status=404, json=refusal))
    visit.page.goto(f"{address}/embed?fen={KBK}&line=Kh5")
    expect(visit.page.locator("#problem")).to_have_text(refusal["message"])
    expect(visit.page.locator("#value")).to_have_text("G1.5")
    expect(visit.page.locator("#sentence")).to_contain_text("in 3 plies")
    visit.close()
    assert visit.wrong == []


def test_the_men_of_pictures_are_those_of_the_page(browser: Browser) -> None:
    with Image.open(io.BytesIO(drawn(browser))) as now, Image.open(MEN_FILE) as kept:
        assert now.size == kept.size
        difference = ImageChops.difference(now.convert("RGBA"), kept.convert("RGBA"))
        assert max(ImageStat.Stat(difference).mean) < 2
