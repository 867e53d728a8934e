"""Results outlive the run that proves them, however it ends."""

import json
import os
import re
from pathlib import Path

import chess
import pytest

from tbgen.beyond.budget import Stop
from tbgen.beyond.results import Effort, SolveResults, StateName, open_results
from tbgen.board.score import GScore
from tbgen.errors import TbgenError, UsageError
from tests.support.disks import refuse
from tests.support.solving import LOCKED, WALL, proved

MINUTE = Effort(60.0, 8 << 30, 36)
A, B = (StateName.of(chess.Board(fen), GScore("G4.5")) for fen in (LOCKED, WALL))
FOUND = [
    (A, proved("-G4.5 G2.0"), MINUTE),
    (B, proved("-G3.5 -G3.5", 7), MINUTE),
    (A, proved("-G4.0 G1.5"), Effort(5.5, 1 << 30, 0)),
]
"""Three attempts, two of them on one state, which prove that it lies between -G4.5 and G2.0."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


@pytest.fixture
def kept(path: Path) -> bytes:
    """Return the bytes of a file with the attempts."""
    with open_results(path) as results:
        for number, found in enumerate(FOUND, 2):
            results.add(*found)
            assert path.read_bytes().count(b"\n") == number  # a run that is killed now has stored it
    return path.read_bytes()


def test_a_state_has_no_clocks() -> None:
    assert StateName.of(chess.Board(LOCKED.replace("22 72", "0 1")), GScore("G4.5")) == A
    assert StateName.of(chess.Board(LOCKED), GScore("-G4.5")) != A
    assert StateName.of(chess.Board(LOCKED.replace(" w ", " b ")), GScore("G4.5")) != A


def test_an_attempt_covers_smaller_efforts_on_the_same_state() -> None:
    results = SolveResults()
    results.add(A, proved("-G4.5 G2.0"), MINUTE)
    for seconds, memory, tables in ((60.0, 8 << 30, 36), (59.0, 1 << 30, 0)):
        assert results.was_tried(A, Effort(seconds, memory, tables))
        assert not results.was_tried(B, Effort(seconds, memory, tables))


def test_several_attempts_prove_their_intersection(path: Path, kept: bytes) -> None:
    with open_results(path) as results:
        assert results.get(A) == proved("-G4.5 G2.0")
        assert results.get(B) == proved("-G3.5 -G3.5", 7)
        assert results.get(StateName("8/8/8/8/8/8/8/8 w - -", "G1.0")) is None
        results.add(A, proved("-G6.0 G3.0"), Effort(1.0, 1 << 20, 0))
        assert results.get(A) == proved("-G6.0 G3.0")
    assert path.read_bytes().startswith(kept)


def test_the_fields_of_a_line(kept: bytes) -> None:
    assert [json.loads(line) for line in kept.splitlines()][2] == {
        "position": "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - -",
        "accrued": "G4.5",
        "lower": "-G3.5",
        "upper": "-G3.5",
        "depth": 7,
        "seconds": 60.0,
        "memory": 8 << 30,
        "tables": 36,
        "check": "87eff62b",
    }


def test_the_reason_for_the_end_of_the_last_attempt_is_kept(path: Path) -> None:
    for stop in (Stop.TIME, Stop.DECIDED):
        with open_results(path) as results:
            results.add(A, proved("-G4.5 G2.0"), MINUTE, stop)
        with open_results(path) as results:
            assert (results.stopped_by(A), results.stopped_by(B)) == (stop, None)
    assert json.loads(path.read_bytes().splitlines()[-1])["stopped_by"] == "points decided"


def test_an_incomplete_last_line_costs_only_that_line(
    path: Path, kept: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a run was killed, the next one continues."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # some thousand of them would take too long
    for size in range(len(kept) + 1):
        path.write_bytes(kept[:size])
        whole, expected = max(kept[:size].count(b"\n") - 1, 0), SolveResults()
        for found in FOUND[:whole]:
            expected.add(*found)
        with open_results(path) as results:
            for state in (A, B):
                assert results.get(state) == expected.get(state)
                assert results.was_tried(state, MINUTE) == expected.was_tried(state, MINUTE)
            for found in FOUND[whole:]:
                results.add(*found)
        assert path.read_bytes() == kept


@pytest.mark.parametrize(
    "text",
    [
        b"notes",
        b"notes\n",
        b'[Event "x"]\n\n1. e4 *\n',
        b'{"format": "results of solving positions, by tbgen", "version": 2}\n',
        b"\0\0\0",
    ],
)
def test_another_file_is_left_alone(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with pytest.raises(UsageError, match="has no results that this version of tbgen can continue"):
        open_results(path).__enter__()
    assert path.read_bytes() == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"lower":"-G3.5"', b'"lower":"G1.0"'),
        (b'"lower":"-G3.5"', b'"lower":3'),
        (b'"lower":', b'"least":'),
        (b'"memory":', b'"memory" '),
        (b'"seconds":60.0', b'"seconds":"long"'),
    ],
)
def test_a_damaged_line_is_named(path: Path, kept: bytes, old: bytes, new: bytes) -> None:
    lines = kept.splitlines(keepends=True)
    lines[2] = lines[2].replace(old, new)
    assert lines[2] not in kept
    path.write_bytes(b"".join(lines))
    with pytest.raises(UsageError, match=r"results\.jsonl', line 3: this is not a result of solving"):
        open_results(path).__enter__()


def test_every_changed_byte_is_refused(path: Path, kept: bytes) -> None:
    begin, end = kept.index(b"\n", kept.index(b"\n") + 1) + 1, kept.rindex(b"\n", 0, -1)
    for place in range(begin, end):
        path.write_bytes(kept[:place] + bytes([kept[place] ^ 1]) + kept[place + 1 :])
        with pytest.raises(UsageError, match="this is not a result of solving"):
            open_results(path).__enter__()


def test_lines_of_earlier_versions_have_no_checksum(path: Path, kept: bytes) -> None:
    path.write_bytes(re.sub(rb',"check":"\w{8}"', b"", kept))
    with open_results(path) as results:
        assert results.get(B) == proved("-G3.5 -G3.5", 7)


def test_contradictions_are_no_results(path: Path, kept: bytes) -> None:
    with open_results(path) as results, pytest.raises(TbgenError, match="contradict each other") as caught:
        results.add(A, proved("G1.0 G0.0"), MINUTE)
    assert "no score is both in -G4.5 G2.0 and in G1.0 G0.0" in str(caught.value)
    assert path.read_bytes() == kept


def test_one_run_at_a_time(path: Path) -> None:
    with open_results(path), pytest.raises(UsageError, match="another run of tbgen is writing to"):
        open_results(path).__enter__()
    with open_results(path):
        pass


def test_a_path_where_no_file_can_be_made_or_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (tmp_path, Path("/dev/null")):
        with pytest.raises(UsageError, match="not a file: name one for results"):
            open_results(place).__enter__()
    with pytest.raises(TbgenError, match=r"could not be written: No such file or directory"):
        open_results(tmp_path / "no" / "results.jsonl").__enter__()
    monkeypatch.setattr("tbgen.beyond.results._read_results", refuse)
    with pytest.raises(TbgenError, match="no permission"):
        open_results(tmp_path / "results.jsonl").__enter__()
