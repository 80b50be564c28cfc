"""What the site must say of where it comes from, worked out apart from it.

A clone has whatever remote its owner gave it, and the site names that one.
"""

import subprocess
from urllib.parse import urlsplit

from tools import website

PAGES = {"github.com": "github.io", "gitlab.com": "gitlab.io"}


def repository_of(remote):
    """The web address of a remote, or None where Binder cannot open it."""
    if "://" not in remote:
        remote = "ssh://" + remote.replace(":", "/", 1)  # git@host:path
    parts = urlsplit(remote)
    if parts.hostname not in PAGES:
        return None
    path = parts.path.strip("/").removesuffix(".git")
    return f"https://{parts.hostname}/{path}"


def home_of(repository):
    """Where the host publishes the pages of a repository; or ""."""
    if repository is None:
        return ""
    _, _, host, owner, name = repository.split("/", 4)
    site = f"{owner.lower()}.{PAGES[host]}"
    return f"https://{site}/" + ("" if name.lower() == site else f"{name}/")


def remote_of(folder):
    """The remote of a checkout, or "" where it has none or there is no git."""
    told = ["git", "config", "--get", "remote.origin.url"]
    try:
        run = subprocess.run(
            told, cwd=folder, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return run.stdout.strip()


REPOSITORY = repository_of(remote_of(website.ROOT))
HOME = website.CONFIG["html"].get("baseurl") or home_of(REPOSITORY)
