"""Generated blocks of hand-written pages: functions that return Markdown, made from the code.

``scripts/renew_pages.py`` puts their texts into the pages. Each module has the blocks of one subject.
"""
