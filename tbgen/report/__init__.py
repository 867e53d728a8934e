"""Statistics of tables: distributions, records, typical results of endgames, mating potential.

:func:`write_report` writes a site about tables, :func:`read_report` returns the statistics, and
:func:`report_document` makes one JSON document of them. :func:`save_report` saves data that the other
functions can read instead of tables.
"""

from tbgen.report.making import Report, read_report, report_document, save_report, write_report
from tbgen.report.plan import ReportPlan, plan_report

__all__ = [
    "Report",
    "ReportPlan",
    "plan_report",
    "read_report",
    "report_document",
    "save_report",
    "write_report",
]
