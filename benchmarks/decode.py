"""How much faster decoding is than recomputing everything at every step, as ratios from one run.

    python benchmarks/decode.py            # about five minutes on two cores

Reference: one sequence, time a token around position 100, with the keys and values known against the whole window
run again (what the book's figure 1.2 does). Torch: 1,000 sequences of 200 tokens, tokens a second, with the cache
against without; the run without is timed at every tenth length and summed up, for in full it takes minutes. The two
are timed in turn, and the ratio is the median of seven rounds.
Model: makemore's default, 4 layers, 4 heads, 64 wide, float64 on the reference and float32 on torch.
"""

import time
from collections.abc import Callable

import numpy as np
import torch

from handloom.core import Config, Model, Vocab, generate, params, reference, torch_engine

CONFIG = Config(vocab=27, block=200, d_model=64, layers=4, heads=4, d_head=16, d_ff=256)


def best(run: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def reference_ratio(model: Model, position: int = 100) -> float:
    tokens = np.random.default_rng(0).integers(0, CONFIG.vocab, position).tolist()
    cache = reference.Decoder(model)
    cache.advance([0], [tokens[:-1]])
    known = cache.pasts[0]
    kept = known.length, dict(known.layers)

    def step() -> None:
        known.length, known.layers = kept[0], dict(kept[1])
        cache.advance([0], [tokens[-1:]])

    again = best(lambda: reference.forward(model, tokens), 30)
    cached = best(step, 300)
    print(
        f"reference, a token at position {position}: {again * 1e3:.2f} ms again, {cached * 1e3:.3f} ms with the cache"
    )
    return again / cached


def torch_ratio(model: Model, sequences: int = 1000, length: int = 200, rounds: int = 7) -> float:
    tokens = sequences * (length - 1)
    prompts = [[0]] * sequences
    every = 10
    rng = np.random.default_rng(0)
    batches = [
        torch.as_tensor(rng.integers(0, CONFIG.vocab, (sequences, at))) for at in range(every // 2, length, every)
    ]
    ratios = []

    def run() -> None:
        generate(model, prompts, steps=length - 1, temperature=1.0, engine="torch")

    run()  # memory that has not been used before is slow
    for _ in range(rounds):
        cached = best(run, 1)
        again = sum(every * best(lambda batch=batch: torch_engine.forward(model, batch), 1) for batch in batches)  # type: ignore[misc]
        print(
            f"torch, {sequences} × {length}: {tokens / again:,.0f} tokens a second again, "
            f"{tokens / cached:,.0f} with the cache, {again / cached:.1f} times"
        )
        ratios.append(again / cached)
    return float(np.median(ratios))


def main() -> None:
    model = Model(CONFIG, params.random(CONFIG, seed=0), Vocab.numbers(CONFIG.vocab))
    print(f"reference: {reference_ratio(model):.1f} times faster (the bar is 10)")
    print(f"torch: {torch_ratio(model.astype(np.float32)):.1f} times faster (the bar is 50)")


if __name__ == "__main__":
    main()
