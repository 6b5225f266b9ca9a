"""A server for the page on this machine alone."""
import functools
import http.server
import threading

# Isolated from other origins, as required by threads in WASM.
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
# Nothing is loaded from or sent to other hosts, not even by the worker.
HEADERS = {
    **ISOLATED,
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Hands out files of a folder."""

    def end_headers(self):
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_):
        pass


def server(folder, port=0, headers=HEADERS):
    """A server for a folder, which sends these headers with each file; port 0 is any that is free."""
    made = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=folder))
    made.headers = headers
    return made


def in_background(folder, headers=HEADERS):
    """A server that runs, and the address of its page."""
    made = server(folder, headers=headers)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return made, f"http://localhost:{made.server_address[1]}"
