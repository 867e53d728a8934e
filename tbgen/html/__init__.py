"""What all pages share: the template environment, the style sheet, diagrams and plots.

Plots (:mod:`tbgen.html.plots`) need the extra ``report``; without it, importing them gives a
:class:`tbgen.extras.MissingExtraError`.
"""
