"""Reports and a site about three tables, made once; other plots are blank, since drawing takes seconds."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tbgen.board.material import all_materials
from tbgen.report.model import TableReport
from tests.support.reports import blank_plots, report_with_lines, write_site

SITE = ("KvK", "KRvK", "KPvK")
"""Materials of the site: without any line, without pawns, and with promotions."""


@pytest.fixture(scope="package", autouse=True)
def _plots_are_blank() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tbgen.report.site.draw_plots", blank_plots)
        yield


@pytest.fixture(scope="session")
def reports(three_men: Path) -> dict[str, TableReport]:
    """Reports on all tables of three men, with lines."""
    return {material.name: report_with_lines(three_men, material.name) for material in all_materials(3)}


@pytest.fixture(scope="session")
def shown(reports: dict[str, TableReport]) -> list[TableReport]:
    """Reports on the tables of the site."""
    return [reports[name] for name in SITE]


@pytest.fixture(scope="session")
def site(shown: list[TableReport], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, written by one process of the tests; only KRvK has real plots."""
    from tbgen.report.plots import draw_plots

    base = tmp_path_factory.getbasetemp()
    target = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "report" / "site"
    target.parent.mkdir(exist_ok=True)
    with (target.parent / "lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "index.html").exists():
            patch.setattr(
                "tbgen.report.site.draw_plots",
                lambda title, report: (draw_plots if report is shown[1] else blank_plots)(title, report),
            )
            write_site(target, shown)
    return target
