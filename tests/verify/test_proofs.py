"""Proofs that are remembered: what was proved is not proved again, by digest."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.verify.proofs import ProofDone, Proofs
from tbgen.verify.tables import verify
from tests.support.builds import Silent

KNVK = Material.parse("KNvK")
DONE = ProofDone(KNVK, Variant.R_MOBILITY, "ab" * 32, 50, 100, 1234, 0.5)


@pytest.fixture
def directory(reference_dir: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(reference_dir, tmp_path / "tables"))


def verified(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(["verify", "--json", *words]) == 0
    tables: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["tables"]
    return tables


def test_a_list_is_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "proofs.txt"
    proofs = Proofs(path)
    assert not path.exists()
    proofs.add(DONE)
    head, line = path.read_text().splitlines()
    assert (head[0], line) == ("#", f"KNvK r {DONE.digest} 50 100 1234 0.5")
    again = Proofs(path)
    assert again.of(KNVK, Variant.R_MOBILITY, DONE.digest, 50) == DONE
    for asked in (
        (KNVK, Variant.R_MOBILITY, DONE.digest, 51),
        (KNVK, Variant.R_MOBILITY, DONE.digest, None),
        (KNVK, Variant.R_MOBILITY, "cd" * 32, 50),
        (KNVK, Variant.WHOLE_GAME, DONE.digest, 50),
        (Material.parse("KBvK"), Variant.R_MOBILITY, DONE.digest, 50),
    ):
        assert again.of(*asked) is None


def test_what_was_proved_is_not_proved_again(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--dir", str(directory), "--proofs", str(tmp_path / "proofs.txt"))
    first = verified(capsys, "KBvK", *words)
    assert [table.get("earlier", False) for table in first] == [False, False]
    second = verified(capsys, *words)
    assert [(table["material"], table.get("earlier", False)) for table in second] == [
        *(("KvK", True), ("KBvK", True), ("KNvK", False))
    ]
    for table, before in zip(second, first, strict=False):
        assert (
            table.items()
            >= {name: before[name] for name in ("proved", "sample", "positions", "states")}.items()
        )
    assert main(["verify", *words]) == 0
    assert [line.split(":")[0].split(maxsplit=1) for line in capsys.readouterr().out.splitlines()] == [
        [name, "proved earlier"] for name in ("KvK", "KBvK", "KNvK")
    ]


def test_samples_count_where_they_are_large_enough(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("KBvK", "--dir", str(directory), "--proofs", str(tmp_path / "proofs.txt"))
    verified(capsys, *words, "--sample", "5000")
    assert [table.get("earlier", False) for table in verified(capsys, *words, "--sample", "2000")] == [
        True
    ] * 2
    assert main(["verify", *words, "--sample", "5000"]) == 0
    assert "nothing wrong in an earlier sample: 5,000 of 52,234 positions" in capsys.readouterr().out
    assert [table.get("earlier", False) for table in verified(capsys, *words)] == [True, False]
    assert [table.get("earlier", False) for table in verified(capsys, *words)] == [True, True]


def test_another_table_is_proved_anew(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "proofs.txt"
    words = ("KvK", "--dir", str(directory), "--proofs", str(path))
    verified(capsys, *words)
    digest = path.read_text().split()[-5]
    path.write_text(path.read_text().replace(digest, "0" * 64))
    assert "earlier" not in verified(capsys, *words)[0]
    assert verified(capsys, *words)[0]["earlier"]


def test_a_table_that_is_replaced_meanwhile_does_not_count_as_proved(directory: Path) -> None:
    """What was read first is what was proved, whatever its file says afterwards."""

    class ReplacedTables:
        """Tables of which each says something else when it is opened again."""

        def __init__(self) -> None:
            self.opened: set[Material] = set()

        def table(self, material: Material) -> TableFile:
            file = TableFile(table_path(directory, material.name, Variant.R_MOBILITY), material=material)
            if material in self.opened:
                file.info = replace(file.info, digest="0" * 64)
            self.opened.add(material)
            return file

    kings, variant, proofs = Material.parse("KvK"), Variant.R_MOBILITY, Proofs()
    (proof,) = verify([kings], directory, ReplacedTables(), Silent(), variant=variant, proofs=proofs)
    assert proof.proved
    assert proofs.of(kings, variant, "0" * 64, None) is None
    with TableFile(table_path(directory, "KvK", variant)) as file:
        assert proofs.of(kings, variant, file.info.digest, None) is not None


def test_sub_tables_that_were_let_go_are_read_again(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tbgen.verify.proved.HELD", 0)
    assert all(table["proved"] for table in verified(capsys, "--dir", str(directory)))


@pytest.mark.parametrize(
    "text",
    [
        "KNvK r",
        f"KNvK x {DONE.digest} 1 1 1 1.0",
        f"KXvK r {DONE.digest} 1 1 1 1.0",
        "KNvK r xyz 1 1 1 1.0",
        f"KNvK r {DONE.digest} one 1 1 1.0",
        "\N{SNOWMAN}",
    ],
)
def test_something_else_is_no_list(
    text: str, directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "proofs.txt"
    path.write_text(f"# a list\n{text}\n")
    assert main(["verify", "--dir", str(directory), "--proofs", str(path)]) == 1
    assert "is no list of proofs, or is damaged, in line 2" in capsys.readouterr().err
    path.write_bytes(b"\xff\xfe")
    assert main(["verify", "--dir", str(directory), "--proofs", str(path)]) == 1
    assert "cannot be read as a list of proofs" in capsys.readouterr().err
    assert main(["verify", "--dir", str(directory), "--proofs", str(directory)]) == 1
    assert "cannot be read as a list of proofs: Is a directory; choose" in capsys.readouterr().err
