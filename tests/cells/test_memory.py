"""Memory and workspaces that are reused from cell to cell."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tbgen.board.score import GScore
from tbgen.cells.frames import WORKSPACES, ReusedMemory, WorkspaceCache, frame_of_cell
from tbgen.cells.games import Games
from tests.support.made_up_exits import MadeUp, cells
from tests.support.same_bounds import is_same

MIB = 1 << 20


def test_memory_is_reused_as_soon_as_no_view_remains() -> None:
    memory = ReusedMemory()
    array = memory.empty((2, 4 * MIB), np.uint16)
    where, view = array.ctypes.data, array[1, 5:].view(np.uint8)
    del array
    other = memory.empty(16 * MIB, np.uint8)
    assert other.ctypes.data != where, "a view remains"
    del view
    assert memory.idle_bytes == 16 * MIB
    again = memory.empty((4 * MIB - 1,), np.uint32)
    assert again.ctypes.data == where
    assert again.dtype == np.uint32
    assert len(again) == 4 * MIB - 1
    assert memory.idle_bytes == 0


def test_only_memory_of_a_fitting_size_is_reused_and_small_arrays_are_not_kept() -> None:
    memory = ReusedMemory()
    memory.empty(16 * MIB, np.uint8)
    smaller, larger = memory.empty(12 * MIB, np.uint8), memory.empty(17 * MIB, np.uint8)
    assert memory.idle_bytes == 16 * MIB
    assert len(smaller) + len(larger) == 29 * MIB
    small = ReusedMemory()
    small.empty(1000, np.uint8)
    assert small.idle_bytes == 0


def test_kept_memory_has_a_maximum() -> None:
    memory = ReusedMemory(max_idle_bytes=24 * MIB)
    arrays = [memory.empty(size * MIB, np.uint8) for size in (8, 9, 12)]
    del arrays[0], arrays[0], arrays[0]
    assert memory.idle_bytes == 21 * MIB
    memory.release()
    assert memory.idle_bytes == 0


def test_threads_never_share_memory() -> None:
    memory = ReusedMemory()

    def write(number: int) -> bool:
        array = memory.empty(4 * MIB, np.uint8)
        array[:] = number
        return bool((array == number).all())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(write, range(40)))


def test_a_workspace_is_lent_to_one_user_at_a_time_and_kept_for_the_next() -> None:
    workspaces = WorkspaceCache()
    frame = frame_of_cell(cells(4, 1)[0]).frame
    with workspaces.lend(frame, True) as first, workspaces.lend(frame, True) as second:
        pass
    assert first.phase.legal is not second.phase.legal
    with workspaces.lend(frame, True) as again, workspaces.lend(frame, True) as other:
        assert {id(workspace.phase.legal) for workspace in (again, other)} == {
            id(workspace.phase.legal) for workspace in (first, second)
        }
        with workspaces.lend(frame, True) as third:
            assert all(third.phase.legal is not workspace.phase.legal for workspace in (first, second))
    with workspaces.lend(frame, False) as unlike:
        assert not unlike.phase.score_resets


def test_a_workspace_is_not_reused_after_an_error() -> None:
    workspaces = WorkspaceCache()
    frame = frame_of_cell(cells(4, 1)[0]).frame
    with pytest.raises(ValueError, match="stopped"), workspaces.lend(frame, True) as first:
        raise ValueError("stopped")
    with workspaces.lend(frame, True) as second:
        assert second.phase.legal is not first.phase.legal


def test_earlier_use_of_a_workspace_makes_no_difference() -> None:
    given, accrued = cells(4, 3), GScore("G3.0")
    alone = []
    for cell in given:
        WORKSPACES.release()
        games = Games(cell, MadeUp())
        bounds = games.solve()
        WORKSPACES.release()
        alone.append((bounds, games.accrued_bounds(bounds, accrued)))
    together = [Games(cell, MadeUp()) for cell in given]
    solved = [games.solve() for games in together]
    for (bounds, layer), games, found in zip(alone, together, solved, strict=True):
        assert is_same(found, bounds)
        assert is_same(games.accrued_bounds(found, accrued), layer)
