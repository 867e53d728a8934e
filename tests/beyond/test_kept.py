"""Cells on disk."""

import os
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Event

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

import tbgen
from tbgen.beyond import solved_cells
from tbgen.beyond.budget import Budget, Meter
from tbgen.beyond.extra_sources import ExtraSources
from tbgen.beyond.kept import KeptCells
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.layers import CellLayers
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.solver import make_exit_bounds
from tbgen.beyond.table_source import Tables
from tbgen.beyond.threshold_cells import ThresholdCells
from tbgen.board.score import NONE, Code, GScore
from tbgen.cells.bounds import ENDS, LOWER, WORST, Bounds, CallbackBoundsSource
from tbgen.cells.cell import Cell
from tbgen.cells.file import CellFileError, PackedBounds, check_cell, encode_cell, name_of
from tbgen.cells.frames import MIN_THREADED_SLOTS
from tbgen.cells.games import Games
from tbgen.cells.packing import pack, pack_threshold, unpack, unpack_threshold
from tbgen.cells.threshold import Threshold, ThresholdSolution
from tbgen.errors import TbgenError, UsageError
from tbgen.probe.syzygy import Syzygy
from tests.support.disks import refuse, small_disk
from tests.support.paths import DATA
from tests.support.same_bounds import is_same

FEN = "4k3/2p5/2P5/8/8/8/2B5/4K3 w - - 0 1"

pytestmark = pytest.mark.usefixtures("compiled")


def cell(square: chess.Square = chess.A2, *, rook: bool = True) -> Cell:
    """Return a cell with a pawn, in which the rook is mobile or frozen."""
    board = chess.Board("4k3/8/8/8/8/8/8/4K2R w - - 0 1")
    board.set_piece_at(square, chess.Piece(chess.PAWN, chess.WHITE))
    return Cell.of_board(board, [chess.E1, chess.E8, chess.H1][: 2 + rook]).canonical()[0]


@cache
def places(of: Cell) -> NDArray[np.bool_]:
    """Return which slots of a cell are positions, shape (2 sides, slots)."""
    return Games(of, CallbackBoundsSource()).solve().value[0] != NONE


def bounds(of: Cell, seed: int = 1) -> Bounds:
    """Return made-up bounds, which are all exact."""
    rng = np.random.default_rng(seed)
    shape = 2, 2, of.size
    value = np.where(places(of), rng.integers(1, 9, shape, np.uint8), NONE).astype(np.uint8)
    return Bounds(of, value, np.where(places(of), rng.integers(0, 9, shape), 0).astype(np.uint16))


def put(kept: KeptCells, bounds: Bounds) -> bool:
    return kept.put(bounds.cell, pack(bounds))


def got(kept: KeptCells, of: Cell) -> Bounds | None:
    packed = kept.get(of)
    return None if packed is None else unpack(packed, of)


def same(one: Bounds | None, other: Bounds) -> bool:
    return one is not None and one.cell == other.cell and is_same(one, other)


def test_what_is_put_can_be_got(tmp_path: Path) -> None:
    kept = KeptCells(tmp_path / "new" / "cells")
    assert got(kept, cell()) is None
    assert put(kept, bounds(cell()))
    assert same(got(kept, cell()), bounds(cell()))
    assert got(kept, cell(chess.A3)) is None
    put(kept, bounds(cell(), 2))
    again = KeptCells(tmp_path / "new" / "cells")
    assert same(got(again, cell()), bounds(cell(), 2))
    (path,) = (tmp_path / "new" / "cells").iterdir()
    assert path.name.startswith("KRPvK.")
    path.unlink()
    path.symlink_to(os.devnull)  # it is not read, because reading a pipe would wait for its writer
    assert cell() not in again


def test_small_cells_are_not_kept(tmp_path: Path) -> None:
    small = Cell.of_board(chess.Board("4k3/8/8/8/8/8/P7/4K3 w - - 0 1"), [chess.E1, chess.E8])
    assert not put(KeptCells(tmp_path), Games(small, CallbackBoundsSource()).solve())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("at", [0.0, 0.00001, 0.3, 0.999999, None])
