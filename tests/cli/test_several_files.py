"""Several files and patterns for ``tbgen tag``, ``score`` and ``adjudicate``, and one summary of them all."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tbgen.cli.main import main
from tbgen.games.tagging import Adjudicator, tag_games
from tbgen.probe.tablebase import Tablebase

MATE = '[White "A"]\n[Black "B"]\n[Result "0-1"]\n\n1. f3 e5 2. g4 Qh4# 0-1'
CUT = '[White "B"]\n[Black "A"]\n[Result "1/2-1/2"]\n[PlyCount "93"]\n\n1. e4 e5\n\n'
TABLES = "".join(
    f'[White "A"]\n[Black "B"]\n[FEN "8/8/8/4K{man}k1/8/8/8/8 b - - 0 1"]\n\n1/2-1/2\n\n' for man in "RBR"
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with three rounds in it."""
    monkeypatch.setenv("TBGEN_DIR", "there/are/none")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "round1.pgn").write_text(MATE)
    (tmp_path / "round2.pgn.gz").write_bytes(gzip.compress(CUT.encode()))
    (tmp_path / "round3.pgn").write_text(TABLES)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, list[str]]:
    """What a command prints, and the lines that it says on stderr."""
    assert main([*words, *(["--jobs", "1"] if words[0] != "adjudicate" else [])]) == code
    output = capsys.readouterr()
    return output.out, output.err.splitlines()


def tagged(data: bytes) -> bytes:
    return b"".join(game.data for game in tag_games(io.BytesIO(data), Adjudicator()))


REMARKS = [
    "tbgen: 1 doubtful game (truncated): the last moves are missing; the tag Result counts, and of a draw "
    "the score accrued by then: round2.pgn.gz, game 1, line 1",
    "tbgen: 2 tables are missing for 3 games; build them with: tbgen build KBvK KRvK",
]


def test_one_summary_with_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["score"], ["adjudicate"]):
        assert run(capsys, *words, "round*")[1] == REMARKS
    assert run(capsys, "tag", "round*", "all.pgn")[1] == [
        *REMARKS,
        "tbgen: 5 games tagged (1 mate, 1 played, 3 with a table missing)",
    ]


def test_games_that_count_by_their_tags_are_as_doubtful(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "tag", "round1.pgn", "round2.pgn.gz", "all.pgn")
    _, said = run(capsys, "score", "all.pgn")
    assert said == [REMARKS[0].replace("round2.pgn.gz, game 1, line 1", "game 2, line 14")]


def test_in_documents(capsys: pytest.CaptureFixture[str]) -> None:
    counts = {"truncated": {"games": 1, "first": ["round2.pgn.gz, game 1, line 1"]}}
    document = json.loads(run(capsys, "score", "round*", "--json")[0])
    assert (document["doubts"], document["missing_tables"]) == (counts, {"KBvK": 1, "KRvK": 2})
    assert [game.get("doubts") for game in document["games"]] == [None, ["truncated"], None, None, None]
    document = json.loads(run(capsys, "tag", "round*", "all.pgn", "--json")[0])
    assert document["sources"] == ["round1.pgn", "round2.pgn.gz", "round3.pgn"]
    assert (document["target"], document["doubts"]) == ("all.pgn", counts)
    games = json.loads(run(capsys, "adjudicate", "round*", "--json")[0])["games"]
    assert [game.get("doubts") for game in games] == [None, ["truncated"], None, None, None]


def test_files_join_in_order(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With an empty line between them; a pattern adds no file that is there already."""
    run(capsys, "tag", "round3.pgn", "round*", "all.pgn")
    data = TABLES.encode() + MATE.encode() + b"\n\n" + CUT.encode()
    assert (place / "all.pgn").read_bytes() == tagged(data)


def test_each_file_into_a_directory(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "tagged").mkdir()
    run(capsys, "tag", "round[12]*", "tagged")
    assert sorted(path.name for path in (place / "tagged").iterdir()) == ["round1.pgn", "round2.pgn.gz"]
    assert (place / "tagged" / "round1.pgn").read_bytes() == tagged(MATE.encode())
    assert gzip.decompress((place / "tagged" / "round2.pgn.gz").read_bytes()) == tagged(CUT.encode())
    run(capsys, "tag", "round1.pgn", ".")
    assert (place / "round1.pgn").read_bytes() == tagged(MATE.encode())


def test_a_slash_makes_a_directory_and_a_file_without_games_stops_no_other(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "round0.pgn").write_text("garbage")
    _, said = run(capsys, "tag", "round[01]*", "made/tagged/", code=2)
    assert said == [
        "tbgen: round0.pgn, game 1, line 1: no PGN, as it has neither tags nor moves; left as it is",
        "tbgen: no game of round0.pgn can be read, so nothing is written",
        "tbgen: 1 game tagged (1 mate), 1 broken and left as it is",
    ]
    assert [path.name for path in (place / "made" / "tagged").iterdir()] == ["round1.pgn"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["score", "*.png"], "no file matches '*.png': name a PGN file, or another pattern"),
        (["adjudicate", "round1.pgn", "*.png"], "no file matches '*.png'"),
        (["tag", "*.png", "out.pgn"], "no file matches '*.png'"),
        (["score", "round1.pgn", "round9.pgn"], "there is no file 'round9.pgn': expected a PGN file"),
        (["tag", "round1.pgn"], "name files to tag, and last the one to write; see: tbgen tag --help"),
        (
            ["tag", "round1.pgn", "round2.pgn.gz", "round3.pgn"],
            "round3.pgn is there already: name a new file",
        ),
        (["tag", "-", "."], ". is a directory: name files for it that have different names"),
        (["tag", "round1.pgn", "./round1.pgn", "."], "name files for it that have different names"),
    ],
)
def test_bad_names(place: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in place.iterdir()}
    out, said = run(capsys, *words, code=2)
    assert (out, len(said)) == ("", 1)
    assert sentence in said[0]
    assert {path: path.read_bytes() for path in place.iterdir()} == before


def test_a_name_that_looks_like_a_pattern(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "round[1].pgn").write_text(MATE)
    out, _ = run(capsys, "adjudicate", "round[1].pgn", "--json")
    assert [game["file"] for game in json.loads(out)["games"]] == ["round[1].pgn"]


def test_a_broken_game_is_named_with_its_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "round4.pgn").write_text('[Event "1"]\n\n1. Ke2 *\n')
    sentence = "round4.pgn, game 1, line 3, ply 1: 'Ke2' is not a legal move"
    assert run(capsys, "adjudicate", "round[14]*", code=2)[1] == [f"tbgen: {sentence}"]
    assert run(capsys, "score", "round[14]*")[1][0] == f"tbgen: {sentence}; left out"


def test_tables_stay_open_from_file_to_file(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Tablebase] = []

    def opening(*words: Any, **options: Any) -> Tablebase:
        opened.append(Tablebase(*words, **options))
        return opened[-1]

    monkeypatch.setattr("tbgen.games.tagging.tagged.Tablebase", opening)
    assert main(["tag", "round*", "all.pgn", "--jobs", "1"]) == 0
    assert len(opened) == 1


def test_strict_refuses_doubtful_games(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["score", "round*"], ["tag", "round*", "all.pgn"]):
        _, said = run(capsys, *words, "--strict", code=2)
        assert said[0].startswith("tbgen: round2.pgn.gz, game 1, line 1: the last moves are missing; the tag")
        assert len(said) == 1
    assert not (place / "all.pgn").exists()
