"""Builds the native engine, once for each width of vectors. Everything else is in pyproject.toml.

The engine is optional: where it cannot be built, handloom is installed without it and uses torch.
"""

import platform
from pathlib import Path

from setuptools import Extension, setup

SOURCES = Path("src/handloom/core/native")
FLAGS = ["-std=c++17", "-O3", "-g0", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden", "-pthread"]
X86 = {"avx2": ["-march=x86-64-v3"], "avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}


def build(name: str, *flags: str) -> Extension:
    return Extension(
        f"handloom.core.native._{name}",
        [str(SOURCES / "engine.cpp")],
        depends=[str(header) for header in sorted(SOURCES.glob("*.h"))],
        extra_compile_args=[*FLAGS, *flags],
        extra_link_args=["-pthread"],
        language="c++",
        optional=True,
    )


if __name__ == "__main__":
    wide = X86 if platform.machine() in ("x86_64", "AMD64") else {}
    setup(ext_modules=[build("plain"), *(build(name, *flags) for name, flags in wide.items())])
