"""Previews of links: pictures, words, a frame."""

import io
import re
from pathlib import Path
from typing import Any

import chess
import html5lib
from PIL import Image
from starlette.testclient import TestClient

from tbgen.probe.tablebase import open_tablebase
from tbgen.web import previews
from tbgen.web.configuration import MAX_FRAMES

KBK = "8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"


def said(api: TestClient, query: str, **headers: str) -> dict[str, str]:
    """Return the properties of the page for other sites."""
    answer = api.get(f"/{query}", headers=headers)
    assert answer.status_code == 200
    root = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(answer.text)
    return {
        each.get("property") or "": each.get("content") or ""
        for each in root.iter("meta")
        if each.get("property")
    }


def test_the_page_says_what_its_address_shows(api: TestClient) -> None:
    found = said(api, f"?fen={KBK}")
    title = "White wins by a little: in 2 moves Black gets down to one legal move (0.56 : 0.44)."
    assert found["og:title"] == title
    assert found["og:description"] == "G1.5 in r-mobility chess. Black to move. Accrued: G3.5."
    assert found["og:image"] == f"http://testserver/picture.png?fen={KBK}"
    assert said(api, "")["og:title"] == title
    for query, sentence in (
        (f"?fen={KBK}&line=Kh5_Kf4_Kh6_1.Kf6&at=4", "Black gets down to"),
        ("?fen=k7/8/1K6/8/8/8/8/7R_w&line=Rh8", "Black is mated."),
        (
            f"?fen={chess.STARTING_FEN.replace(' ', '_')}",
            "No table says what this is worth. -G20.5 has accrued so far.",
        ),
        (f"?fen={KBK}&line=Kh5%245_Kf4_Kh6$1$146_1.Kf6$2&at=4", "Black gets down to"),
        (f"?fen={KBK}&rules=classical", "r-mobility chess"),
    ):
        assert sentence in said(api, query)["og:title"]


def test_the_page_says_what_it_comes_to_before_it_has_asked(api: TestClient) -> None:
    def paragraphs(query: str) -> list[str | None]:
        root = html5lib.parse(api.get(f"/{query}").text, namespaceHTMLElements=False)
        return [
            each.text for name in ("value", "sentence") for each in root.iter("p") if each.get("id") == name
        ]

    sentence = "White wins by a little: in 2 moves Black gets down to one legal move (0.56 : 0.44)."
    assert paragraphs(f"?fen={KBK}") == ["G1.5", sentence]
    assert paragraphs("?fen=nonsense") == [None, None]


def test_moves_are_told_as_those_of_the_side_that_gets_the_value(tables: Path) -> None:
    """That side makes the last ply, so it makes half of the plies, or one more than its opponent."""
    with open_tablebase(tables) as known:
        some = known.table("KPvK").sample(50, seed=1)
        for board in map(some.board, range(50)):
            found = known.probe(board)
            movers = [board.turn ^ bool(number % 2) for number in range(found.depth or 0)]
            assert not movers or movers[-1] == found.value.white
            states = (found.position_score, found.accrued, found.value)
            for number in re.findall(
                r" in (\d+) moves?", previews.sentence(board.turn, *states, found.depth)
            ):
                assert movers.count(found.value.white) == int(number)


def test_the_path_that_a_proxy_serves_the_page_under(api: TestClient) -> None:
    for prefix in ("/tables", "/tables/", "/chess/tables"):
        found = said(api, f"?fen={KBK}", **{"x-forwarded-prefix": prefix})
        assert found["og:image"] == f"http://testserver{prefix.rstrip('/')}/picture.png?fen={KBK}"
        assert found["og:url"] == f"http://testserver{prefix.rstrip('/')}/?fen={KBK}"
    for prefix in ("tables", "//evil.org", '/"><script>', "/a b"):
        found = said(api, f"?fen={KBK}", **{"x-forwarded-prefix": prefix})
        assert found["og:image"] == f"picture.png?fen={KBK}"


def test_addresses_that_show_nothing_have_the_page_alone(api: TestClient) -> None:
    for query in ("?fen=nonsense", f"?fen={KBK}&line=Kh1", "?fen=8/8/8/4K[WD]k1/8/8/8/8_b"):
        assert said(api, query) == {}
        assert api.get(f"/picture.png{query}").status_code == 400
    # No part of a request gets into the page as HTML.
    assert "<script>" not in api.get(f'/?fen={KBK}&x="><script>alert(1)</script>').text
    assert said(api, f"?fen={KBK}", host='evil"><script>')["og:image"] == f"picture.png?fen={KBK}"


def test_pictures(api: TestClient) -> None:
    query = f"?fen={KBK}&line=Kh5_Kf4&at=1"
    answer = api.get(f"/picture.png{query}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert Image.open(io.BytesIO(answer.content)).size == (1200, 630)
    known = {"if-none-match": answer.headers["etag"]}
    assert api.get(f"/picture.png{query}", headers=known).status_code == 304
    assert api.get(f"/picture.png{query}&side=black").content != answer.content
    assert api.get(f"/picture.png?fen={KBK}&line=Kh5_Kf4").content != answer.content
    answer = api.get(f"/line.gif{query}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/gif")
    picture: Any = Image.open(io.BytesIO(answer.content))
    assert (picture.format, picture.n_frames) == ("GIF", 3)
    line = "_".join(["Nf3", "Nf6", "Ng1", "Ng8"] * (MAX_FRAMES // 4))
    start = chess.STARTING_FEN.replace(" ", "_")
    answer = api.get(f"/line.gif?fen={start}&line={line}")
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert str(MAX_FRAMES - 1) in answer.json()["message"]


def test_the_line_of_an_address() -> None:
    for query, sans, at in (
        ("", "", 0),
        ("line=Kh5_Kf4_Kh6", "Kh5 Kf4 Kh6", 3),
        ("line=Kh5_Kf4_Kh6&at=1", "Kh5 Kf4 Kh6", 1),
        ("line=Kh5_Kf4_Kh6_1.Kf6_0.Kh4", "Kh4", 1),
        ("line=Kh5_Kf4_Kh6_1.Kf6_0.Kh4&at=4", "Kh5 Kf6", 2),
        ("line=Kh5_Kf4_Kh6_1.Kf6_2.Kh4&at=2", "Kh5 Kf4 Kh6", 2),
        ("line=Kh5&at=9", "Kh5", 1),
        ("line=Kh5&at=x", "Kh5", 1),
    ):
        scene = previews.scene_of({"fen": KBK, **dict(part.split("=") for part in query.split("&") if part)})
        assert (" ".join(str(state.san) for state in scene.states[1:]), scene.at_index) == (sans, at), query


def test_only_the_page_for_frames_may_be_in_one(api: TestClient) -> None:
    answer = api.get(f"/embed?fen={KBK}")
    assert answer.headers["content-security-policy"].endswith("frame-ancestors *")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "x-frame-options" not in answer.headers
    for path in ("/", "/puzzles", "/play", f"/r?fen={KBK}"):
        answer = api.get(path)
        assert answer.headers["content-security-policy"].endswith("frame-ancestors 'none'")
        assert answer.headers["x-frame-options"] == "DENY"
