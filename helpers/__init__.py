"""Attention in readable NumPy: the small module that every chapter calls.

Read it in this order: `softmax`, `attention`, `masks`, `gradients`, then the
module of the chapter you are in. Names are imported from their module::

    from helpers.attention import attention

A public function checks its arguments and calls a few lines that compute. Code
that several modules share is in modules whose names begin with an underscore:
`_core` computes without checks, `_checks` contains the rules for arguments and
results, `_shapes` the rules for sizes, and `_blas` makes products fast.
`transformer` consists of the modules in `helpers.model`. What shows, asks,
compares or loads is in the package `course`, which imports this one.

Shapes are written with these letters, here and in the whole book:

======== =====================================================
letter   dimension
======== =====================================================
B        batch: sequences computed together
H        query heads
H_kv     key/value heads (H_kv = H unless heads share them)
T        queries: positions that ask
S        keys: positions that can be attended to
d_k      width of a query and of a key
d_v      width of a value
d_model  width of a token's vector
L        layers
======== =====================================================

Rows are positions, so ``Q = X @ W_Q``. Leading axes are written ``...`` and
broadcast. A mask is boolean and True means *may attend*. Computation is in
float64 unless the caller passes float32 or float16, which are kept.
"""
