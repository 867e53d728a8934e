"""Plots of the same table are drawn once by a process, where a test does not ask for them anew."""

from collections.abc import Iterator

import pytest

from tests.support.reports import drawn_once


@pytest.fixture(scope="package", autouse=True)
def _plots_are_drawn_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tbgen.report.site.site.plots", drawn_once)
        yield
