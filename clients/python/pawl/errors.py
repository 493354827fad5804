"""What can go wrong. Every error of the server is a `Problem` with a stable code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional

if TYPE_CHECKING:
    from .types import Job


class PawlError(Exception):
    """The base of all errors of this package."""


class Unreachable(PawlError):
    """No answer came. Whether the request was carried out is not known."""


class Problem(PawlError):
    """The server refused. `code` is stable; `detail` says what went wrong and what to do next."""

    def __init__(self, status: int, body: Mapping[str, Any]):
        self.status = status
        self.code = str(body.get("code", "failed"))
        self.detail = str(body.get("detail") or body.get("title") or f"the server answered {status}")
        self.field: Optional[str] = body.get("field")
        self.request: Optional[str] = body.get("request")
        self.mistakes: list[Any] = list(body.get("mistakes") or [])
        super().__init__(f"{self.code}: {self.detail}" + (f" (field {self.field})" if self.field else ""))


class NotFound(Problem):
    """There is no such job, app, version or topic."""


class Conflict(Problem):
    """The id is taken, or the job is in a state that does not allow this."""


class LostWork(Problem):
    """The lease was lost or the work was answered before. Nothing has changed; stop working on it."""


class Unauthorized(Problem):
    """The server wants another token."""


class RetryLater(Problem):
    """The server cannot now: it stops, starts, or has too much to do. Try again."""


_classes = {
    "not_found": NotFound,
    "already_exists": Conflict,
    "conflict": Conflict,
    "stale_token": LostWork,
    "fenced": LostWork,
    "unauthorized": Unauthorized,
    "retry_later": RetryLater,
    "stopping": RetryLater,
    "too_many_connections": RetryLater,
    "too_many_streams": RetryLater,
    "too_many_bodies": RetryLater,
    "no_room": RetryLater,
    "request_timeout": RetryLater,
}


def problem_of(status: int, body: Mapping[str, Any]) -> Problem:
    return _classes.get(str(body.get("code")), Problem)(status, body)


class NotEnded(PawlError, TimeoutError):
    """The job has not ended in the time that was given. It goes on."""


class JobNotCompleted(PawlError):
    """The job failed, was interrupted, or is parked: `job` says which and why."""

    def __init__(self, job: "Job"):
        self.job = job
        super().__init__(f"job {job.id} is {job.status}" + (f": {job.reason}" if job.reason else ""))


class Failure(Exception):
    """Raise it in a handler: the attempt failed. `retryable=False` when another attempt would not mend it."""

    def __init__(self, message: str, *, code: Optional[int] = None, retryable: bool = True, data: Any = None):
        self.code = code
        self.retryable = retryable
        self.data = {"message": message} if data is None else data
        super().__init__(message)