def test_a_damaged_cell_is_not_used(at: float | None, tmp_path: Path) -> None:
    """One byte is changed, or the last one is missing."""
    put(KeptCells(tmp_path), bounds(cell()))
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    if at is None:
        del data[-1]
    else:
        data[int(at * len(data))] ^= 0xFF
    path.write_bytes(data)
    notes: list[str] = []
    kept = KeptCells(tmp_path, warn=notes.append)
    assert kept.get(cell()) is None
    assert kept.get(cell()) is None
    assert cell() not in kept
    assert len(notes) == 1
    assert notes[0].startswith(f"{path} is not used, and will be replaced when its cell is solved again: it ")
    put(kept, bounds(cell()))
    assert same(got(kept, cell()), bounds(cell()))


def threshold(bound: int = 5, seed: int = 1) -> ThresholdSolution:
    """Return a made-up solution for the cell."""
    proved = np.random.default_rng(seed).integers(0, 1 << 63, (2, cell().size // 64), np.uint64)
    return ThresholdSolution(Threshold(LOWER, Code(bound)), proved, np.empty((2, 0), np.uint8))


def same_proofs(one: ThresholdSolution, *others: ThresholdSolution) -> bool:
    """Return whether the first solution has the positions of all the others together."""
    union = np.bitwise_or.reduce([other.proved for other in others])
    return one.threshold == others[0].threshold and np.array_equal(one.proved, union)


def test_thresholds_have_files_of_their_own(tmp_path: Path) -> None:
    kept = KeptCells(tmp_path)
    for solution in (threshold(), threshold(253, 2)):
        assert kept.put(cell(), pack_threshold(solution))
    put(kept, bounds(cell()))
    assert cell() in kept
    again = KeptCells(tmp_path)
    assert same(got(again, cell()), bounds(cell()))
    read = {each.bound: unpack_threshold(each, cell()) for each in again.thresholds(cell())}
    assert same_proofs(read[5], threshold())
    assert same_proofs(read[253], threshold(253, 2))
    assert list(again.thresholds(cell(chess.A3))) == []
    for path in tmp_path.iterdir():
        assert len(check_cell(path)) == 64
        other = path.with_name(path.name.replace("lower005", "upper005"))
        if other != path:
            other.write_bytes(path.read_bytes())
            with pytest.raises(CellFileError, match="it contains the cell"):
                check_cell(other)


def test_later_searches_find_thresholds(tmp_path: Path) -> None:
    """What has been proved remains proved, even if a later solution finds less."""
    cells = ThresholdCells(KeptCells(tmp_path))
    assert cell() not in cells
    KeptCells(tmp_path).put(cell(), pack_threshold(threshold()))
    cells = ThresholdCells(KeptCells(tmp_path))
    assert cells.thresholds(cell()) == {threshold().threshold}
    cells.add(cell(), threshold(seed=2))
    assert same_proofs(cells.solution(cell(), threshold().threshold), threshold(), threshold(seed=2))
    (solution,) = cells.solve({cell(): [Threshold(LOWER, Code(249))]}, lambda *_: False)
    later = ThresholdCells(KeptCells(tmp_path))
    assert later.thresholds(cell()) == {threshold().threshold, solution.threshold}
    assert same_proofs(later.solution(cell(), solution.threshold), solution)


@pytest.mark.parametrize("way", ["damaged", "short", "of another cell", "bounds"])
def test_an_unusable_threshold_is_left_out(way: str, tmp_path: Path) -> None:
    kept = KeptCells(tmp_path)
    kept.put(cell(), pack_threshold(threshold()))
    (path,) = tmp_path.iterdir()
    if way == "damaged":
        path.write_bytes(path.read_bytes()[:-1])
    elif way == "short":
        kept.put(cell(), pack_threshold(threshold()._replace(proved=np.zeros((2, 1), np.uint64))))
    else:
        of = cell(chess.A3) if way == "of another cell" else cell()
        other = pack_threshold(threshold()) if way == "of another cell" else pack(bounds(cell()))
        path.write_bytes(encode_cell(name_of(of), other))
    notes: list[str] = []
    assert cell() not in ThresholdCells(KeptCells(tmp_path, warn=notes.append))
    assert len(notes) == 1
    assert f"{path} is not used" in notes[0]


def test_cells_of_other_versions(tmp_path: Path) -> None:
    (tmp_path / "0123.cell.h5").write_bytes(b"HDF")
    put(KeptCells(tmp_path, warn=lambda _: None), bounds(cell()))
    (path,) = tmp_path.glob("*.cell")
    path.write_bytes(path.read_bytes().replace(b"tbgen cell 2", b"tbgen cell 9"))
    notes: list[str] = []
    kept = KeptCells(tmp_path, warn=notes.append)
    assert kept.get(cell()) is None
    assert notes == [
        f"{tmp_path} has 1 cells of an earlier version, which are of no use: remove them",
        f"{path} is not used, and will be replaced when its cell is solved again: "
        "it was written by another version of tbgen (tbgen cell 9)",
    ]


def test_bounds_that_do_not_distinguish_all_scores(tmp_path: Path) -> None:
    """Earlier versions have kept them. They remain bounds, but the cell has to be solved."""
    packed = PackedBounds(pack(bounds(cell())).sides, (250, 5))
    KeptCells(tmp_path).put(cell(), packed)
    cells = SolvedCells(KeptCells(tmp_path))
    assert same(cells.get(cell()), bounds(cell()))
    assert cells.ends(cell()) == ()


def test_another_cell_under_its_name(tmp_path: Path) -> None:
    kept = KeptCells(tmp_path, warn=lambda _: None)
    put(kept, bounds(cell()))
    (one,) = tmp_path.iterdir()
    put(kept, bounds(cell(chess.A3)))
    (other,) = set(tmp_path.iterdir()) - {one}
    other.write_bytes(one.read_bytes())
    assert got(kept, cell(chess.A3)) is None
    assert same(got(kept, cell()), bounds(cell()))


def test_bounds_of_another_cell_are_refused() -> None:
    with pytest.raises(ValueError, match="operands"):
        unpack(pack(bounds(cell())), Cell.of_board(chess.Board(FEN), [chess.E1, chess.E8]))


def test_least_recently_used_cells_are_removed(tmp_path: Path) -> None:
    squares = chess.A2, chess.A3, chess.A4
    kept = KeptCells(tmp_path)
    for number, square in enumerate(squares):
        put(kept, bounds(cell(square)))
        for path in tmp_path.iterdir():
            os.utime(path, (number, number))
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert kept.get(cell(chess.A2)) is not None  # used, so it stays
    kept = KeptCells(tmp_path, max_bytes=size + 100)
    put(kept, bounds(cell(chess.A5)))
    assert len(list(tmp_path.iterdir())) == 3
    assert kept.get(cell(chess.A2)) is not None
    assert kept.get(cell(chess.A5)) is not None
    other = tmp_path / "mine.cell"  # only cells are counted and removed
    other.write_bytes(b"mine" * 1000)
    put(KeptCells(tmp_path, max_bytes=1), bounds(cell(chess.A6)))
    assert list(tmp_path.iterdir()) == [other]


def test_cells_that_depend_on_unproved_bounds_are_kept_apart(tmp_path: Path, small: Path) -> None:
    """These depend on Syzygy files; without the files they are neither read nor published."""
    kept = KeptCells(tmp_path)
    with tbgen.open_tablebase(small) as tables, Syzygy(DATA / "syzygy") as files:
        (apart, own) = (
            make_exit_bounds(tables, Budget(), kept, ExtraSources(each)).cells for each in (files, None)
        )
    assert own.kept is kept
    assert apart.kept is not None
    put(apart.kept, bounds(cell()))
    assert (cell() in apart.kept, cell() in kept) == (True, False)
    put(kept, bounds(cell(chess.A3)))
    assert same(got(apart.kept, cell(chess.A3)), bounds(cell(chess.A3)))
    put(kept, bounds(cell(), 2))
    assert (same(got(apart.kept, cell()), bounds(cell())), same(got(kept, cell()), bounds(cell(), 2))) == (
        True,
        True,
    )
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["unproved"]


def test_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not a directory"):
        KeptCells(tmp_path / "file")
    with pytest.raises(TbgenError, match="choose another directory for cells"):
        KeptCells(tmp_path / "file" / "below")


@pytest.mark.parametrize("full", [True, False])
def test_kept_cells_remain_if_no_more_can_be_written(
    full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk, or in a directory that cannot be written."""
    notes: list[str] = []
    with small_disk(tmp_path, 900) if full else nullcontext():
        assert put(KeptCells(tmp_path), bounds(cell()))
        if not full:
            monkeypatch.setattr("tbgen.system.files.os.open", refuse)
        solved = SolvedCells(KeptCells(tmp_path, warn=notes.append))
        for square in (chess.A3, chess.A4):
            solved.add(bounds(cell(square)))
        solved.wait_for_packing()
        assert len(notes) == 1
        assert notes[0].startswith("the disk is full: ") is full
        assert notes[0].endswith("; solving continues without keeping further cells")
        assert full or "choose another directory for cells" in notes[0]
        for square in (chess.A2, chess.A3, chess.A4):
            assert same(solved.get(cell(square)), bounds(cell(square)))
        assert len(list(tmp_path.iterdir())) == 1


def test_bounds_that_others_have_written_since_count(tmp_path: Path) -> None:
    solved, here, there = SolvedCells(KeptCells(tmp_path)), bounds(cell(), 1), bounds(cell(), 2)
    best = np.stack([np.minimum(here.value[0], there.value[0]), np.maximum(here.value[1], there.value[1])])
    assert not any(np.array_equal(each.value, best) for each in (here, there))
    other = SolvedCells(KeptCells(tmp_path))
    for cells, seed in ((solved, 1), (other, 2), (solved, 1)):
        cells.add(bounds(cell(), seed))
        cells.wait_for_packing()
    found = solved.get(cell())
    assert found is not None
    assert np.array_equal(found.value, best)
    assert same(got(KeptCells(tmp_path), cell()), found)


def test_layers_are_made_again_if_others_have_proved_more_since(tmp_path: Path) -> None:
    """The bounds of a reopened cell may differ from those that its layers were made from."""
    of, accrued = cell(), GScore("G3.0").code
    with tbgen.open_tablebase(tmp_path) as tables:
        known = ExitBounds(Tables(tables), SolvedCells(KeptCells(tmp_path / "cells")))
        known.cells.add(Games(of, known).solve())
        layers = CellLayers(known, Meter(Budget()), of, None)
        for expected in (False, True, True):
            fresh = known.cells.get(of)
            assert fresh is not None
            assert layers.is_made(of, accrued) == expected
            layers.layer(fresh, accrued)
            known.cells.close_all()
        somebody = SolvedCells(KeptCells(tmp_path / "cells"))
        somebody.add(bounds(of))
        somebody.wait_for_packing()
        assert known.cells.get(of) is not None
        assert not layers.is_made(of, accrued)


@pytest.mark.parametrize("end", ENDS)
def test_a_cell_kept_at_one_end_is_solved_at_both(end: int, four_men: Path, tmp_path: Path) -> None:
    """A stopped run may have solved only one end, and no cell below shows that the other end is missing."""
    first = tbgen.solve(FEN, tables=four_men, kept=KeptCells(tmp_path))
    of = Cell.of_board(chess.Board(FEN), [chess.E1, chess.C2, chess.E8]).canonical()[0]
    whole = got(KeptCells(tmp_path), of)
    assert whole is not None
    value = np.where(whole.value == NONE, NONE, np.array(WORST, np.uint8)[:, None, None])
    value[end] = whole.value[end]
    assert put(KeptCells(tmp_path), replace(whole, value=value, ends=(end,)))
    found = got(KeptCells(tmp_path), of)
    assert found is not None
    assert found.ends == (end,)
    again = tbgen.solve(FEN, tables=four_men, kept=KeptCells(tmp_path))
    assert again.value == first.value is not None


def test_a_cell_is_available_while_it_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is packed and kept in the background."""
    go_on = Event()

    def slowly(bounds: Bounds) -> PackedBounds:
        assert go_on.wait(600)
        return pack(bounds)

    monkeypatch.setattr(solved_cells, "pack", slowly)
    solved, there = SolvedCells(KeptCells(tmp_path), open_bytes=0), bounds(cell())
    solved.add(there)
    solved.close_all()
    assert cell() in solved
    assert same(solved.get(cell()), there)
    assert not list(tmp_path.iterdir())
    at_work = solved.nbytes
    go_on.set()
    solved.wait_for_packing()
    solved.close_all()
    assert solved.nbytes == 0 < there.nbytes < at_work
    assert same(solved.get(cell()), there)


def test_a_cell_that_is_not_kept_on_disk_is_packed_when_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not packed each time that it is solved again, and stays available."""
    packed, go_on = list[Bounds](), Event()

    def noted(bounds: Bounds) -> PackedBounds:
        packed.append(bounds)
        assert go_on.wait(600)
        return pack(bounds)

    monkeypatch.setattr(solved_cells, "pack", noted)
    first, other, small = cell(), cell(chess.A4), cell(rook=False)
    assert small.size < MIN_THREADED_SLOTS <= first.size
    solved = SolvedCells(open_bytes=bounds(first).nbytes + bounds(small).nbytes)
    for seed in (1, 2):
        solved.add(bounds(first, seed))
    assert not packed
    best = solved.get(first)
    assert best is not None
    solved.add(bounds(other))  # which closes the first one
    assert first in solved
    assert solved.get(first) is best
    assert solved.nbytes > best.nbytes + bounds(other).nbytes
    go_on.set()
    solved.wait_for_packing()
    assert [each is best for each in packed] == [True]
    assert same(solved.get(first), best)
    solved.wait_for_packing()
    assert [each.cell for each in packed] == [first, other]
    assert same(solved.get(other), bounds(other))
    solved.add(bounds(small))
    solved.add(bounds(other, 2))
    solved.close_all()
    solved.wait_for_packing()
    assert [each.cell for each in packed[2:]] == [small, other]
    assert solved.nbytes == sum(pack(each).nbytes for each in (best, *packed[2:]))
    assert not same(solved.get(other), bounds(other))
    while solved.close_one():
        pass
    assert [each.cell for each in packed[2:]] == [small, other]


def test_a_cell_that_cannot_be_packed_is_available_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(bounds: Bounds) -> PackedBounds:
        raise MemoryError("no room")

    solved, there = SolvedCells(), bounds(cell())
    solved.add(there)
    monkeypatch.setattr(solved_cells, "pack", fails)
    solved.close_all()
    with pytest.raises(MemoryError, match="no room"):
        solved.wait_for_packing()
    assert cell() in solved
    assert same(solved.get(cell()), there)
    assert solved.nbytes > there.nbytes
    monkeypatch.undo()
    solved.add(bounds(cell(), 2))
    solved.close_all()
    solved.wait_for_packing()
    assert cell() in solved
    assert solved.nbytes < there.nbytes


def test_the_next_position_uses_kept_cells(own: Path, tmp_path: Path) -> None:
    first = tbgen.solve(FEN, tables=own, budget=Budget(cells=4), kept=KeptCells(tmp_path / "cells"))
    assert first.cells
    none = Budget(cells=0)
    again = tbgen.solve(FEN, tables=own, budget=none, kept=KeptCells(tmp_path / "cells"))
    assert (again.cells, again.lower, again.upper) == (0, first.lower, first.upper)
    alone = tbgen.solve(FEN, tables=own, budget=none)
    assert alone.lower < again.lower or alone.upper > again.upper
