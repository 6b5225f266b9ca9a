"""Holds JAX to AVX2 on a processor that has AVX-512, as VECTORS=256 asks.

XLA's own code listens to a flag, but the products of YNNPACK, which it calls, look at the processor alone: a JAX with that flag
multiplies with AVX-512 all the same. So the instruction sets that YNNPACK has found are written down before it looks: they are a
static variable of a function, whose name is in the symbol table of jaxlib's library.
"""

import ctypes
import os
import pathlib
import subprocess
import sys

FLAGS = "ynn24get_supported_arch_flagsEvE5flags"
# Bits of SSSE3, SSE4.1, AVX, F16C, AVX2 and FMA3, and the one that is always there.
AVX2 = 0x7F
VARIABLES = {
    # XLA's code.
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    # oneDNN, in JAX and in PyTorch; PyTorch's own kernels; MKL, in PyTorch; numpy's products.
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    # Our engine.
    "TINYTRAIN_VECTORS": "256",
}


def is_asked_for():
    return os.environ.get("VECTORS") == "256"


def hold_jax():
    """To be called after JAX is imported, before it computes anything."""
    import jaxlib

    library = str(pathlib.Path(jaxlib.__file__).parent / "libjax_common.so")
    maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
    base = min(int(line.split("-")[0], 16) for line in maps if line.endswith(library))
    listed = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    places = {name: int(place, 16) for place, _, name in (line.split() for line in listed.splitlines() if FLAGS in line)}
    guard = [place for name, place in places.items() if name.startswith("_ZGV")]
    flags = [place for name, place in places.items() if name.startswith("_ZZ")]
    if len(guard) != 1 or len(flags) != 1:
        sys.exit("this jaxlib has no YNNPACK where it is looked for: JAX cannot be held to AVX2")
    is_found = ctypes.c_uint8.from_address(base + guard[0])
    if is_found.value:
        sys.exit("JAX has looked at the processor already")
    ctypes.c_uint64.from_address(base + flags[0]).value = AVX2
    is_found.value = 1
