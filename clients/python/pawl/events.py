"""Server-Sent Events that go on after a lost connection."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Generic, Iterator, Mapping, Optional, TypeVar

from .errors import RetryLater, Unreachable
from .transport import Stream, Transport

T = TypeVar("T")

silence_max = 45.0  # seconds; the server sends a comment every 15
retry_first, retry_max = 0.2, 5.0


class EventStream(Generic[T], Iterator[T]):
    """Iterate over it. After a lost connection it goes on behind `last_id`. `close` ends it, from any thread."""

    def __init__(
        self,
        transport: Transport,
        path: str,
        query: Mapping[str, Any],
        make: Callable[[str, Any], Optional[T]],
        last_id: Optional[str] = None,
    ):
        self.last_id = last_id
        self._transport, self._path, self._query, self._make = transport, path, query, make
        self._stream: Optional[Stream] = None
        self._closed = threading.Event()
        self._retry = retry_first

    def __enter__(self) -> "EventStream[T]":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._closed.set()
        if self._stream:
            self._stream.close()

    def connect(self) -> "EventStream[T]":
        """Connects now, so that nothing that happens from here on is missed."""
        if self._stream is None:
            headers = {"Accept": "text/event-stream"}
            if self.last_id:
                headers["Last-Event-ID"] = self.last_id
            self._stream = self._transport.open(
                "GET", self._path, query=self._query, headers=headers, timeout=silence_max
            )
        return self

    def __next__(self) -> T:
        while not self._closed.is_set():
            try:
                self.connect()
                made = self._read()
            except (Unreachable, RetryLater):
                self._lose()
                continue
            if made is not None:
                self._retry = retry_first
                return made
        raise StopIteration

    def _lose(self) -> None:
        if self._stream:
            self._stream.close()
        self._stream = None
        self._closed.wait(self._retry)
        self._retry = min(self._retry * 2, retry_max)

    def _read(self) -> Optional[T]:
        assert self._stream
        name, data, id_ = "message", [], None
        while True:
            line = self._stream.line()
            if line is None:
                raise Unreachable("the stream has ended")
            if not line:
                break
            field, _, value = line.decode().partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
            elif field == "id":
                id_ = value
        if id_:
            self.last_id = id_
        if not data and name == "message":  # a comment that keeps the connection open
            return None
        return self._make(name, json.loads("\n".join(data)) if data else None)
