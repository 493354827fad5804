"""Jobs, apps, signals and bulk requests, against a real server."""

import sys
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "clients"))
from server import Proxy, Server, app, until  # noqa: E402

import pawl  # noqa: E402
from pawl import Client, Filter, Start, Worker  # noqa: E402


class JobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = Client(cls.server.url)
        cls.client.deploy(app)
        cls.worker = Worker(cls.client, wait=2, concurrency=16)
        cls.worker.serve("greet", lambda input: {"text": f"hello {input['name']}"})
        cls.worker.serve("ship", lambda input: {})
        cls.worker.serve("charge", cls.charge)
        cls.worker.serve("pay", cls.pay)
        cls.broken = False
        cls.declines = True
        cls.worker.start()

    @classmethod
    def tearDownClass(cls):
        cls.worker.stop()
        cls.client.close()
        cls.server.stop()

    @classmethod
    def charge(cls, input, work):
        if input["cents"] == 13 and cls.broken:
            raise pawl.Failure("the bank is closed", code=503)
        return {"payment": work.key}

    @classmethod
    def pay(cls, input, work):
        if cls.declines:
            raise pawl.Failure("declined", code=402, retryable=False)
        return {"paid": True}

    def test_a_job_runs_to_its_result(self):
        job = self.client.start("greet.asked", {"name": "Ann"}, id="greet-1")
        self.assertTrue(job.created)
        self.assertEqual(job.result(10), {"text": "hello Ann"})
        again = self.client.start("greet.asked", {"name": "Bob"}, id="greet-1")
        self.assertFalse(again.created)
        self.assertEqual(again.run, job.run)
        with self.assertRaises(pawl.Conflict):
            self.client.start("greet.asked", {}, id="greet-1", reuse="reject")
        detail = job.get()
        self.assertEqual(
            [(one.name, one.status) for one in detail.activities], [("asked", "completed"), ("greet", "completed")]
        )
        self.assertEqual(detail.input, {"name": "Ann"})
        self.assertLessEqual(detail.created_at, detail.closed_at)
        happened = [one.what for one in job.history()]
        self.assertEqual((happened[0], happened[-1]), ("job_started", "job_closed"))
        self.assertEqual(job.export()["id"], "greet-1")
        self.assertIn("<svg", job.picture())

    def test_names_may_have_every_character_that_is_allowed(self):
        name = "a/b.c_d-e:f@g+h=i$j,k//"
        self.assertEqual(self.client.start("greet.asked", {"name": "x"}, id=name).result(10), {"text": "hello x"})
        self.assertEqual(self.client.job(name).get().id, name)

    def test_mistakes_name_field_and_reason(self):
        with self.assertRaises(pawl.Problem) as caught:
            self.client.start("greet.asked", {}, id="x", priority=10**12)
        self.assertEqual((caught.exception.code, caught.exception.field), ("invalid", "priority"))
        self.assertTrue(caught.exception.request)
        with self.assertRaises(pawl.NotFound):
            self.client.job("nowhere").get()
        with self.assertRaises(pawl.Problem) as caught:
            self.client.deploy(
                "app: {id: x, version: '1', graphs: [{subscribes: t, activities: {a: {type: nonsense}}}]}"
            )
        self.assertEqual(caught.exception.code, "app_mistakes")
        self.assertTrue(caught.exception.mistakes)
        with self.assertRaises(pawl.NotEnded):
            self.client.start("order.placed", {"cents": 1}, id="slow-1").result(0.2)
        with self.assertRaises(pawl.Unreachable):
            Client("http://127.0.0.1:9", timeout=2).health()

    def test_an_app_is_deployed_checked_and_listed(self):
        version = self.client.deploy(app)
        self.assertEqual((version.app, version.version, version.active), ("shop", "1", True))
        self.assertIn("greet.asked", version.topics)
        self.assertIn(version.app, [one.app for one in self.client.apps()])
        self.assertTrue(self.client.check(app))
        self.client.activate("shop", "1")

    def test_jobs_are_listed_by_pages_and_counted_by_state(self):
        started = self.client.start_many(
            [Start("greet.asked", {"name": str(n)}, id=f"many-{n}", namespace="pages") for n in range(25)]
            + [Start("no.such.graph", namespace="pages")]
        )
        self.assertIsInstance(started[25], pawl.Problem)
        for job in started[:25]:
            job.result(10)
        mine = Filter(namespace="pages", status="completed", graph="shop/greet.asked")
        found = list(self.client.jobs(mine, order="oldest", page_size=7))
        self.assertEqual(sorted(job.id for job in found), sorted(f"many-{n}" for n in range(25)))
        times = [job.created_at for job in found]
        self.assertEqual(times, sorted(times))
        page = self.client.page(mine, limit=10)
        self.assertEqual(len(page.jobs), 10)
        self.assertIsNotNone(page.next)
        counts = self.client.count(Filter(namespace="pages"))
        self.assertEqual((counts.total, counts.states), (25, {"completed": 25}))
        by_activity = Filter(namespace="pages", graph="shop/greet.asked", where={"greet": "completed"})
        self.assertEqual(len(list(self.client.jobs(by_activity))), 25)

    def test_a_signal_lets_a_hook_go_on(self):
        job = self.client.start("order.placed", {"cents": 100}, id="signal-1")
        until(lambda: [one for one in job.get().activities if one.name == "approval" and one.waits_for])
        self.client.signal("order.approved", {"order": "signal-1", "by": "Ann"}, id="once")
        self.client.signal("order.approved", {"order": "signal-1", "by": "Bob"}, id="once")
        self.assertEqual(job.result(10)["by"], "Ann")
        started = self.client.signal(
            "order.approved",
            {"order": "signal-2", "by": "Eve"},
            start=Start("order.placed", {"cents": 5}, id="signal-2"),
        )
        self.assertEqual(started.result(10)["by"], "Eve")
        third = self.client.start("order.placed", {"cents": 100}, id="signal-3")
        third.signal("order.approved", {"order": "signal-3", "by": "Joe"})
        self.assertEqual(third.result(10)["by"], "Joe")

    def test_an_operator_pauses_resumes_interrupts_and_removes(self):
        job = self.client.start("order.placed", {"cents": 100}, id="operated")
        until(lambda: [one for one in job.get().activities if one.name == "approval"])
        job.pause("lunch")
        until(lambda: job.get().status == "paused")
        job.resume()
        until(lambda: job.get().status == "running")
        job.interrupt("enough")
        with self.assertRaises(pawl.JobNotCompleted) as caught:
            job.result(10)
        self.assertEqual(caught.exception.job.status, "interrupted")
        again = job.rerun(id="operated-again", input={"cents": 7})
        self.assertEqual(again.get().input, {"cents": 7})
        again.interrupt()
        again.wait(10)
        again.remove()

        def gone():
            try:
                again.get()
            except pawl.NotFound:
                return True

        until(gone)

    def test_a_parked_job_is_redriven(self):
        type(self).broken = True
        job = self.client.start("order.placed", {"cents": 13}, id="parked-1", namespace="parks")
        self.assertEqual(job.wait(10).status, "parked")
        charge = next(one for one in job.get().activities if one.name == "charge")
        self.assertEqual((charge.work["attempts"], charge.work["failure_code"]), (2, 503))
        type(self).broken = False
        dry = self.client.bulk("redrive", Filter(namespace="parks", status="parked"), dry_run=True)
        self.assertEqual((dry.matched, job.get().status), (1, "parked"))
        done = self.client.bulk("redrive", Filter(namespace="parks", status="parked"))
        self.assertEqual((done.matched, done.done, done.failed, done.refused), (1, 1, 0, []))
        until(lambda: [one for one in job.get().activities if one.name == "approval"])
        signalled = self.client.bulk(
            "signal",
            Filter(namespace="parks"),
            signal={"topic": "order.approved", "data": {"order": "parked-1", "by": "all"}},
        )
        self.assertEqual(signalled.done, 1)
        self.assertEqual(job.result(10)["by"], "all")

    def test_a_failed_job_goes_on_in_a_new_run(self):
        type(self).declines = True
        job = self.client.start("payment.due", {}, id="goes-on")
        self.assertEqual(job.wait(10).status, "failed")
        type(self).declines = False
        again = job.redrive()
        self.assertNotEqual(again.run, job.run)
        self.assertEqual(again.result(10), {"paid": True})
        self.assertEqual([one["code"] for one in again.get().earlier], [402])

    def test_jobs_are_found_by_their_error_and_their_age(self):
        type(self).declines = True
        for n in range(3):
            self.client.start("payment.due", {}, id=f"found-{n}", namespace="found").wait(10)
        self.client.start("greet.asked", {"name": "x"}, namespace="found").wait(10)

        def ids(**more):
            return sorted(job.id for job in self.client.jobs(Filter(namespace="found", **more)))

        failed = [f"found-{n}" for n in range(3)]
        for more in ({"error": "DECLINED"}, {"code": 402}, {"activity": "pay"}, {"status": ["failed", "parked"]}):
            self.assertEqual(ids(**more), failed, more)
        hour = timedelta(hours=1)
        now = datetime.now(timezone.utc)
        self.assertEqual(len(ids(younger_than=hour)), 4)
        self.assertEqual(len(ids(since=now - hour, until=now + hour)), 4)
        self.assertEqual(ids(older_than="1h"), [])
        self.assertEqual(ids(ended_until=now - hour), [])
        with self.assertRaises(pawl.Problem) as caught:
            self.client._json("POST", "/v1/bulk/interrupt", body={"filter": {"stauts": "parked"}})
        self.assertIn("stauts", str(caught.exception))  # a misspelt condition would mean more jobs

    def test_a_failure_that_is_not_retryable_is_not_tried_again(self):
        type(self).declines = True
        job = self.client.start("payment.due", {})
        with self.assertRaises(pawl.JobNotCompleted) as caught:
            job.result(10)
        self.assertEqual(caught.exception.job.status, "failed")
        self.assertIn("declined", caught.exception.job.reason)
        pay = next(one for one in job.get().activities if one.name == "pay")
        self.assertEqual((pay.status, pay.code), ("errored", 402))

    def test_topics_show_who_serves_and_can_be_paused(self):
        names = {one.topic: one for one in self.client.topics()}
        self.assertIn("greet", names)
        self.assertIn(self.worker.name, [one.worker for one in self.client.workers()])
        self.client.pause_topic("ship")
        self.assertTrue(next(one for one in self.client.topics() if one.topic == "ship").paused)
        self.client.resume_topic("ship")
        self.assertFalse(any(one.paused for one in self.client.topics() if one.topic == "ship"))

    def test_an_answer_that_was_lost_is_asked_for_again(self):
        proxy = Proxy(self.server.port)
        try:
            client = Client(proxy.url)
            proxy.lose_answers = 1
            job = client.start("greet.asked", {"name": "Ann"}, id="lost-1")  # the first answer is lost on the way
            self.assertFalse(job.created)
            self.assertEqual(job.result(10), {"text": "hello Ann"})
            proxy.lose_answers = 1
            with self.assertRaises(pawl.Unreachable):  # without an id it could start two
                client.start("greet.asked", {"name": "Ann"})
        finally:
            proxy.close()


class TokenTest(unittest.TestCase):
    def test_a_token_is_wanted_and_checked(self):
        server = Server(token="secret-token-of-the-test")
        try:
            with self.assertRaises(pawl.Unauthorized):
                Client(server.url).apps()
            with self.assertRaises(pawl.Unauthorized):
                Client(server.url, token="secret-token-of-the-tesT").apps()
            Client(server.url, token="secret-token-of-the-test").apps()
            worker = Worker(Client(server.url, token="wrong"))
            worker.serve("greet", lambda input: {})
            with self.assertRaises(pawl.Unauthorized):
                worker.run()
            self.assertNotIn("secret-token", server.output())
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
