"""The files of the page: valid, small, and with minimal permissions."""

import gzip
import re
from pathlib import Path

import html5lib
import pytest
from starlette.testclient import TestClient

import tbgen.web
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings

MOST_BYTES = 408 << 10
PLACE = Path(tbgen.web.__file__).parent / "page"
NAMES = [
    name
    for path in PLACE.rglob("*")
    if path.is_file()
    and not (name := path.relative_to(PLACE).as_posix()).startswith("static/")
    and name not in ("explorer.css", "early.js")
]
"""Files of a server's page; for those of sites see test_site.py. style.css contains explorer.css, and
scheme.js early.js."""


PAGES = ("/", "/embed", "/live", "/play", "/puzzles")
PARTS = dict.fromkeys(("contest.js", "play.js"), "/play") | dict.fromkeys(("live.js", "watched.js"), "/live")
PARTS |= {"embed.js": "/embed", "puzzles.js": "/puzzles"}
"""Scripts used by one page only; the others are the explorer's."""
TAGLINE = 'whoever leaves the other fewer moves wins. <span data-term="score">'
SCORE = re.compile(r"\bG\d")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    tables = tmp_path_factory.mktemp("tables")
    return TestClient(make_app(Settings((tables,), live_file=tables / "event.pgn", limit=0)))


def test_pages_are_valid_and_have_nothing_inline(page: TestClient) -> None:
    """Pages explain scores before showing the first one; every named file and element exists."""
    texts, named_files = {address: page.get(address).text for address in PAGES}, set[str | None]()
    for text in texts.values():
        assert text.count(TAGLINE) == 1
        _, _, body = text.partition("<body")
        assert SCORE.split(body)[0].endswith(TAGLINE)
        root = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
        assert not [element.tag for element in root.iter() if element.get("style") or element.tag == "style"]
        assert not [element for element in root.iter("script") if element.text]
        assert not re.search(r"\bon[a-z]+=|javascript:|https?://", text.replace("http://testserver/", ""))
        named = [element.get("id") for element in root.iter() if element.get("id")]
        assert len(named) == len(set(named))
        assert {element.get("for") for element in root.iter("label")} <= {None, *named}
        named_files |= {
            each.get("href") or each.get("src") for each in (*root.iter("link"), *root.iter("script"))
        }
    for file in named_files:
        assert page.get(f"/{file}").status_code == 200, file
    for name in NAMES:
        if name.endswith(".js"):
            script = (PLACE / name).read_text()
            for imported in re.findall(r'(?:from|import) "(\.[^"]+)"', script):
                assert (PLACE / name).parent.joinpath(imported).is_file(), (name, imported)
            for wanted in re.findall(r'\$\("([\w-]+)"\)', script) if "/" not in name else ():
                assert f'id="{wanted}"' in texts[PARTS.get(name, "/")], (name, wanted)


def test_all_together_are_small(page: TestClient) -> None:
    answers = [page.get(f"/page/{name}") for name in (*NAMES, "style.css", "scheme.js", "men.svg")]
    assert all(answer.status_code == 200 for answer in answers)
    assert sum(len(answer.content) for answer in answers) < MOST_BYTES
    assert sum(len(gzip.compress(answer.content)) for answer in answers) < MOST_BYTES / 3


def test_modules_are_few_and_short() -> None:
    modules = list(PLACE.rglob("*.js"))
    texts = [path.read_text() for path in (*modules, PLACE.parent / "documents.d.ts")]
    assert len(modules) <= 32
    assert sum(len(text.splitlines()) for text in texts) <= 6100


def test_headers(page: TestClient) -> None:
    kinds = {"/": "text/html", "/page/main.js": "text/javascript", "/page/men.svg": "image/svg"}
    for address, kind in kinds.items():
        answer = page.get(address)
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["content-encoding"] == "gzip"
        plain = page.get(address, headers={"accept-encoding": "gzip;q=0"})
        assert ("content-encoding" in plain.headers, plain.content) == (False, answer.content)
        known = page.get(address, headers={"if-none-match": answer.headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")
        assert page.head(address).status_code == 200


def test_without_an_event_and_a_report_nothing_leads_there(api: TestClient) -> None:
    for path, sentence in (
        ("/live", "no event"),
        ("/report/x.html", "no report"),
        ("/nothing", "is nothing here"),
    ):
        told = api.get(path, headers={"Accept": "text/html,*/*"})
        assert (told.status_code, told.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert sentence in told.text
    assert not re.search("data-(live|report)", api.get("/").text)


def listed(name: str) -> list[tuple[str, str]]:
    """Return the names and queries of the positions in a list of the page."""
    text = (PLACE / "stock.js").read_text().partition(f"const {name} = [")[2].partition("\n]")[0]
    return re.findall(r'\["([^"]+)", "([^"]+)"', text)


def test_examples_have_answers(api: TestClient) -> None:
    """Every example of the page has an answer, whose result agrees with the example's text."""
    found = listed("EXAMPLES")
    assert len(found) > 8
    for name, query in found:
        rules = re.search(r"rules=([\w-]+)", query)
        assert api.get(f"/{rules[1] if rules else 'r'}?{query}").status_code == 200, name
    assert api.get("/r?fen=8/8/8/8/8/2k5/8/K2B4_b_-_-_0_1").json()["depth"] == 46


def test_famous_endgames_can_be_played(api: TestClient) -> None:
    """Endgames of up to four men have moves and values; larger ones are offered if their tables exist."""
    found = listed("ENDGAMES")
    assert len(found) >= 8
    for name, fen in found:
        answer = api.get("/r", params={"fen": fen})
        if sum(letter.isalpha() for letter in fen.split()[0]) <= 4:
            assert answer.json()["moves"], name
        else:
            assert answer.json()["code"] == "missing_table", name
