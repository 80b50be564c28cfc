"""The optimiser: the same pages in fewer bytes.

The book needs nothing of it. With ``lean: false`` in `_config.yml` pages load
the theme's own style sheets, scripts and fonts, and a theme that is newer
than the lists in `bundle` builds all the same.

* `bundle`, `styles`: one small style sheet and one small script for the
  whole site.
* `faces`: the book's fonts without the characters that no page shows.

What is asked of the theme, and what to look at for a newer one
---------------------------------------------------------------
1. All that the theme's blocks would have loaded is parsed. A file that
   `bundle` does not list, and a listed one that no page loads, fails the
   build. Bring the lists up to date, in the order of the theme's head:
   THEME_STYLES, SCRIPTS, DROPPED, INLINE.
2. Icons come from three web fonts and are characters of the private use area
   in the style sheets. Fonts that no style sheet loads fail the build.
3. Bootstrap's script is left out: `site.js` then opens the menus that have
   `data-bs-toggle` and marks the entries of `.page-toc`.

Patterns over text, and why no parser does their work
-----------------------------------------------------
* `parsed.LINKED`: digests, known when all pages are written, into the links
  that our own layout made. Each page has three, or the build fails.
* `bundle.MEASURED`: a list in the theme's script, which is minified. It stands
  there once, or the build fails.
* `bundle.COMMENT`: only lines that begin as comments; no script of the bundle
  has such a line in a text.
* `styles.vocabulary`: what a script may do is not known before it runs, so
  every word in it counts as a class; too many rules are kept, never too few.
"""
