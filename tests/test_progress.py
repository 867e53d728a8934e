"""How long work goes on still."""

import pytest

from tbgen.progress import Countdown


class SetClock:
    """A clock that stands still until it is set."""

    now = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    clock = SetClock()
    monkeypatch.setattr("time.monotonic", lambda: clock.now)
    return clock


def left(seconds: float, done: float, passed: float, clock: SetClock) -> float:
    """Seconds left of work, of which so much is done after so long."""
    countdown = Countdown(seconds)
    countdown.begin({"work": seconds})
    clock.now += passed
    countdown.reach("work", done / seconds)
    return countdown.seconds_left


def test_the_rest_takes_as_long_as_what_is_done(clock: SetClock) -> None:
    assert left(600, 0, 0, clock) == 600
    assert left(600, 0.001, 2, clock) == pytest.approx(660, rel=0.001), "too early to tell"
    assert left(600, 200, 420, clock) == pytest.approx(800)
    assert left(10, 11, 8, clock) == 0


def test_it_goes_by_the_steps_of_each_job(clock: SetClock) -> None:
    countdown = Countdown(12)
    clock.now = 0.0
    assert countdown.seconds_left == 12
    clock.now = 3.0
    countdown.begin({"unpacking": 2.0, "states": 6.0})
    countdown.reach("digest", 0)
    assert countdown.seconds_left == 12, "time counts from the first job on"
    clock.now = 7.0
    countdown.reach("unpacking", 1)
    assert countdown.seconds_left == pytest.approx(10 * 24 / 22)
    countdown.reach("positions", 0)
    assert countdown.seconds_left == pytest.approx(10 * 24 / 22)
    countdown.reach("states", 1)
    assert countdown.seconds_left == pytest.approx(4 * 24 / 28)
    countdown.reach("states", 0)
    assert countdown.seconds_left == pytest.approx(4 * 24 / 28), "it does not go back"
    countdown.begin({"states": 4.0})
    countdown.reach("states", 0.5)
    assert countdown.seconds_left == pytest.approx(2 * 24 / 30)


def test_what_a_job_has_passed_over_counts_as_done(clock: SetClock) -> None:
    countdown = Countdown(12)
    countdown.begin({"unpacking": 2.0, "states": 6.0})
    countdown.reach("unpacking", 0.5)
    countdown.finish()
    assert countdown.seconds_left == pytest.approx(4 * 20 / 28)
    countdown.finish()
    assert countdown.seconds_left == pytest.approx(4 * 20 / 28), "no job goes on"
