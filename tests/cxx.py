"""The C++ compiler, for tests of the native engine."""

import shutil
import subprocess
from pathlib import Path

import pytest

from handloom.core import native

ENGINE = Path(native.__file__).parent
COMPILER = shutil.which("g++") or shutil.which("clang++")

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler (g++ or clang++)")


def compiled(source, target, *flags):
    """Compile one file, which may include the engine's; the compiler's result."""
    command = [COMPILER, "-std=c++17", "-pthread", f"-I{ENGINE}", *flags, source, "-o", target]
    return subprocess.run(command, capture_output=True, text=True, check=False)
