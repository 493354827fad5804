"""What the server answers with, as dataclasses. Fields that a newer server adds are left out."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Mapping, Optional, Sequence, Type, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Document = dict[str, Any]
Duration = Union[float, int, str, timedelta]  # seconds, "250ms", "10s", "5m", "2h", "1d"


def duration_text(value: Duration) -> str:
    if isinstance(value, str):
        return value
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    return f"{round(seconds * 1000)}ms"


def time_text(value: datetime) -> str:
    """In UTC; a time without a zone is of this machine's."""
    return value.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def time_of(text: Optional[str]) -> Optional[datetime]:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


@functools.lru_cache(maxsize=None)
def _hints(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls)


def _value(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(kind) is Union:
        kind = get_args(kind)[0]
    if kind is datetime:
        return time_of(value)
    if get_origin(kind) is list:
        return [_value(get_args(kind)[0], one) for one in value]
    return build(kind, value) if isinstance(kind, type) and dataclasses.is_dataclass(kind) else value


def build(cls: Type[T], document: Mapping[str, Any]) -> T:
    """The dataclass from an answer. A null takes the field's default."""
    hints: Mapping[str, Any] = _hints(cls)  # type: ignore[arg-type]
    return cls(
        **{name: _value(hints[name], value) for name, value in document.items() if name in hints and value is not None}
    )


@dataclass(frozen=True)
class Filter:
    """Which jobs: all of these hold. `label` and `key` need a `graph`."""

    status: Union[str, Sequence[str], None] = None  # any of these
    namespace: Optional[str] = None
    graph: Optional[str] = None  # APP/TOPIC
    activity: Optional[str] = None  # it waits or failed there
    error: Optional[str] = None  # this text is in its reason, or in what a worker answered last
    code: Optional[int] = None  # of its error, or of what a worker answered last
    where: Mapping[str, str] = field(default_factory=dict)  # activity to state
    collation_key: Optional[str] = None
    label: Optional[str] = None  # NAME=VALUE
    key: Optional[str] = None
    since: Union[str, datetime, None] = None  # when it was made: not before, and before
    until: Union[str, datetime, None] = None
    ended_since: Union[str, datetime, None] = None
    ended_until: Union[str, datetime, None] = None
    older_than: Optional[Duration] = None
    younger_than: Optional[Duration] = None

    def fields(self) -> dict[str, Any]:
        found: dict[str, Any] = dict(vars(self))
        found["status"] = [self.status] if isinstance(self.status, str) else list(self.status or [])
        found["where"] = [f"{activity}={state}" for activity, state in self.where.items()]
        for name in ("since", "until", "ended_since", "ended_until"):
            if isinstance(found[name], datetime):
                found[name] = time_text(found[name])
        for name in ("older_than", "younger_than"):
            if found[name] is not None:
                found[name] = duration_text(found[name])
        return {name: value for name, value in found.items() if value or (name == "key" and value is not None)}


@dataclass(frozen=True)
class Start:
    """A job to start, for `start_many`."""

    graph: str
    input: Any = None
    id: Optional[str] = None
    namespace: Optional[str] = None
    reuse: Optional[str] = None  # attach, reject, after_close, replace
    delay: Optional[Duration] = None
    end_within: Optional[Duration] = None
    keep: Optional[Duration] = None
    priority: Optional[int] = None

    def body(self) -> dict[str, Any]:
        body = {name: value for name, value in vars(self).items() if value is not None}
        for name in ("delay", "end_within", "keep"):
            if name in body:
                body[name] = duration_text(body[name])
        return body


@dataclass(frozen=True)
class Job:
    namespace: str
    id: str
    run: str
    graph: str
    version: int
    status: str  # running, completed, failed, interrupted, parked, paused
    semaphore: int = 0
    created_at: Optional[datetime] = None
    closed_at: Optional[datetime] = None
    result: Any = None
    reason: str = ""
    priority: int = 0
    deadline: Optional[datetime] = None
    remove_at: Optional[datetime] = None
    redrives: int = 0
    data: Any = None
    code: int = 0
    cursor: Optional[str] = None

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "failed", "interrupted")


@dataclass(frozen=True)
class Activity:
    name: str
    address: str
    status: str  # open, completed, errored, skipped, cancelled
    kind: Optional[str] = None
    ledger: str = ""
    explanation: str = ""
    code: int = 0
    effect: str = ""
    opened_at: Optional[datetime] = None
    closed_at: Optional[datetime] = None
    input: Any = None
    input_sure: bool = True
    output: Any = None
    parent: Optional[int] = None  # the activity that it follows, by its place in the list
    plane: int = 0  # the round of a cycle, the item of a map
    carried: bool = False  # it was answered in an earlier run
    attempts: list[Document] = field(default_factory=list)  # the last 20 that failed: at, code, error
    child: Optional[str] = None
    waits_for: Optional[Document] = None
    work: Optional[Document] = None
    refused: Optional[Document] = None
    messages: list[Document] = field(default_factory=list)


