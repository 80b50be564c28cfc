"""ONNX's own cases of its operator Attention, through `helpers.attention`.

The package `onnx` makes them: inputs, attributes, and the outputs that its
specification asks for, in opsets 23, 24 and 25. `make test-torch` runs this
where onnx is installed.
"""

import warnings

import numpy as np
import pytest

from helpers import _core
from helpers.attention import attention, attention_scores
from helpers.heads import merge_heads, repeat_kv, split_heads
from helpers.masks import causal_mask, padding_mask, window_mask

onnx = pytest.importorskip("onnx", minversion="1.23")
cases = pytest.importorskip("onnx.backend.test.case.node")

with warnings.catch_warnings():  # of the cases of other operators
    warnings.simplefilter("ignore")
    # Each is there twice: as one node, and expanded into many.
    CASES = {
        case.name: case
        for case in cases.collect_testcases("Attention")
        if not case.name.endswith("_expanded")
    }
INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value",
          "nonpad_kv_seqlen")  # fmt: skip
OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")


def read(case):
    """Inputs, attributes, and the outputs wanted, by name."""
    (node,) = case.model.graph.node
    (data,) = case.data_sets
    stated = [value.name for value in case.model.graph.input]
    given = dict(zip(stated, data[0], strict=True))
    inputs = {
        own: given[name]
        for own, name in zip(INPUTS, node.input, strict=False)
        if name
    }
    made = [value.name for value in case.model.graph.output]
    results = dict(zip(made, data[1], strict=True))
    expected = {
        own: results[name]
        for own, name in zip(OUTPUTS, node.output, strict=False)
        if name
    }
    attributes = {
        a.name: onnx.helper.get_attribute_value(a) for a in node.attribute
    }
    return inputs, attributes, expected


def allowed(T, S, offset, left, right):
    """True where query i, at position i + offset, may reach key j.

    The helpers' queries are the last of all keys. There are more keys or
    fewer here where a cache has room to spare or a query none before it.
    """
    before = max(0, -offset)  # positions in front of all keys
    wide = before + max(S, offset + T)
    rows = window_mask(wide, left=left, right=right)  # of all positions
    if right == 0 and left is None:
        np.testing.assert_array_equal(rows, causal_mask(wide))
    first = before + offset
    return rows[first : first + T, before : before + S]


def masks(inputs, attributes, T, S):
    """The boolean mask and the bias of a case."""
    past = inputs["past_key"].shape[2] if "past_key" in inputs else 0
    lengths = inputs.get("nonpad_kv_seqlen")
    offsets = [past] if lengths is None else (lengths - T).tolist()
    left = attributes.get("left_window_size", -1)
    right = attributes.get("right_window_size", -1)
    right = 0 if attributes.get("is_causal") else right
    left, right = (None if n < 0 else n for n in (left, right))
    mask = np.stack([allowed(T, S, n, left, right) for n in offsets])
    mask = mask[:, None]  # an axis for the heads
    if lengths is not None:
        mask = mask & padding_mask(lengths, S)
    given = inputs.get("attn_mask")
    if given is None:
        return mask, None
    spare = [(0, 0)] * (given.ndim - 1) + [(0, S - given.shape[-1])]
    if given.dtype == bool:
        return mask & np.pad(given, spare), None
    given = given.astype(np.float32)
    return mask, np.pad(given, spare, constant_values=-np.inf)


def run(inputs, attributes):
    """All outputs of the operator, by name."""
    Q, K, V = (inputs[name] for name in "QKV")
    narrow = Q.dtype if Q.dtype.name == "bfloat16" else None
    if narrow:
        Q, K, V = (x.astype(np.float32) for x in (Q, K, V))
    flat = Q.ndim == 3
    if flat:
        H, H_kv = attributes["q_num_heads"], attributes["kv_num_heads"]
        Q, K, V = (
            split_heads(x, n)
            for x, n in zip((Q, K, V), (H, H_kv, H_kv), strict=True)
        )
    if "past_key" in inputs:
        K = np.concatenate([inputs["past_key"], K], axis=2)
        V = np.concatenate([inputs["past_value"], V], axis=2)
    result = {"present_key": K, "present_value": V}
    n_rep = Q.shape[1] // K.shape[1]
    K, V = repeat_kv(K, n_rep), repeat_kv(V, n_rep)
    mask, bias = masks(inputs, attributes, Q.shape[2], K.shape[2])
    scale = attributes.get("scale")
    softcap = attributes.get("softcap") or None
    output, weights = attention(
        Q, K, V, mask=mask, bias=bias, scale=scale, softcap=softcap
    )
    result["Y"] = merge_heads(output) if flat else output
    mode = attributes.get("qk_matmul_output_mode", 0)
    result["qk_matmul_output"] = weights
    if mode < 3:
        scores = attention_scores(Q, K, scale=scale)
        if mode > 0 and softcap:
            _core.cap(scores, softcap)
        if mode > 1:
            scores = scores if bias is None else scores + bias
            scores = np.where(mask, scores, -np.inf)
        result["qk_matmul_output"] = scores
    if narrow:
        return {name: x.astype(narrow) for name, x in result.items()}
    return result


# NumPy has no bfloat16. In these cases the inputs are widened to float32 and
# the results rounded once; ONNX rounds after each step. So they are not equal
# but within two spacings of such numbers, each at most 2^-7 of the number.
ROUNDED_ONCE = {
    "test_attention_3d_causal_bf16",
    "test_attention_4d_attn_mask_causal_bf16",
    "test_attention_4d_causal_bf16",
    "test_attention_4d_causal_padded_kv_bf16",
    "test_attention_4d_padded_kv_bf16",
}


@pytest.mark.parametrize("name", CASES)
def test_a_case_of_onnx(name):
    inputs, attributes, desired = read(CASES[name])
    results = run(inputs, attributes)
    once = name in ROUNDED_ONCE
    assert once == (inputs["Q"].dtype.name == "bfloat16")
    for key, expected in desired.items():
        result = results[key]
        assert result.shape == expected.shape, key
        np.testing.assert_allclose(
            result.astype(float),
            expected.astype(float),
            rtol=2**-6 if once else CASES[name].rtol,
            atol=CASES[name].atol,
            err_msg=key,
        )


def test_they_are_all_there():
    assert len(CASES) == 93
    opsets = [case.model.opset_import[0].version for case in CASES.values()]
    assert set(opsets) == {23, 24, 25}
