#!/usr/bin/env python3
"""A receiver of webhooks, to start your own from: verifies each message and prints it. Needs nothing but Python.

    python webhook_receiver.py --secret-file FILE [--port N]

FILE holds the answer's `secret` of POST /webhooks/secret. Answers 204 to what is genuine and 400 to all else; what is
answered in any other way than 2xx is sent again later. Put it behind a proxy that speaks HTTPS.
"""

import argparse
import base64
import hmac
import http.server
import json
import pathlib
import re
import time

# A message that was signed longer ago may be an old one that somebody recorded and sends again.
WINDOW_S = 300
MAX_BYTES = 1 << 20


def verify(secret: str, headers, body: bytes, now_s: float) -> dict:
    """The message in `body`; ValueError if it was not signed with `secret`, or too long ago."""
    message_id, signed_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", signed_at) or abs(now_s - int(signed_at)) > WINDOW_S:
        raise ValueError("webhook-timestamp is missing, or not of these minutes")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.digest(key, f"{message_id}.{signed_at}.".encode() + body, "sha256"))
    # One signature for each secret that is good: two in the day after a rotation.
    for signature in headers.get("webhook-signature", "").split():
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value.encode(), expected):
            return json.loads(body)
    raise ValueError("no signature in webhook-signature is made with this secret")


class Receiver(http.server.BaseHTTPRequestHandler):
    secret = ""
    seen: set[str] = set()
    timeout = 10  # seconds in which a request must come

    def do_POST(self):
        length = self.headers.get("content-length", "")
        try:
            if not re.fullmatch("[0-9]{1,7}", length) or int(length) > MAX_BYTES:
                raise ValueError("no content-length, or a large one")
            message = verify(self.secret, self.headers, self.rfile.read(int(length)), time.time())
        except ValueError as error:
            print(f"refused: {error}", flush=True)
            self.send_error(400)
            return
        # A message may come twice, with the same id: when its answer was lost, for example.
        if self.headers["webhook-id"] not in self.seen:
            self.seen.add(self.headers["webhook-id"])
            print(f"message {json.dumps(message)}", flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--secret-file", type=pathlib.Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    Receiver.secret = arguments.secret_file.read_text().strip()
    with http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), Receiver) as server:
        print(f"port {server.server_address[1]}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
