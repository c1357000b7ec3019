"""A deploy that accepts only requests through Signpost's edge. Python 3.9, no packages."""
import base64, hashlib, hmac, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

key = base64.b64decode(os.environ.get("SIGNPOST_SIGNING_SECRET", "").removeprefix("sigsec_"))
if len(key) != 32:
    raise SystemExit("SIGNPOST_SIGNING_SECRET must be the project's signing secret")

def came_through_signpost(method, path, headers):
    parts = [part.partition("=")[::2] for part in headers.get("Signpost-Signature", "").split(",")]
    t = dict(parts).get("t", "")
    if not (t.isascii() and t.isdigit() and abs(time.time() - int(t)) <= 300):
        return False
    lines = [t, method, headers.get("Host", ""), path, headers.get("X-Forwarded-For", "")]
    expected = hmac.new(key, "\n".join(lines).encode("latin-1"), hashlib.sha256).hexdigest()
    return any(name == "v1" and hmac.compare_digest(value.encode("latin-1"), expected.encode())
               for name, value in parts)

class Deploy(BaseHTTPRequestHandler):
    def do_GET(self):
        is_signed = came_through_signpost(self.command, self.path, self.headers)
        self.send_response(200 if is_signed else 403)
        self.end_headers()

HTTPServer(("", int(os.environ.get("PORT", "8000"))), Deploy).serve_forever()
