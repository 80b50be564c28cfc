"""Write all pages again if something has changed that other pages show.

Sphinx writes only the pages whose source has changed, but the menu of each
page shows all titles, and a link shows the title or number of its target.
"""

from docutils import nodes


def plain(found):
    """Return a value as text that is the same in every build."""
    if isinstance(found, dict):
        pairs = [f"{key!r}: {plain(value)}" for key, value in found.items()]
        return f"{{{', '.join(sorted(pairs))}}}"
    if isinstance(found, set | frozenset):
        return f"{{{', '.join(sorted(map(plain, found)))}}}"
    if isinstance(found, list | tuple):
        return f"[{', '.join(map(plain, found))}]"
    known = isinstance(found, str | int | nodes.Node) or found is None
    return str(found) if known else type(found).__name__


def shown(env):
    """Return the titles and numbers that pages show of one another."""
    anchors = {
        page: {
            name: target
            for name, (_line, *target) in data.get("myst_slugs", {}).items()
        }
        for page, data in env.metadata.items()
    }
    return plain(
        [
            [env.titles, env.longtitles, env.toctree_includes],
            [env.toc_secnumbers, env.toc_fignumbers],
            [anchors, env.domaindata],
        ]
    )


def write_all(app, env):
    before = getattr(env, "attention_site_shown", None)
    env.attention_site_shown = shown(env)
    return [] if env.attention_site_shown == before else env.found_docs


def setup(app):
    # Run after the chapters are numbered.
    app.connect("env-get-updated", write_all, priority=900)
