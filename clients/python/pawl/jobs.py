"""A handle on one job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Optional

from .errors import JobNotCompleted, NotEnded, RetryLater, Unreachable
from .transport import segment
from .types import Duration, HistoryEvent, Job, JobDetail, build, duration_text

if TYPE_CHECKING:
    from .client import Client
    from .events import EventStream
    from .types import Event

poll_max = 50.0  # seconds of one request that waits
_same: Any = object()


class JobHandle:
    """Names a job: its newest run, or the run that was given."""

    def __init__(
        self,
        client: "Client",
        id: str,
        namespace: str = "default",
        run: Optional[str] = None,
        created: Optional[bool] = None,
    ):
        self.client, self.id, self.namespace, self.run = client, id, namespace, run
        self.created = created  # by start: False if the id was taken and this is the job that has it

    def __repr__(self) -> str:
        return f"JobHandle({self.id!r}, namespace={self.namespace!r}, run={self.run!r})"

    def _query(self, **more: Any) -> dict[str, Any]:
        return {"namespace": self.namespace, "run": self.run, **more}

    def _path(self, what: str = "") -> str:
        return f"/v1/jobs/{segment(self.id)}{what}"

    def _do(self, verb: str, body: Any = None, repeat: bool = True) -> Any:
        return self.client._json("POST", self._path(f"/{verb}"), query=self._query(), body=body, repeat=repeat)

    def get(self) -> JobDetail:
        """The job with its activities, attempts, waits and timers."""
        return build(JobDetail, self.client._json("GET", self._path(), query=self._query(), repeat=True))

    def wait(self, timeout: Optional[float] = None) -> Job:
        """How the job stands once it has ended or is parked. Goes on through a restart of the server."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.1
        while True:
            left = poll_max if end is None else max(0.0, min(poll_max, end - time.monotonic()))
            try:
                query = self._query(timeout=duration_text(left))
                status, document = self.client.transport.json(
                    "GET", self._path("/result"), query=query, timeout=left + self.client.transport.timeout
                )
            except (Unreachable, RetryLater):
                if end is not None and time.monotonic() + pause > end:
                    raise
                time.sleep(pause)
                pause = min(2 * pause, 5.0)
                continue
            pause = 0.1
            if status == 200:
                return build(Job, document)
            if end is not None and time.monotonic() >= end:
                raise NotEnded(f"job {self.id} is {document['status']} after {timeout} s")

    def result(self, timeout: Optional[float] = None) -> Any:
        """The result of a completed job. Raises `JobNotCompleted` for another end, `NotEnded` after `timeout` seconds."""
        job = self.wait(timeout)
        if job.status != "completed":
            raise JobNotCompleted(job)
        return job.result

    def history(self) -> list[HistoryEvent]:
        """What happened, in order of time, with the last 20 failed attempts of each activity."""
        return [
            build(HistoryEvent, one)
            for one in self.client._json("GET", self._path("/history"), query=self._query(), repeat=True)["events"]
        ]

    def export(self, children: bool = False) -> dict[str, Any]:
        document: dict[str, Any] = self.client._json(
            "GET", self._path("/export"), query=self._query(children=str(children).lower()), repeat=True
        )
        return document

    def picture(self) -> str:
        """The graph as SVG."""
        return self.client.transport.exchange("GET", self._path("/picture"), query=self._query(), repeat=True)[
            1
        ].decode()

    def events(self, last_id: Optional[str] = None) -> "EventStream[Event]":
        return self.client.events(job=self.id, namespace=self.namespace, run=self.run, last_id=last_id)

    def signal(
        self,
        topic: str,
        data: Any = None,
        *,
        id: Optional[str] = None,
        pending: bool = False,
        code: Optional[int] = None,
    ) -> None:
        """Sends a hook of this job what it waits for. Under the same `id` it counts once."""
        body = {"topic": topic, "data": data, "id": id, "pending": pending or None, "code": code}
        self.client._json(
            "POST",
            self._path("/signal"),
            query=self._query(),
            body={k: v for k, v in body.items() if v is not None},
            repeat=id is not None,
        )

    def interrupt(self, reason: str = "") -> None:
        self._do("interrupt", {"reason": reason} if reason else None)

    def cancel(self, reason: str = "") -> None:
        """Ends it after it has undone what it did (`compensate`); `interrupt` ends it as it is."""
        self._do("cancel", {"reason": reason} if reason else None)

    def pause(self, reason: str = "") -> None:
        self._do("pause", {"reason": reason} if reason else None)

    def resume(self) -> None:
        self._do("resume")

    def redrive(self, *, answer: Any = _same, code: Optional[int] = None) -> "JobHandle":
        """A parked job goes on where it stopped, a failed one in a new run under its id; attempts count afresh.
        Returns a handle on the run that goes on. `answer`: of a job that refused what a worker answered, this counts
        instead."""
        body = {} if answer is _same else {"answer": answer}
        if code is not None:
            body["code"] = code
        return JobHandle(self.client, self.id, self.namespace, self._do("redrive", body, repeat=False)["run"])

    def settle(
        self,
        activity: str,
        outcome: str,
        *,
        address: Optional[str] = None,
        code: Optional[int] = None,
        data: Any = None,
    ) -> None:
        """Says what became of an effect that is unknown: done, failed or not_done."""
        body = {"activity": activity, "outcome": outcome, "address": address, "code": code, "data": data}
        self._do("settle", {k: v for k, v in body.items() if v is not None})

    def rerun(
        self, id: Optional[str] = None, *, input: Any = _same, from_activity: Optional[str] = None
    ) -> "JobHandle":
        """A new job from the input of this one, or another. `from_activity`: what was answered before it counts."""
        body = {name: value for name, value in {"id": id, "from": from_activity}.items() if value}
        if input is not _same:
            body["input"] = input
        started = self.client._json("POST", self._path("/rerun"), query=self._query(), body=body)
        return JobHandle(self.client, started["id"], started["namespace"], started["run"], started["created"])

    def remove(self, keep_id: Optional[Duration] = None) -> None:
        """Takes an ended job out of the store; `keep_id`: so long the id stays taken."""
        self.client._json(
            "DELETE",
            self._path(),
            query=self._query(keep_id=None if keep_id is None else duration_text(keep_id)),
            repeat=True,
        )
