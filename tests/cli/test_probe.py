"""``tbgen probe``: positions, accrued scores, streams of positions."""

import io
import json
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from tbgen.probe import depths as layers
from tbgen.probe.depths import Layers
from tests.support.commands import Capture, answer, document, failure, said
from tests.support.depths import forget_depths

pytestmark = pytest.mark.usefixtures("default_directory")

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


@pytest.fixture
def without_depths(reference_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with tables of KvK and KBvK that appear to store no depths of accrued scores."""
    for name in ("KvK", "KBvK"):
        shutil.copy(reference_dir / f"{name}.r.h5", tmp_path)
    forget_depths(monkeypatch, tmp_path)
    return tmp_path


NEAR, FAR = "2b5/2K5/8/k7/8/8/8/8 w - - 1 1", "1K6/3k3B/8/8/8/8/8/8 w - - 1 1"
"""A position in which, with -G1.5 accrued, a reset is 1 and 33 plies away."""


def test_depths_that_are_not_stored(
    without_depths: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Depths that are not stored are marked, and computed on request; a line that needs them is left out."""
    options = ["--accrued", "-G1.5", "--dir", str(without_depths)]
    lines = answer(capsys, "probe", NEAR, *options, "--line").splitlines()
    assert "depth           ?  (the table stores only the value: --depths computes the depth)" in lines
    assert lines[-3:] == ["best play: 2 plies", "    1. Kxc8    G5.5", "  1... Kb6    -G3.5"]
    assert "Kb7     G5.5          ?" in answer(capsys, "probe", FAR, *options).splitlines()
    found = document(capsys, "probe", FAR, *options)
    assert found["depth"] is None
    assert {move["depth"] for move in found["moves"]} == {None}
    lacking = (
        "the line needs depths of accrued scores that KBvK does not store: ask with --depths "
        "(in Python, open_tablebase(..., depths=True)), which makes them"
    )
    without = answer(capsys, "probe", FAR, *options)
    assert said(capsys, 0, "probe", FAR, *options, "--line") == (without, [f"tbgen: {lacking}"])
    out, told = said(capsys, 0, "probe", FAR, *options, "--line", "--json")
    assert (json.loads(out), told) == (found | {"line": None}, [f"tbgen: {lacking}"])
    _, told = said(capsys, 0, "probe", f"{FAR} -G1.5", KBK, "--line", *options[2:])
    assert told == [f"tbgen: {FAR} -G1.5: {lacking}"]
    assert not list(without_depths.glob("*.layer.h5"))
    lines = answer(capsys, "probe", FAR, *options, "--line", "--depths").splitlines()
    assert "depth           33 plies" in lines
    assert "best play: 33 plies" in lines
    assert (without_depths / "KBvK.r.-G1.5.layer.h5").exists()


def test_answers_come_before_what_takes_long(
    without_depths: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers are in order; a layer is begun after all earlier answers, so an interrupt loses none."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(Layers, "get", interrupt)
    asked = [KBK, f"{NEAR} -G1.5", "no position", KBK, f"{FAR} -G1.5", KBK]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(asked)))
    options = ["--depths", "--dir", str(without_depths)]
    out, _ = said(capsys, 130, "probe", "-", *options)
    assert [json.loads(line)["fen"] for line in out.splitlines()] == asked[:4]
    out, _ = said(capsys, 130, "probe", KBK, f"{FAR} -G1.5", KBK, *options)
    assert out.count("KBvK, Black to move") == 1


def test_depths_that_take_more_memory_than_there_is(
    without_depths: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "available_memory", lambda: 1 << 20)
    words = "--accrued", "-G1.5", "--depths", "--no-moves", "--dir", str(without_depths)
    sentence = failure(capsys, 1, "probe", FAR, *words)
    assert "KBvK with -G1.5 accrued are not stored, and making them needs about" in sentence
    assert "of memory, but 1.00 MiB are free: do without depths" in sentence


def test_bytes_of_standard_input(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client gets one answer for each line that ends with a line feed, whatever else is in the line; a byte
    order mark before the first position is ignored."""
    path = tmp_path / "sent"
    path.write_bytes(f"\ufeffjunk\r{KBK}\n{KBK}\r\n\r\n".encode() + b"\xff\n" + KBK.encode())
    with path.open() as sent:
        monkeypatch.setattr(sys, "stdin", sent)
        out, _ = said(capsys, 2, "probe", "--no-moves", "-")
    answers = list(map(json.loads, out.split("\n")[:-1]))
    assert [each["fen"] for each in answers] == [f"junk\r{KBK}", KBK, "\\xff", KBK]
    assert ["error" in each for each in answers] == [True, False, True, False]


def test_names_of_positions_can_be_printed(capsys: Capture) -> None:
    _, (sentence,) = said(capsys, 2, "probe", "--no-moves", KBK, "a\x1b[31m\nb")
    assert sentence.isprintable()
