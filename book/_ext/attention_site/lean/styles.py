"""Style sheets as parsed rules: joined, freed of what no page can match.

Everything here works on the tree of tokens that tinycss2 parses, and not on
the text of a style sheet.
"""

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import tinycss2
from sphinx.errors import ExtensionError

# Where icon fonts have their characters.
PRIVATE = "\ue000", "\uf8ff"
# The name of a custom property, which `var` asks for.
CUSTOM = re.compile(r"--[\w-]+")


def parse(text, name):
    """The rules of a style sheet; one that cannot be read is an error."""
    rules = tinycss2.parse_stylesheet(text, True, True)
    for rule in rules:
        if rule.type == "error":
            raise ExtensionError(
                f"attention_site.lean: {name}, line {rule.source_line}: "
                f"{rule.message}"
            )
    return rules


def read(path, static):
    """The rules of a file, what it imports included, for a file in `static`.

    Addresses are made anew, relative to `static`; they lead to files there.
    """
    for rule in parse(path.read_text(encoding="utf-8"), path.name):
        kind = rule.type == "at-rule" and rule.lower_at_keyword
        if kind == "import":
            yield from read(_imported(rule, path), static)
        elif kind != "charset":
            for url in addresses(rule):
                _relocate(url, path, static)
            yield rule


def _imported(rule, path):
    """The file that an @import names."""
    words = [
        t for t in rule.prelude if t.type not in ("whitespace", "comment")
    ]
    urls = [t for t in words if t.type == "string"] or addresses(rule)
    if len(words) != 1 or len(urls) != 1:
        raise ExtensionError(
            f"attention_site.lean: {path.name} imports "
            f"{tinycss2.serialize(rule.prelude).strip()}; only an address "
            "alone can be joined, without conditions and layers"
        )
    return _file(urls[0].value, path)


def addresses(node):
    """The tokens below `node` that hold an address, quoted or not."""
    found = []
    for name in ("prelude", "content", "arguments"):
        for token in getattr(node, name, None) or ():
            if token.type == "url":
                found.append(token)
            elif token.type == "function" and token.lower_name == "url":
                found += [t for t in token.arguments if t.type == "string"]
            else:
                found += addresses(token)
    return found


def _file(url, path):
    """The file that `url` means in the style sheet `path`."""
    parts = urlsplit(url)
    file = (path.parent / parts.path).resolve()
    if parts.scheme or parts.netloc or not file.is_file():
        raise ExtensionError(
            f"attention_site.lean: {path.name} asks for {url}, which is no "
            "file of the site"
        )
    return file


def _relocate(token, path, static):
    """Make an address in `path` one that a file in `static` can have."""
    if token.value.startswith(("data:", "#")):
        return
    file = _file(token.value, path)
    token.value = file.relative_to(static.resolve()).as_posix()
    quoted = f'"{token.value}"'
    token.representation = f"url({quoted})" if token.type == "url" else quoted


def vocabulary(pages, scripts):
    """Every name that a class, an id or an element of the site could have,
    and every custom property that a page or a script asks for.

    What scripts do is not known before they run: any word in them counts.
    """
    said = set(re.findall(r"[\w-]+", scripts))
    words = said.union(*(page.words for page in pages))
    elements = said.union(*(page.elements for page in pages))
    return words, elements


def names(text):
    """Every name in a style sheet that a selector or a value could mean."""
    found, todo = set(), tinycss2.parse_component_value_list(text)
    while todo:
        token = todo.pop()
        if token.type in ("ident", "hash"):
            found |= {token.value, token.value.lower()}
        todo += getattr(token, "content", None) or ()
        todo += getattr(token, "arguments", None) or ()
    return found


def asked(selector):
    """The classes and ids, and the elements, that a selector asks for."""
    words, elements = set(), set()
    for before, token in pairwise([None, *selector]):
        sign = before.value if getattr(before, "type", "") == "literal" else ""
        if token.type == "hash" or (token.type == "ident" and sign == "."):
            words.add(token.value)
        elif token.type == "ident" and sign != ":":
            elements.add(token.lower_value)
    return words, elements


def split(prelude):
    """The selectors of a rule, split at commas outside brackets."""
    parts = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def purge(rules, words, elements):
    """The rules that a page with those names could match, as text."""

    def matches(selector):
        its_words, its_elements = asked(selector)
        return its_words <= words and its_elements <= elements

    return written(rules, matches)


def written(rules, wanted=lambda selector: True):
    """The rules as text, without the selectors that are not wanted."""
    return "\n".join(filter(None, (_written(r, wanted) for r in rules)))


