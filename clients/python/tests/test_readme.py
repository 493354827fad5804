"""The examples of the READMEs do what the READMEs say."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # the tree stays as it is
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "clients"))
from server import Server, binary, root  # noqa: E402

from pawl import Client  # noqa: E402


class ReadmeTest(unittest.TestCase):
    def test_five_minutes(self):
        text = (root / "clients" / "python" / "README.md").read_text()
        program = re.search(r"```python\n(from pawl import Client, Worker.*?)```", text, re.S).group(1)
        server = Server()
        try:
            self.assertIn("http://127.0.0.1:8210", program)
            program = program.replace("http://127.0.0.1:8210", server.url)
            environment = {**os.environ, "PYTHONPATH": str(root / "clients" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
            for _ in range(2):  # the second time the job is there already
                ran = subprocess.run(
                    [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
                )
                self.assertEqual((ran.stdout, ran.returncode), ("{'greeting': 'hello Ann'}\n", 0), ran.stderr)
        finally:
            server.stop()

    def test_a_worker_in_five_lines(self):
        """The front page of the project: its app, its worker and its commands, in a folder with nothing else."""
        text = (root / "README.md").read_text()
        app = re.search(r"Save this as `hello.yaml`:\n\n```yaml\n(.*?)```", text, re.S).group(1)
        part = text[text.index("### A Python worker in five lines") :]
        program = re.search(r"```python\n(.*?)```", part, re.S).group(1)
        self.assertLessEqual(len([line for line in program.splitlines() if line.strip()]), 5)
        commands = re.search(r"```\n(curl.*?)```", part, re.S).group(1).strip().splitlines()
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.abspath(binary()), f"{folder}/pawl")
            Path(folder, "hello.yaml").write_text(app)
            server = Server(command="dev", more=(f"{folder}/hello.yaml",))
            here = {
                **os.environ,
                "PATH": f"{folder}:{os.environ['PATH']}",
                "PYTHONPATH": str(root / "clients" / "python"),
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            Path(folder, "greeter.py").write_text(program.replace("http://127.0.0.1:8210", server.url))
            worker = subprocess.Popen([sys.executable, "greeter.py"], cwd=folder, env=here)
            try:
                outputs = []
                for command in commands:
                    ran = subprocess.run(
                        command.replace("http://127.0.0.1:8210", server.url),
                        shell=True,
                        cwd=folder,
                        env=here,
                        capture_output=True,
                        text=True,
                        timeout=60,
                    )
                    self.assertEqual(ran.returncode, 0, f"{command}: {ran.stderr}")
                    outputs.append(ran.stdout)
                self.assertTrue(json.loads(outputs[0])["created"])
                self.assertIn("hello.said", outputs[1])
                self.assertEqual(json.loads(outputs[3])["result"], {"greeting": "hello Ann", "sure": True})
                worker.terminate()  # it ends by itself, with what runs
                self.assertEqual(worker.wait(20), 0)
            finally:
                worker.kill()
                server.stop()

    def test_the_shop_of_the_examples(self):
        """The lines of the README, a worker and a server that are killed, an order that goes on after a mistake."""
        shop = root / "examples" / "service"
        lines = re.search(r"```sh\n(.*?)```", (shop / "README.md").read_text(), re.S).group(1).splitlines()
        commands = [line.partition("#")[0].split() for line in lines]
        promised = lines[2].partition("# ")[2]
        server = Server(command="dev", more=(str((shop / commands[0][2]).resolve()),))
        here = {**os.environ, "PYTHONPATH": str(root / "clients" / "python"), "PAWL_URL": server.url}
        here["PYTHONDONTWRITEBYTECODE"] = "1"
        with tempfile.TemporaryDirectory() as folder:
            shipped = Path(folder, "shipped")

            def work(program=shop / commands[1][1]):
                with open(shipped, "a") as file:
                    return subprocess.Popen([sys.executable, program], stdout=file, env=here)

            def order(*words):
                ran = subprocess.run(
                    [sys.executable, shop / commands[2][1], *words], env=here, capture_output=True, text=True, timeout=60
                )
                self.assertEqual(ran.returncode, 0, ran.stderr)
                return ran.stdout.strip()

            worker = work()
            try:
                self.assertEqual(order(*commands[2][2:]), promised)
                self.assertEqual(order(*commands[2][2:]), promised)
                self.assertIn("we do not sell moon", order("o-2", "moon=1"))
                worker.kill()
                worker.wait()
                server.kill()
                server.start()
                sells = Path(folder, "worker.py")
                sells.write_text((shop / "worker.py").read_text().replace('"cog": 1000', '"cog": 1000, "moon": 100'))
                worker = work(sells)
                subprocess.run([binary(), "redrive", "o-2", "--url", server.url], check=True, stdout=subprocess.DEVNULL)
                with Client(server.url) as client:
                    self.assertEqual(client.job("o-2").result(30), {"total": 1, "outcome": "shipped"})
                self.assertEqual([line.split()[-1] for line in shipped.read_text().splitlines()], ["o-1", "o-2"])
            finally:
                worker.kill()
                worker.wait()
                server.stop()


if __name__ == "__main__":
    unittest.main()
