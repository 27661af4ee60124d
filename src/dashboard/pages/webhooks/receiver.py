# WEBHOOK_SECRET=whsec_… python3 receiver.py
import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

def verify(headers, body):
    """Whether Laurel signed the body within the last five minutes."""
    message_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if not message_id or not timestamp or not timestamp.isdecimal():
        return False
    if abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.digest(KEY, signed, hashlib.sha256)).decode()
    # Two signatures while a secret is being replaced.
    given = (headers["webhook-signature"] or "").split(" ")
    return any(hmac.compare_digest(f"v1,{expected}".encode(), one.encode()) for one in given)

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        genuine = verify(self.headers, body)
        if genuine:
            # The same message may come twice: remember its id.
            message = json.loads(body)
            print(message["type"], message["data"], flush=True)
        self.send_response(204 if genuine else 401)
        self.end_headers()

server = HTTPServer(("", int(os.environ.get("PORT", 3000))), Receiver)
print("Listening on port", server.server_port, flush=True)
server.serve_forever()
