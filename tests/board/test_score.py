"""G-scores: text, order and table codes."""

import copy
import pickle
import re
from collections.abc import Callable
from itertools import pairwise

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbgen.board.material import Material
from tbgen.board.score import MAX_CODED_RANK, MAX_RANK, NONE, GScore
from tbgen.board.scoring import DEFAULT_CUTOFF, Scheme, Scoring, points
from tbgen.errors import UsageError
from tbgen.probe.positions import points_by_code
from tests.support.paths import rows
from tests.support.refusals import refusal

MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
GRAMMAR = rf"[-m{MINUS}{DASH}]?[Gg][0-9]+(\.[05])?"

scores = st.builds(GScore, st.integers(0, MAX_RANK), st.booleans())


def test_what_is_read() -> None:
    for text, rank, white, printed in (
        ("G3.5", 7, True, "G3.5"),
        ("g3.5", 7, True, "G3.5"),
        ("-G3.5", 7, False, "-G3.5"),
        ("-g3.0", 6, False, "-G3.0"),
        ("mG3.5", 7, False, "-G3.5"),
        (f"{MINUS}G3.5", 7, False, "-G3.5"),
        (f"{DASH}g3", 6, False, "-G3.0"),
        ("G3", 6, True, "G3.0"),
        ("mG03", 6, False, "-G3.0"),
        ("G0.0", 0, True, "G0.0"),
        ("-G0.0", 0, False, "-G0.0"),
        ("G218.5", 437, True, "G218.5"),
        ("G" + "0" * 5000, 0, True, "G0.0"),
    ):
        score = GScore.parse(text)
        assert (score.rank, score.white, str(score)) == (rank, white, printed), text


def test_what_other_readers_take_leniently_is_refused() -> None:
    texts = "G,-G,-,m,3.5,+G3.5,--G3,-mG3,MG3,G-3,G 3, G3,G3 ,G3\n,G3.,G.5,G3.4,G3.25,G3.75,G3.50,G12.05,Gx.5"
    texts += ",G1e1,G3.5.5,G1_0,G٣,G³,\N{FULLWIDTH LATIN CAPITAL LETTER G}3,G1000,-G99999,G\x00,"
    for text in [*texts.split(","), "G" + "9" * 5000, "G3,5"]:
        assert "G-score" in refusal(GScore.parse, text), text[:20]


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
def test_a_text_is_a_score_or_refused(text: str) -> None:
    try:
        GScore.parse(text)
    except UsageError:
        assert refusal(GScore.parse, text)
    else:
        assert re.fullmatch(GRAMMAR, text)


@given(scores)
def test_scores_are_made_from_text_and_shown_as_what_makes_them(score: GScore) -> None:
    assert (
        GScore(str(score)) == GScore.parse(str(score).replace("-", "m").lower()) == eval(repr(score)) == score
    )
    assert repr(score) == f"GScore('{score}')"
    assert f"{score:>9}|{score:<9}|{score}" == f"{score!s:>9}|{score!s:<9}|{score!s}"
    assert GScore(rank=score.rank, white=score.white) == score
    assert copy.deepcopy(score) == score


def test_scores_of_numbers_of_other_kinds() -> None:
    score = GScore(np.uint8(7), np.bool_(False))  # type: ignore[call-overload]
    assert score == GScore("-G3.5")
    assert (type(score.rank), type(score.white)) == (int, bool)
    codes = [*np.array([0, 7, 248], dtype=np.uint8), np.array(255)]
    assert [str(GScore.from_code(code)) for code in codes] == ["G0.0", "G3.5", "-G3.5", "-G0.0"]


