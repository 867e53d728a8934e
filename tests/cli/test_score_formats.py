"""``tbgen score``: pages, files and texts that show the same numbers."""

import csv
import io
import json
import re
from base64 import b64decode
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import html5lib
import pytest

from tbgen.games.standings.tables import KEYS
from tests.support.commands import Capture, document, scored
from tests.support.paths import DATA, MATCH

pytestmark = pytest.mark.usefixtures("default_directory")


def test_every_format_has_the_same_tables(capsys: Capture) -> None:
    words = (MATCH, "--sprt", "0", "50", "--tables", "all", "--format")
    markdown = scored(capsys, *words, "markdown").split("## ")[1:]
    tables = {
        part.splitlines()[0]: [
            [cell.replace("\\", "") for cell in line[2:-2].split(" | ")]
            for line in part.splitlines()
            if line.startswith("| ")
        ]
        for part in markdown
    }
    assert list(tables)[:4] == ["Standings", "Crosstable", "Crosstable of points", "Points by every scoring"]
    assert len(tables) == 12
    assert all(len({len(row) for row in table}) == 1 for table in tables.values())
    rows = [line.split() for line in scored(capsys, *words, "text").splitlines()]
    page = html5lib.parse(scored(capsys, *words, "html"), namespaceHTMLElements=False)
    sections = [part.splitlines() for part in scored(capsys, *words, "csv").strip().split("\n\n")]
    titles = [heading.text for heading in page.iter("h2") if heading.text != "Points and Elo"]
    assert titles == list(tables) == [section[0] for section in sections]
    for section, drawn in zip(sections, page.iter("table"), strict=True):
        hidden = section[0] == "Games"  # the column of files, which is the same in all rows
        table, numbers = tables[section[0]], [row[hidden:] for row in csv.reader(section[1:])]
        cells = [["".join(cell.itertext()).strip() for cell in row] for row in drawn.iter("tr")]
        assert cells[1:] == [["" if set(cell) == {"·"} else cell for cell in row] for row in table[2:]]
        assert [len(row) for row in numbers] == [len(row) for row in table if row[0] != "---"]
        for row in table[2:]:
            assert " ".join(row).split() in rows
        for row, shown in zip(numbers[1:], table[2:], strict=True):
            assert all(same(cell, text) for cell, text in zip(row, shown, strict=True)), row


def same(cell: str, shown: str) -> bool:
    """Return whether a cell of a CSV file equals the shown one, which may be rounded."""
    if cell.lstrip("'") == shown or set(shown) == {"·"}:
        return True
    text = shown.strip("()%").replace("unbounded", "inf")
    hundred = float(cell) == pytest.approx(float(text) / 100, abs=6e-4)
    return hundred or float(cell) == pytest.approx(float(text), abs=0.051)


def test_the_page_is_whole_and_safe(capsys: Capture, tmp_path: Path) -> None:
    evil = '<script>alert("&")</script>'
    path = tmp_path / "evil.pgn"
    name = evil.replace('"', "'")
    tags = f'[White "{name}"]\n[Black "B|C*"]\n\n'
    lost, won = "1. f3 e5 2. g4 Qh4# 0-1", "1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0"
    path.write_text("".join(f"{tags}{moves}\n\n" for moves in (lost, lost, won)))
    page = scored(capsys, str(path), "--format", "html", "--title", evil)
    html5lib.HTMLParser(strict=True).parse(page)
    images = re.findall(r'<img src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)" alt="[^"<>]*">', page)
    assert len(images) == page.count("<img") == 2
    assert not re.search(r"(src|href)=(?!\"data:)|url\(|@import", page)
    for image in images:
        drawing = b64decode(image).decode()
        assert not re.search(r"<script|href=\"(?!#)|@import", drawing)
        ElementTree.fromstring(drawing)
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "B\\|C\\*" in scored(capsys, str(path), "--format", "markdown")


