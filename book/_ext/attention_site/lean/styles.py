"""Join style sheets, without rules that no page can match.

All functions work on the tokens that tinycss2 parses, not on text.
"""

import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import tinycss2
from sphinx.errors import ExtensionError

# The range of the icon fonts' characters.
PRIVATE = "\ue000", "\uf8ff"
# The name of a custom property.
CUSTOM = re.compile(r"--[\w-]+")
# A nameless part of a last part, as in "li:last-child > :last-child".
LAST = re.compile(r":last-child[ >]+:[\w-]+$")
# A list at the end of a selector, of classes alone or of elements alone.
LISTED = re.compile(
    r"((?:.*[ >+~])?):is\((\.[\w-]+(?:,\s*\.[\w-]+)*|\w+(?:,\s*\w+)*)\)",
    re.DOTALL,
)
# Comments with copyright or licence notices are kept.
RIGHTS = re.compile(r"copyright|licen[cs]e|©", re.I)
# A name, in which a backslash precedes any other character.
NAME = re.compile(r"(?:[\w-]|\\.)+")


def parse(text, name):
    """Return the rules of a style sheet; an invalid one is an error."""
    rules = tinycss2.parse_stylesheet(text, True, True)
    for rule in rules:
        if rule.type == "error":
            raise ExtensionError(
                f"attention_site.lean: {name}, line {rule.source_line}: "
                f"{rule.message}"
            )
    return rules


def read(path, static):
    """Yield the rules of a file and of its imports.

    Addresses become relative to `static`, and must lead to files there.
    """
    for rule in parse(path.read_text(encoding="utf-8"), path.name):
        kind = rule.type == "at-rule" and rule.lower_at_keyword
        if kind == "import":
            yield from read(_imported(rule, path), static)
        elif kind != "charset":
            for url in addresses(rule):
                _relocate(url, path, static)
            yield rule


def notices(path):
    """Yield the comments of a file and of its imports that state rights."""
    text = path.read_text(encoding="utf-8")
    for node in tinycss2.parse_stylesheet(text, False, True):
        if node.type == "comment" and RIGHTS.search(node.value):
            # A browser's tools, and minifiers, keep what begins like this.
            yield f"/*!{node.value.removeprefix('!').rstrip()} */\n"
        elif node.type == "at-rule" and node.lower_at_keyword == "import":
            yield from notices(_imported(node, path))


def _imported(rule, path):
    """Return the file that an @import names."""
    words = [
        t for t in rule.prelude if t.type not in ("whitespace", "comment")
    ]
    urls = [t for t in words if t.type == "string"] or addresses(rule)
    if len(words) != 1 or len(urls) != 1:
        raise ExtensionError(
            f"attention_site.lean: {path.name} imports "
            f"{tinycss2.serialize(rule.prelude).strip()}; only imports "
            "without conditions and layers can be joined"
        )
    return _file(urls[0].value, path)


def addresses(node):
    """Return the tokens below `node` that hold an address."""
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
    """Return the file that `url` means in the style sheet `path`."""
    parts = urlsplit(url)
    file = (path.parent / parts.path).resolve()
    if parts.scheme or parts.netloc or not file.is_file():
        raise ExtensionError(
            f"attention_site.lean: {path.name} asks for {url}, which is not "
            "a file of the site"
        )
    return file


def _relocate(token, path, static):
    """Make an address of the style sheet `path` relative to `static`."""
    if token.value.startswith(("data:", "#")):
        return
    file = _file(token.value, path)
    token.value = file.relative_to(static.resolve()).as_posix()
    quoted = f'"{token.value}"'
    token.representation = f"url({quoted})" if token.type == "url" else quoted


def vocabulary(pages, scripts, unset=frozenset()):
    """Return all names and elements that the site could have.

    Names are classes, ids, and the custom properties that pages and scripts
    use. Because scripts may create any of them, every word in a script counts,
    except those of `unset`.
    """
    said = set(re.findall(r"[\w-]+", scripts)) - set(unset)
    words = said.union(*(page.words for page in pages))
    elements = said.union(*(page.elements for page in pages))
    return words, elements


def names(text):
    """Return every word of a style sheet that could be a name in a selector.

    Parsing the style sheets of the theme for them takes as long as the bundle.
    """
    found = {word.replace("\\", "") for word in NAME.findall(text)}
    return found | {word.lower() for word in found}


