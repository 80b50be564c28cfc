"""Keys and values of the positions so far, kept from call to call."""

import numpy as np

from ._checks import as_finite_floats, as_size, as_sizes, rounded


class KVCache:
    """The keys and values of one layer, so that none is computed twice.

    Parameters
    ----------
    max_len : int
        The number of positions that fit. Their memory is allocated at once.
    n_kv_heads : int
        H_kv, the number of key/value heads.
    d_k : int
        Width of a key.
    d_v : int, optional
        Width of a value; `d_k` by default.
    batch : tuple of int, default ()
        Sizes of the axes before that of the heads.
    dtype : floating type, default float
        The stored type: `append` rounds to it.

    Raises
    ------
    TypeError
        If a size is not an integer, `batch` is not a tuple, or `dtype` is
        not a floating type.
    ValueError
        If a size is negative, or a width or `n_kv_heads` is below one.

    Notes
    -----
    Shazeer 2019, section 2.4, keeps K and V in this way between the steps of
    a decoder. An empty cache is false in a boolean context, so test ``cache is
    not None``.

    Examples
    --------
    >>> cache = KVCache(4, n_kv_heads=1, d_k=2)
    >>> K, V = cache.append([[[1.0, 2.0]]], [[[3.0, 4.0]]])
    >>> K, V = cache.append([[[5.0, 6.0]]], [[[7.0, 8.0]]])
    >>> K.tolist(), len(cache), cache.nbytes
    ([[[1.0, 2.0], [5.0, 6.0]]], 2, 128)
    """

    def __init__(
        self, max_len, n_kv_heads, d_k, d_v=None, *, batch=(), dtype=float
    ):
        self._max_len = as_size(max_len, "max_len")
        H_kv = as_size(n_kv_heads, "n_kv_heads", least=1)
        d_k = as_size(d_k, "d_k", least=1)
        d_v = d_k if d_v is None else as_size(d_v, "d_v", least=1)
        shape = (*as_sizes(batch, "batch"), H_kv, self._max_len)
        dtype = _floating(dtype)
        self._K = _empty((*shape, d_k), dtype)  # (..., H_kv, max_len, d_k)
        self._V = _empty((*shape, d_v), dtype)  # (..., H_kv, max_len, d_v)
        self._len = 0

    def __len__(self):
        return self._len

    def __repr__(self):
        return (
            f"KVCache({len(self)} of {self.max_len} positions, "
            f"K {self._K.shape}, V {self._V.shape}, {self._K.dtype})"
        )

    @property
    def max_len(self):
        """The number of positions that fit; ``len(cache)`` are stored."""
        return self._max_len

    @property
    def nbytes(self):
        """Bytes taken by keys and values, free positions included."""
        return self._K.nbytes + self._V.nbytes

    def append(self, K, V):
        """Store the keys and values of the next positions, and return all.

        Parameters
        ----------
        K : (..., H_kv, n, d_k) array
            Keys of the next n positions; n may be 0.
        V : (..., H_kv, n, d_v) array
            Their values.

        Returns
        -------
        K : (..., H_kv, S, d_k) array
            All keys so far, in the cache's type.
        V : (..., H_kv, S, d_v) array
            All values so far.

        Raises
        ------
        TypeError
            If `K` or `V` does not hold real numbers.
        ValueError
            If shapes do not fit, an entry is not finite or overflows the
            cache's type, or more than `max_len` positions would be stored. The
            cache is then unchanged.

        Notes
        -----
        Both results are read-only views of the cache, not copies. A later call
        writes behind them and does not change them, unless `truncate` has
        removed some of their positions.

        Examples
        --------
        >>> cache = KVCache(2, n_kv_heads=1, d_k=1)
        >>> [x.shape for x in cache.append(np.ones((1, 2, 1)), [[[3], [4]]])]
        [(1, 2, 1), (1, 2, 1)]
        """
        K, V = _rows_for(self._K, K, "K"), _rows_for(self._V, V, "V")
        if K.shape[-2] != V.shape[-2]:
            raise ValueError(
                "K and V must hold the same number of positions; "
                f"got K {K.shape} and V {V.shape}"
            )
        S = len(self) + K.shape[-2]
        if S > self.max_len:
            raise ValueError(
                f"the cache has room for max_len = {self.max_len} positions "
                f"and holds {len(self)}; got K {K.shape}"
            )
        self._K[..., len(self) : S, :] = K
        self._V[..., len(self) : S, :] = V
        self._len = S
        return _prefix(self._K, S), _prefix(self._V, S)

    def truncate(self, length):
        """Remove the positions from `length` upward, as if never appended.

        Parameters
        ----------
        length : int
            The number of positions to keep, counted from the first.

        Raises
        ------
        TypeError
            If `length` is not an integer.
        ValueError
            If `length` is negative, or above the number of positions stored.
            The cache is then unchanged.

        Notes
        -----
        Nothing is copied or erased. The next `append` overwrites the removed
        positions, even if an array that was returned before still shows them.

        Examples
        --------
        >>> cache = KVCache(2, n_kv_heads=1, d_k=1)
        >>> K, V = cache.append([[[1.0], [2.0]]], [[[3.0], [4.0]]])
        >>> cache.truncate(1)
        >>> cache.append([[[5.0]]], [[[6.0]]])[0].tolist()
        [[[1.0], [5.0]]]
        """
        length = as_size(length, "length")
        if length > len(self):
            raise ValueError(
                f"length must be at most {len(self)}, the positions that the "
                f"cache holds; got {length}"
            )
        self._len = length


