"""Tables for whole-game mobility in the commands, and beside those for r-mobility in one directory."""

import json
import os
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.generator import build, estimate, missing_tables
from tbgen.generator.runner import build_lock
from tbgen.store.format import layer_files_beside, table_path, tables_in
from tbgen.tables.files import write_table
from tbgen.verify.proof import compile_kernels
from tests.support.builds import Diary
from tests.support.commands import Capture, answer, document, failure, logged_answer, said
from tests.support.packed_tables import plain

KNVK, KBVK = Material.parse("KNvK"), Material.parse("KBvK")
NAMES = ("KvK", "KBvK", "KNvK")
PAWN = "8/8/5k1K/5P2/8/8/8/8 w - -"


@pytest.fixture(scope="module")
def source(reference_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with tables of two and three men for both variants."""
    directory = tmp_path_factory.mktemp("both")
    shutil.copytree(reference_dir, directory, dirs_exist_ok=True)
    build([KBVK], directory, Diary(), variant=Variant.WHOLE_GAME)
    for lock in directory.glob(".*.lock"):
        lock.unlink()
    return directory


@pytest.fixture
def both(source: Path, tmp_path: Path) -> str:
    """The name of a private copy of the directory, without KNvK for whole-game mobility."""
    shutil.copytree(source, tmp_path, dirs_exist_ok=True)
    return str(tmp_path)


def names_in(directory: str, variant: Variant) -> list[str]:
    return [material.name for material in tables_in(Path(directory), variant)]


def test_the_two_kinds_are_kept_apart(both: str) -> None:
    directory = Path(both)
    assert names_in(both, Variant.R_MOBILITY) == ["KvK", "KBvK", "KNvK"]
    assert names_in(both, Variant.WHOLE_GAME) == ["KvK", "KBvK"]
    assert missing_tables([KNVK], directory, Variant.R_MOBILITY) == []
    assert missing_tables([KNVK], directory, variant=Variant.WHOLE_GAME) == [KNVK]
    layer = directory / "KBvK.wg.G1.5.layer.h5"
    layer.touch()
    assert layer_files_beside(table_path(directory, "KBvK", Variant.R_MOBILITY)) == []
    assert layer_files_beside(table_path(directory, "KBvK", Variant.WHOLE_GAME)) == [layer]


def test_build(both: str, capsys: Capture) -> None:
    """Only missing tables for the selected rules are built; the others are unchanged."""
    before = table_path(Path(both), "KNvK", Variant.R_MOBILITY).read_bytes()
    assert "1 table to build" in answer(capsys, "build", "KNvK", "--rules", "wg", "--estimate", "--dir", both)
    (built,) = json.loads(said(capsys, 0, "build", "KNvK", "--rules", "wg", "--dir", both, "--json")[0])[
        "built"
    ]
    assert (built["material"], built["rules"]) == ("KNvK", "wg")
    assert (built["layers"], built["accrued"]) == (0, False)
    assert names_in(both, Variant.WHOLE_GAME) == ["KvK", "KBvK", "KNvK"]
    assert table_path(Path(both), "KNvK", Variant.R_MOBILITY).read_bytes() == before
    assert answer(capsys, "build", "KNvK", "--rules", "wg", "--dir", both).startswith("nothing to build")
    out, _ = said(capsys, 0, "verify", "--rules", "wg", "--dir", both)  # stderr may mention compiling
    assert out.count(" proved: ") == 3


def test_interrupted_builds_go_on(both: str) -> None:
    """Leftovers of a killed build for these rules are removed, and its finished tables are kept."""
    leftover = Path(both) / "KNvK.wg.h5.tmp-nowhere-1-abc"
    leftover.touch()
    os.utime(leftover, (1, 1))
    diary = Diary()
    built = build([KNVK], Path(both), diary, variant=Variant.WHOLE_GAME)
    assert [table.info.material for table in built] == ["KNvK"]
    assert not leftover.exists()
    assert built[0].info.variant is Variant.WHOLE_GAME


def test_builds_of_both_kinds_do_not_wait_for_each_other(both: str) -> None:
    """A build that would have to wait fails instead."""

    def fail(sentence: str) -> None:
        raise AssertionError(sentence)

    def lock(variant: Variant) -> AbstractContextManager[None]:
        return build_lock(Path(both), fail, variant)

    with lock(Variant.R_MOBILITY), lock(Variant.WHOLE_GAME):
        for variant in Variant:
            with pytest.raises(AssertionError, match="another build is at work"), lock(variant):
                pass


def test_estimates() -> None:
    """Without layers and accrued scores, tables are smaller and built faster."""
    whole, reset = ([estimate(m, v, 2) for m in all_materials(4)] for v in reversed(Variant))
    for one, other in zip(whole, reset, strict=True):
        assert one.seconds < other.seconds
        assert one.memory < other.memory
    assert 0.2 < sum(one.disk for one in whole) / sum(other.disk for other in reset) < 1


def test_verify(both: str, capsys: Capture) -> None:
    compile_kernels()  # otherwise the command compiles, with a message
    text = logged_answer(capsys, "verify", "--rules", "wg", "--dir", both)
    assert [line.split()[:2] for line in text.splitlines()] == [["KvK", "proved:"], ["KBvK", "proved:"]]
    found = document(capsys, "verify", "KBvK", "--rules", "wg", "--sample", "100", "--dir", both)
    assert found["rules"] == "wg"
    assert found["tables"][1]["states"] <= 100
    assert "--rules wg" in failure(capsys, 3, "verify", "KNvK", "--rules", "wg", "--dir", both)
    table_path(Path(both), "KvK", Variant.WHOLE_GAME).unlink()
    out, (told,) = said(capsys, 3, "verify", "KBvK", "--rules", "wg", "--dir", both)
    assert out == ""  # nothing is proved before
    assert told.startswith("tbgen: table KvK is missing from ")
    assert f"tbgen build KvK --dir {both} --rules wg" in told
    for name in ("KBvK", "KvK"):
        table_path(Path(both), name, Variant.WHOLE_GAME).unlink(missing_ok=True)
    sentence = failure(capsys, 3, "verify", "--rules", "wg", "--dir", both)
    assert f"there are no tables for the rules wg in {both}" in sentence
    assert sentence.endswith("--rules wg\n")


def test_a_table_that_is_wrong(both: str, capsys: Capture) -> None:
    table = plain(Path(both), "KBvK", Variant.WHOLE_GAME)
    table.depth[1, int((table.depth[1] > 1).argmax())] += 1
    write_table(table, table_path(Path(both), "KBvK", Variant.WHOLE_GAME), version="1", build_seconds=1.0)
    out, told = said(capsys, 1, "verify", "--rules", "wg", "--dir", both)
    assert "(fresh): the moves lead to another result: stored" in out
    assert "1 of 2 tables is wrong: KBvK" in told[-1]
