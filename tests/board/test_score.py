"""G-scores: text, order and table codes."""

import copy
import pickle
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbgen.board.material import Material
from tbgen.board.score import MAX_CODED_RANK, MAX_RANK, NONE, GScore
from tbgen.board.scoring import points
from tbgen.errors import UsageError

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
GRAMMAR = rf"[-m{MINUS}{DASH}]?[Gg][0-9]+(\.[05])?"

scores = st.builds(GScore, st.integers(0, MAX_RANK), st.booleans())
coded_scores = st.builds(GScore, st.integers(0, MAX_CODED_RANK), st.booleans())


def one_sentence(message: str) -> bool:
    return message.isprintable() and len(message) < 250


@pytest.mark.parametrize(
    ("text", "rank", "white", "printed"),
    [
        ("G3.5", 7, True, "G3.5"),
        ("g3.5", 7, True, "G3.5"),
        ("-G3.5", 7, False, "-G3.5"),
        ("-g3.0", 6, False, "-G3.0"),
        ("mG3.5", 7, False, "-G3.5"),
        (f"{MINUS}G3.5", 7, False, "-G3.5"),
        (f"{DASH}g3", 6, False, "-G3.0"),
        ("mg3.5", 7, False, "-G3.5"),
        ("G3", 6, True, "G3.0"),
        ("mG03", 6, False, "-G3.0"),
        ("G0.0", 0, True, "G0.0"),
        ("-G0.0", 0, False, "-G0.0"),
        ("G101.5", 203, True, "G101.5"),
        ("G218.5", 437, True, "G218.5"),
        ("G" + "0" * 5000, 0, True, "G0.0"),
    ],
)
def test_parse(text: str, rank: int, white: bool, printed: str) -> None:
    score = GScore.parse(text)
    assert (score.rank, score.white) == (rank, white)
    assert str(score) == printed


