"""Parts shared by pages: a strict, escaping environment, a common style, and reproducible plots."""

import re
from base64 import b64decode
from xml.etree import ElementTree

import html5lib
import jinja2
import pytest

from tbgen.board.kinds import MEN_LETTERS
from tbgen.html.charts import FIRST_INK, figure, img_tag, png, set_log_scale, svg
from tbgen.html.diagrams import diagram, sprites
from tbgen.html.style import men_svg, prose, style_sheet, template_environment
from tests.support.paths import DATA

SVG = "{http://www.w3.org/2000/svg}"

PAGE = (DATA / "page.html.jinja").read_text()


def render(source: str, **context: object) -> str:
    return template_environment("tbgen.report").from_string(source).render(**context)


def test_a_page_as_one_file() -> None:
    """A page with style, plot and diagram is valid and self-contained."""
    evil = "<script>alert('&')</script>"
    page = render(
        PAGE,
        title=evil,
        sprites=sprites(),
        plot=img_tag(plot(), f'A plot of "{evil}"'),
        board=diagram("8/8/8/4KBk1/8/8/8/8 b - - 0 1"),
    )
    root = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    assert page.startswith("<!DOCTYPE html>\n")
    assert not re.search(r"<script|<link|https?://(?!www\.w3\.org/)", page)
    assert "".join(next(root.iter("title")).itertext()) == evil
    assert "".join(next(root.iter("style")).itertext()) == style_sheet()
    (image,) = root.iter("img")
    assert image.get("alt") == f'A plot of "{evil}"'
    assert b64decode(str(image.get("src")).partition(",")[2]) == plot()
    text = " ".join("".join(next(root.iter("p")).itertext()).replace("\xa0", " ").split())
    assert text == "1,234 25.0 % 50.0 % 1 table 2 plies 39.1 KiB 1 min 35 s It is -G3.5 & lost."
    assert prose("-G3.5") in page


def test_names_that_nobody_has_set_are_errors() -> None:
    with pytest.raises(jinja2.UndefinedError, match="'missing' is undefined"):
        render("{{ missing }}")


def plot() -> bytes:
    with figure(4, 3) as drawing:
        panel = drawing.subplots()
        panel.plot([1, 2, 3], [1, 10, 100], color=FIRST_INK)
        set_log_scale(panel, 1000)
        return svg(drawing)


def test_plots_come_out_the_same() -> None:
    first = plot()
    assert first == plot()
    root = ElementTree.fromstring(first)
    assert root.tag == f"{SVG}svg"
    assert {"1", "10", "100", "1,000"} <= {"".join(part.itertext()) for part in root.iter(f"{SVG}text")}
    assert not re.search(rb"20\d\d-\d\d-\d\d|Matplotlib", first)
    with figure(4, 3) as drawing:
        drawing.subplots()
        bitmap = png(drawing)
        assert bitmap == png(drawing)
    assert bitmap.startswith(b"\x89PNG")


def test_men_as_a_file() -> None:
    """The file has twelve men by side and kind, without styles, which a strict page would ignore."""
    root = ElementTree.fromstring(men_svg())
    assert {group.get("id") for group in root.iterfind(f"{SVG}defs/{SVG}g")} == {
        side + kind for side in "wb" for kind in MEN_LETTERS.lower()
    }
    assert "style=" not in men_svg()
