"""The generated blocks of pages are those that the code makes."""

from pathlib import Path

import pytest

from tests.support.script_modules import load_script, ran

renew_pages = load_script("renew_pages")
PICTURE = "<!-- made by architecture.floors -->\n{}\n<!-- end -->\n"


def test_the_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise ``scripts/renew_pages.py`` renews them."""
    assert ran(capsys, renew_pages, "--check") == (0, "", "")


def test_an_outdated_block_is_found_and_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    for path in (page, tmp_path / "README.md", tmp_path / "CONTRIBUTING.md"):
        path.write_text("Before.\n")
    old = f"Before.\n{PICTURE.format('floor 0  cli')}After.\n"
    page.write_text(old)
    monkeypatch.setattr(renew_pages, "ROOT", tmp_path)
    sentence = "docs/page.md is out of date: run scripts/renew_pages.py\n"
    assert ran(capsys, renew_pages, "--check") == (1, sentence, "")
    assert page.read_text() == old
    assert ran(capsys, renew_pages) == (0, "docs/page.md is renewed\n", "")
    assert "\nfloor 0    documents   errors\n" in page.read_text()
    assert renew_pages.without_blocks(page.read_text()) == renew_pages.without_blocks(old)
    assert ran(capsys, renew_pages, "--check") == (0, "", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (PICTURE.replace("<!-- end -->", ""), "a mark has no partner"),
        (f"<!-- end -->\n{PICTURE}", "a mark has no partner"),
        (PICTURE.replace("architecture.floors", "architecture.flors"), "has no function architecture.flors"),
        (PICTURE.replace("architecture", "architectur"), "has no function architectur.floors"),
    ],
)
def test_wrong_marks_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        renew_pages.renewed(text)
