"""Write a policy that forbids what no page of the site needs.

Nothing comes from another host, a script in a page counts by its hash, and
text is never evaluated. Hosts that read a file of headers apply it; for others
docs/live.md says how.
"""

import base64
import hashlib
import re
from html import unescape
from pathlib import Path

from .parsed import pages_of

NAME = "_headers"
# The scripts and the handlers that the templates write.
SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)
HANDLER = re.compile(r'\son[a-z]+="([^"]*)"')


def inline(html):
    """Return the scripts that stand in a page."""
    return {*SCRIPT.findall(html), *map(unescape, HANDLER.findall(html))}


def source(script):
    """Return how a policy names a script."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def policy(scripts):
    """Return the policy of a site with these scripts in its pages."""
    named = " ".join(sorted(map(source, scripts)))
    # Python is WebAssembly. Handlers have hashes, too.
    parts = {
        "default-src": "'none'",
        "script-src": f"'self' 'wasm-unsafe-eval' 'unsafe-hashes' {named}",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "worker-src": "'self'",
        "frame-src": "'self'",
        "base-uri": "'self'",
        "form-action": "'self'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def write(app):
    out, scripts = Path(app.outdir), set()
    for page in pages_of(out):
        scripts |= inline((out / f"{page}.html").read_text("utf-8"))
    text = f"/*\n  Content-Security-Policy: {policy(scripts)}\n"
    (out / NAME).write_text(text, "utf-8")
