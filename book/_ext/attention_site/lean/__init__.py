"""The optimiser: the same pages in fewer bytes.

The book needs nothing of it. With ``lean: false`` in `_config.yml` pages load
the theme's own style sheets, scripts and fonts, and a theme that is newer
than the lists in `bundle` builds all the same.

* `bundle`, `styles`: one small style sheet and one small script for the
  whole site.
* `faces`: the book's fonts without the characters that no page shows.

What to check for a newer theme
-------------------------------
1. `bundle` parses what the theme's blocks would have loaded. A file that it
   does not list fails the build, and so does a listed file that no page
   loads. Bring the lists up to date, in the order of the theme's head:
   THEME_STYLES, SCRIPTS, DROPPED, INLINE.
2. Icons come from three web fonts; style sheets name them by characters of
   the private use area. A font that no style sheet loads fails the build.
3. Bootstrap's script is left out. Instead `site.js` opens the menus that have
   `data-bs-toggle` and marks the entries of `.page-toc`.

Regular expressions, and why no parser does their work
------------------------------------------------------
* `parsed.LINKED` puts digests, which are known when all pages are written,
  into links of our own layout. A page with other than three fails the build.
* `bundle.MEASURED` finds a list in the theme's minified script. Anything but
  one match fails the build.
* `bundle.COMMENT` matches only lines that begin as comments; no script of the
  bundle has such a line inside a string.
* `styles.vocabulary` counts every word of a script as a class, because what a
  script does is unknown before it runs. It keeps too many rules, not too few.
"""
