"""How long work goes on still."""

from types import SimpleNamespace

import pytest

from tbgen.progress import Countdown


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands still until it is set."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("time.monotonic", lambda: clock.now)
    return clock


def test_the_rest_takes_as_long_as_what_is_done(clock: SimpleNamespace) -> None:
    for seconds, done, passed, left in (
        (600, 0, 0, 600),
        (600, 0.001, 2, pytest.approx(660, rel=0.001)),  # too early to tell
        (600, 200, 420, pytest.approx(800)),
        (10, 11, 8, 0),
    ):
        countdown = Countdown(seconds)
        countdown.begin({"work": seconds})
        clock.now += passed
        countdown.reach("work", done / seconds)
        assert countdown.seconds_left == left


def test_it_goes_by_the_steps_of_each_job(clock: SimpleNamespace) -> None:
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


def test_what_a_job_has_passed_over_counts_as_done(clock: SimpleNamespace) -> None:
    countdown = Countdown(12)
    countdown.begin({"unpacking": 2.0, "states": 6.0})
    countdown.reach("unpacking", 0.5)
    countdown.finish()
    assert countdown.seconds_left == pytest.approx(4 * 20 / 28)
    countdown.finish()
    assert countdown.seconds_left == pytest.approx(4 * 20 / 28), "no job goes on"
