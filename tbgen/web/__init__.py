"""Looking positions up by HTTP: the JSON API of docs/web.md, as an ASGI application and as a server."""
