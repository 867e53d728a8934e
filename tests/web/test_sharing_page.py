"""Sharing what the page shows: pictures, films and frames, in a browser."""

import io
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat
from playwright.sync_api import Browser, expect

from tbgen.html.cards import MEN_FILE
from tests.support.browsing import Visit
from tests.support.paths import ROOT
from tests.support.static_host import hosting

sys.path.append(str(ROOT / "scripts"))

from men import draw_men

pytestmark = pytest.mark.slow
KBK = "8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"


def test_pictures_are_copied_and_lines_saved(visit: Visit, address: str) -> None:
    visit.go(f"?fen={KBK}&line=Kh5_Kf4&at=1&side=black")
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.has_depth(3)
    visit.click("#copy-picture", "Picture copied", "#said")
    size = page.evaluate(
        """async () => {
            const [item] = await navigator.clipboard.read()
            const picture = await createImageBitmap(await item.getType("image/png"))
            return [picture.width, picture.height]
        }"""
    )
    assert size == [1200, 630]
    for frames in (3, 3 + 2):
        with page.expect_download() as download:
            page.locator("#save-film").click()
        with Image.open(download.value.path()) as film:
            assert getattr(film, "n_frames", 1) == frames
        if frames == 3:
            visit.click("#last")
            visit.has_depth(2)
            visit.sees({"#line button": 2})
    visit.click("#copy-embed", "Frame copied", "#said")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f'<iframe src="{address}/embed?fen={KBK}&line=Kh5_Kf4_')


def test_a_frame_of_another_site(browser: Browser, address: str, tmp_path: Path) -> None:
    """A frame steps through the line by buttons and keys, then by best play; other pages refuse frames."""
    frames = f'<iframe id="in" src="{address}/embed?fen={KBK}&line=Kh5&at=0"></iframe>'
    (tmp_path / "index.html").write_text(f'{frames}<iframe id="out" src="{address}/?fen={KBK}"></iframe>')
    with hosting(tmp_path) as other:
        visit = Visit(browser, other.address)
        frame = visit.page.frame_locator("#in")
        expect(frame.locator("#sentence")).to_contain_text("in 2 moves")
        expect(frame.locator("#mobility")).to_have_text("Black has three legal moves: G3.5")
        expect(frame.locator("#accrued-legend")).to_have_text("Accrued so far: G3.5")
        frame.locator("#count").click()
        expect(frame.locator("#board .marker-circle")).to_have_count(3)
        frame.locator("#forward").click()
        expect(frame.locator("#move")).to_have_text("1... Kh5")
        expect(frame.locator("#forward")).to_be_enabled()
        frame.locator("#last").click()
        expect(frame.locator("#sentence")).to_contain_text("that has accrued")
        frame.locator("#back").press("ArrowLeft")
        expect(frame.locator("#mobility")).to_have_text("White has 17 legal moves: -G17.5")
        link = frame.locator("#explore").get_attribute("href") or ""
        assert link.startswith(f"./?fen={KBK}&line=Kh5_")
        assert visit.wrong != []
        assert all("frame-ancestors 'none'" in said for said in visit.wrong)
        visit.wrong.clear()
        visit.close()


def test_the_men_of_pictures_are_those_of_the_page(browser: Browser) -> None:
    with Image.open(io.BytesIO(draw_men(browser))) as now, Image.open(MEN_FILE) as kept:
        assert now.size == kept.size
        difference = ImageChops.difference(now.convert("RGBA"), kept.convert("RGBA"))
        assert max(ImageStat.Stat(difference).mean) < 2
