"""The C library answers every state of whole tables as they are stored."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.board.material import all_materials
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.index.table import Table, free_men_text, pawns_text
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tests.native.conftest import Build
from tests.support.exhaustive import exhaustive
from tests.support.native import FAST, exported
from tests.support.table_states import layers_of, ranks_of

FRESH = 0x7FFF
"""TBGEN_FRESH of native/tbgen.h."""


@pytest.fixture(scope="module")
def every(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = Path(__file__).with_name("every.c")
    return build(tmp_path_factory.mktemp("every") / "every", source, FAST)


def compared(table: Table, probed: Callable[[int, int], NDArray[Any]]) -> int:
    """Compare all states of a table with what the library says of an accrued score, and return how many there
    are.

    :param probed: takes a score as tbgen.h has it, and the number of columns; its last axis has value, depth
        and, of fresh states, the own score.
    """
    there = table.value != NONE
    fresh = probed(FRESH, 3)
    assert ((fresh[..., 0] & 255)[there] == table.value[there]).all()
    assert (fresh[..., 1][there] == table.depth[there]).all()
    own = np.where(there, fresh[..., 2] & 255, NONE).astype(np.uint8)
    count, ranks = int(there.sum()), ranks_of(own)
    for code, value, depth in layers_of(table, own):
        rank = min(code, 255 - code)
        inherits = there & (ranks >= rank)
        found = probed(code if code < NONE else code - 256, 2)
        assert ((found[..., 0] & 255)[inherits] == value[inherits]).all(), code
        assert (found[..., 1][inherits] == depth[inherits]).all(), code
        count += int(inherits.sum())
    return count


def states_of(table: Table, every: Path, flat: Path) -> int:
    """Compare all states of a table with the library's, and return how many there are."""
    layout = table.layout
    men = [text.replace(" ", "") for text in (free_men_text(layout), pawns_text(layout))]
    with subprocess.Popen([every, flat, *men], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        stdin, stdout = process.stdin, process.stdout
        stdin.write(np.uint32(len(layout.placements)).tobytes())
        stdin.write(np.array(layout.placements, np.uint8).tobytes())

        def probed(score: int, columns: int) -> NDArray[Any]:
            stdin.write(np.int16(score).tobytes())
            stdin.flush()
            data = stdout.read(4 * layout.size * columns)
            return np.frombuffer(data, np.int16).reshape(2, layout.size, columns)

        count = compared(table, probed)
        stdin.close()
        assert process.wait() == 0
    return count


@pytest.mark.parametrize("name", exhaustive([*map(str, all_materials(3)), "KBNvK", "KQvKR", "KPvKP"]))
def test_every_state(name: str, tables: Path, every: Path, tmp_path: Path) -> None:
    with open_table(table_path(tables, name, Variant.R_MOBILITY)) as file:
        assert states_of(file.read(), every, exported(tables, tmp_path, [name]) / "flat") > 10_000
