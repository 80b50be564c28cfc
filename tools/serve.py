"""Serve the built site to this machine: port 8000, or another if it is taken.

python tools/serve.py
"""

import contextlib
import functools
import os
import sys
import threading
import webbrowser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = Path(__file__).resolve().parent.parent / "_build" / "html"


class Handler(SimpleHTTPRequestHandler):
    """Answers 404 to an address that cannot be a path, such as /%00."""

    def send_head(self):
        try:
            return super().send_head()
        except ValueError:
            self.send_error(404)
            return None


class Server(ThreadingHTTPServer):
    """A server that never shares a port, although Windows would allow it."""

    allow_reuse_address = os.name == "posix"


def server(port):
    """Return a server at `port`, or at a free port if that is taken."""
    handler = functools.partial(Handler, directory=SITE)
    try:
        return Server(("127.0.0.1", port), handler)
    except OSError:
        return Server(("127.0.0.1", 0), handler)


if __name__ == "__main__":
    if not SITE.exists():
        sys.exit("There is no site yet: run make book (or see README.md)")
    with server(8000) as site, contextlib.suppress(KeyboardInterrupt):
        address = f"http://127.0.0.1:{site.server_port}"
        print(f"The site is at {address} (stop with Ctrl+C)", flush=True)
        # A browser in the terminal would block its caller.
        threading.Thread(
            target=webbrowser.open, args=(address,), daemon=True
        ).start()
        site.serve_forever()
