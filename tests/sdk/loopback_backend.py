"""The backend that the Visceral SDK asks, on 127.0.0.1: its key, its rules, stored results, spans.

    python tests/sdk/loopback_backend.py < WHAT.json

prints its address and answers until it is ended, from ``{"rules": [...], "results": {DECISION_ID:
{"text": ..., "cached_at": ...}}}``. Everything is answered from memory, and over connections that
stay open, so that what is measured against it is the SDK and not this file.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import socketserver
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY = bytes(range(32))
KEY_ID = "k-1"
_IV = bytes(12)  # the key of a test, for the same bytes at every run
_TAG_BYTES = 16


@dataclass(frozen=True)
class Stored:
    """The result of a real execution: its canonical JSON, and when it was produced, ISO 8601."""

    text: str
    cached_at: str


Find = Callable[[str, str | None], Stored | None]
"""The stored result for a decision and an input hash, if it may be served."""


@dataclass
class Backend:
    """What it answers from; may be changed while it runs."""

    rules: list[Any] = field(default_factory=list)
    find: Find = lambda decision_id, input_hash: None
    exported: list[bytes] = field(default_factory=list)
    """The bodies of the requests that brought spans."""

    def answer(self, target: str, body: bytes) -> tuple[int, bytes]:
        """Return status and body."""
        asked = urlsplit(target)
        if asked.path == "/v1/apply/tool-result":
            query = parse_qs(asked.query)
            stored = self.find(query["decision_id"][0], query.get("input_hash", [None])[0])
            return (404, b"{}") if stored is None else (200, sealed(stored))
        if asked.path == "/v1/apply/rules":
            return 200, json.dumps({"rules": self.rules}).encode()
        if asked.path == "/v1/workspace/me":
            me = {"workspace_id": "00000000-0000-0000-0000-000000000001", "key_id": KEY_ID}
            return 200, json.dumps({**me, "encryption_key_b64": _base64(KEY)}).encode()
        if asked.path == "/v1/otlp/v1/traces":
            self.exported.append(body)
            return 200, b""
        return 404, b"{}"


@functools.lru_cache(maxsize=1024)
def sealed(stored: Stored) -> bytes:
    """Return the answer that carries a stored result."""
    plain = stored.text.encode()
    cipher = AESGCM(KEY).encrypt(_IV, plain, None)
    answer = {
        "ciphertext_b64": _base64(cipher[:-_TAG_BYTES]),
        "iv_b64": _base64(_IV),
        "tag_b64": _base64(cipher[-_TAG_BYTES:]),
        "content_hash": hashlib.sha256(plain).hexdigest(),
        "cached_at": stored.cached_at,
    }
    return json.dumps(answer).encode()


class Server(socketserver.ThreadingTCPServer):
    """Answers for a backend until it is closed."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        super().__init__(("127.0.0.1", 0), _Connection)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def start(self) -> None:
        """Answer from a thread."""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self.shutdown()
        self.server_close()


class _Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: Server

    def handle(self) -> None:
        while line := self.rfile.readline():
            length = 0
            while (header := self.rfile.readline()).strip():
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            status, body = self.server.backend.answer(
                line.split()[1].decode(), self.rfile.read(length)
            )
            kind = b"HTTP/1.1 %d -\r\nContent-Type: application/json\r\n" % status
            self.wfile.write(kind + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def main() -> None:
    """Answer from what standard input says."""
    what = json.load(sys.stdin)
    results = {decision: Stored(**stored) for decision, stored in what["results"].items()}
    server = Server(Backend(what["rules"], lambda decision, _: results.get(decision)))
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