class StateCache:
    """The memory of one layer, whose size does not depend on the text.

    Parameters
    ----------
    n_key_heads : int
        Heads of queries and keys.
    n_value_heads : int
        H, the number of states.
    d_k, d_v : int
        Width of a key and of a value in one head.
    width : int
        The number of rows that the short convolution before it mixes.
    batch : tuple of int, default ()
        Sizes of the axes before that of the heads.
    dtype : floating type, default float
        The stored type.

    Raises
    ------
    TypeError, ValueError
        As `KVCache`.

    Notes
    -----
    It holds the state of `helpers.linear.gated_delta_rule`, and the last rows
    for `helpers.linear.short_convolution` of all queries, keys and values.

    Examples
    --------
    >>> cache = StateCache(1, 2, d_k=3, d_v=4, width=4)
    >>> cache.state.shape, cache.rows.shape, len(cache), cache.nbytes
    ((2, 3, 4), (3, 14), 0, 528)
    """

    def __init__(
        self,
        n_key_heads,
        n_value_heads,
        d_k,
        d_v,
        width,
        *,
        batch=(),
        dtype=float,
    ):
        named = {"n_key_heads": n_key_heads, "n_value_heads": n_value_heads,
                 "d_k": d_k, "d_v": d_v, "width": width}  # fmt: skip
        h, H, d_k, d_v, width = (
            as_size(n, name, least=1) for name, n in named.items()
        )
        batch, dtype = as_sizes(batch, "batch"), _floating(dtype)
        channels = 2 * h * d_k + H * d_v
        self.state = _empty((*batch, H, d_k, d_v), dtype)
        self.rows = _empty((*batch, width - 1, channels), dtype)
        self._len, self._last = 0, None

    def __len__(self):
        return self._len

    def __repr__(self):
        return (
            f"StateCache({len(self)} positions, state {self.state.shape}, "
            f"rows {self.rows.shape}, {self.state.dtype})"
        )

    @property
    def nbytes(self):
        """Bytes taken by the states and the last rows."""
        return self.state.nbytes + self.rows.nbytes

    def update(self, state, rows, n):
        """Replace the memory by the memory after `n` more positions.

        Parameters
        ----------
        state : (..., H, d_k, d_v) array
            The state that `gated_delta_rule` returned.
        rows : (..., width - 1, channels) array
            The rows that `short_convolution` returned.
        n : int
            The number of positions that they processed; with 0 the cache stays
            as it is.

        Raises
        ------
        TypeError, ValueError
            As `KVCache.append`; the cache is then unchanged.

        Examples
        --------
        >>> cache = StateCache(1, 1, d_k=1, d_v=1, width=1)
        >>> cache.update(np.ones((1, 1, 1)), np.ones((0, 3)), 5)
        >>> len(cache), cache.state.item()
        (5, 1.0)
        """
        new = self._fitting("state", state), self._fitting("rows", rows)
        length = len(self) + as_size(n, "n")
        if length == len(self):  # the memory before stays the one before
            return
        self._last = self.state, self.rows, len(self)
        self.state, self.rows = new
        self._len = length

    def _fitting(self, name, x):
        """`x` in the type of the array it replaces, if the shapes agree."""
        old = getattr(self, name)
        x = as_finite_floats(x, name)
        if x.shape != old.shape:
            raise ValueError(
                f"{name} must be {old.shape} to fit the cache; "
                f"got {name} {x.shape}"
            )
        return rounded(x, old.dtype, f"{name} overflows the cache's")

    def truncate(self, length):
        """Go back to the memory before the last update, or to none.

        Parameters
        ----------
        length : int
            The number of positions to keep: all, as many as before the last
            `update`, or 0.

        Raises
        ------
        TypeError
            If `length` is not an integer.
        ValueError
            If it is another number, because a state cannot forget single
            positions.

        Examples
        --------
        >>> cache = StateCache(1, 1, d_k=1, d_v=1, width=1)
        >>> cache.update(np.ones((1, 1, 1)), np.ones((0, 3)), 5)
        >>> cache.truncate(0)
        >>> len(cache), cache.state.item()
        (0, 0.0)
        """
        length = as_size(length, "length")
        if length == len(self):
            return
        if self._last is not None and length == self._last[-1]:
            self.state, self.rows, self._len = self._last
            self._last = None
        elif length == 0:
            self.state = np.zeros_like(self.state)
            self.rows = np.zeros_like(self.rows)
            self._len, self._last = 0, None
        else:
            known = {0, len(self)} | (
                {self._last[-1]} if self._last else set()
            )
            raise ValueError(
                f"length must be one of {sorted(known)}, because a memory "
                f"of fixed size cannot be cut elsewhere; got {length}"
            )


def _floating(dtype):
    """`dtype` as a floating NumPy type, in the machine's byte order."""
    try:
        known = np.dtype(dtype)
    except TypeError:
        known = None
    # NumPy reads None as float64.
    if dtype is None or known is None or known.kind != "f":
        raise TypeError(f"dtype must be a floating type; got {dtype!r}")
    return known.newbyteorder("=")


def _empty(shape, dtype):
    """An empty array, even if its size is too large for NumPy to count."""
    try:
        return np.zeros(shape, dtype)
    except ValueError:
        raise ValueError(
            f"a cache of shape {shape} is larger than any memory"
        ) from None


def _rows_for(store, X, name):
    """`X` in the type of `store`, if its rows fit after the stored ones."""
    X = as_finite_floats(X, name)
    *lead, _, width = store.shape
    if X.ndim != store.ndim or X.shape[:-2] + X.shape[-1:] != (*lead, width):
        shape = ", ".join(map(str, (*lead, "n", width)))
        raise ValueError(
            f"{name} must be ({shape}) to fit the cache; got {name} {X.shape}"
        )
    return rounded(X, store.dtype, f"{name} overflows the cache's")


def _prefix(store, n):
    """The first `n` positions, as a read-only view."""
    view = store[..., :n, :]
    view.flags.writeable = False
    return view