def _written(rule, wanted):
    if rule.type == "qualified-rule":
        selectors = [
            tinycss2.serialize(selector).strip()
            for selector in split(rule.prelude)
            if wanted(selector)
        ]
        body = tinycss2.serialize(rule.content).strip()
        return f"{','.join(selectors)}{{{body}}}" if selectors and body else ""
    if rule.lower_at_keyword in ("media", "supports"):
        inner = written(
            tinycss2.parse_rule_list(rule.content, True, True), wanted
        )
        prelude = tinycss2.serialize(rule.prelude)
        name = rule.lower_at_keyword
        return f"@{name}{prelude}{{{inner}}}" if inner else ""
    return rule.serialize()


def _declared(rules):
    """Each qualified rule, at any depth, with what it declares.

    Once the next rule is asked for, a change of this one has come to stay.
    """
    for rule in rules:
        if rule.type == "qualified-rule":
            yield (
                rule,
                tinycss2.parse_blocks_contents(rule.content, True, True),
            )
        elif rule.lower_at_keyword in ("media", "supports"):
            inner = tinycss2.parse_rule_list(rule.content, True, True)
            yield from _declared(inner)
            text = tinycss2.serialize(inner)
            rule.content = tinycss2.parse_component_value_list(text)


def drop_unasked(rules, others, words):
    """Drop the custom properties that nothing asks for from `rules`.

    Rules, `others` and `words`, those of pages and scripts, ask for some;
    these for others in turn. What only a dropped one asks for goes with it.
    """
    asks, wanted = {}, set(words)
    for part in (part for _, parts in _declared(rules) for part in parts):
        custom = part.type == "declaration" and part.name.startswith("--")
        found = set(CUSTOM.findall(part.serialize()))
        if custom:
            asks.setdefault(part.name, set()).update(found - {part.name})
        else:
            wanted |= found
    wanted |= set(CUSTOM.findall(written(others)))
    todo = list(wanted)
    while todo:
        new = asks.pop(todo.pop(), set()) - wanted
        wanted |= new
        todo += new
    for rule, parts in _declared(rules):
        kept = [p for p in parts if getattr(p, "name", None) not in asks]
        if len(kept) < len(parts):
            text = tinycss2.serialize(kept)
            rule.content = tinycss2.parse_component_value_list(text)


def _animation(rule):
    """The name of the animation that a rule is, or None."""
    if rule.type == "at-rule" and rule.lower_at_keyword == "keyframes":
        return tinycss2.serialize(rule.prelude).strip()
    return None


def played(rules, others):
    """`rules` without the animations that nothing in both lists names."""
    rest = [rule for rule in (*rules, *others) if not _animation(rule)]
    named = {None, *re.findall(r"[\w-]+", written(rest))}
    return [rule for rule in rules if _animation(rule) in named]


def is_font(rule, name):
    """Whether a rule is the font-face of the file `name`, of any suffix."""
    return (
        rule.type == "at-rule"
        and rule.lower_at_keyword == "font-face"
        and any(Path(url.value).stem == name for url in addresses(rule))
    )


def load_instead(rule, url):
    """Let a font-face load one file, and no other."""
    others = tinycss2.serialize(
        [
            part
            for part in tinycss2.parse_blocks_contents(rule.content)
            if getattr(part, "lower_name", "") != "src"
        ]
    )
    source = f'src:url("{url}") format("woff2");'
    rule.content = tinycss2.parse_component_value_list(source + others)


def _is_icon(token):
    return (
        token.type == "string"
        and token.value != ""
        and all(PRIVATE[0] <= c <= PRIVATE[1] for c in token.value)
    )


def hush(rule):
    """Let screen readers skip the icon that a rule draws, if it draws one.

    Browsers that do not know a text instead of an icon keep the icon.
    """
    if rule.type != "qualified-rule":
        return False
    parts = tinycss2.parse_blocks_contents(rule.content)
    for part in parts:
        if getattr(part, "lower_name", "") != "content":
            continue
        value = [t for t in part.value if t.type != "whitespace"]
        if value and all(map(_is_icon, value)):
            text = f';content:{tinycss2.serialize(value)}/""'
            rule.content += tinycss2.parse_component_value_list(text)
            return True
    return False


def icons(rules):
    """The characters that icon fonts draw: those of the private use area."""
    return {
        character
        for rule in rules
        for token in _strings(rule)
        for character in token.value
        if PRIVATE[0] <= character <= PRIVATE[1]
    }


def _strings(node):
    for name in ("content", "arguments"):
        for token in getattr(node, name, None) or ():
            if token.type == "string":
                yield token
            else:
                yield from _strings(token)