def asked(selector):
    """Return the classes and ids, and the elements, of a selector."""
    words, elements = set(), set()
    for before, token in pairwise([None, *selector]):
        sign = before.value if getattr(before, "type", "") == "literal" else ""
        if token.type == "hash" or (token.type == "ident" and sign == "."):
            words.add(token.value)
        elif token.type == "ident" and sign != ":":
            elements.add(token.lower_value)
        elif token.type == "function" and token.lower_name == "has":
            inner = split(token.arguments)
            if len(inner) == 1:  # of several, one is enough
                for own, its in zip(
                    (words, elements), asked(inner[0]), strict=True
                ):
                    own |= its
    return words, elements


def split(prelude):
    """Split the selectors of a rule at commas outside brackets."""
    parts = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def spread(selector):
    """Return a selector once for each name of the list at its end, if any.

    A browser sorts rules by the name at the end, so that an element meets few
    of them, and tries a rule that ends in a list, "p :is(.a, .b)", on each.
    Names of one kind have one weight, so the rules mean the same.
    """
    found = LISTED.fullmatch(selector)
    if not found:
        return [selector]
    return [found[1] + name for name in re.split(r",\s*", found[2])]


def purge(rules, words, elements):
    """Return the rules that a page with these names could match, as text.

    Rules for a nameless part of a last part are left out. Because of them, a
    browser styles all of an element anew whenever it gets another last child:
    with each piece of a page that arrives, and with moves of figures.
    """

    def matches(selector):
        its_words, its_elements = asked(selector)
        named = not LAST.search(tinycss2.serialize(selector).strip())
        return named and its_words <= words and its_elements <= elements

    return written(rules, matches)


def written(rules, wanted=lambda selector: True):
    """Return the rules as text, with the wanted selectors only."""
    return "".join(_written(rule, wanted) for rule in rules)


def _is(token, signs):
    return token is None or (token.type == "literal" and token.value in signs)


def tight(tokens):
    """Return the tokens of a block without redundant spaces.

    An empty custom property keeps its space, which is its value.
    """
    kept = []
    for before, token, after in zip(
        [None, *tokens], tokens, [*tokens[1:], None], strict=False
    ):
        if token.type == "whitespace":
            empty = before and _is(before, ":") and _is(after, ";")
            if not empty and (_is(before, ";:,") or _is(after, ";:,")):
                continue
            token = tinycss2.ast.WhitespaceToken(0, 0, " ")
        kept.append(token)
    return kept


def _written(rule, wanted):
    if rule.type == "qualified-rule":
        selectors = [
            text
            for selector in split(rule.prelude)
            if wanted(selector)
            for text in spread(tinycss2.serialize(selector).strip())
        ]
        body = tinycss2.serialize(tight(rule.content)).rstrip(";")
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
    """Yield each qualified rule, at any depth, and its declarations.

    A change of a rule is stored when the next rule is requested.
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
    """Drop the custom properties from `rules` that nothing uses.

    `rules`, `others` and `words` (of pages and scripts) use properties, which
    may use other properties in turn. A property that only dropped properties
    use is dropped too.
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
    """Return the name of the animation that a rule defines, or None."""
    if rule.type == "at-rule" and rule.lower_at_keyword == "keyframes":
        return tinycss2.serialize(rule.prelude).strip()
    return None


def played(rules, others):
    """Drop the animations from `rules` that no rule of either list names."""
    rest = [rule for rule in (*rules, *others) if not _animation(rule)]
    named = {None, *re.findall(r"[\w-]+", written(rest))}
    return [rule for rule in rules if _animation(rule) in named]


def is_font(rule, name):
    """Whether a rule is the font-face of the file `name`, with any suffix."""
    return (
        rule.type == "at-rule"
        and rule.lower_at_keyword == "font-face"
        and any(Path(url.value).stem == name for url in addresses(rule))
    )


def load_instead(rule, url):
    """Make a font-face load only one file."""
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
    """Make screen readers skip a rule's icon; return whether it draws one.

    Browsers that do not know alternative texts ignore the addition.
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
    """Return the characters of icon fonts that the rules draw."""
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
