#!/usr/bin/env python3
"""Make the bitmap of men for preview pictures from the men of the page, by Chromium.

    .venv/bin/python scripts/men.py

The script writes tbgen/html/men.png. White's king, queen, rook, bishop, knight and pawn are in a row, and
Black's are in a row below.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser  # noqa: E402

from tbgen.board.kinds import MEN_LETTERS  # noqa: E402
from tbgen.html.cards import MEN_FILE, MEN_SIZE  # noqa: E402
from tbgen.html.style import MAN_SIZE, men_svg  # noqa: E402
from tests.support.browsing import launched  # noqa: E402


def draw_men(browser: Browser) -> bytes:
    """Return a picture of all men as PNG."""
    places = "".join(
        f'<use href="#{side}{kind}" x="{column * MAN_SIZE}" y="{row * MAN_SIZE}"/>'
        for row, side in enumerate("wb")
        for column, kind in enumerate(MEN_LETTERS.lower())
    )
    width, height = len(MEN_LETTERS) * MEN_SIZE, 2 * MEN_SIZE
    box = f'viewBox="0 0 {len(MEN_LETTERS) * MAN_SIZE} {2 * MAN_SIZE}" width="{width}" height="{height}"'
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_content(f'{men_svg()}<svg {box} style="left:0;position:absolute;top:0">{places}</svg>')
    picture = page.screenshot(omit_background=True)
    page.close()
    return picture


if __name__ == "__main__":
    with launched() as browser:
        MEN_FILE.write_bytes(draw_men(browser))
