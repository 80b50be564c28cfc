"""Convert a text to token numbers, and back."""

import re
from contextlib import contextmanager

import numpy as np

from helpers._checks import as_array, check_flag
from helpers._extras import extra
from helpers.layers import token_ids

from .errors import CheckpointError, shown
from .files import whole

ADDED = (3, 4)  # types of tokens at which a text is split: control, by users
BYTE = re.compile("<0x[0-9A-Fa-f]{2}>")  # a byte in a vocabulary of texts
# Limits of a tokenizer.json. Objects take the most memory: published files
# have one for each added token, some thousands.
MOST_BYTES, MOST_OBJECTS = 2**25, 2**16


def _package():
    """The package `tokenizers`, which nothing else in the course needs."""
    with extra("checkpoint"):
        import tokenizers
    return tokenizers


@contextmanager
def _refused(rule):
    """State a rule where the package raises an error of its own."""
    try:
        yield
    except BaseException as error:
        # A panic of Rust is no Exception, and its class cannot be imported.
        panic = type(error).__name__ == "PanicException"
        if not panic and not isinstance(error, Exception):
            raise
        raise CheckpointError(f"{rule}; got {shown(str(error))}") from None


class Tokenizer:
    """Split a text into the tokens of a model, by the model's rules.

    `missing` are bytes without a token, which `encode` would drop.
    """

    def __init__(self, rules, missing=()):
        self._rules = rules
        self._missing = frozenset(missing)
        # All tokens are below this number, of which some may be unused.
        self._size = 1 + max(rules.get_vocab().values(), default=-1)

    def __len__(self):
        return self._size

    def __repr__(self):
        return f"Tokenizer({len(self)} tokens)"

    @property
    def rows(self):
        """The rows that an embedding needs: those of all but added tokens."""
        tokens = self._rules.get_vocab().values()
        added = self._rules.get_added_tokens_decoder()
        return 1 + max(set(tokens) - added.keys(), default=-1)

    def encode(self, text, *, control=True):
        """Convert a text to tokens.

        Parameters
        ----------
        text : str
            Any text.
        control : bool, default True
            Whether the names of added tokens in the text, such as the end of a
            turn or the start of a tool's call, become these tokens. For a
            reader's text inside of a form, pass False: the names are then cut
            as any other text, even if the file calls a token not special.

        Returns
        -------
        (T,) integer array

        Raises
        ------
        TypeError
            If `text` is not a text.
        ValueError
            If the vocabulary has no token for a byte of the text, or the rules
            fail.
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be a str; got {type(text).__name__}")
        try:
            lost = self._missing.intersection(text.encode())
        except UnicodeEncodeError:
            raise ValueError(
                "text must be Unicode; got half of a pair of surrogates"
            ) from None
        self._rules.encode_special_tokens = not check_flag(control, "control")
        with _refused("text must fit the tokenizer's rules"):
            ids = self._rules.encode(text, add_special_tokens=False).ids
        ids = np.array(ids, dtype=np.int64)
        # The name of a control token is a single token, whatever its letters
        # are.
        if lost and self.decode(ids) != text:
            raise ValueError(
                "text must consist of bytes that the vocabulary has; "
                f"got {min(lost):#x}"
            )
        return ids

    def decode(self, tokens):
        """Convert tokens to text.

        Parameters
        ----------
        tokens : (T,) integers
            Each below ``len(tokenizer)``.

        Returns
        -------
        str
            Bytes of incomplete characters become the replacement character.

        Raises
        ------
        TypeError
            If tokens are not integers.
        ValueError
            If a token is outside the vocabulary, or `tokens` has more axes.
        """
        tokens = token_ids(as_array(tokens, "tokens"), len(self))
        if tokens.ndim != 1:
            raise ValueError(f"tokens must be (T,); got {tokens.shape}")
        with _refused("tokens must fit the tokenizer's rules"):
            return self._rules.decode(
                tokens.tolist(), skip_special_tokens=False
            )

    def stream(self, tokens):
        """Convert tokens to text piece by piece, in whole characters.

        Parameters
        ----------
        tokens : iterable of int
            The tokens, which may be made one at a time.

        Yields
        ------
        str
            What the next tokens add to the text, as soon as it ends with a
            whole character, and its tokens do not end with a byte such as
            ``<0x0A>``; at the end, what is left. Joined, this is what `decode`
            gives, unless later tokens change the text of earlier ones in
            another way, such as by a replacement across tokens.

        Raises
        ------
        TypeError, ValueError
            As `decode`.

        Examples
        --------
        With a token for each byte, the first half of é is held back.

        >>> from tokenizers import Tokenizer as Rules, decoders, models
        >>> letters = {letter: b for b, letter in LETTERS.items()}
        >>> rules = Rules(models.BPE(letters, []))
        >>> rules.decoder = decoders.ByteLevel()
        >>> list(Tokenizer(rules).stream("é!".encode()))
        ['é', '!']
        """
        read, told, text = [], 0, ""
        for token in tokens:
            read.append(token)
            text = self.decode(read)
            # The replacement character stands for an incomplete one. One
            # wrong byte changes the text of all bytes around it.
            name = self._rules.id_to_token(int(token)) or ""
            if not text.endswith("\ufffd") and not BYTE.fullmatch(name):
                yield text[told:]
                told = len(text)
        if text[told:]:
            yield text[told:]


def from_file(path):
    """Read the tokenizer of a `tokenizer.json`.

    It neither truncates nor pads, whatever the file says, as in the library
    `transformers`.
    """
    data = whole(path, MOST_BYTES)
    n = data.count(b"{")
    if n > MOST_OBJECTS:
        raise CheckpointError(
            f"{path.name}: the file must have at most {MOST_OBJECTS:,} "
            f"opening braces; got {n:,}"
        )
    with _refused(f"{path.name}: the file must be a tokenizer"):
        rules = _package().Tokenizer.from_buffer(data)
        rules.no_truncation()
        rules.no_padding()
        # Only special tokens stay text if `encode` is asked for it.
        rules.add_special_tokens([*rules.get_added_tokens_decoder().values()])
    by_bytes = isinstance(rules.decoder, _package().decoders.ByteLevel)
    return Tokenizer(rules, _missing(rules) if by_bytes else ())


def _missing(rules):
    """The bytes for which a vocabulary of bytes has no token."""
    vocab = rules.get_vocab()
    return {b for b in range(256) if LETTERS[b] not in vocab}


def _letters():
    """The letter for each byte in a vocabulary of bytes."""
    printed = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = (b for b in range(256) if b not in printed)
    moved = {b: chr(256 + i) for i, b in enumerate(others)}
    return {b: moved.get(b, chr(b)) for b in range(256)}


LETTERS = _letters()


# The words of Llama 3: digits in threes, and line ends by themselves.
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CUTS = "gpt-2", "smollm", "llama-bpe"  # names in GGUF


def _cut(name):
    """How a text is split before the merges."""
    cuts, pattern = _package().pre_tokenizers, _package().Regex(LLAMA_3)
    words = name != "llama-bpe"
    by_bytes = cuts.ByteLevel(add_prefix_space=False, use_regex=words)
    before = {
        "gpt-2": [],
        "smollm": [cuts.Digits(individual_digits=True)],
        "llama-bpe": [cuts.Split(pattern, "isolated")],
    }
    return cuts.Sequence([*before[name], by_bytes])


def from_metadata(metadata, name):
    """Make the tokenizer that the metadata of a GGUF file describe.

    It does byte-pair encoding, as in GPT-2.
    """

    def get(key, kinds, default=None):
        value = metadata.get(f"tokenizer.ggml.{key}", default)
        if not isinstance(value, kinds):
            raise CheckpointError(
                f"{name}: tokenizer.ggml.{key} must be there, of type "
                f"{kinds.__name__}; got {shown(value)}"
            )
        return value

    for key, known in (("model", ("gpt2",)), ("pre", CUTS)):
        value = get(key, str)
        if value not in known:
            raise CheckpointError(
                f"{name}: tokenizer.ggml.{key} must be one of "
                f"{', '.join(known)}; got {shown(value)}"
            )
    tokens, merges = get("tokens", list), get("merges", list)
    kinds = get("token_type", list, [1] * len(tokens))
    texts = [token for token in tokens if _is_text(token)]
    vocab = {token: i for i, token in enumerate(texts)}
    pairs = [tuple(merge.split(" ")) for merge in merges if _is_text(merge)]
    fits = (
        len(vocab) == len(tokens) == len(kinds)
        and len(pairs) == len(merges)
        and all(
            len(p) == 2 and {*p, "".join(p)} <= vocab.keys() for p in pairs
        )
    )
    if not fits:
        raise CheckpointError(
            f"{name}: the tokens must be texts that all differ, each with a "
            "type, and each merge must be of two tokens into a third"
        )
    with _refused(f"{name}: the metadata must describe a tokenizer"):
        rules = _by_merges(vocab, pairs, kinds, get("pre", str))
    return Tokenizer(rules, _missing(rules))


def _by_merges(vocab, pairs, kinds, cut):
    """The rules of byte-pair encoding, with each token's type."""
    # In Llama 3 a word of the vocabulary is a token, whatever merges say.
    as_words = cut == "llama-bpe"
    made = _package()
    rules = made.Tokenizer(
        made.models.BPE(vocab=vocab, merges=pairs, ignore_merges=as_words)
    )
    rules.pre_tokenizer = _cut(cut)
    rules.decoder = made.decoders.ByteLevel()
    rules.add_special_tokens(
        [
            made.AddedToken(token, normalized=False)
            for token, kind in zip(vocab, kinds, strict=True)
            if kind in ADDED
        ]
    )
    return rules


def _is_text(value):
    return isinstance(value, str)
