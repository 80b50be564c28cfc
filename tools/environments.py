"""Numeric environments of one machine that differ in the last bits.

Libraries choose their code by the features of the processor. Environment
variables make them choose as on another processor. They change the kernels of
OpenBLAS (which sum in another order), the loops of NumPy, and the `exp` and
`sin` of the C library.
"""

import os
import platform
import sys

import numpy as np

# Processor features that an OpenBLAS kernel needs, by their names in older and
# newer NumPy.
NEEDS = {
    "Nehalem": set(),
    "Haswell": {"AVX2", "X86_V3"},
    "SkylakeX": {"AVX512_SKX", "X86_V4"},
}


def features():
    """Return processor features that this NumPy uses but does not need."""
    return np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])


def kernels():
    """Return three kernels for OpenBLAS; with "" it chooses by itself.

    On ARM the plainest kernel can be chosen. NumPy for newer versions of macOS
    uses Apple's library instead, which offers no choice.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ["ARMV8", "", ""]
    found = set(features())
    return [
        name if not needed or needed & found else ""
        for name, needed in NEEDS.items()
    ]


def variables(
    *, kernel="", plain=False, threads=1, seed=0, language="", zone="UTC"
):
    """Return environment variables for a new Python on this machine.

    Parameters
    ----------
    kernel : str
        The name of the OpenBLAS kernels.
    plain : bool
        Whether NumPy and the C library avoid instructions that not every
        processor has: AVX2, fused multiply-add and so on.
    threads : int
        The number of OpenBLAS threads.
    seed : int
        The seed of Python's hashes, and so of the order of sets.
    language : str
        A locale.
    zone : str
        A time zone.
    """
    chosen = {
        "OPENBLAS_NUM_THREADS": str(threads),
        "PYTHONHASHSEED": str(seed),
        "TZ": zone,
    }
    if language:
        chosen["LC_ALL"] = language
    if kernel:
        chosen["OPENBLAS_CORETYPE"] = kernel
    if plain:
        chosen["NPY_DISABLE_CPU_FEATURES"] = " ".join(features())
        chosen["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"
    return chosen


def other():
    """Return the environment that differs most from this machine's own."""
    # The default of OpenBLAS is one thread per core, so use a single thread.
    return os.environ | variables(
        kernel=kernels()[0], plain=True, seed=1, zone="Asia/Kathmandu"
    )


if __name__ == "__main__":
    # Older and newer NumPy have different names for the features.
    kernel, plain, threads, seed = sys.argv[1:]
    chosen = variables(
        kernel=kernel, plain=plain == "1", threads=threads, seed=seed
    )
    print("\n".join(f"{name}={value}" for name, value in chosen.items()))
