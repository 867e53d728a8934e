#!/usr/bin/env python3
"""Make the picture of README.md from the real page, with the tables in a directory.

    .venv/bin/python scripts/screenshots.py data

The script needs the table of KRvKB with its sub-tables, and Chromium. With --all DIR it instead makes
pictures of more states of the page for inspection, for a screen and a phone, light and dark.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from tests.support.browsing import Visit, chromium  # noqa: E402
from tests.support.serving import serving  # noqa: E402

PICTURE = ROOT / "docs" / "explorer.png"
QUERY = "?fen=8/8/8/7R/3K4/6k1/6b1/8_b_-_-_0_1"
HEIGHT = 800

STATES = {
    "start": "",
    "rook": QUERY,
    "accrued": "?fen=8/8/5k1K/5P2/8/8/8/8_w_-_-_1_60&accrued=-G2.5",
    "setup": "?fen=8/8/8/2K3k1/8/8/8/8_w_-_-_0_1&setup",
    "game": "?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1&line=Kh5_Kf4_Kh6_Kg4&at=2",
    "opening": "?fen=rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR_w_KQkq_-_0_1&line=e4_e5_Nf3",
    "castling": "?fen=4k3/8/8/8/8/8/8/4K2R_w_K_-_0_1",
    "missing": "?fen=4k3/8/8/8/8/8/8/KBBN4_w_-_-_0_1",
    "classical": "?fen=8/8/8/8/8/8/8/K2kr3_w_-_-_0_1&rules=classical",
}
WIDTHS = {"screen": 1200, "phone": 390}


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", type=Path, help="directory of tables")
    parser.add_argument("--all", type=Path, metavar="DIR", help="directory for pictures of more states")
    arguments = parser.parse_args()
    path = chromium()
    if path is None:
        sys.exit("there is no Chromium: install it with apt-get install chromium")
    with (
        serving(arguments.tables.absolute(), "--limit", "0") as (_, host, port),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        address = f"http://{host}:{port}"
        if arguments.all is None:
            take(browser, address, QUERY, PICTURE, whole=False, width=WIDTHS["screen"], scheme="light")
        else:
            arguments.all.mkdir(exist_ok=True)
            for name, query in STATES.items():
                for device, width in WIDTHS.items():
                    for scheme in ("light", "dark"):
                        file = arguments.all / f"{name}-{device}-{scheme}.png"
                        take(browser, address, query, file, whole=True, width=width, scheme=scheme)
        browser.close()


def take(
    browser: Browser, address: str, query: str, file: Path, *, whole: bool, width: int, scheme: str
) -> None:
    """Take one picture after the page is complete."""
    visit = Visit(browser, address, query, color_scheme=scheme, viewport={"width": width, "height": HEIGHT})
    visit.page.locator("#facts dd, #problem p").first.wait_for()
    visit.page.locator("#board [data-man]").first.wait_for()
    visit.page.wait_for_load_state("networkidle")
    visit.page.screenshot(path=str(file), full_page=whole)
    visit.close()
    print(file)
    if visit.wrong:
        sys.exit("\n".join(visit.wrong))


if __name__ == "__main__":
    main()