@dataclass(frozen=True)
class JobDetail(Job):
    input: Any = None
    activities: list[Activity] = field(default_factory=list)
    timers: list[Document] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    earlier: list[Document] = field(default_factory=list)  # runs of this id that failed before
    collation_key: str = ""
    app_version: str = ""  # the version that it runs on


@dataclass(frozen=True)
class JobPage:
    jobs: list[Job]
    next: Optional[str] = None


@dataclass(frozen=True)
class Counts:
    total: int
    states: dict[str, int]  # those that have jobs


@dataclass(frozen=True)
class HistoryEvent:
    at: Optional[datetime] = None
    what: str = ""
    activity: Optional[str] = None
    address: Optional[str] = None
    code: Optional[int] = None
    detail: Optional[str] = None


@dataclass(frozen=True)
class BulkResult:
    matched: int
    done: int  # of a dry run: that could be done
    failed: int
    dry_run: bool = False
    refused: list[Document] = field(default_factory=list)  # why, how many jobs, the id of one (example)
    first: list[Document] = field(default_factory=list)  # the first ten that matched: id, run, status, reason


@dataclass(frozen=True)
class AppVersion:
    app: str
    version: str
    active: bool
    deployed_at: Optional[datetime] = None
    topics: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Topic:
    topic: str
    paused: bool
    workers: int = 0
    waiting: int = 0
    out: int = 0
    backlog: int = 0  # requests that a worker could take now
    oldest_waiting_at: Optional[datetime] = None
    with_workers: int = 0  # of any process; `out` is of this server's remote workers
    later: int = 0  # they wait for the time of their next attempt
    held: int = 0  # their job is parked or paused
    stuck: bool = False  # work waits, and nobody takes it
    servers: Optional[int] = None  # processes on the store that serve it themselves
    taken: int = 0  # since this server began
    rate: float = 0.0  # attempts handed out per second, over the last minute
    local: bool = False


@dataclass(frozen=True)
class Finding:
    """Something that was looked at, and what to do about it."""

    grade: str  # good, warning, bad
    what: str
    advice: str = ""


@dataclass(frozen=True)
class Task:
    """A hook that waits for a person."""

    id: str
    job: str
    run: str
    graph: str
    activity: str
    namespace: str = "default"
    address: str = ""
    role: str = ""
    type: str = ""
    subtype: str = ""
    description: str = ""
    priority: int = 0
    opened_at: Optional[datetime] = None
    times_out_at: Optional[datetime] = None
    claimed_by: Optional[str] = None
    claimed_until: Optional[datetime] = None
    escalation: Any = None  # the hook's `escalation`, whole


@dataclass(frozen=True)
class SignalFate:
    """Whom a signal reaches."""

    kept: bool  # for the first hook that will wait for it
    reached: list[str]  # ids of jobs


@dataclass(frozen=True)
class KeptSignal:
    """A signal that no hook has taken yet."""

    id: str
    namespace: str
    topic: str
    match: str  # the values that a hook must match, as JSON
    pending: bool = False
    code: int = 0
    sent_at: Optional[datetime] = None
    expires_at: Optional[datetime] = None
    data: Any = None


@dataclass(frozen=True)
class RetentionRule:
    status: Optional[str] = None  # any
    graph: Optional[str] = None  # any
    keep_seconds: Optional[float] = None  # for ever
    set_at: Optional[datetime] = None


@dataclass(frozen=True)
class RetentionSummary:
    dry_run: bool
    removed: int  # of a dry run: that would be
    left: int  # their time is over, but they cannot be removed now


@dataclass(frozen=True)
class WorkerInfo:
    worker: str
    topics: list[str]
    out: int = 0
    taken: int = 0
    completed: int = 0
    failed: int = 0
    seen_at: Optional[datetime] = None


@dataclass(frozen=True)
class Event:
    """What happened in a job. Kind `reset`: events were missed, read again what you show."""

    kind: str
    id: str = ""
    namespace: str = ""
    job: str = ""
    run: str = ""
    graph: str = ""
    activity: str = ""
    activity_kind: Optional[str] = None
    address: str = ""
    code: int = 0
    at: Optional[datetime] = None
    output: Any = None
    output_left_out: bool = False
    waits_for: Optional[Document] = None


@dataclass(frozen=True)
class Announcement:
    cursor: str
    topic: str
    namespace: str
    job: str
    run: str
    end: bool = False
    error: bool = False
    code: int = 0
    at: Optional[datetime] = None
    data: Any = None


@dataclass(frozen=True)
class Answer:
    """What became of an attempt. do: complete, fail, pending, heartbeat, release."""

    token: str
    do: str
    data: Any = None
    code: Optional[int] = None
    retryable: Optional[bool] = None
    number: Optional[int] = None
    lease: Optional[Duration] = None

    def body(self) -> dict[str, Any]:
        body = {name: value for name, value in vars(self).items() if value is not None}
        if "lease" in body:
            body["lease"] = duration_text(body["lease"])
        return body


@dataclass(frozen=True)
class AnswerResult:
    token: str
    ok: bool
    problem: Optional[Document] = None
