"""The transposition table keeps what was met last, within its bound."""

import chess

from tbgen.engine.tree_search import ENTRY_BYTES, Memory, MemoryEntry


def entry(depth: int) -> MemoryEntry:
    return MemoryEntry(1, depth, 7, 7, chess.Move.from_uci("e2e4"))


def test_it_keeps_and_forgets() -> None:
    memory, room = Memory(1), (1 << 20) // ENTRY_BYTES
    for state in range(3 * room):
        memory.put(state, entry(state))
        assert memory.get(state) == entry(state)
    assert memory.get(0) is None
    kept = sum(memory.get(state) is not None for state in range(3 * room))
    assert kept == room
    assert memory.get(2 * room) == entry(2 * room)
    assert memory.permille == 1000


def test_a_stored_value_answers_what_its_bounds_decide() -> None:
    move = chess.Move.from_uci("e2e4")
    exact, least, most = (MemoryEntry(1, 1, *ends, move) for ends in ((7, 7), (7, 99), (-99, 7)))
    assert [exact.decides(*ends) for ends in ((0, 9), (0, 7), (7, 9))] == [True, True, True]
    assert [least.decides(*ends) for ends in ((0, 9), (0, 7), (7, 9))] == [False, True, False]
    assert [most.decides(*ends) for ends in ((0, 9), (0, 7), (7, 9))] == [False, False, True]
