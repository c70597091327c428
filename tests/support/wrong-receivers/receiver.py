"""A receiver on http.server that needs nothing else. MISTAKE names the one thing that is wrong with it."""

import base64
import hashlib
import hmac
import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BYTES = 1_048_576
MISTAKE = os.environ.get("MISTAKE")
SECRET = os.environ["SECRET"].encode()


class TooLarge(Exception):
    pass


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        try:
            body = self.read_body()
        except TooLarge:
            return self.answer(413, close=True)
        signatures = self.headers.get_all("X-Signature") or []
        digest = hmac.new(SECRET, self.signed_form(body), hashlib.sha1)
        if len(signatures) != 1 or not self.is_authentic(digest, signatures[0]):
            return self.answer(401, "expected " + digest.hexdigest() if MISTAKE == "leak" else "")
        try:
            json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            return self.answer(400)
        return self.answer(204)

    def do_GET(self):
        self.answer(405)

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                if len(body) + size > MAX_BYTES:
                    raise TooLarge
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        length = int(self.headers.get("Content-Length", 0))
        if length > MAX_BYTES:
            raise TooLarge
        return self.rfile.read(length)

    def signed_form(self, body):
        if MISTAKE != "dumps":
            return body
        try:
            return json.dumps(json.loads(body)).encode()
        except (ValueError, RecursionError):
            return body

    def is_authentic(self, digest, signature):
        if MISTAKE == "base64":
            return signature == base64.b64encode(digest.digest()).decode()
        if MISTAKE == "prefix":
            return signature != "" and digest.hexdigest().startswith(signature.lower())
        if not re.fullmatch("[0-9a-fA-F]{40}", signature):
            return False
        return hmac.compare_digest(digest.hexdigest(), signature.lower())

    def answer(self, status, text="", close=False):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        if close:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


Server(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
