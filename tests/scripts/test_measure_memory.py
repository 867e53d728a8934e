"""The script that compares the memory which builds take with what was estimated."""

import sys
from dataclasses import replace

import pytest

from tbgen.board.material import Material
from tests.support.script_modules import load_script

measure_memory = load_script("measure_memory")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of a table is known on Linux alone")

MIB = 1 << 20


def test_an_estimate_may_be_off_by_a_tenth() -> None:
    measured = measure_memory.Measured(Material.parse("KBvK"), 1100 * MIB, 1000 * MIB, 1 << 18)
    assert measured.is_good
    assert replace(measured, estimated=900 * MIB).is_good
    assert not replace(measured, estimated=1101 * MIB).is_good
    assert not replace(measured, estimated=899 * MIB).is_good
    assert measured.ratio == pytest.approx(1000 / 1100)
    assert replace(measured, peak=1001 * MIB).rest - measured.rest == 4
