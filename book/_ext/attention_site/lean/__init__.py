"""The optimiser: the same pages in fewer bytes.

The rest of the book does not depend on it. With ``lean: false`` in
`_config.yml`, pages load the theme's own style sheets, scripts and fonts, so a
theme that is newer than the lists in `bundle` can still be built.

* `bundle`, `styles`: one small style sheet and one small script for the
  whole site.
* `faces`: the book's fonts, without characters that no page shows.

What to check for a new version of the theme
------------------------------------------------
1. `bundle` parses what the theme's blocks would load. A file that it
   does not list fails the build, and so does a listed file that no page
   loads. Bring the lists up to date, in the order of the theme's head:
   THEME_STYLES, SCRIPTS, DROPPED, INLINE.
2. Icons come from three web fonts; style sheets name them by characters of
   the private use area. The build fails if no style sheet loads a font.
3. Bootstrap's script is left out, so `site.js` opens the menus that have
   `data-bs-toggle` and marks the entries of `.page-toc`.

Regular expressions, and why they are not parsers
-------------------------------------------------
* `parsed.LINKED` puts digests, which are known when all pages are written,
  into links of our own layout. A page without exactly three fails.
* `bundle.MEASURED` finds a list in the theme's minified script. Anything but
  one match fails the build.
* `bundle.TWO_PARTS` finds four selectors of code cells in the theme's style
  sheets. Another number of matches fails the build.
* `bundle.COMMENT` matches only lines that begin as comments; no script of the
  bundle has such a line inside a string.
* `styles.vocabulary` counts every word of a script as a class, because it
  cannot know what the script will do. So it may keep too many rules, but never
  too few.
"""
