"""Time controls: their notation, and the clocks that follow them."""

import pytest
from chess import BLACK, WHITE

from tbgen.match.clock import Clock, TimeControl, limit_of
from tests.support.refusals import refusal


def test_time_controls_of_cute_chess() -> None:
    for text, moves, time, increment, printed in (
        ("40/60+0.6", 40, 60, 0.6, "40/60+0.6"),
        ("10", 0, 10, 0, "10"),
        ("1:30+1", 0, 90, 1, "90+1"),
        ("40/2:05", 40, 125, 0, "40/125"),
        ("0+1", 0, 0, 1, "0+1"),
    ):
        control = TimeControl.parse(text)
        assert (control.moves, control.time, control.increment) == (moves, time, increment), text
        assert str(control) == printed
        assert TimeControl.parse(str(control)) == control
    for text in ("", "x", "10+", "/10", "0", "1:2:3", "-5", "10+1+1", "1.2.3"):
        assert refusal(TimeControl.parse, text)


def test_a_clock_counts_moves_and_increments() -> None:
    clock = Clock(TimeControl.parse("2/10+1"))
    clock.spend(4)
    assert (clock.seconds_left, clock.moves_remaining) == (7, 1)
    clock.spend(7)  # nothing is left but the increment, and then the next ten seconds
    assert (clock.allowed_seconds, clock.moves_remaining) == (11, 2)


def test_without_a_base_the_first_move_has_the_increment() -> None:
    """Other programs do the same (scalachess, ``Clock.Config.initTime``)."""
    for text in ("0+5", "0:00+5", "40/0.0+5"):
        clock = Clock(TimeControl.parse(text))
        for seconds, left in ((5, 5), (5, 5), (2, 8)):
            clock.spend(seconds)
            assert clock.allowed_seconds == left, text


def test_time_is_added_only_after_the_move() -> None:
    """The added time does not save a move that is too late (fastchess 1066)."""
    clock = Clock(TimeControl.parse("2/10"))
    clock.spend(4)
    assert clock.allowed_seconds == 6


def test_a_margin_allows_late_moves() -> None:
    clock = Clock(TimeControl.parse("1", margin=0.5))
    clock.spend(1.25)
    assert clock.seconds_left == -0.25
    assert clock.allowed_seconds == 0.25


def test_limits_that_an_engine_ignores() -> None:
    control = TimeControl(nodes=100, depth=5)
    assert control.excess(1000, 10) == control.excess(None, 0) == ""
    assert control.excess(1001, 0) == "nodes=100: it has searched 1,001 nodes for a move"
    assert control.excess(None, 11) == "depth=5: it has searched a move to depth 11"
    assert TimeControl.parse("1").excess(10**9, 99) == ""


def test_without_a_clock_time_is_unlimited() -> None:
    clock = Clock(TimeControl(nodes=100))
    assert clock.allowed_seconds is None
    clock.spend(1e6)
    assert clock.allowed_seconds is None
    assert not TimeControl.parse("inf").has_limit


def test_engines_get_both_clocks() -> None:
    white, black = Clock(TimeControl.parse("40/60+0.6")), Clock(TimeControl.parse("20"))
    white.spend(10)
    limit = limit_of({WHITE: white, BLACK: black}, WHITE)
    assert (limit.white_clock, limit.black_clock) == (pytest.approx(50.6), 20)
    assert (limit.white_inc, limit.black_inc, limit.remaining_moves) == (0.6, None, 39)
    fixed = limit_of({WHITE: white, BLACK: Clock(TimeControl(depth=5, per_move=2))}, BLACK)
    assert (fixed.white_clock, fixed.time, fixed.depth) == (None, 2, 5)
