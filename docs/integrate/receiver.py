"""Receives Signpost's webhooks (Standard Webhooks 1.0.0) and prints each event once. Python 3.9, no packages."""
import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

secret = os.environ.get("SIGNPOST_WEBHOOK_SECRET", "")
if not secret.startswith("whsec_"):
    raise SystemExit("SIGNPOST_WEBHOOK_SECRET must be the secret of the webhook, whsec_…")
key = base64.b64decode(secret.removeprefix("whsec_"))
seen = set()  # in production: a table, kept for two days or longer


def is_signed(headers, body):
    """Over the bytes as they arrived, before parsing them. During a rotation there are two signatures."""
    message_id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (sent.isascii() and sent.isdigit() and abs(time.time() - int(sent)) <= 300):
        return False
    signed = f"{message_id}.{sent}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    given = headers.get("webhook-signature", "").encode("latin-1").split()
    return any(hmac.compare_digest(one, expected) for one in given)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        signed = is_signed(self.headers, body)
        message_id = self.headers.get("webhook-id")
        if signed and message_id not in seen:
            message = json.loads(body)
            data = message["data"]
            print(data.get("id", "-"), message["type"], data.get("hostname", ""), flush=True)  # store it; do slow work later
            seen.add(message_id)
        self.send_response(204 if signed else 400)
        self.end_headers()

    def log_message(self, *_):
        pass


HTTPServer(("", int(os.environ.get("PORT", "8000"))), Receiver).serve_forever()
