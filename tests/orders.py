"""Run the tests as other processors would: under several orders of summation, one after the other.

    python tests/orders.py                  # all tests, under each order
    python tests/orders.py -k sort          # further words are pytest's

The libraries that compute (OpenBLAS in NumPy, MKL and ATen in PyTorch, our native engine) choose kernels by the
processor, and each adds up in an order of its own. Environment variables choose others, of those that the machine can
run. A result that depends on the last bit differs between these runs. (On AMD, MKL listens to MKL_CBWR alone.)
"""

import os
import subprocess
import sys

from handloom.core.native.library import builds

ORDERS = {
    "SSE, one thread": {
        "OPENBLAS_CORETYPE": "Prescott",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "MKL_CBWR": "COMPATIBLE",
        "OMP_NUM_THREADS": "1",
        "HANDLOOM_NATIVE": "plain",
    },
    "AVX, two threads": {
        "OPENBLAS_CORETYPE": "Sandybridge",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "AVX",
        "MKL_CBWR": "AVX",
        "OMP_NUM_THREADS": "2",
        "HANDLOOM_NATIVE": "plain",
    },
    "AVX2, one thread": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "MKL_CBWR": "AVX2",
        "OMP_NUM_THREADS": "1",
        "HANDLOOM_NATIVE": "avx2",
    },
    "AVX-512, two threads": {
        "OPENBLAS_CORETYPE": "SkylakeX",
        "ATEN_CPU_CAPABILITY": "avx512",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512",
        "MKL_CBWR": "AVX512",
        "OMP_NUM_THREADS": "2",
        "HANDLOOM_NATIVE": "avx512",
    },
    "as the machine chooses, two threads": {"OMP_NUM_THREADS": "2"},
}


def main(words: list[str]) -> int:
    outcomes = {}
    for name, order in ORDERS.items():
        if order.get("HANDLOOM_NATIVE", builds()[-1]) not in builds():
            outcomes[name] = "left out: this machine cannot run it"
            continue
        print(f"\n{name}: {' '.join(f'{key}={value}' for key, value in order.items())}", flush=True)
        done = subprocess.run([sys.executable, "-m", "pytest", *words], env=os.environ | order, check=False)
        outcomes[name] = "passed" if done.returncode == 0 else f"FAILED (pytest's exit code {done.returncode})"
    print("\n" + "\n".join(f"{name}: {outcome}" for name, outcome in outcomes.items()))
    return int(any(outcome.startswith("FAILED") for outcome in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
