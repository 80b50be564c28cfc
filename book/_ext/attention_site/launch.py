"""Launch and repository buttons, if there is a repository."""

import re
import shutil
import subprocess

COLAB = "https://colab.research.google.com"


def git(folder, *words):
    """Return the output of git, or "" if it fails or is not installed."""
    if not shutil.which("git"):
        return ""
    run = subprocess.run(
        ["git", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout.strip() if run.returncode == 0 else ""


def repository(folder):
    """Return the https address of the git remote, or None."""
    return web_address(git(folder, "config", "--get", "remote.origin.url"))


def branch(folder):
    """Return the checked-out branch if the remote has it, else HEAD.

    Binder and the hosts read HEAD as the default branch.
    """
    upstream = git(folder, "rev-parse", "--abbrev-ref", "@{upstream}")
    remote, _, name = upstream.partition("/")
    return name if remote == "origin" else "HEAD"


def web_address(remote):
    """Return the https address of a remote that Binder can open, or None."""
    found = re.match(
        r"(?:https://|git@|ssh://git@)(?:[^@/]+@)?(github\.com|gitlab\.com)"
        r"(?::\d+(?=/))?[:/](.+?/.+?)(?:\.git)?/?$",
        remote,
    )
    return f"https://{found[1]}/{found[2]}" if found else None


def pages_address(address):
    """Return the address of a repository's GitHub or GitLab Pages.

    A repository with the name of its owner's site is published at the root.
    """
    host, owner, name = address.removeprefix("https://").split("/", 2)
    pages = {"github.com": "github.io", "gitlab.com": "gitlab.io"}[host]
    site = f"{owner.lower()}.{pages}"
    return f"https://{site}/" + ("" if name.lower() == site else f"{name}/")


def add_buttons(app, config):
    """Point the theme's buttons at the repository."""
    address = repository(app.srcdir)
    if address is None:
        return
    config.html_baseurl = config.html_baseurl or pages_address(address)
    config.html_theme_options.update(
        repository_url=address,
        repository_branch=branch(app.srcdir),
        path_to_docs="",
        use_repository_button=True,
        use_issues_button=True,
        launch_buttons={
            "binderhub_url": "https://mybinder.org",
            "notebook_interface": "jupyterlab",
            # Colab opens only notebooks on GitHub.
            **({"colab_url": COLAB} if "//github.com/" in address else {}),
        },
    )


def drop_logos(app, pagename, templatename, context, doctree):
    """Name the services of the launch menu in words alone.

    For two logos in a closed menu, each page would load 9 KB more.
    """
    for group in context.get("header_buttons", ()):
        for button in group.get("buttons", ()):
            if (button.get("icon") or "").startswith("_static/"):
                button["icon"] = None


def setup(app):
    app.connect("config-inited", add_buttons)
    # After the theme has added its buttons.
    app.connect("html-page-context", drop_logos, priority=501)
