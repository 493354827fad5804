"""The workers of the shop. Start as many of these as you like, on any machine that reaches the server."""

import os

from pawl import Client, Failure, Worker

prices = {"cog": 1000, "pawl": 2500}  # cents

worker = Worker(Client(os.environ.get("PAWL_URL", "http://127.0.0.1:8210")), concurrency=8)


@worker.serve("order.price")
def price(order):
    unknown = [item["sku"] for item in order["items"] if item["sku"] not in prices]
    if unknown:  # another attempt would not help
        raise Failure(f"we do not sell {', '.join(unknown)}", code=404, retryable=False)
    return {"total": sum(prices[item["sku"]] * item["quantity"] for item in order["items"]) / 100}


@worker.serve("order.ship")
def ship(order, work):
    # The key is the same for every attempt: a carrier that is called twice knows that it is the same parcel.
    print(f"parcel {work.key[:8]} for order {order['order_id']}", flush=True)
    return {}


@worker.serve("order.refuse")
def refuse(order):
    print(f"order {order['order_id']} is refused", flush=True)
    return {}


worker.run()
