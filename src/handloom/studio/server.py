"""The server: the page's own files, answers in JSON, and one stream of events. All of it with the standard library.

    server = serve(Studio(Path()), port=0)
    print(server.address)                       # http://127.0.0.1:40123/#key=…

`guard.py` says who may ask, `routes.py` what is answered. A refusal or an error is JSON with one line in `error`. Each
answer is written at once, and not in two parts that wait for each other: that makes it 100 times as fast.
"""

import json
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from handloom.core import HandloomError
from handloom.core.checks import to_json
from handloom.studio import guard
from handloom.studio.desk import Studio
from handloom.studio.guard import Refused
from handloom.studio.routes import ROUTES

ASSETS = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/studio.js": ("studio.js", "text/javascript; charset=utf-8"),
    "/studio.css": ("studio.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
JSON = "application/json"
PATIENCE = 60.0  # seconds that a request may take to arrive


class Server(ThreadingHTTPServer):
    """A studio on a port of this machine."""

    daemon_threads = True
    allow_reuse_address = False  # another user's program must not listen beside us

    def __init__(self, studio: Studio, port: int) -> None:
        super().__init__((guard.HOST, port), Handler)
        self.studio, self.ended = studio, Event()

    @property
    def address(self) -> str:
        """What to open in a browser. The key is in the part that is never sent."""
        return f"http://{guard.HOST}:{self.server_port}/#key={self.studio.key}"

    def close(self) -> None:
        """End all runs, which saves them, and the server."""
        self.studio.jobs.close()
        self.ended.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is nobody's error."""


def serve(studio: Studio, port: int = 0) -> Server:
    """A server that answers from now on, in a thread of its own. Port 0 is a free one."""
    try:
        server = Server(studio, port)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise HandloomError(f"port {port}: {why} (expected a free port); name another, or 0 for any") from error
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    return server


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "handloom", ""
    timeout = PATIENCE
    disable_nagle_algorithm = True
    wbufsize = 65536

    def do_GET(self) -> None:
        self.answered()

    def do_POST(self) -> None:
        self.answered()

    def answered(self) -> None:
        """Answer, or say why not."""
        try:
            guard.check_sender(self.headers, self.server.server_port)
            path = urlsplit(self.path).path
            if self.command == "GET" and path in ASSETS:
                self.send(200, asset(path), ASSETS[path][1])
            else:
                guard.check_key(self.headers, self.server.studio.key)
                self.called(path)
        except Refused as refused:
            self.close_connection = True  # what it sent is left unread
            self.send_json(refused.status, {"error": str(refused)})
        except HandloomError as error:
            self.send_json(400, {"error": str(error), **getattr(error, "more", {})})
        except (BrokenPipeError, ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self.send_json(500, {"error": f"the studio has an error of its own: {type(error).__name__}: {error}"})

    def called(self, path: str) -> None:
        """Call what is asked for."""
        if path == "/api/events" and self.command == "GET":
            self.stream()
            return
        call = ROUTES.get(f"{self.command} {path}")
        if call is None:
            raise Refused(404, f"there is no {self.command} {path[:80]}")
        self.send_json(200, call(self.server.studio, self.body() if self.command == "POST" else {}))

    def body(self) -> dict[str, Any]:
        """The JSON object that was sent."""
        text = self.rfile.read(guard.body_length(self.headers))
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"the body is not JSON: {error}") from error
        if not isinstance(values, dict):
            raise Refused(400, "the body must be a JSON object")
        return values

    def stream(self) -> None:
        """Events as lines of JSON, from the one after `after` on, until one side ends."""
        (after,) = parse_qs(urlsplit(self.path).query).get("after", ["0"])[:1]
        self.begin(200, "application/x-ndjson", {"Connection": "close"})
        self.close_connection = True
        self.wfile.flush()
        for event in self.server.studio.events.follow(int(after) if after.isdecimal() else 0, self.server.ended.is_set):
            self.wfile.write(json.dumps(event).encode() + b"\n")
            self.wfile.flush()

    def send_json(self, status: int, values: Any) -> None:
        self.send(status, to_json(values).encode(), JSON)

    def send(self, status: int, data: bytes, kind: str) -> None:
        self.begin(status, kind, {"Content-Length": str(len(data))})
        self.wfile.write(data)
        self.wfile.flush()

    def begin(self, status: int, kind: str, more: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **guard.HEADERS, **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


@cache
def asset(path: str) -> bytes:
    return (files(__package__) / "static" / ASSETS[path][0]).read_bytes()
