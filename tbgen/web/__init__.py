"""Looking positions up by HTTP: the JSON API of docs/web.md, as an ASGI application and as a server.

It needs the extra ``web``; a package that is not there gives a :class:`tbgen.errors.MissingExtraError` where
:func:`tbgen.web.server.serve` is called.
"""
