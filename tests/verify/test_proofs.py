"""The list of proofs: a table that was proved earlier, by its digest, is not proved again."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tbgen.tables.open_table import OpenTable
from tbgen.verify.directory import verify as verify_tables
from tbgen.verify.plan import ListedProof, Proofs
from tests.support.builds import Silent
from tests.verify.conftest import Verify

KNVK = Material.parse("KNvK")
DONE = ListedProof(KNVK, Variant.R_MOBILITY, "ab" * 32, 50, 100, 1234, 0.5)


@pytest.fixture
def directory(reference_dir: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(reference_dir, tmp_path, dirs_exist_ok=True))


@pytest.fixture
def proofs(directory: Path) -> Path:
    return directory / "proofs.txt"


def earlier(tables: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    return [(table["material"], table.get("earlier", False)) for table in tables]


def test_a_list_is_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "proofs.txt"
    proofs = Proofs(path)
    assert not path.exists()
    proofs.add(DONE)
    head, line = path.read_text().splitlines()
    assert (head[0], line) == ("#", f"KNvK r {DONE.digest} 50 100 1234 0.5")
    again = Proofs(path)
    assert again.find(KNVK, Variant.R_MOBILITY, DONE.digest, 50) == DONE
    for asked in (
        (KNVK, Variant.R_MOBILITY, DONE.digest, 51),
        (KNVK, Variant.R_MOBILITY, DONE.digest, None),
        (KNVK, Variant.R_MOBILITY, "cd" * 32, 50),
        (KNVK, Variant.WHOLE_GAME, DONE.digest, 50),
        (Material.parse("KBvK"), Variant.R_MOBILITY, DONE.digest, 50),
    ):
        assert again.find(*asked) is None


def test_what_was_proved_is_not_proved_again(proofs: Path, verify: Verify) -> None:
    words = ("--proofs", str(proofs))
    first = verify.tables("KBvK", *words)
    assert earlier(first) == [("KvK", False), ("KBvK", False)]
    second = verify.tables(*words)
    assert earlier(second) == [("KvK", True), ("KBvK", True), ("KNvK", False)]
    for table, before in zip(second, first, strict=False):
        for name in ("proved", "sample", "positions", "states"):
            assert table[name] == before[name]
    assert [line.split(":")[0].split(maxsplit=1) for line in verify(*words)[0]] == [
        [name, "proved earlier"] for name in ("KvK", "KBvK", "KNvK")
    ]


def test_samples_count_where_they_are_large_enough(proofs: Path, verify: Verify) -> None:
    words = ("KBvK", "--proofs", str(proofs))
    verify.tables(*words, "--sample", "5000")
    both = [("KvK", True), ("KBvK", True)]
    assert earlier(verify.tables(*words, "--sample", "2000")) == both
    said = verify(*words, "--sample", "5000")[0][-1]
    assert "nothing wrong in an earlier sample: 5,000 of 52,234 positions" in said
    assert earlier(verify.tables(*words)) == [("KvK", True), ("KBvK", False)]
    assert earlier(verify.tables(*words)) == both


def test_another_table_is_proved_anew(proofs: Path, verify: Verify) -> None:
    words = ("KvK", "--proofs", str(proofs))
    verify.tables(*words)
    digest = proofs.read_text().split()[-5]
    proofs.write_text(proofs.read_text().replace(digest, "0" * 64))
    assert earlier(verify.tables(*words)) == [("KvK", False)]
    assert earlier(verify.tables(*words)) == [("KvK", True)]


def test_one_flipped_bit_in_a_proved_table_is_found(directory: Path, proofs: Path, verify: Verify) -> None:
    words = ("--proofs", str(proofs))
    verify.tables("KBvK", *words)
    path = table_path(directory, "KBvK", Variant.R_MOBILITY)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    lines, error = verify("KBvK", *words, code=1)
    assert lines[0] == "KvK        proved earlier: 924 positions"
    assert f"{path} cannot be used" in error


def test_a_table_that_is_replaced_meanwhile_does_not_count_as_proved(directory: Path) -> None:
    """The recorded digest is that of the content that was proved, even if the file changes afterwards."""

    class ReplacedTables:
        """Tables that have another content when they are opened again."""

        def __init__(self) -> None:
            self.opened: set[Material] = set()

        def table(self, material: Material) -> OpenTable:
            file = open_table(table_path(directory, material.name, Variant.R_MOBILITY), material=material)
            if material in self.opened:
                file.info = replace(file.info, digest="0" * 64)
            self.opened.add(material)
            return file

    kings, variant, proofs = Material.parse("KvK"), Variant.R_MOBILITY, Proofs()
    (proof,) = verify_tables([kings], directory, ReplacedTables(), Silent(), variant=variant, proofs=proofs)
    assert proof.proved
    assert proofs.find(kings, variant, "0" * 64, None) is None
    with open_table(table_path(directory, "KvK", variant)) as file:
        assert proofs.find(kings, variant, file.info.digest, None) is not None


@pytest.mark.usefixtures("directory")
def test_sub_tables_that_were_let_go_are_read_again(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.verify.directory.CACHE_BYTES", 0)
    assert all(table["proved"] for table in verify.tables())


def test_something_else_is_no_list(proofs: Path, verify: Verify) -> None:
    for text in (
        "KNvK r",
        f"KNvK x {DONE.digest} 1 1 1 1.0",
        f"KXvK r {DONE.digest} 1 1 1 1.0",
        "KNvK r xyz 1 1 1 1.0",
        f"KNvK r {DONE.digest} one 1 1 1.0",
        "\N{SNOWMAN}",
    ):
        proofs.write_text(f"# a list\n{text}\n")
        said = verify("--proofs", str(proofs), code=1)[1]
        assert "is not a list of proofs, or line 2 is damaged" in said, text
    proofs.write_bytes(b"\xff\xfe")
    said = verify("--proofs", str(proofs), code=1)[1]
    assert "cannot be read as a list of proofs: it is not text; choose" in said
