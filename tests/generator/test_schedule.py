"""The schedule of a build: the next tables to begin, and the estimated time and memory of the rest."""

import random

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.generator.estimate import Estimate, combined_peak, estimate
from tbgen.generator.schedule import BuildSchedule, Limits
from tbgen.tables.library import MAX_KEPT_BYTES
from tests.support.exhaustive import exhaustive

BASE = combined_peak([])
KVK, KQVK, KRVK, KBVK, KNVK, KPVK = all_materials(3)


def paper(seconds: dict[str, float], memory: dict[str, int]) -> BuildSchedule:
    """Return a schedule of tables of three men with made-up costs; two threads take half the time of one."""

    def needs(material: Material, threads: int) -> Estimate:
        own = memory.get(material.name, 10)
        taken = seconds.get(material.name, 1.0) / threads
        return Estimate(material, taken, BASE + own, BASE, kept_bytes=0, disk=0, scratch=0, threads=threads)

    return BuildSchedule(all_materials(3), needs)


def begun(schedule: BuildSchedule, finished: list[Material], limits: Limits) -> list[tuple[str, int]]:
    return [(need.material.name, need.threads) for need in schedule.tables_to_start(finished, {}, limits)]


def test_sub_tables_come_first() -> None:
    schedule = paper({}, {})
    limits = Limits(8, 8, 1 << 40)
    assert begun(schedule, [], limits) == [("KvK", 8)]
    assert begun(schedule, [KVK], limits) == [(material.name, 2) for material in all_materials(3)[1:5]]
    assert begun(schedule, [KVK, KQVK, KRVK, KBVK], limits) == [("KNvK", 8)]
    assert begun(schedule, [KVK, KQVK, KRVK, KBVK, KNVK], limits) == [("KPvK", 8)]
    assert begun(schedule, all_materials(3), limits) == []


def test_what_is_not_to_be_built_is_there() -> None:
    assert BuildSchedule([KPVK], paper({}, {}).estimate).ready_tables([]) == [KPVK]


def test_threads_are_shared() -> None:
    """The tables at work share the threads evenly; each has at least one."""
    schedule = paper({}, {})
    assert begun(schedule, [KVK], Limits(2, 5, 1 << 40)) == [("KQvK", 2), ("KRvK", 2)]
    assert begun(schedule, [KVK], Limits(3, 2, 1 << 40)) == [("KQvK", 1), ("KRvK", 1), ("KBvK", 1)]
    assert begun(schedule, [KVK], Limits(4, 4, BASE + 25)) == [("KQvK", 2), ("KRvK", 2)]
    assert begun(schedule, [KVK], Limits(1, 4, 1 << 40)) == [("KQvK", 4)]


def test_memory() -> None:
    """A table that does not fit waits, and a smaller one begins before it; if none is at work, it begins."""
    schedule = paper({}, {"KQvK": 60, "KRvK": 60, "KBvK": 30})
    assert begun(schedule, [KVK], Limits(2, 2, BASE + 95)) == [("KQvK", 1), ("KBvK", 1)]
    at_work = {KQVK: schedule.estimate(KQVK, 2)}
    assert schedule.tables_to_start([KVK], at_work, Limits(2, 2, BASE + 65)) == []
    beside = schedule.tables_to_start([KVK], at_work, Limits(4, 2, BASE + 100))
    assert [need.material for need in beside] == [KBVK, KNVK]
    assert schedule.tables_to_start([KVK], at_work, Limits(1, 2, 1 << 40)) == []
    assert begun(schedule, [KVK], Limits(4, 4, BASE + 5)) == [("KQvK", 4)]


def test_finished_tables_that_are_kept() -> None:
    """Finished tables with few men are kept in memory for tables that depend on them, up to a limit."""
    schedule = BuildSchedule(all_materials(4), lambda m, threads: estimate(m, Variant.R_MOBILITY, threads))
    limits = Limits(1, 1, 1 << 40)
    largest = max(schedule.estimate(material, 1).memory for material in all_materials(4))
    assert largest < schedule.outlook(limits).memory <= largest + MAX_KEPT_BYTES
    lone = schedule.estimate(KPVK, 1)
    assert combined_peak([lone]) == lone.memory
    assert combined_peak([lone], 100 << 20) == lone.memory - lone.shared_bytes + BASE + (100 << 20)
    assert combined_peak([lone], 1 << 40) == lone.memory - lone.shared_bytes + BASE + MAX_KEPT_BYTES
    assert estimate(Material.parse("KQRvKR"), Variant.R_MOBILITY).kept_bytes == 0


def test_the_outlook() -> None:
    schedule = paper({"KQvK": 4.0, "KRvK": 6.0}, {"KQvK": 100, "KRvK": 200})
    one = schedule.outlook(Limits(1, 1, 1 << 40))
    assert (one.seconds, one.memory, one.jobs) == (14.0, BASE + 200, 1)
    two = schedule.outlook(Limits(2, 1, 1 << 40))  # Q and R; at 4 B, at 5 N, at 6 both done
    assert (two.seconds, two.memory, two.jobs) == (8.0, BASE + 300, 2)
    narrow = schedule.outlook(Limits(2, 1, BASE + 250))
    assert (narrow.seconds, narrow.memory, narrow.jobs) == (12.0, BASE + 200, 2)  # R after Q, alone
    half = schedule.outlook(Limits(2, 1, 1 << 40), [KVK], {KQVK: (schedule.estimate(KQVK, 1), 3.0)}, pace=2.0)
    assert half.seconds == 14.0  # Q until 5, N and P after B, beside R until 12
    late = schedule.outlook(
        Limits(2, 1, 1 << 40), all_materials(3)[:5], {KPVK: (schedule.estimate(KPVK, 1), 9)}
    )
    assert late.seconds == 0.0
    assert schedule.outlook(Limits(2, 1, 0), all_materials(3)).seconds == 0.0


@pytest.mark.parametrize("seed", [0, *exhaustive([1, 2, 3])])
def test_no_order_breaks_the_rules(seed: int) -> None:
    """The limits hold for all materials of four men, in whatever order tables end."""
    rng = random.Random(seed)
    limits = Limits(rng.randint(1, 6), rng.randint(1, 6), rng.randint(1, 3) << 30)
    schedule = BuildSchedule(all_materials(4), lambda m, threads: estimate(m, Variant.R_MOBILITY, threads))
    finished: list[Material] = []
    at_work: dict[Material, Estimate] = {}
    while len(finished) < 36:
        for need in schedule.tables_to_start(finished, at_work, limits):
            assert need.material.successors() <= {*finished}
            at_work[need.material] = need
        assert 0 < len(at_work) <= limits.jobs
        assert len(at_work) == 1 or combined_peak(at_work.values()) <= limits.memory
        assert sum(need.threads for need in at_work.values()) <= limits.threads or all(
            need.threads == 1 for need in at_work.values()
        )
        ended = rng.choice(sorted(at_work))
        del at_work[ended]
        finished.append(ended)
    assert sorted(finished) == all_materials(4)