@pytest.mark.parametrize(
    "text",
    [
        *("", "G", "-G", "-", "m", "3.5", "+G3.5", "--G3", "-mG3", "MG3", "G-3", "G 3", " G3", "G3 ", "G3\n"),
        *(
            "G3.",
            "G.5",
            "G3.4",
            "G3.25",
            "G3.75",
            "G3.50",
            "G12.05",
            "Gx.5",
            "G3,5",
            "G1e1",
            "G3.5.5",
            "G1_0",
        ),
        *("G٣", "G³", "\N{FULLWIDTH LATIN CAPITAL LETTER G}3", "G1000", "-G99999", "G" + "9" * 5000, "G\x00"),
    ],
)
def test_parse_refuses_what_other_readers_take_leniently(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        GScore.parse(text)
    assert "G-score" in str(caught.value)
    assert one_sentence(str(caught.value))


@given(st.from_regex(GRAMMAR, fullmatch=True))
def test_parse_accepts_the_whole_grammar(text: str) -> None:
    value = float(text.lstrip(f"-m{MINUS}{DASH}Gg"))
    if value > MAX_RANK / 2:
        with pytest.raises(UsageError, match=r"the largest one is G999\.5"):
            GScore.parse(text)
    else:
        score = GScore.parse(text)
        assert score.g == value
        assert score.holder == ("white" if text[0] in "Gg" else "black")


@given(st.text() | st.text(alphabet=f"-m{MINUS}{DASH}MGg+.0159 \n"))
def test_parse_raises_nothing_but_usage_errors(text: str) -> None:
    try:
        GScore.parse(text)
    except UsageError as error:
        assert one_sentence(str(error))  # noqa: PT017
    else:
        assert re.fullmatch(GRAMMAR, text)


@given(scores)
def test_text_round_trip(score: GScore) -> None:
    assert GScore.parse(str(score)) == score
    assert GScore.parse(str(score).replace("-", "m").lower()) == score


@given(scores)
def test_scores_are_made_from_text_and_shown_as_what_makes_them(score: GScore) -> None:
    assert GScore(str(score)) == eval(repr(score)) == score
    assert repr(score) == f"GScore('{score}')"
    assert f"{score:>9}|{score:<9}|{score}" == f"{score!s:>9}|{score!s:<9}|{score!s}"
    assert GScore(rank=score.rank, white=score.white) == replace(-score, white=score.white) == score


def test_scores_of_numbers_of_other_kinds() -> None:
    numpy = pytest.importorskip("numpy")
    score = GScore(numpy.uint8(7), numpy.bool_(False))
    assert score == GScore("-G3.5")
    assert (type(score.rank), type(score.white)) == (int, bool)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((3.5,), "cannot be made from float: expected text such as 'G3.5'"),
        ((None,), "cannot be made from NoneType"),
        ((7,), "or a rank and whether White holds it"),
        ((3.5, True), "the rank of a G-score cannot be float: expected a whole number"),
        (("G3.5", True), "the rank of a G-score cannot be str"),
    ],
)
def test_arguments_of_another_kind(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(TypeError, match=re.escape(sentence)):
        GScore(*arguments)
    with pytest.raises(TypeError, match="cannot be made from float: expected text such as"):
        GScore.parse(3.5)  # type: ignore[arg-type]
    holders: tuple[Any, ...] = ("black", "w", 2)
    for holder in holders:
        with pytest.raises(TypeError, match=r"the holder of a G-score cannot be .*: expected True for White"):
            GScore(7, holder)
    truth: Any = np.True_
    assert GScore(7, truth) == GScore(7, True)
    with pytest.raises(TypeError, match="cannot be made from float: expected text such as"):
        points(3.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a material cannot be read from int: expected text such as KBNvK"):
        Material.parse(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("rank", [-1, MAX_RANK + 1])
def test_rank_is_bounded(rank: int) -> None:
    with pytest.raises(UsageError, match=f"rank {rank} does not"):
        GScore(rank, True)


def test_order_runs_from_white_mates_to_black_mates() -> None:
    ranks = range(MAX_RANK + 1)
    best_first = [GScore(rank, True) for rank in ranks] + [GScore(rank, False) for rank in reversed(ranks)]
    assert all(better > worse for better, worse in pairwise(best_first))
    assert sorted(best_first) == best_first[::-1]


@given(scores, scores)
def test_order_is_total(one: GScore, other: GScore) -> None:
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (one < other or one == other)
    assert (one >= other) == (other <= one)
    if one == other:
        assert hash(one) == hash(other)


@given(scores, scores)
def test_swapping_colours_reverses_the_order(one: GScore, other: GScore) -> None:
    swapped = -one
    assert swapped != one
    assert -swapped == one
    assert (one < other) == (swapped > -other)


def test_scores_compare_with_nothing_else() -> None:
    number: object = 0
    assert GScore(0, True) != number
    with pytest.raises(TypeError):
        GScore(0, True) < number  # noqa: B015


def test_scores_are_immutable() -> None:
    with pytest.raises(AttributeError):
        GScore(0, True).rank = 1  # type: ignore[misc]


@given(scores)
def test_copies_are_equal(score: GScore) -> None:
    assert copy.deepcopy(score) == pickle.loads(pickle.dumps(score)) == score


@given(coded_scores)
def test_code_round_trip(score: GScore) -> None:
    assert 0 <= score.code <= 255
    assert score.code != NONE
    assert GScore.from_code(score.code) == score
    assert GScore.from_code(score.code) is GScore.from_code(score.code)
    assert (-score).code == 255 - score.code


@given(coded_scores, coded_scores)
def test_codes_ascend_as_scores_get_worse_for_white(one: GScore, other: GScore) -> None:
    assert (one.code < other.code) == (one > other)


@pytest.mark.parametrize("code", [NONE, NONE + 1, -1, 256])
def test_codes_without_a_score(code: int) -> None:
    with pytest.raises(ValueError, match=f"{code} is not the code of a G-score"):
        GScore.from_code(code)


def test_codes_read_from_an_array() -> None:
    numpy = pytest.importorskip("numpy")
    codes = numpy.array([0, 7, 248, 255], dtype=numpy.uint8)
    assert [str(GScore.from_code(code)) for code in codes] == ["G0.0", "G3.5", "-G3.5", "-G0.0"]


def test_scores_out_of_the_range_of_tables_have_no_code() -> None:
    with pytest.raises(UsageError, match=r"-G63\.5 is out of the range of tables, which ends at G63\.0"):
        GScore.parse("-G63.5").code  # noqa: B018


@pytest.mark.parametrize(
    ("fen", "score"),
    [
        ("8/8/8/2K3k1/8/8/8/8 w - - 0 1", "-G8.5"),
        ("4k3/4P3/4K3/8/8/8/8/8 b - - 0 1", "G0.5"),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "G0.0"),
        ("7k/5KQ1/8/8/8/8/8/8 b - - 0 1", "G0.0"),
        ("8/8/8/8/8/8/5kq1/7K w - - 0 1", "-G0.0"),
        ("6kQ/8/8/8/8/8/8/K7 b - - 0 1", "G2.0"),
        ("R3k2R/8/8/8/8/8/8/4K3 b - - 0 1", "G3.0"),
        ("8/P7/8/8/8/8/8/K1k5 w - - 0 1", "-G5.5"),
        ("k7/8/K7/3pP3/8/8/8/8 w - d6 0 1", "-G5.5"),
        ("k7/8/K7/3pP3/8/8/8/8 w - - 0 1", "-G4.5"),
        ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "-G15.5"),
    ],
)
def test_score_of_a_position(fen: str, score: str) -> None:
    assert str(GScore.of_board(chess.Board(fen))) == score
