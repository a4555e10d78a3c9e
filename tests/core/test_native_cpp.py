"""The C++ tests of the native engine (tests/native), compiled and run: under sanitizers, and with the flags of each
build that this machine can run.

They compare everything the engine does with a plain implementation in double precision. The address and undefined
behaviour sanitizers check memory and arithmetic, the thread sanitizer what threads share.
"""

import os
import runpy
import subprocess
from pathlib import Path

import pytest

from cxx import COMPILER, compiled, needs_compiler
from handloom.core.native.library import builds, reason_missing

TESTS = Path(__file__).parents[1] / "native" / "test_engine.cpp"

pytestmark = [needs_compiler, pytest.mark.skipif(not builds(), reason=reason_missing())]

SETUP = runpy.run_path(str(TESTS.parents[2] / "setup.py"), run_name="not main")  # how handloom is built


def flags_of(build: str) -> list[str]:
    return [] if build == "plain" else SETUP["X86"][build]


def run(binary: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"UBSAN_OPTIONS": "print_stacktrace=1"}
    return subprocess.run([binary], capture_output=True, text=True, check=False, env=env, timeout=600)


def check_sanitizer(folder: Path, flags: list[str]) -> None:
    """Skip if even a program that does nothing cannot be built or run with it: its library is not installed."""
    source = folder / "nothing.cpp"
    source.write_text("int main() { return 0; }\n")
    built = compiled(source, folder / "nothing", *flags)
    if built.returncode:
        pytest.skip(f"{COMPILER} cannot link {' '.join(flags)}: {built.stderr.strip()[-200:]}")
    started = run(folder / "nothing")
    if started.returncode:
        pytest.skip(f"a program made with {' '.join(flags)} does not start here: {started.stderr.strip()[-200:]}")


def check_engine(folder: Path, flags: list[str]) -> str:
    binary = folder / "test_engine"
    built = compiled(TESTS, binary, *flags)
    assert built.returncode == 0, built.stderr[-5000:]
    done = run(binary)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("the thread sanitizer cannot place its memory under this kernel (vm.mmap_rnd_bits)")
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-10000:]
    assert " 0 failed" in done.stdout
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("sanitizers", ["address", "undefined", "thread"])
def test_the_engine_is_right_under_sanitizers(sanitizers: str, tmp_path: Path) -> None:
    flags = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    check_sanitizer(tmp_path, flags)
    check_engine(tmp_path, ["-O1", "-g1", *flags, *flags_of(builds()[-1])])


@pytest.mark.slow
@pytest.mark.parametrize("build", builds())
def test_the_engine_is_right_as_each_build_is_compiled(build: str, tmp_path: Path) -> None:
    """With every optimisation that the build has, such as fused multiplication and addition."""
    wide = {"plain": 4, "avx2": 8, "avx512": 16}[build]
    assert f"vectors of {wide}\n" in check_engine(tmp_path, [*SETUP["FLAGS"], *flags_of(build)])
