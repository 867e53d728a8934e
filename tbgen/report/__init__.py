"""Statistics of whole tables: distributions, records, what every endgame gives, mating potential.

:func:`write_report` writes them as a site, :func:`read_report` returns them, and :func:`report_document`
makes one document for JSON of them. :func:`save_report` saves what the others read in place of tables.
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
