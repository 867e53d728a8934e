"""Parts shared by all pages: the template environment, the style sheet, diagrams and plots.

Plots (:mod:`tbgen.html.charts`) need the extra ``report``. Without this extra, importing the module raises a
:class:`tbgen.extras.MissingExtraError`.
"""
