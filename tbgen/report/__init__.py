"""Statistics of tables: distributions, records, typical results of endgames, mating potential.

:func:`write_report` writes a site about tables. :func:`read_report` returns the statistics as a
:class:`Report`, and :func:`report_document` converts a report to one JSON document. :func:`save_report` saves
the statistics in files, which the other functions can read instead of the tables.
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
