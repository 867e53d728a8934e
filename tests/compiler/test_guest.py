"""Other functions of numba in the same process are compiled as without tbgen."""

import os
import subprocess
import sys
from pathlib import Path

FOREIGN = """
import sys
import numpy as np

if sys.argv[1:]:
    from tbgen.tables.kernels import questions
    from tests.compiler.test_structs import Numbers, total

    assert total(Numbers(np.arange(5), 4)) == 6

import numba
from numba.experimental import jitclass


@numba.njit(cache=True)
def last(numbers, index):
    return numbers[index]

@numba.njit(boundscheck=True)
def checked(numbers, index):
    return numbers[index, -1]

@numba.guvectorize(["(int64[:], int64[:])"], "(n)->()", nopython=True)
def gu(numbers, result):
    result[0] = numbers[-2]

@numba.stencil
def neighbours(numbers):
    return numbers[-1] + numbers[1]

@jitclass([("numbers", numba.int64[:])])
class Box:
    def __init__(self, numbers):
        self.numbers = numbers

    def last(self):
        return self.numbers[-1]

space = {"numba": numba}
exec("@numba.njit\\ndef made(numbers):\\n    numbers[-1] += 1\\n    return numbers[-1:]", space)
row, square = np.arange(7), np.arange(49).reshape(7, 7)
print(last(row, -3), gu(row), neighbours(row), Box(row).last(), space["made"](row), last(square, -1))
for index in (-2, 7, -8):
    try:
        print(checked(square, index))
    except IndexError as error:
        print(error)
try:
    exec("@numba.njit(cache=True)\\ndef kept(numbers):\\n    return numbers[-1]", space)
except RuntimeError as error:
    print(error)
print(type(last._cache), last.stats.cache_misses)
"""


def test_foreign_functions_are_those_of_numba_alone(tmp_path: Path) -> None:
    """Negative indices count from the end, bounds are checked, and caches are numba's own."""
    script = tmp_path / "foreign.py"
    script.write_text(FOREIGN)
    said = []
    for number, words in enumerate(([], ["with tbgen"])):
        environment = {
            **os.environ,
            "NUMBA_CACHE_DIR": str(tmp_path / f"{number}"),
            "PYTHONPATH": os.getcwd(),
        }
        done = subprocess.run(
            [sys.executable, script, *words], env=environment, capture_output=True, text=True, check=True
        )
        said.append((done.stdout, sorted(path.name for path in (tmp_path / f"{number}").glob("*/foreign*"))))
    assert said[0] == said[1]
    assert said[0][0].startswith("4 5 [ 0  2  4  6  8 10  0] 6 [7]")
    assert len(said[0][1]) == 3
