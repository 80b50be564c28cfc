"""What stands on the pages that the browser prints."""

import re
import zlib


def streams(objects):
    """The contents of a PDF's objects that are compressed text, by number."""
    for number, body in objects.items():
        if b"/FlateDecode" in body and b"stream" in body:
            packed = body.partition(b"stream")[2].lstrip(b"\r\n")
            yield number, zlib.decompressobj().decompress(packed)


def letters(table):
    """What each glyph of a font means, by its code: a ToUnicode table."""
    codes = {}
    for line in table.decode("latin-1").splitlines():
        words = re.findall(r"<([0-9A-F]+)>", line)
        if len(words) < 2 or words[:2] == ["0000", "FFFF"]:
            continue
        first, last = (int(word, 16) for word in (words[0], words[-2]))
        *before, letter = bytes.fromhex(words[-1]).decode("utf-16-be")
        for k in range(last - first + 1):
            code = f"{first + k:04X}"
            codes[code] = "".join([*before, chr(ord(letter) + k)])
    return codes


def texts(pdf):
    """The words of each page of a PDF from Chromium, without the spaces.

    Chromium names a font by the number of its object, and writes each glyph
    as four digits.
    """
    objects = dict(re.findall(rb"(\d+) 0 obj\s(.*?)endobj", pdf, re.S))
    unpacked = dict(streams(objects))
    fonts = {}
    for number, body in objects.items():
        if table := re.search(rb"/ToUnicode (\d+) 0 R", body):
            fonts[number] = letters(unpacked[table[1]])
    pages = []
    for body in objects.values():
        contents = re.search(rb"/Type /Page\b.*/Contents (\d+)", body, re.S)
        if contents:
            pages.append(_said(unpacked[contents[1]], fonts))
    return pages


def _said(content, fonts):
    font, said = {}, ""
    for name, glyphs in re.findall(
        rb"/F(\d+) \S+ Tf|<([0-9A-F]+)> Tj", content
    ):
        if name:
            font = fonts.get(name, {})
        code = glyphs.decode()
        said += "".join(
            font.get(code[k : k + 4], "") for k in range(0, len(code), 4)
        )
    return "".join(said.split())
