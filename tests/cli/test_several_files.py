"""Several files and patterns for ``tbgen tag``, ``score`` and ``adjudicate``, and one summary of them all."""

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tbgen.cli.main import main
from tbgen.games.tagging import Adjudicator, tag_games
from tbgen.probe.tablebase import Tablebase
from tests.support.commands import Capture, said

MATE = '[White "A"]\n[Black "B"]\n[Result "0-1"]\n\n1. f3 e5 2. g4 Qh4# 0-1'
CUT = '[White "B"]\n[Black "A"]\n[Result "1/2-1/2"]\n[PlyCount "93"]\n\n1. e4 e5\n\n'
TABLES = "".join(
    f'[White "A"]\n[Black "B"]\n[FEN "8/8/8/4K{man}k1/8/8/8/8 b - - 0 1"]\n\n1/2-1/2\n\n' for man in "RBR"
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the files of three rounds."""
    monkeypatch.setenv("TBGEN_DIR", "there/are/none")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "round1.pgn").write_text(MATE)
    (tmp_path / "round2.pgn.gz").write_bytes(gzip.compress(CUT.encode()))
    (tmp_path / "round3.pgn").write_text(TABLES)
    return tmp_path


def run(capsys: Capture, *words: str, code: int = 0) -> tuple[str, list[str]]:
    """Run a command; return its output and the lines on stderr."""
    return said(capsys, code, *words, *(["--jobs", "1"] if words[0] != "adjudicate" else []))


def tagged(data: bytes) -> bytes:
    return b"".join(game.data for game in tag_games(io.BytesIO(data), Adjudicator()))


REMARKS = [
    "tbgen: 1 doubtful game (truncated): the last moves are missing; the tag Result counts, and for a draw "
    "the score accrued by then: round2.pgn.gz, game 1, line 1",
    "tbgen: 2 tables are missing for 3 games; build them with: tbgen build KBvK KRvK",
]


def test_one_summary_with_one_command(capsys: Capture) -> None:
    for words in (["score"], ["adjudicate"]):
        assert run(capsys, *words, "round*")[1] == REMARKS
    assert run(capsys, "tag", "round*", "all.pgn")[1] == [
        *REMARKS,
        "tbgen: 5 games tagged (1 mate, 1 played, 3 with a table missing)",
    ]


def test_games_that_count_by_their_tags_are_as_doubtful(capsys: Capture) -> None:
    run(capsys, "tag", "round1.pgn", "round2.pgn.gz", "all.pgn")
    assert run(capsys, "score", "all.pgn")[1] == [
        REMARKS[0].replace("round2.pgn.gz, game 1, line 1", "game 2, line 14")
    ]


def test_in_documents(capsys: Capture) -> None:
    counts = {"truncated": {"games": 1, "first": ["round2.pgn.gz, game 1, line 1"]}}
    score, tag, adjudicate = (
        json.loads(run(capsys, *words, "--json")[0])
        for words in (["score", "round*"], ["tag", "round*", "all.pgn"], ["adjudicate", "round*"])
    )
    assert (score["doubts"], score["missing_tables"]) == (counts, {"KBvK": 1, "KRvK": 2})
    assert tag["sources"] == ["round1.pgn", "round2.pgn.gz", "round3.pgn"]
    assert (tag["target"], tag["doubts"]) == ("all.pgn", counts)
    for found in (score, adjudicate):
        assert [game.get("doubts") for game in found["games"]] == [None, ["truncated"], None, None, None]


def test_files_join_in_order(place: Path, capsys: Capture) -> None:
    """Files are joined with an empty line between them; a pattern adds no file that is named already.

    A file may have several names.
    """
    os.link("round3.pgn", "round9.pgn")
    run(capsys, "tag", "round3.pgn", "round*", "all.pgn")
    data = TABLES.encode() + MATE.encode() + b"\n\n" + CUT.encode()
    assert (place / "all.pgn").read_bytes() == tagged(data)


def test_each_file_into_a_directory(place: Path, capsys: Capture) -> None:
    (place / "tagged").mkdir()
    run(capsys, "tag", "round[12]*", "tagged")
    assert sorted(path.name for path in (place / "tagged").iterdir()) == ["round1.pgn", "round2.pgn.gz"]
    assert (place / "tagged" / "round1.pgn").read_bytes() == tagged(MATE.encode())
    assert gzip.decompress((place / "tagged" / "round2.pgn.gz").read_bytes()) == tagged(CUT.encode())
    run(capsys, "tag", "round1.pgn", ".")
    assert (place / "round1.pgn").read_bytes() == tagged(MATE.encode())


def test_a_slash_makes_a_directory_and_a_file_without_games_stops_no_other(
    place: Path, capsys: Capture
) -> None:
    (place / "round0.pgn").write_text("garbage")
    assert run(capsys, "tag", "round[01]*", "made/tagged/", code=2)[1] == [
        "tbgen: round0.pgn, game 1, line 1: this is not PGN: it has neither tags nor moves; left as it is",
        "tbgen: no game of round0.pgn can be read, so nothing is written",
        "tbgen: 1 game tagged (1 mate), 1 broken and left as it is",
    ]
    assert [path.name for path in (place / "made" / "tagged").iterdir()] == ["round1.pgn"]


def test_a_name_that_looks_like_a_pattern(place: Path, capsys: Capture) -> None:
    (place / "round[1].pgn").write_text(MATE)
    out, _ = run(capsys, "adjudicate", "round[1].pgn", "--json")
    assert [game["file"] for game in json.loads(out)["games"]] == ["round[1].pgn"]


def test_a_broken_game_is_named_with_its_file(place: Path, capsys: Capture) -> None:
    (place / "round4.pgn").write_text('[Event "1"]\n\n1. Ke2 *\n')
    sentence = "round4.pgn, game 1, line 3, ply 1: 'Ke2' is not a legal move"
    assert run(capsys, "adjudicate", "round[14]*", code=2)[1] == [f"tbgen: {sentence}"]
    assert run(capsys, "score", "round[14]*")[1][0] == f"tbgen: {sentence}; left out"


def test_tables_stay_open_from_file_to_file(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Tablebase] = []

    def opening(*words: Any, **options: Any) -> Tablebase:
        opened.append(Tablebase(*words, **options))
        return opened[-1]

    monkeypatch.setattr("tbgen.games.tagging.Tablebase", opening)
    assert main(["tag", "round*", "all.pgn", "--jobs", "1"]) == 0
    assert len(opened) == 1


def test_strict_refuses_doubtful_games(place: Path, capsys: Capture) -> None:
    for words in (["score", "round*"], ["tag", "round*", "all.pgn"]):
        _, (told,) = run(capsys, *words, "--strict", code=2)
        assert told.startswith("tbgen: round2.pgn.gz, game 1, line 1: the last moves are missing; the tag")
    assert not (place / "all.pgn").exists()