def test_each_table_to_a_file(capsys: Capture, tmp_path: Path) -> None:
    directory = tmp_path / "season" / "tables"
    files = scored(capsys, MATCH, "--format", "csv", "--out", str(directory)).split()
    assert files == [str(directory / f"{key}.csv") for key in KEYS if (directory / f"{key}.csv").exists()]
    assert {Path(name) for name in files} == set(directory.iterdir())
    found = {path.stem: list(csv.DictReader(io.StringIO(path.read_text()))) for path in directory.iterdir()}
    absent = {"bounds", "left_out", "doubtful", "changed_games", "changed_players", "sprt"}
    absent |= {"bracket", "rounds", "joint"}
    assert set(found) == set(KEYS) - absent
    best = found["standings"][0]
    assert (best["player"], best["place"], float(best["points"])) == ("sf", "1", 7.80859375)
    assert float(best["share"]) == 7.80859375 / 12
    for name, cell in (("crosstable", "'==111=====11"), ("crosspoints", "7.80859375")):
        assert [(row["player"], row["greedy"]) for row in found[name]] == [("sf", cell), ("greedy", "")]
    games = found["games"]
    assert sum(float(game["points"]) for game in games if game["white"] == "sf") == 4.5625
    assert [game["result"] for game in games][:4] == ["G1.5", "G3.5", "G0.0", "-G0.0"]
    assert [row["points"] for row in found["colours"]][:2] == ["4.5625", "3.24609375"]
    for rows in found.values():
        assert all(None not in row and None not in row.values() for row in rows)
    assert scored(capsys, MATCH, "--format", "csv", "--out", str(directory), "--tables", "games").split() == [
        str(directory / "games.csv")
    ]


def test_an_event_is_published_by_one_command(capsys: Capture, tmp_path: Path) -> None:
    """One command writes the page, its numbers as JSON and CSV, and with points in chess TCEC's files."""
    words = ("--order", "tcec", "--title", "An event", "--explorer", "https://example.org/", "--out")
    names = [Path(line).name for line in scored(capsys, MATCH, *words, str(tmp_path / "site")).split()]
    assert names[:3] == ["index.html", "standings.json", "standings.csv"]
    assert names[-2:] == ["crosstable.json", "schedule.json"]
    site = tmp_path / "site"
    assert sorted(names) == sorted(path.name for path in site.iterdir())
    assert "<h1>An event</h1>" in (site / "index.html").read_text()
    found = json.loads((site / "standings.json").read_text())
    assert found == document(capsys, "score", "--jobs", "1", MATCH, "--order", "tcec")
    assert scored(capsys, MATCH, "--out", str(tmp_path / "ours")).split()[-1].endswith("games.csv")


def test_one_format_to_a_file(capsys: Capture, tmp_path: Path) -> None:
    for form, name in (("text", "standings.txt"), ("markdown", "standings.md"), ("json", "standings.json")):
        words = MATCH, "--format", form
        assert scored(capsys, *words, "--out", str(tmp_path)) == f"{tmp_path / name}\n"
        assert (tmp_path / name).read_text() == scored(capsys, *words)


def test_the_page_says_what_is_not_proved(capsys: Capture) -> None:
    words = str(DATA / "transcripts" / "unproven.pgn"), "--order", "tcec", "--tables", "standings,bounds"
    page = scored(capsys, *words, "--format", "html")
    assert "1 of 1 value is not proved, and places 1 to 2 may depend on that." in " ".join(page.split())
    assert "at least" in page


def test_what_the_page_of_tcec_reads(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "event"
    words = ("--format", "tcec-json", "--order", "tcec", "--out", str(out))
    paths = out / "crosstable.json", out / "schedule.json"
    assert scored(capsys, MATCH, *words).splitlines() == list(map(str, paths))
    crosstable, schedule = (json.loads(path.read_text()) for path in paths)
    assert len(schedule) == 12
    assert schedule[0].items() >= {
        *(("Game", 1), ("White", "sf"), ("Result", "1/2-1/2"), ("RMobilityResult", "G1.5")),
        *(("Termination", "3-fold repetition"), ("Moves", 11), ("Start", "07:00:17 on 2026.11.20")),
    }
    assert crosstable["Table"]["sf"]["RMobilityScore"] == 7.8086


def test_results_lead_to_the_explorer(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    games = (
        '[White "A & B"]\n[Black "C"]\n\n1. f3 e5 2. g4 Qh4# 0-1',
        '[White "C"]\n[Black "D"]\n\n1. e4 1-0\n',
    )
    path.write_text("\n\n".join(games))
    words = (str(path), "--format", "html", "--explorer", "https://example.org/explorer/")
    page = html5lib.parse(scored(capsys, *words), namespaceHTMLElements=False)
    links = [(link.text, urlsplit(str(link.get("href")))) for link in page.iter("a")]
    assert [text for text, _ in links] == ["-G0.0", "G0.0"]
    assert {(url.netloc, url.path) for _, url in links} == {("example.org", "/explorer/")}
    assert parse_qs(links[0][1].query)["line"] == ["f3_e5_g4_Qh4"]
    assert parse_qs(links[0][1].fragment)["game"] == ['[White "A & B"]\n[Black "C"]']
    assert "<a " not in scored(capsys, str(path), "--format", "html", "--tables", "all")
