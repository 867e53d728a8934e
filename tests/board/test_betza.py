"""Descriptions of men: their names, their steps, what is refused."""

import pytest

from tbgen.board.betza import ATOMS, described, worth_of
from tbgen.board.kinds import KINDS, Kind, reach
from tbgen.errors import UsageError
from tbgen.verify.geometry import reach_of, steps_of

NAMES = [
    "[W]",
    "[WF]",
    "[WD]",
    "[BD]",
    "[BDD]",
    "[RN]",
    "[BN]",
    "[QN]",
    "[NN]",
    "[RD]",
    "[FAA]",
    "[WHHCCZZG]",
]


@pytest.mark.parametrize(
    ("text", "name"),
    [("K", "WF"), ("fw", "WF"), ("WW", "R"), ("FFD", "BD"), ("NFFWW", "QN"), ("NNN", "NN"), ("RW", "R")],
)
def test_names_have_as_few_letters_as_possible(text: str, name: str) -> None:
    assert described(text) is described(name)
    assert described(text).name == f"[{name}]"


@pytest.mark.parametrize("name", NAMES)
def test_solver_and_proof_read_descriptions_alike(name: str) -> None:
    assert list(reach(described(name[1:-1]))) == reach_of(steps_of(name))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.name))
def test_men_of_chess_can_be_described(kind: Kind) -> None:
    assert reach(described(kind.name)) == reach(kind)


def test_atoms_leap_as_far_as_their_names_say() -> None:
    for atom, (x, y) in ATOMS.items():
        steps = described(atom).leaps
        assert {tuple(sorted(map(abs, step), reverse=True)) for step in steps} == {(x, y)}
        assert len(steps) == (4 if y in (0, x) else 8)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("fW", "no modifiers"),
        ("WDfF", "no modifiers"),
        ("R4", "expected letters of WFDNAHCZG"),
        ("X", "expected letters"),
        ("", "expected letters"),
        ("DDHH", "rides by both D and H"),
        ("AAGGW", "rides by both A and G"),
    ],
)
def test_what_tables_cannot_have_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        described(text)


def test_guesses_are_near_to_what_men_of_chess_are_worth() -> None:
    for letter in "QRBN":
        assert worth_of(f"[{letter}]") == pytest.approx(worth_of(letter), rel=0.15)
