"""Tasks of people, kept signals, retention, apps and announcements, against a real server."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "clients"))
from server import Server, app, until  # noqa: E402

import pawl  # noqa: E402
from pawl import Client, Worker  # noqa: E402


class StoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = Client(cls.server.url)
        cls.client.deploy(app)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def test_a_task_is_claimed_released_and_resolved(self):
        job = self.client.start("leave.asked", {"text": "a week?"}, id="leave-1")
        task = until(lambda: next(self.client.tasks(job="leave-1"), None))
        self.assertEqual((task.role, task.type, task.description, task.activity), ("boss", "leave", "a week?", "decide"))
        self.assertEqual(list(self.client.tasks(role="nobody")), [])
        self.client.claim_task(task.id, "ann", 60)
        self.assertEqual(next(self.client.tasks(claimed_by="ann")).claimed_by, "ann")
        self.assertEqual(list(self.client.tasks(job="leave-1", unclaimed=True)), [])
        with self.assertRaises(pawl.Conflict):
            self.client.claim_task(task.id, "bob", 60)
        self.client.release_task(task.id, "ann")
        self.assertIsNone(next(self.client.tasks(job="leave-1")).claimed_by)
        self.client.resolve_task(task.id, {"granted": True}, who="bob")
        self.assertEqual(job.wait(10).data, {"granted": True})
        with self.assertRaises(pawl.NotFound):
            self.client.resolve_task(task.id, {"granted": False})

    def test_all_pages_of_tasks_are_read(self):
        for number in range(130):
            self.client.start("leave.asked", {"text": str(number)}, id=f"many-{number}")
        until(lambda: sum(1 for one in self.client.tasks() if one.job.startswith("many-")) == 130)

    def test_kept_signals_are_listed_and_dropped(self):
        fate = self.client.signal_fate("leave.decided", {"job": "nobody-1"})
        self.assertTrue(fate.kept)
        self.assertEqual(list(self.client.kept_signals(topic="leave.decided")), [])
        for name in ("nobody-1", "nobody-2", "nobody-3"):
            self.client.signal("leave.decided", {"job": name, "granted": True})
        kept = list(self.client.kept_signals(topic="leave.decided"))
        self.assertEqual({one.data["job"] for one in kept}, {"nobody-1", "nobody-2", "nobody-3"})
        self.client.drop_kept_signal(kept[0].id)
        self.assertEqual(len(list(self.client.kept_signals(topic="leave.decided"))), 2)
        self.assertEqual(self.client.drop_kept_signals(topic="leave.decided", until="1h"), 0)
        self.assertEqual(self.client.drop_kept_signals(topic="leave.decided"), 2)
        self.assertEqual(list(self.client.kept_signals(topic="leave.decided")), [])

    def test_retention_rules_are_set_applied_and_dropped(self):
        self.client.set_retention("1h", status="completed", graph="shop/greet.asked")
        self.client.set_retention(None, status="failed")
        rules = {(one.status, one.graph): one.keep_seconds for one in self.client.retention()}
        self.assertEqual(rules, {("completed", "shop/greet.asked"): 3600, ("failed", None): None})
        worker = Worker(self.client, wait=1)
        worker.serve("greet", lambda input: {"text": "hello"})
        worker.start()
        self.client.start("greet.asked", {"name": "Ann"}, id="short").wait(10)
        worker.stop()
        tried = self.client.apply_retention(dry_run=True)
        self.assertEqual((tried.dry_run, tried.removed, self.client.apply_retention().removed), (True, 0, 0))
        self.assertEqual(self.client.job("short").get().status, "completed")
        self.client.set_retention("1ms", status="completed", graph="shop/greet.asked")

        def is_gone():  # by this request, or by the server itself
            self.client.apply_retention()
            try:
                return not self.client.job("short").get()
            except pawl.NotFound:
                return True

        until(is_gone)
        self.client.drop_retention(status="completed", graph="shop/greet.asked")
        self.client.drop_retention(status="failed")
        self.assertEqual(self.client.retention(), [])

    def test_apps_and_the_store(self):
        self.assertEqual(list(self.client.app_files("shop").values()), [app])
        self.assertIn("decide", self.client.app_picture("shop", topic="leave.asked", format="mermaid"))
        job = self.client.start("leave.asked", {"text": "x"}, id="version-1")
        self.client.deploy(app.replace('version: "1"', 'version: "1.1"').replace("decide", "settle"), activate=False)
        self.assertEqual(job.get().app_version, "1")
        self.assertIn('data-activity="decide"', job.picture())
        self.assertTrue(self.client.status()["owner_alive"])
        self.assertIn("good", {one.grade for one in self.client.doctor()})

    def test_announcements_are_listed(self):
        worker = Worker(self.client, wait=1)
        for topic in ("charge", "ship"):
            worker.serve(topic, lambda input: {"payment": "p"})
        worker.start()
        job = self.client.start("order.placed", {"cents": 5}, id="announced-1")
        self.client.signal("order.approved", {"order": "announced-1", "by": "Ann"})
        job.wait(20)
        worker.stop()
        said = until(lambda: list(self.client.announced(topic="order.settled", run=job.run)))
        self.assertEqual(said[-1].job, "announced-1")
        again = job.rerun("announced-2")
        self.assertEqual((again.id, again.namespace, again.created), ("announced-2", "default", True))

    def test_a_trace_reaches_the_worker_and_failed_attempts_are_shown(self):
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        seen = []

        def pay(input, work):
            seen.append((work.traceparent, work.tracestate))
            if work.attempt == 1:
                raise pawl.Failure("the line is busy", code=503)
            return {"paid": True}

        worker = Worker(self.client, wait=1)
        worker.serve("pay", pay)
        worker.start()
        job = self.client.start("payment.due", {}, id="traced-1", traceparent=parent, tracestate="shop=7")
        job.result(20)
        worker.stop()
        self.assertEqual({one[0].split("-")[1] for one in seen}, {parent.split("-")[1]})
        self.assertEqual({one[1] for one in seen}, {"shop=7"})
        failed = next(one for one in job.get().activities if one.name == "pay").attempts
        self.assertEqual([one["code"] for one in failed], [503])
        self.assertIn("attempt_failed", [one.what for one in job.history()])

    def test_a_job_is_cancelled(self):
        job = self.client.start("leave.asked", {"text": "x"}, id="cancelled-1")
        job.cancel("no longer wanted")
        ended = job.wait(20)
        self.assertEqual((ended.status, ended.reason), ("interrupted", "no longer wanted"))

    def test_a_query_name_that_does_not_exist_is_refused(self):
        with self.assertRaises(pawl.Problem) as caught:
            self.client.measures("order.placed", kye="x")
        self.assertEqual(caught.exception.field, "kye")


if __name__ == "__main__":
    unittest.main()
