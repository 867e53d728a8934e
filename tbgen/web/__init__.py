"""The HTTP API of docs/web.md and the explorer's page, as an ASGI application and as a server."""
