"""Numeric environments of one machine, in which last bits differ.

Libraries choose their code by the features of the processor. Environment
variables make them choose as on another processor: OpenBLAS its kernels
(which sum in another order), NumPy its loops, and the C library its `exp` and
`sin`.
"""

import os
import platform
import sys

import numpy as np

# Features that an OpenBLAS kernel needs, as older and newer NumPy name them.
NEEDS = {
    "Nehalem": set(),
    "Haswell": {"AVX2", "X86_V3"},
    "SkylakeX": {"AVX512_SKX", "X86_V4"},
}


def features():
    """Return the features that this NumPy would use and can do without."""
    return np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])


def kernels():
    """Return three kernels for OpenBLAS; "" lets it choose.

    On ARM it can choose the plainest. NumPy for newer versions of macOS has
    Apple's library instead, which has no choice.
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
    """Environment variables for a fresh Python on this machine.

    Parameters
    ----------
    kernel : str
        The kernels of OpenBLAS, by their name.
    plain : bool
        NumPy and the C library do without what not every processor has: AVX2,
        fused multiply-add and so on.
    threads : int
        Threads of OpenBLAS.
    seed : int
        Of Python's hashes, and so the order of sets.
    language : str
        A locale, for all that follows from it.
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
    """Return the environment that differs most from the machine's own."""
    # One thread, because OpenBLAS uses one per core by default.
    return os.environ | variables(
        kernel=kernels()[0], plain=True, seed=1, zone="Asia/Kathmandu"
    )


if __name__ == "__main__":
    # Older and newer NumPy have other names for the features.
    kernel, plain, threads, seed = sys.argv[1:]
    chosen = variables(
        kernel=kernel, plain=plain == "1", threads=threads, seed=seed
    )
    print("\n".join(f"{name}={value}" for name, value in chosen.items()))
