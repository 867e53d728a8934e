"""Options: their descriptions for user interfaces, and their values."""

import os
from pathlib import Path

import pytest

from tbgen.board.score import GScore
from tbgen.engine.options import Options
from tbgen.errors import UsageError
from tbgen.games.game_options import FiftyMoveRule


def test_options_have_the_values_that_are_set(tmp_path: Path) -> None:
    options = Options([Path("one"), Path("two")])
    assert options.directories == [Path("one"), Path("two")]
    for name, text in (
        ("hash", "128"),
        ("ACCRUED", "mg3.5"),
        ("FiftyMoveRule", "Legacy"),
        ("Strength", "25"),
        ("Move Overhead", "200"),
        ("UCI_Chess960", "true"),
        ("UCI_Variant", "chess"),
        ("Directory", os.pathsep.join(["a b", "c"])),
        ("Solve", "auto"),
        ("Wait", "false"),
    ):
        assert options.set(name, text).lower() == name.lower()
    assert (options.hash, options.accrued, options.rule) == (128, GScore("-G3.5"), FiftyMoveRule.LEGACY)
    assert (options.blunder_rate, options.overhead, options.chess960) == (0.75, 0.2, True)
    assert (options.directories, options.solve) == ([Path("a b"), Path("c")], "auto")
    assert not options.waits_for_loading
    options.set("Accrued", "<empty>")
    options.set("Directory", "")
    assert (options.accrued, options.directories) == (None, [])
    (tmp_path / "15:00;a").mkdir()
    options.set("Directory", os.pathsep.join([f"{tmp_path}/15:00;a", "c"]))
    assert options.directories == [tmp_path / "15:00;a", Path("c")]


def test_invalid_options_are_rejected() -> None:
    options = Options()
    before = vars(options).copy()
    for name, text, said in (
        ("Hash", "0", "Hash must be a number from 1 to 65536, not '0'"),
        ("Hash", "9" * 5000, "Hash must be a number"),
        ("Hash", "", "Hash must be a number"),
        ("Hash", "²", "Hash must be a number"),
        ("Strength", "101", "Strength must be a number from 0 to 100"),
        ("Accrued", "5", "'5' is not a G-score"),
        ("FiftyMoveRule", "never", "FiftyMoveRule must be one of improving, "),
        ("UCI_Chess960", "yes", "UCI_Chess960 must be true or false"),
        ("UCI_Variant", "atomic", "UCI_Variant must be one of chess, rmobility"),
        ("Contempt", "5", "there is no option 'Contempt'"),
    ):
        with pytest.raises(UsageError, match=said):
            options.set(name, text)
        assert vars(options) == before
