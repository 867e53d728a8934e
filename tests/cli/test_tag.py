"""``tbgen tag``: its tags and messages about games."""

import errno
import json
import multiprocessing
import os
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.commands import Capture, said
from tests.support.tagging import BROKEN, DATA, DRAW, MATE, expected, fails, names

pytestmark = pytest.mark.usefixtures("no_tables")


def test_adjudication(place: Path, reference_dir: Path, capsys: Capture) -> None:
    words = "tag", place / "in.pgn", place / "out.pgn", "--dir", reference_dir
    for options in (["--jobs", "1"], ["--jobs", "2"], ["--require-tables"]):
        assert said(capsys, 0, *words, *options)[1] == ["tbgen: 2 games tagged (1 mate, 1 tablebase)"]
        assert b'[RMobilityResult "G1.5"]' in (place / "out.pgn").read_bytes()


@pytest.mark.exhaustive
def test_processes_that_share_no_memory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are spawned, as on other systems than Linux, and on Linux since Python 3.14."""
    (place / "in.pgn").write_bytes(DATA * 20)
    context = multiprocessing.get_context("spawn")
    monkeypatch.setattr("tbgen.games.tagging.get_context", lambda: context)
    assert main(["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--jobs", "2"]) == 0
    assert (place / "out.pgn").read_bytes() == expected(DATA * 20)


def test_an_error_that_is_none_of_writing(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """An error other than in writing is not attributed to the output file."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("tbgen.cli.games.tag_games", refuse)
    assert fails(capsys, 1, place / "in.pgn", place / "out.pgn") == "tbgen: the system: Too many open files\n"
    assert names(place) == ["in.pgn"]


def test_a_summary_for_programs(place: Path, capsys: Capture) -> None:
    """Results that no table can hold and results with a missing table are counted separately."""
    source, target = place / "in.pgn", place / "out.pgn"
    start = '[Event "4"]\n\n1. e4 e5 *\n\n'
    rook = '[Event "5"]\n[FEN "8/8/8/4KRk1/8/8/8/8 b - - 0 1"]\n\n*\n\n'
    odd = MATE.replace("[Result", '[RMobilityScoring "Best of three"]\r\n[Result')
    source.write_text(DRAW + MATE + BROKEN + start + odd + rook)
    words = "tag", source, target, "--jobs", "1"
    out, told = said(capsys, 0, *words, "--json")
    assert json.loads(out) == {
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
    assert told[1:] == [
        "tbgen: game 5, line 20: the scoring 'Best of three' of its tag is unknown, "
        "so its points are exponential",
        "tbgen: 2 tables are missing for 2 games; build them with: tbgen build KBvK KRvK",
    ]
    assert said(capsys, 0, *words)[1][-1] == (
        "tbgen: 5 games tagged (2 mate, 1 played, 2 with a table missing), "
        "1 of an unknown scoring with exponential points, 1 broken and left as it is"
    )
    tagged = target.read_text()
    assert tagged.count('[RMobilityResult "-G0.0"]') == 2
    assert "Best of three" not in tagged


def test_a_proof_can_be_required(place: Path, capsys: Capture) -> None:
    """--require-tables does not require tables that cannot exist."""
    source, target = place / "in.pgn", place / "out.pgn"
    source.write_text(MATE + '[Event "4"]\n\n1. e4 e5 *\n\n')
    _, told = said(capsys, 0, "tag", source, target, "--require-tables")
    assert told == ["tbgen: 2 games tagged (1 mate, 1 played)"]
    target.unlink()
    sentence = fails(capsys, 1, source, target, "--require-proof")
    assert sentence == (
        "tbgen: game 2, line 6: no table can prove the result: "
        "the position has 32 men; tables have at most 5, kings included; "
        "try --solve, or omit --require-proof\n"
    )
    assert names(place) == ["in.pgn"]
    source.write_text(DRAW)
    assert "table KBvK is missing" in fails(capsys, 3, source, target, "--require-proof")


def test_broken_games(place: Path, capsys: Capture) -> None:
    source, target = place / "in.pgn", place / "out.pgn"
    source.write_text(MATE + BROKEN + MATE + BROKEN)
    for jobs in ("1", "2"):
        assert said(capsys, 0, "tag", source, target, "--jobs", jobs)[1] == [
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
