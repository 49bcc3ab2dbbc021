"""Sends requests at a steady rate, whether or not earlier ones have been answered, and prints median and 99th
percentile of their latency in ms. Latency is measured from the time at which a request was due, so that stalls of the
server count in full (no coordinated omission).

    steady_load.py < OPTIONS        JSON, as bench/measure/api.py writes it
"""

import asyncio
import gc
import json
import re
import sys
import time
from itertools import cycle

LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
AHEAD_S = 0.002  # wakes up this long before a request is due, and then spins
CONNECTIONS = 32
LIMIT_S = 30


class Load:
    def __init__(self, options):
        self.options, self.latencies = options, []
        self.idle = asyncio.Queue()
        self.jobs, self.count = cycle(options["jobs"]), 0
        self.head = f"Host: 127.0.0.1:{options['port']}\r\nAuthorization: Bearer {options['key']}\r\n"

    def request(self, what):
        if what == "get":
            return f"GET /verify/{next(self.jobs)} HTTP/1.1\r\n{self.head}\r\n".encode()
        if what == "list":
            return f"GET /verify?limit=50 HTTP/1.1\r\n{self.head}\r\n".encode()
        self.count += 1
        body = f"steady{self.count:010x}".join((self.options["before"], self.options["after"])).encode("latin-1")
        kind = "Content-Type: multipart/form-data; boundary=XyZ\r\n"
        return f"POST /verify HTTP/1.1\r\n{self.head}{kind}Content-Length: {len(body)}\r\n\r\n".encode() + body

    async def send(self, due, request):
        reader, writer = await self.idle.get()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(LENGTH.search(head)[1]))
        self.latencies.append(time.perf_counter() - due)
        if head.split(b" ", 2)[1] not in (b"200", b"201"):
            raise SystemExit(f"refused: {head}")
        self.idle.put_nowait((reader, writer))

    async def run(self):
        for _ in range(CONNECTIONS):
            opened = await asyncio.open_connection("127.0.0.1", self.options["port"], limit=1 << 20)
            self.idle.put_nowait(opened)
        number = self.options["rate"] * self.options["seconds"]
        requests = [self.request(what) for _, what in zip(range(number), cycle(self.options["mix"]))]
        gc.disable()
        tasks, begin = [], time.perf_counter() + 0.5
        for index, request in enumerate(requests):
            due = begin + index / self.options["rate"]
            if (wait := due - time.perf_counter() - AHEAD_S) > 0:
                await asyncio.sleep(wait)
            while time.perf_counter() < due:
                await asyncio.sleep(0)
            tasks.append(asyncio.create_task(self.send(due, request)))
        await asyncio.wait_for(asyncio.gather(*tasks), LIMIT_S)
        self.latencies.sort()
        return [1000 * self.latencies[number * share // 100] for share in (50, 99)]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(Load(json.load(sys.stdin)).run())))
