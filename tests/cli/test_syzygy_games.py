"""``--syzygy`` of ``tbgen tag``, ``score`` and ``adjudicate``, with the files of three men."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, fields
from inspect import get_annotations
from pathlib import Path
from typing import Any

import pytest

from tbgen.beyond import solver
from tbgen.beyond.budget import Budget
from tbgen.beyond.extra_sources import ExtraSources
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.solution import Solution
from tbgen.board.score import GScore
from tbgen.board.scoring import ANYTHING
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.cli.solver_options import SolvingOptions, SourceOptions
from tbgen.errors import UsageError
from tbgen.probe.tablebase import Tablebase
from tests.support.commands import Capture, answer, failure, said
from tests.support.paths import ROOT, SYZYGY_FILES
from tests.support.solving import CASTLING, WALL

WON = "8/8/8/3K4/8/8/8/kq6 w - - 9 60"
DRAWN = "8/8/8/4k3/8/4K3/4P3/8 w - - 4 60"
NO_FILE = "8/8/8/3k4/8/5p2/8/KR6 b - - 3 60"
MATE = '[White "A"]\n[Black "B"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n'


def stopped(fen: str) -> str:
    tags = f'[White "A"]\n[Black "B"]\n[FEN "{fen}"]\n[FENAccrued "G4.5"]\n[Result "1/2-1/2"]\n'
    return f"{tags}\n{{Draw by adjudication: SyzygyTB}} 1/2-1/2\n\n"


@pytest.fixture
def games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TBGEN_DIR", str(tmp_path))
    path = tmp_path / "games.pgn"
    path.write_text("".join(map(stopped, (WON, DRAWN, NO_FILE, NO_FILE, CASTLING, WALL))) + MATE)
    return path


def test_several_directories(games: Path, capsys: Capture) -> None:
    queen, rook = (games.with_name(name) for name in ("queen", "rook"))
    for name, directory in (("KQvK", queen), ("KRvK", rook)):
        directory.mkdir()
        shutil.copy(SYZYGY_FILES / f"{name}.rtbw", directory)
    for between in (":", ";"):
        text = answer(capsys, "adjudicate", WON, "--syzygy", f"{rook}{between}{queen}")
        assert "basis           syzygy" in text


def test_a_damaged_file(games: Path, capsys: Capture) -> None:
    out, damaged = games.with_name("out.pgn"), games.with_name("damaged")
    shutil.copytree(SYZYGY_FILES, damaged)
    (damaged / "KQvK.rtbw").write_bytes(b"nothing")
    text = failure(capsys, 1, "tag", str(games), str(out), "--syzygy", str(damaged))
    assert text.startswith(f"tbgen: game 1, line 1: {damaged / 'KQvK.rtbw'}: this Syzygy file ")
    assert text.endswith("is damaged or cannot be read: compare the files with their published checksums\n")
    assert not out.exists()


@pytest.mark.exhaustive
def test_solving_goes_on_from_files(games: Path, capsys: Capture) -> None:
    """With four men and no tables, the files of three men decide after captures and promotions."""
    words = ("adjudicate", "4k3/3p4/8/4P3/8/8/8/4K3 b - - 1 60", "--solve", "--solve-time", "1h")
    out, _ = said(capsys, 0, *words, "--syzygy", SYZYGY_FILES)
    assert "result          -G0.0  (Black holds it)\nbasis           solved\n" in out


def test_positions_are_solved_again_with_more_files(games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions are not solved again with the same number of files."""
    asked, knowledge = list[int](), solver.make_exit_bounds

    def known(tables: Tablebase, budget: Budget, **others: Any) -> ExitBounds:
        asked.append(others["extra"].file_count)
        return knowledge(tables, budget, **others)

    def solved(*_: object, **__: object) -> Solution:
        accrued, (lower, upper) = GScore("G4.5"), ANYTHING
        return Solution(accrued, accrued, lower, upper, None, (), 0)

    monkeypatch.setattr(solver, "solve", solved)
    monkeypatch.setattr(solver, "make_exit_bounds", known)
    games.write_text(stopped(WALL))
    words = ["tag", str(games), str(games), "--solve", "--solve-results", str(games.with_name("results"))]
    for more in ((), ("--syzygy", str(SYZYGY_FILES)), ("--syzygy", str(SYZYGY_FILES)), ()):
        assert main([*words, *more]) == 0
    assert asked == [0, 5]


def test_every_exit_source_has_an_option_counts_and_is_refused_if_nothing_is_solved() -> None:
    """Referees use Syzygy files, too, which are therefore never refused."""

    @dataclass(frozen=True)
    class MoreOptions(SourceOptions):
        oracle: Sequence[str] = ()
        theorem: bool = False

    absent: dict[str, Any] = dict.fromkeys(field.name for field in fields(SolvingOptions))
    options = SolvingOptions(**absent)
    for source in fields(ExtraSources):
        assert source.name in get_annotations(SourceOptions)
        for page in ("solve", "solve_reference", "referee"):
            assert f"--{source.name.replace('_', '-')}" in (ROOT / "docs" / f"{page}.md").read_text(), page
        sources: Any = SourceOptions(**{source.name: ["one", "two"]})
        assert (sources.file_count, len(sources.exit_sources())) == (2, 1), source.name
    for sources, count in ((MoreOptions(oracle=["a", "b"], theorem=True), 3), (MoreOptions(), 0)):
        assert sources.file_count == count
    with options.watch(Variant.R_MOBILITY, SourceOptions(syzygy=["file"])) as watch:
        assert watch.solver is None
    with pytest.raises(UsageError, match="--oracle has no effect alone: add --solve"):
        options.watch(Variant.R_MOBILITY, MoreOptions(oracle=["a"])).__enter__()
