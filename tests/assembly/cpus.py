# SPDX-License-Identifier: MIT
"""CPUs that PoCL compiles for in place of this one. Their kernels are run, too, so this one needs what they have."""

# The library of builtins that PoCL links, floats of its vectors, and what /proc/cpuinfo calls the instructions.
_CPUS = {
    "haswell": ("avx2", 8, {"avx2", "fma"}),
    "znver3": ("avx2", 8, {"avx2", "fma"}),
    "skylake-avx512": ("avx512", 16, {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}),
}
NAMES = sorted(_CPUS)


def flags_here():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("flags"):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


def needs(name):
    return _CPUS[name][2]


def why_not(name):
    """Why this CPU cannot run what is compiled for that one, in a sentence; "" where it can."""
    lacks = needs(name) - flags_here() if name else set()
    return f"what is compiled for {name} is run, too, and this CPU lacks {' '.join(sorted(lacks))}" if lacks else ""


def environment(name):
    """What PoCL and Husk are told."""
    if not name:
        return {}
    library, width, _ = _CPUS[name]
    return {"POCL_LLVM_CPU_NAME": name, "POCL_KERNELLIB_NAME": library, "HUSK_LIMITS": f"vector_width={width}"}