def test_arguments_of_another_kind() -> None:
    holder = "the holder of a G-score cannot be {}: expected True for White"
    expected = "cannot be made from float: expected text such as"
    refused: list[tuple[Callable[..., object], tuple[object, ...], str]] = [
        (GScore, (3.5,), f"{expected} 'G3.5'"),
        (GScore, (None,), "cannot be made from NoneType"),
        (GScore, (7,), "or a rank and whether White holds it"),
        (GScore, (3.5, True), "the rank of a G-score cannot be float: expected a whole number"),
        (GScore, ("G3.5", True), "the rank of a G-score cannot be str"),
        (GScore, (7, "black"), holder.format("'black'")),
        (GScore, (7, 2), holder.format("2")),
        (GScore.parse, (3.5,), expected),
        *((GScore.from_code, (code,), "a code cannot be float") for code in (7.0, np.float64(7))),
        (points, (3.5,), expected),
        (points, ("G3.5", None), "a scoring cannot be NoneType: expected its name"),
        (points_by_code, ("winner", 6), "the cutoff cannot be int: expected a GScore or its text"),
        (points_by_code, (None,), "a scoring cannot be NoneType"),
        (Scoring, ("komi",), "the scheme cannot be str: expected a Scheme; Scoring.parse"),
        (Scoring, (Scheme.KOMI, DEFAULT_CUTOFF, "G3.5"), "the komi cannot be str"),
        (Material.parse, (3,), "a material cannot be read from int: expected text such as KBNvK"),
    ]
    for make, arguments, sentence in refused:
        with pytest.raises(TypeError) as caught:
            make(*arguments)
        assert sentence in str(caught.value), arguments


def test_order_runs_from_white_mates_to_black_mates() -> None:
    ranks = range(MAX_RANK + 1)
    best_first = [GScore(rank, True) for rank in ranks] + [GScore(rank, False) for rank in reversed(ranks)]
    assert all(better > worse for better, worse in pairwise(best_first))
    assert sorted(best_first) == best_first[::-1]


@given(scores, scores)
def test_order_is_total_and_colours_reverse_it(one: GScore, other: GScore) -> None:
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (one < other or one == other)
    assert (one >= other) == (other <= one)
    assert one != other or hash(one) == hash(other)
    swapped = -one
    assert swapped != one == -swapped
    assert (one < other) == (swapped > -other)


def test_scores_compare_with_nothing_else() -> None:
    number: object = 0
    assert GScore(0, True) != number
    with pytest.raises(TypeError):
        GScore(0, True) < number  # noqa: B015


@pytest.mark.parametrize("value", [GScore("-G3.5"), Material.parse("K[WF]vKN")])
def test_scores_and_materials_never_change(value: GScore | Material) -> None:
    for name in value.__match_args__:
        with pytest.raises(AttributeError, match=f"{name} cannot be set"):
            setattr(value, name, "K")
        with pytest.raises(AttributeError, match=f"{name} cannot be deleted"):
            delattr(value, name)
    assert [getattr(value, name) for name in value.__match_args__] in ([7, False], ["KN", "K[WF]"])
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value


def test_codes_ascend_as_scores_get_worse_for_white() -> None:
    ranks = range(MAX_CODED_RANK + 1)
    for one, other in pairwise(
        [*(GScore(at, True) for at in ranks), *(GScore(at, False) for at in ranks[::-1])]
    ):
        assert 0 <= one.code < other.code <= 255
    for rank in ranks:
        score = GScore(rank, True)
        assert NONE not in (score.code, (-score).code)
        assert (-score).code == 255 - score.code
        assert GScore.from_code(score.code) is GScore.from_code(score.code)
        assert GScore.from_code(score.code) == score == -GScore.from_code((-score).code)


def test_ranks_and_codes_are_bounded() -> None:
    for rank in (-1, MAX_RANK + 1):
        assert f"rank {rank} is not" in refusal(GScore, rank, True)
    for code in (NONE, NONE + 1, -1, 256):
        with pytest.raises(ValueError, match=f"{code} is not the code of a G-score"):
            GScore.from_code(code)
    with pytest.raises(UsageError, match=r"-G63\.5 is too large for tables, whose greatest score is G63\.0"):
        GScore.parse("-G63.5").code  # noqa: B018


def test_score_of_a_position() -> None:
    for fen, score in rows("scores_of_positions.txt", " -> "):
        assert str(GScore.of_board(chess.Board(fen))) == score, fen
