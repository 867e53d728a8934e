"""The transposition table keeps what was met last, within its bound."""

import chess

from tbgen.engine.memory import ENTRY_BYTES, Bound, Memory, MemoryEntry


def entry(depth: int) -> MemoryEntry:
    return MemoryEntry(1, depth, Bound.EXACT, 7, chess.Move.from_uci("e2e4"))


def test_it_keeps_and_forgets() -> None:
    memory, room = Memory(1), (1 << 20) // ENTRY_BYTES
    for state in range(3 * room):
        memory.put(state, entry(state))
        assert memory.get(state) == entry(state)
    assert memory.get(0) is None
    kept = sum(memory.get(state) is not None for state in range(3 * room))
    assert room // 2 <= kept <= room
    assert memory.get(3 * room - room // 2) == entry(3 * room - room // 2)
    assert 500 <= memory.permille <= 1000
    memory.clear()
    assert (memory.permille, memory.get(3 * room - 1)) == (0, None)


def test_searches_have_numbers_of_their_own() -> None:
    memory = Memory(1)
    assert memory.new_search() != memory.new_search()
