"""What is asked of the store as a whole: how it is doing, tasks of people, kept signals, retention."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Iterator, Mapping, Optional, Type, TypeVar, Union

from .transport import Transport, segment
from .types import (
    Duration,
    Finding,
    KeptSignal,
    RetentionRule,
    RetentionSummary,
    SignalFate,
    Task,
    build,
    duration_text,
    time_text,
)

T = TypeVar("T")
page_rows = 100


def drop_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _time(value: Union[str, datetime, None]) -> Optional[str]:
    return time_text(value) if isinstance(value, datetime) else value


class StoreCalls:
    """The part of `Client` that needs no job."""

    transport: Transport

    def _json(self, method: str, path: str, **more: Any) -> Any:
        return self.transport.json(method, path, **more)[1]

    def _pages(self, path: str, name: str, kind: Type[T], query: Mapping[str, Any]) -> Iterator[T]:
        """All of a list; a page is read when the one before is used up."""
        after = None
        while True:
            page = self._json("GET", path, query={**query, "after": after, "limit": page_rows}, repeat=True)
            yield from (build(kind, one) for one in page[name])
            after = page["next"]
            if after is None:
                return

    def health(self) -> dict[str, Any]:
        document: dict[str, Any] = self._json("GET", "/health", repeat=True)
        return document

    def status(self, *, errors: int = 5, oldest: int = 5) -> dict[str, Any]:
        """How the store is doing: jobs by state and graph, frequent errors, work that waits, the oldest jobs."""
        document: dict[str, Any] = self._json(
            "GET", "/v1/status", query={"errors": errors, "oldest": oldest}, repeat=True
        )
        return document

    def doctor(self) -> list[Finding]:
        """What was looked at, each with a grade (good, warning, bad) and what to do."""
        return [build(Finding, one) for one in self._json("GET", "/v1/doctor", repeat=True)["findings"]]

    # Tasks: hooks that wait for a person.

    def tasks(
        self,
        *,
        role: Optional[str] = None,
        type: Optional[str] = None,
        job: Optional[str] = None,
        graph: Optional[str] = None,
        namespace: Optional[str] = None,
        claimed_by: Optional[str] = None,
        unclaimed: bool = False,
    ) -> Iterator[Task]:
        """Those that are open, all or of these."""
        query = {"role": role, "type": type, "job": job, "graph": graph, "namespace": namespace}
        query.update(claimed_by=claimed_by, unclaimed="true" if unclaimed else None)
        return self._pages("/v1/tasks", "tasks", Task, query)

    def claim_task(self, id: str, who: str, time: Optional[Duration] = None) -> None:
        """Keeps others away for a time; again to go on. Raises `Conflict` if somebody else has it."""
        body = drop_none({"who": who, "time": None if time is None else duration_text(time)})
        self._json("POST", f"/v1/tasks/{segment(id)}/claim", body=body, repeat=True)

    def release_task(self, id: str, who: str) -> None:
        """Gives it back."""
        self._json("POST", f"/v1/tasks/{segment(id)}/release", body={"who": who}, repeat=True)

    def resolve_task(self, id: str, data: Any = None, *, who: Optional[str] = None, code: Optional[int] = None) -> None:
        """The hook goes on with this data. `who` is needed if somebody has claimed it. The first one counts."""
        body = drop_none({"data": data, "who": who, "code": code})
        self._json("POST", f"/v1/tasks/{segment(id)}/resolve", body=body)

    # Signals that no hook has taken yet.

    def signal_fate(self, topic: str, data: Any = None, *, namespace: Optional[str] = None) -> SignalFate:
        """Whom a signal would reach now. Nothing is sent."""
        body = drop_none({"topic": topic, "data": data, "namespace": namespace, "dry_run": True})
        return build(SignalFate, self._json("POST", "/v1/signals", body=body, repeat=True))

    def kept_signals(
        self,
        *,
        topic: Optional[str] = None,
        namespace: Optional[str] = None,
        until: Union[str, datetime, None] = None,
    ) -> Iterator[KeptSignal]:
        """All of them, or of these: `until` is a time, or how long ago they were sent at least ("2h")."""
        query = {"topic": topic, "namespace": namespace, "until": _time(until)}
        return self._pages("/v1/signals", "signals", KeptSignal, query)

    def drop_kept_signal(self, id: str) -> None:
        """Drops one, if no hook takes it first."""
        self._json("DELETE", f"/v1/signals/{segment(id)}")

    def drop_kept_signals(
        self,
        *,
        topic: Optional[str] = None,
        namespace: Optional[str] = None,
        until: Union[str, datetime, None] = None,
    ) -> int:
        """Drops all of them, or these, and returns how many."""
        body = drop_none({"topic": topic, "namespace": namespace, "until": _time(until)})
        return int(self._json("POST", "/v1/signals/drop", body=body)["dropped"])

    # Retention: how long jobs are kept after their end.

    def retention(self) -> list[RetentionRule]:
        return [build(RetentionRule, one) for one in self._json("GET", "/v1/retention", repeat=True)["rules"]]

    def set_retention(
        self, keep: Optional[Duration], *, status: Optional[str] = None, graph: Optional[str] = None
    ) -> None:
        """Sets the rule of a status and a graph (none: any). `keep=None`: for ever."""
        body = drop_none({"status": status, "graph": graph, "keep": None if keep is None else duration_text(keep)})
        self._json("PUT", "/v1/retention", body=body if keep is not None else {**body, "forever": True}, repeat=True)

    def drop_retention(self, *, status: Optional[str] = None, graph: Optional[str] = None) -> None:
        self._json("DELETE", "/v1/retention", query={"status": status, "graph": graph})

    def apply_retention(self, *, dry_run: bool = False, timeout: Optional[float] = None) -> RetentionSummary:
        """Carries the rules out now; `dry_run` only counts. `timeout`: seconds, for very many."""
        document = self._json("POST", "/v1/retention/apply", body={"dry_run": dry_run}, timeout=timeout)
        return build(RetentionSummary, document)
