"""order.py ID SKU=QUANTITY...: places an order, approves it, and prints what became of it."""

import os
import sys

from pawl import Client, JobNotCompleted

client = Client(os.environ.get("PAWL_URL", "http://127.0.0.1:8210"))
id, *wanted = sys.argv[1:]
items = [{"sku": sku, "quantity": int(quantity)} for sku, quantity in (one.split("=") for one in wanted)]

job = client.start("order.placed", {"order_id": id, "items": items}, id=id)  # run it again: it is the same job
client.signal("order.approved", {"order_id": id, "approved": True}, id=f"{id}.approved")  # counts once
try:
    print(job.result(timeout=30))
except JobNotCompleted as problem:
    print(problem)
