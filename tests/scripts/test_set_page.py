"""The page of all tables is made of the data of a published set and the lists of proofs alone."""

import json
import re
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.script_modules import load_script, ran

set_page = load_script("set_page")


@pytest.fixture
def published(three_men: Path, tmp_path: Path) -> Path:
    assert main(["publish", str(tmp_path / "www"), "KvK", "KBvK", "--dir", str(three_men)]) == 0
    return tmp_path / "www"


def test_a_published_set_makes_a_page(
    published: Path, three_men: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is proved stands there, what is not too."""
    data, page = tmp_path / "data", tmp_path / "page.md"
    data.mkdir()
    proofs = data / "proofs.r.txt"
    assert main(["verify", "KvK", "--dir", str(three_men), "--proofs", str(proofs)]) == 0
    capsys.readouterr()
    assert ran(capsys, set_page, "--published", published, "--data", data, "--out", page) == (0, "", "")
    text = page.read_text()
    size = (published / "KBvK.r.h5").stat().st_size
    assert re.search(
        rf"2 tables, 53,158 positions, .* \({size + (published / 'KvK.r.h5').stat().st_size:,} bytes\)", text
    )
    assert "1 of them are proved in full, 17,794 states" in text
    assert re.search(r"\| KvK \| 924 \| \d+ plies \| [\d.]+ KiB \| [\d.]+ s \| 17,794 \| [\d.]+ s \|", text)
    assert re.search(r"\| KBvK \| 52,234 \| 46 plies \| [\d.]+ KiB \| [\d.]+ s \| not yet \|  \|", text)
    tables = json.loads((data / "set.json").read_text())["tables"]
    assert [(table["file"], table["bytes"]) for table in tables][-1] == ("KBvK.r.h5", size)


def test_another_file_than_the_one_of_the_list_is_refused(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (published / "KBvK.r.h5").unlink()
    (published / "KBvK.r.h5").symlink_to(published / "KvK.r.h5")
    capsys.readouterr()
    words = ("--published", published, "--data", tmp_path, "--out", tmp_path / "page.md")
    code, _, error = ran(capsys, set_page, *words)
    assert code == 1
    assert re.fullmatch(r"error: .*KBvK.*\n", error)
    assert not (tmp_path / "page.md").exists()


def test_without_data_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = f"error: {tmp_path / 'set.json'} is missing; make it with --published DIR\n"
    done = ran(capsys, set_page, "--data", tmp_path, "--out", tmp_path / "page.md")
    assert done == (1, "", sentence)
