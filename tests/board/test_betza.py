"""Descriptions of men: names, steps, and invalid descriptions."""

import re

import pytest

from tbgen.board.kinds import ATOMS, KINDS, reach
from tbgen.board.material import described_kind, worth_of
from tbgen.verify.geometry import reach_of, steps_of
from tests.support.paths import ROOT
from tests.support.reference_moves import DESCRIBED
from tests.support.refusals import refusal


def test_names_have_as_few_letters_as_possible() -> None:
    names = {"K": "WF", "fw": "WF", "WW": "R", "FFD": "BD", "NFFWW": "QN", "NNN": "NN", "RW": "R"}
    for text, name in names.items():
        assert described_kind(text) is described_kind(name)
        assert described_kind(text).name == f"[{name}]"


def test_solver_and_proof_read_descriptions_alike() -> None:
    for name in (
        "W",
        "WF",
        "WD",
        "BD",
        "BDD",
        "RN",
        "BN",
        "QN",
        "NN",
        "RD",
        "FAA",
        "WHHCCZZG",
        *ATOMS,
        *(2 * atom for atom in ATOMS),
    ):
        assert list(reach(described_kind(name))) == reach_of(steps_of(f"[{name}]")), name
    for kind in KINDS:  # and men of chess can be described
        assert reach(described_kind(kind.name)) == reach(kind), kind


def test_the_order_of_letters_does_not_matter() -> None:
    """Letters of two parts are no doubled letter."""
    assert described_kind("FK") == described_kind("KF") == described_kind("WF")
    assert described_kind("WK") == described_kind("KW") == described_kind("WF")


def test_atoms_leap_as_far_as_their_names_say() -> None:
    for atom, (x, y) in ATOMS.items():
        steps = described_kind(atom).leaps
        assert {tuple(sorted(map(abs, step), reverse=True)) for step in steps} == {(x, y)}
        assert len(steps) == (4 if y in (0, x) else 8)
        ride = described_kind(2 * atom)
        assert (ride.rides == steps) == (max(x, y) < 4), "longer leaps cannot be repeated"


def test_the_documentation_has_every_letter_in_its_order_and_the_number_of_compared_kinds() -> None:
    page = (ROOT / "docs" / "described.md").read_text()
    assert re.findall(r"^\| (\w) \| (\d), (\d) \|", page, re.MULTILINE) == [
        (letter, str(x), str(y)) for letter, (x, y) in ATOMS.items()
    ]
    text = " ".join(page.split())
    assert f"in the order {' '.join('QRB' + ''.join(ATOMS))}." in text
    assert f"compare all states of {len(DESCRIBED)} kinds with a solver" in text
    assert {atom for atom, leap in ATOMS.items() if max(leap) > 3} <= set("".join(DESCRIBED))
    digests = (ROOT / "tests" / "data" / "described.r.txt").read_text()
    assert {f"K{man}vK" for man in DESCRIBED} == set(re.findall(r"^(\S+) r ", digests, re.MULTILINE))


def test_what_tables_cannot_have_is_refused() -> None:
    for text, reason in (
        ("fW", "no modifiers"),
        ("WDfF", "no modifiers"),
        ("R4", f"expected letters of {''.join(ATOMS)}"),
        ("P", "expected letters"),
        ("", "expected letters"),
        ("DDHH", "rides by both D and H"),
        ("AAGGW", "rides by both A and G"),
    ):
        assert reason in refusal(described_kind, text), text


def test_guesses_are_near_to_what_men_of_chess_are_worth() -> None:
    for letter in "QRBN":
        assert worth_of(f"[{letter}]") == pytest.approx(worth_of(letter), rel=0.15)
