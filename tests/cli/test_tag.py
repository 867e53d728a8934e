"""``tbgen tag``: what it says of games."""

import errno
import json
import multiprocessing
import os
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.tagging import BROKEN, DATA, DRAW, MATE, expected, fails, names

pytestmark = pytest.mark.usefixtures("no_tables")


def test_adjudication(place: Path, reference_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--dir", str(reference_dir)]
    for options in (["--jobs", "1"], ["--jobs", "2"], ["--require-tables"]):
        assert main([*words, *options]) == 0
        assert capsys.readouterr().err == "tbgen: 2 games tagged (1 mate, 1 tablebase)\n"
        assert b'[RMobilityResult "G1.5"]' in (place / "out.pgn").read_bytes()


@pytest.mark.slow
def test_processes_that_share_no_memory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As everywhere but on Linux, and there since Python 3.14."""
    (place / "in.pgn").write_bytes(DATA * 20)
    context = multiprocessing.get_context("spawn")
    monkeypatch.setattr("tbgen.games.tagging.tagged.get_context", lambda: context)
    assert main(["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "2"]) == 0
    assert (place / "out.pgn").read_bytes() == expected(DATA * 20)


def test_an_error_that_is_none_of_writing(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not blamed on the file that is written."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("tbgen.cli.games.tag_games", refuse)
    assert fails(capsys, 1, place / "in.pgn", place / "out.pgn") == "tbgen: the system: Too many open files\n"
    assert names(place) == ["in.pgn"]


def test_a_summary_for_programs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It counts what no table can hold and what a missing table would tell apart."""
    source, target = place / "in.pgn", place / "out.pgn"
    start = '[Event "4"]\n\n1. e4 e5 *\n\n'
    rook = '[Event "5"]\n[FEN "8/8/8/4KRk1/8/8/8/8 b - - 0 1"]\n\n*\n\n'
    odd = MATE.replace("[Result", '[RMobilityScoring "Best of three"]\r\n[Result')
    source.write_text(DRAW + MATE + BROKEN + start + odd + rook)
    words = ["tag", str(source), str(target), "--jobs", "1"]
    assert main([*words, "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out) == {
        "sources": [str(source)],
        "target": str(target),
        "games": 5,
        "bases": {"mate": 2, "played": 1, "table missing": 2},
        "broken": 1,
        "doubts": {},
        "missing_tables": {"KBvK": 1, "KRvK": 1},
        "missing_syzygy": {},
        "unknown_scorings": {"Best of three": 1},
        "unsolvable": {},
    }
    told = output.err.splitlines()
    assert len(told) == 3
    assert told[2] == ("tbgen: 2 tables are missing for 2 games; build them with: tbgen build KBvK KRvK")
    assert told[1] == (
        "tbgen: game 5, line 20: there is no scoring 'Best of three', which its tag names, "
        "so its points are exponential"
    )
    assert main(words) == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        "tbgen: 5 games tagged (2 mate, 1 played, 2 with a table missing), "
        "1 of an unknown scoring with exponential points, 1 broken and left as it is"
    )
    tagged = target.read_text()
    assert tagged.count('[RMobilityResult "-G0.0"]') == 2
    assert "Best of three" not in tagged
    sentence = fails(capsys, 2, source, "-", "--json")
    assert sentence == (
        "tbgen: --json prints to standard output, where the games go too: name a file for them\n"
    )


def test_a_proof_can_be_required(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table that cannot be is not required with the tables that can."""
    source, target = place / "in.pgn", place / "out.pgn"
    source.write_text(MATE + '[Event "4"]\n\n1. e4 e5 *\n\n')
    assert main(["tag", str(source), str(target), "--require-tables"]) == 0
    assert capsys.readouterr().err == "tbgen: 2 games tagged (1 mate, 1 played)\n"
    target.unlink()
    sentence = fails(capsys, 1, source, target, "--require-proof")
    assert sentence == (
        "tbgen: game 2, line 6: no table can prove the result: "
        "the position has 32 men; tables have at most 5, kings included\n"
    )
    assert names(place) == ["in.pgn"]
    source.write_text(DRAW)
    assert "table KBvK is missing" in fails(capsys, 3, source, target, "--require-proof")


def test_broken_games(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = place / "in.pgn", place / "out.pgn"
    source.write_text(MATE + BROKEN + MATE + BROKEN)
    for jobs in ("1", "2"):
        assert main(["tag", str(source), str(target), "--jobs", jobs]) == 0
        assert capsys.readouterr().err.splitlines() == [
            "tbgen: game 2, line 9, ply 3: 'Ke3' is not a legal move; left as it is",
            "tbgen: game 4, line 19, ply 3: 'Ke3' is not a legal move; left as it is",
            "tbgen: 2 games tagged (2 mate), 2 broken and left as they are",
        ]
        assert target.read_bytes().count(BROKEN.encode()) == 2
        target.write_bytes(b"old")
        sentence = fails(capsys, 2, source, target, "--strict", "--jobs", jobs)
        assert sentence == "tbgen: game 2, line 9, ply 3: 'Ke3' is not a legal move\n"
        assert target.read_bytes() == b"old"
        assert names(place) == ["in.pgn", "out.pgn"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--jobs", "0"], "'--jobs': expected a whole number from 1 to 512, not 0"),
        (["--jobs", "two"], "'--jobs': expected a whole number from 1 to 512, not two"),
        (["--scoring", "elo"], "'elo' is not a scoring"),
        (["--cutoff", "-G6"], "'-G6' is not a cutoff"),
        (["--komi", "G5.3"], "'G5.3' is not a komi"),
        (["--fifty-move-rule", "fide"], "'fide' is not a 50-move rule"),
        (["--scoring", "full", "--komi", "G5.5"], "full points need a komi that no score equals"),
        (["--rules", "x"], "there are no rules 'x'"),
        (["more.pgn"], "there is no file"),
    ],
)
def test_bad_options(
    place: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in fails(capsys, 2, place / "in.pgn", place / "out.pgn", *words)
    assert names(place) == ["in.pgn"]


def test_options(place: Path) -> None:
    words = ["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "1", "--rules", "wg"]
    words += ["--scoring", "komi", "--komi", "-G2.25", "--cutoff", "G5", "--fifty-move-rule", "otb"]
    assert main(words) == 0
    text = (place / "out.pgn").read_text()
    for pair in ('Points "0-1"', 'WGMobilityResult "-G0.0"', 'WGMobilityCutoff "G5.0"', 'Komi "-G2.25"'):
        assert f"[{pair}]\n" in text
    assert '[WGMobilityScoring "Komi"]' in text
    assert '[WGMobilityFiftyMoveRule "otb"]' in text
    assert "[RMobility" not in text
