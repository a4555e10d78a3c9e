"""Who may ask the studio: the page that it served itself, on this machine, with its key.

Any site that is open in the same browser can send requests to a port of this machine, and a name that a stranger
controls can be made to point here. So a request must be for this address by its own name (Host), must not come from
another page (Origin, Sec-Fetch-Site), and all but the page's own files need the key, which stands in the part of the
page's address that no browser sends. Bodies are JSON of a limited size, which a form of another site cannot send.
"""

from email.message import Message
from hmac import compare_digest

HOST = "127.0.0.1"
KEY = "X-Handloom-Key"
MOST = 64 * 2**20  # bytes of a body
METHODS = ("GET", "POST")
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data:; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refused(Exception):
    """A request that is not answered: the status of HTTP, and why in one line."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def check_sender(headers: Message, port: int) -> None:
    """Raise Refused for a request that is not for this address by its own name, or comes from another page."""
    own = [f"{name}:{port}" for name in (HOST, "localhost")]
    host, origin = headers.get("Host"), headers.get("Origin")
    if host not in own or len(headers.get_all("Host", [])) > 1:
        raise Refused(403, f"this is {own[0]} (expected it as the Host); open the address that the studio printed")
    if origin is not None and origin not in [f"http://{name}" for name in own]:
        raise Refused(403, "the request comes from another page; open the address that the studio printed")
    if headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "the request comes from another site; open the address that the studio printed")


def check_key(headers: Message, key: str) -> None:
    """Raise Refused for a request without the key."""
    if not compare_digest(headers.get(KEY, "").encode(), key.encode()):
        raise Refused(401, "the key is missing or wrong; open the address that the studio printed, with all of it")


def body_length(headers: Message) -> int:
    """How many bytes of JSON follow. Raise Refused if it is no JSON, too long, or not said."""
    if headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "the body must be application/json")
    length = headers.get("Content-Length", "")
    if "Transfer-Encoding" in headers or not (length.isascii() and length.isdecimal()):
        raise Refused(411, "the length of the body must be given (Content-Length)")
    if len(length) > 12 or int(length) > MOST:
        raise Refused(413, f"the body has more than {MOST:,} bytes")
    return int(length)
