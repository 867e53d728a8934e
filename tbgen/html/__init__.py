"""What all pages share: the template environment, the style sheet, diagrams and plots.

Pages need the extra ``report``; a package that is not there gives a :class:`tbgen.errors.MissingExtraError`.
"""
