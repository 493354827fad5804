"""One attempt at some work: what a worker has been given and answers."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Optional

from .errors import LostWork, Problem, problem_of
from .types import Answer, Duration, time_of

if TYPE_CHECKING:
    from .client import Client


@dataclass
class Work:
    client: "Client" = field(repr=False)
    token: str  # names this attempt
    topic: str
    key: str  # the same for every attempt: give it to services that must not act twice
    job: str
    run: str
    namespace: str
    attempt: int
    input: Any
    progress: Any  # what an earlier attempt last reported
    lease_until: Optional[datetime]
    traceparent: Optional[str] = None  # the trace that the job belongs to (W3C Trace Context)
    tracestate: Optional[str] = None
    _lease: Optional[Duration] = field(default=None, repr=False)  # as it was taken
    _pendings: int = field(default=0, repr=False)
    _lost: threading.Event = field(default_factory=threading.Event, repr=False)
    _answered: bool = field(default=False, repr=False)

    @staticmethod
    def of(client: "Client", document: dict[str, Any], lease: Optional[Duration] = None) -> "Work":
        return Work(
            client,
            document["token"],
            document["topic"],
            document["key"],
            document["job"],
            document["run"],
            document.get("namespace", "default"),
            document["attempt"],
            document.get("input"),
            document.get("progress"),
            time_of(document.get("lease_until")),
            document.get("traceparent"),
            document.get("tracestate"),
            lease,
        )

    @property
    def lost(self) -> bool:
        """True once the server said that this attempt does not count any more. A long handler looks at it and stops."""
        return self._lost.is_set()

    def wait_lost(self, seconds: float) -> bool:
        """Sleeps, but not longer than the attempt counts. True if it was lost."""
        return self._lost.wait(seconds)

    def complete(self, data: Any = None, code: Optional[int] = None) -> None:
        self._answer("complete", data=data, code=code)

    def fail(self, data: Any, code: Optional[int] = None, retryable: bool = True) -> None:
        self._answer("fail", data={"message": data} if isinstance(data, str) else data, code=code, retryable=retryable)

    def release(self) -> None:
        """Gives the work back: another worker may take it at once."""
        self._answer("release")

    def heartbeat(self, progress: Any = None, lease: Optional[Duration] = None) -> None:
        """Reports that it is alive and how far it came. Raises `LostWork` if the attempt does not count any more."""
        self._answer("heartbeat", data=progress, lease=self._lease if lease is None else lease)

    def pending(self, data: Any = None, code: Optional[int] = None) -> None:
        """An interim answer: what follows it in the graph runs, the activity stays open."""
        self._pendings += 1
        self._answer("pending", data=data, code=code, number=self._pendings)

    def _answer(self, do: str, **fields: Any) -> None:
        result = self.client.answer([Answer(self.token, do, **fields)])[0][0]
        if do not in ("heartbeat", "pending"):
            self._answered = True
        problem = self._note(result.problem)
        if problem:
            raise problem

    def _note(self, problem: Optional[dict[str, Any]]) -> Optional[Problem]:
        """The error of an answer, if it is one. The same answer given twice is none."""
        if problem is None or problem.get("code") == "already_done":
            return None
        error = problem_of(int(problem.get("status", 409)), problem)
        if isinstance(error, LostWork):
            self._lost.set()
        return error
