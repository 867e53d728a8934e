"""What all pages share: the template environment, the style sheet, diagrams and plots.

All but the style sheet (:mod:`tbgen.html.style`) needs the extra ``report``; a package that is not there
gives a :class:`tbgen.errors.MissingExtraError`.
"""
