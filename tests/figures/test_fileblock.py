"""A quantisation block: bytes and numbers are those of the file."""

import functools
import re

import numpy as np

from course.checkpoint import smollm2_path
from course.checkpoint.gguf import read_header
from course.checkpoint.quantised import dequantised
from course.figures import FileBlock
from tests.figures.reading import (
    in_proportion,
    path_of,
    sentence,
    tells,
    where,
)

TENSORS = {
    "W_Q of layer 0": "blk.0.attn_q.weight",
    "W_1 of layer 0": "blk.0.ffn_gate.weight",
    "W_K of layer 29": "blk.29.attn_k.weight",
}
CASES = [
    {"at": 24, "code": 6},  # as in the file: the left digit of a byte
    {"at": 0, "code": 0},
    {"at": 31, "code": 15, "block": "W_1 of layer 0"},
    {"at": 16, "code": 1, "block": "W_K of layer 29"},
]


@functools.cache
def of_file(block):
    """The first 20 bytes of a tensor of the published file."""
    with smollm2_path().open("rb") as file:
        tensor = read_header(file, "it").tensors[TENSORS[block]]
        assert tensor.kind == "Q4_1"
        file.seek(tensor.start)
        return file.read(20)


def changed(state):
    """The bytes with four bits replaced."""
    data = bytearray(of_file(state["block"]))
    half, pair = divmod(state["at"], 16)
    kept = data[4 + pair] & (0x0F if half else 0xF0)
    data[4 + pair] = kept | state["code"] << 4 * half
    return bytes(data)


def code_at(data, at):
    return data[4 + at % 16] >> (4 if at >= 16 else 0) & 15


def expected(state):
    data = changed(state)
    parameters = dequantised(data, "Q4_1")
    scale, minimum = np.frombuffer(data[:4], "<f2").astype(float)
    at = state["at"]
    return {
        "scale": scale,
        "minimum": minimum,
        "codes": [code_at(data, i) for i in range(32)],
        "parameters": parameters.astype(float).tolist(),
        "bits": [int(bit) for bit in f"{state['code']:04b}"],
        "byte": data[4 + at % 16],
        "value": float(parameters[at]),
        "stored": code_at(of_file(state["block"]), at),
    }


def shows(state, expected, shown):
    svg, at, code = shown.svg, state["at"], state["code"]
    data = changed(state)
    head = [t.text for t in svg.select("svg > text")]
    assert head[1:3] + head[4:6] == [f"{b:02x}" for b in data[:4]]
    scale, minimum = expected["scale"], expected["minimum"]
    tells(head[3], (scale, 5))
    tells(head[6], (minimum, 5))
    # The scales of both drawings, each with its ends.
    for ends in (head[7:9], head[9:11]):
        tells(" ".join(ends), (minimum + 15 * scale, 2), (minimum, 2))
    dots = {
        int(part["data-handle"][1:]): part
        for part in svg.select(".av-parameter")
    }
    # Both halves of a byte, as two digits of which the left one is written
    # further to the left.
    for i in range(16):
        (low, high) = (dots[k].select_one("text") for k in (i, i + 16))
        assert float(high["x"]) < float(low["x"])
        assert high.text + low.text == f"{data[4 + i]:02x}"
    stems = [path_of(dots[i].select_one(".av-stem")) for i in range(32)]
    in_proportion([foot - top for _, foot, top in stems], expected["codes"])
    here = [i for i in range(32) if "av-here" in dots[i]["class"]]
    assert here == [at]
    bits = [bit.text for bit in svg.select(".av-bit")]
    assert bits == [str(bit) for bit in expected["bits"]]
    assert [t.text for t in svg.select(".av-worth")] == list("8421")
    *worths, total = re.findall(r"\d+", svg.select_one(".av-code").text)
    assert int(total) == code == sum(map(int, worths or [total]))
    tells(
        svg.select_one(".av-formula").text,
        (scale, 5),
        code,
        (abs(minimum), 5),
        (expected["value"], 3),
    )
    text = sentence(shown)
    byte, bits = re.search(
        r"byte ([0-9a-f]{2})\. Its bits ([01]{4}) ", text
    ).groups()
    assert int(byte, 16) == expected["byte"]
    assert int(bits, 2) == code
    assert ("left digit" in text) == (at >= 16)
    stored = expected["stored"]
    tells(
        text.replace(f"byte {byte}", "").replace(f"bits {bits}", ""),
        at,
        code,
        code,
        (expected["value"], 3),
        *where(stored != code, stored, (scale * stored + minimum, 3)),
    )


def test_a_block_of_the_file_uses_its_lowest_and_its_highest_code():
    for block in TENSORS:
        codes = FileBlock(block=block).values["codes"]
        stored = [code_at(of_file(block), i) for i in range(32)]
        stored[7] = 11  # the first state of the figure
        assert codes == stored
        assert {min(codes), max(codes)} == {0, 15}


def test_another_parameter_begins_with_its_own_bits(page):
    page.open("fileblock")
    seen = page.run("fileblock.choose")
    data = of_file("W_Q of layer 0")
    assert seen == [
        [7, 15],
        [20, code_at(data, 20)],
        [20, code_at(data, 20) + 1],
        [3, code_at(data, 3)],
        "",  # no note that would move the controls
        [3, code_at(of_file("W_1 of layer 0"), 3)],
    ]
