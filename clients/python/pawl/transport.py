"""HTTP with connections that are kept and used again. Safe for many threads."""

from __future__ import annotations

import http.client
import json
import select
import socket
import ssl
import threading
import time
from typing import Any, Mapping, Optional
from urllib.parse import quote, urlencode, urlsplit

from .errors import Unreachable, problem_of

_idle_max = 16  # connections that are kept open
_idle_seconds = 50.0  # the server closes one that was idle for 75; a request that meets the end would be lost


def segment(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


class Transport:
    def __init__(self, url: str, token: Optional[str], timeout: float, context: Optional[ssl.SSLContext]):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url: {url!r} is not like http://127.0.0.1:8210")
        self.host, self.port, self.prefix = parts.hostname, parts.port, parts.path.rstrip("/")
        self.timeout = timeout
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._headers = {"Accept": "application/json", "User-Agent": "pawl-python"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []  # since when, the newest last
        self._lock = threading.Lock()

    def json(
        self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None, body: Any = None, **more: Any
    ) -> Any:
        """Sends `body` as JSON and returns (status, the answer's JSON). Raises a `Problem` or `Unreachable`."""
        data = None if body is None else json.dumps(body).encode()
        status, text = self.exchange(method, path, query=query, data=data, **more)
        return status, (json.loads(text) if text else None)

    def exchange(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        data: Optional[bytes] = None,
        kind: str = "application/json",
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        repeat: bool = False,
        cancel: Optional["Cancel"] = None,
    ) -> tuple[int, bytes]:
        """`repeat`: the request may be sent once more when no answer came; it then counts once."""
        for last_chance in ((False, True) if repeat else (True,)):
            connection = self._take()
            try:
                response = self._send(connection, method, path, query, data, kind, headers, timeout, cancel)
                text = response.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if last_chance or isinstance(error, socket.timeout):
                    raise Unreachable(f"{method} {path}: {error or type(error).__name__}") from error
                continue
            self._give_back(connection, response)
            check(response.status, text)
            return response.status, text
        raise AssertionError("unreachable")

    def open(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: float = 60,
        cancel: Optional["Cancel"] = None,
    ) -> "Stream":
        """An answer that is read while it comes."""
        connection = self._connect()
        data = None if body is None else json.dumps(body).encode()
        cancel = cancel or Cancel()
        try:
            response = self._send(connection, method, path, query, data, "application/json", headers, timeout, cancel)
            if response.status >= 300:
                check(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(f"{method} {path}: {error or type(error).__name__}") from error
        except Exception:
            connection.close()
            raise
        return Stream(connection, response, cancel)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]],
        data: Optional[bytes],
        kind: str,
        headers: Optional[Mapping[str, str]],
        timeout: Optional[float],
        cancel: Optional["Cancel"],
    ) -> http.client.HTTPResponse:
        pairs = [(name, value) for name, value in (query or {}).items() if value is not None]
        target = self.prefix + path + ("?" + urlencode(pairs, doseq=True) if pairs else "")
        sent = {**self._headers, **(headers or {})}
        if data is not None:
            sent["Content-Type"] = kind
        if connection.sock is None:
            connection.connect()  # it sets TCP_NODELAY
        connected = connection.sock
        assert connected is not None
        connected.settimeout(self.timeout if timeout is None else timeout)
        if cancel:
            cancel.watch(connected)
        connection.request(method, target, body=data, headers=sent)
        return connection.getresponse()

    def _connect(self) -> http.client.HTTPConnection:
        if self._context:
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self._context)
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)

    def _take(self) -> http.client.HTTPConnection:
        while True:
            with self._lock:
                if not self._idle:
                    return self._connect()
                since, connection = self._idle.pop()
            # Something to read on an idle connection is its end.
            old = time.monotonic() - since > _idle_seconds
            if not old and connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()

    def _give_back(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        with self._lock:
            if not response.will_close and len(self._idle) < _idle_max:
                self._idle.append((time.monotonic(), connection))
                return
        connection.close()


def check(status: int, text: bytes) -> None:
    if status < 300:
        return
    try:
        body = json.loads(text)
    except ValueError:  # a proxy in between need not speak Problem Details
        body = {}
    raise problem_of(status, body if isinstance(body, dict) else {})


class Cancel:
    """Ends a request that waits, from another thread: whoever waits gets `Unreachable`, or the end of the stream."""

    def __init__(self) -> None:
        self.cancelled = False
        self._socket: Optional[socket.socket] = None
        self._lock = threading.Lock()

    def watch(self, connected: Optional[socket.socket]) -> None:
        with self._lock:
            self._socket = connected
            cancelled = self.cancelled
        if cancelled:
            self.close()

    def close(self) -> None:
        with self._lock:
            self.cancelled = True
            shut(self._socket)


class Stream:
    """Lines of an answer. `close` may be called from another thread; the reader then gets the end."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, cancel: Cancel):
        self._connection, self._response, self._cancel = connection, response, cancel
        self._socket = connection.sock
        self._closed = False

    def line(self) -> Optional[bytes]:
        """The next line without its end; None at the end of the stream."""
        try:
            line = self._response.readline()
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            if self._closed or self._cancel.cancelled:
                return None
            raise Unreachable(str(error) or type(error).__name__) from error
        return line.rstrip(b"\r\n") if line else None

    def close(self) -> None:
        self._closed = True
        shut(self._socket)
        self._connection.close()


def shut(connected: Optional[socket.socket]) -> None:
    """Wakes whoever reads from it."""
    try:
        if connected is not None:
            connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
