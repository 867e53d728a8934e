"""Pictures of described men: tiles that show their moves, or the pictures of ``men.toml``."""

from itertools import combinations
from math import hypot
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tbgen.board.kinds import ATOMS
from tbgen.errors import UsageError
from tbgen.html.diagrams import picture_of_man

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("letters", "dots", "lines"),
    [("wd", 8, 0), ("BDD", 4, 8), ("NN", 8, 8), ("HZ", 12, 0)]
    + [(atom, 4 if y in (0, x) else 8, 0) for atom, (x, y) in ATOMS.items()],
)
def test_a_tile_has_a_dot_for_each_leap_and_a_line_for_each_ride(letters: str, dots: int, lines: int) -> None:
    found = []
    for white in (True, False):
        root = ElementTree.fromstring(picture_of_man(letters, white))
        centres = [
            (float(dot.get("cx", "")), float(dot.get("cy", "")))
            for dot in root.findall(f"{SVG}g/{SVG}circle")
        ]
        assert len(set(centres)) == len(centres) == dots
        assert all(3.5 <= edge - 1.8 < edge + 1.8 <= 36.5 for centre in centres for edge in centre)
        assert all(hypot(x - a, y - b) >= 3.6 for (x, y), (a, b) in combinations(centres, 2))
        (path,) = root.findall(f"{SVG}path")
        assert path.get("d", "").count("M") == lines
        found.append((centres, root.findtext(f"{SVG}title"), root.find(f"{SVG}rect").get("fill")))  # type: ignore[union-attr]
    (one, name, light), (other, small, dark) = found
    assert one == other
    assert name is not None
    assert (small, light, dark) == (name.lower(), "#fff", "#000")


def test_pictures_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBGEN_MEN", str(tmp_path / "men.toml"))
    (tmp_path / "men.toml").write_text('[ghost]\nmoves = "WD"\npictures = ["white.svg", "black.svg"]\n')
    with pytest.raises(UsageError, match=r"'white.svg' of ghost is not an SVG file in the directory"):
        picture_of_man("ghost", white=True)
    for name in ("white", "black"):
        (tmp_path / f"{name}.svg").write_text(f"<svg>{name}</svg>")
    assert picture_of_man("ghost", white=True) == picture_of_man("WD", white=True) == b"<svg>white</svg>"
    assert picture_of_man("DW", white=False) == b"<svg>black</svg>"
    (tmp_path / "black.svg").unlink()  # it existed when the file was read
    assert b"<title>[wd]</title>" in picture_of_man("DW", white=False)
    assert picture_of_man("WF", white=True).startswith(b"<svg xmlns")
