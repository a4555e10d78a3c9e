"""Training and sampling on torch against makemore, side by side in one run; native.py has the native engine.

    git clone https://github.com/karpathy/makemore
    python benchmarks/learn.py makemore/makemore.py            all of it, some 20 minutes
    python benchmarks/learn.py makemore/makemore.py --only a   strings of 30 to 40 alone

Same model (makemore's default: 4 layers, 4 heads, 64 wide), same strings, same batch size, in float32 on the CPU. Both
sides are timed in turn, round by round, and the median of the rounds' ratios counts. For sampling, makemore's model
gets the weights that ours has learnt, so that both draw from one distribution: ours stops at the end of a string, as a
user would; makemore always goes on to the longest length, as it does.
"""

import argparse
import importlib.util
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from handloom.core import generate
from handloom.learn.api import prepare
from handloom.learn.training import Training
from handloom.runs import Clock

CASES = {
    "a": ("strings:rule=s[13]==s[22],length=30-40", 1_000, 40),
    "b": ("strings:rule=s[18]==s[47],length=50-200", 100_000, 10),
}  # task, strings, steps a round


def load_makemore(path: Path) -> Any:
    """The module, without TensorBoard, which it imports and we do not use."""
    stub: Any = types.ModuleType("torch.utils.tensorboard")
    stub.SummaryWriter = None
    sys.modules.setdefault("torch.utils.tensorboard", stub)
    spec = importlib.util.spec_from_file_location("makemore", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["makemore"] = module  # its data loader's workers look for it
    spec.loader.exec_module(module)
    return module


class Theirs:
    """makemore's own loop, on the strings that ours learns from."""

    def __init__(self, makemore: Any, ours: Training) -> None:
        texts = [ours.task.vocab.decode(ours.strings.row(i)[1]) for i in range(len(ours.strings))]
        longest = max(map(len, texts))
        self.makemore, self.longest = makemore, longest
        data = makemore.CharDataset(texts, ["0", "1"], longest)
        self.model = makemore.Transformer(makemore.ModelConfig(vocab_size=3, block_size=longest + 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-4, weight_decay=0.01, betas=(0.9, 0.99))
        self.loader = makemore.InfiniteDataLoader(data, batch_size=32, pin_memory=True, num_workers=4)

    def step(self) -> None:
        inputs, targets = self.loader.next()
        _, loss = self.model(inputs, targets)
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def sample(self, count: int) -> list[str]:
        start = torch.zeros(count, 1, dtype=torch.long)
        rows = self.makemore.generate(self.model, start, self.longest, do_sample=True)[:, 1:].tolist()
        return ["".join("<01"[token] for token in row).partition("<")[0] for row in rows]

    def take(self, ours: Training) -> None:
        """The weights that ours has. makemore's token 0 is the end, ours is the last."""
        p = {name: torch.from_numpy(array) for name, array in ours.trainer.arrays().items()}
        order = [2, 0, 1]
        state = {
            "transformer.wte.weight": p["W_E"][order],
            "transformer.wpe.weight": p["W_pos"],
            "transformer.ln_f.weight": p["ln_final.w"],
            "transformer.ln_f.bias": p["ln_final.b"],
            "lm_head.weight": p["W_U"].T[order],
        }
        for i in range(4):
            here, there = f"layers.{i}.", f"transformer.h.{i}."
            state |= {
                there + "ln_1.weight": p[here + "ln1.w"],
                there + "ln_1.bias": p[here + "ln1.b"],
                there + "ln_2.weight": p[here + "ln2.w"],
                there + "ln_2.bias": p[here + "ln2.b"],
                there + "attn.c_attn.weight": torch.cat([rows(p[here + f"W_{n}"]) for n in "QKV"]),
                there + "attn.c_attn.bias": torch.cat([p[here + f"b_{n}"].flatten() for n in "QKV"]),
                there + "attn.c_proj.weight": p[here + "W_O"].flatten(0, 1).T,
                there + "attn.c_proj.bias": p[here + "b_O"],
                there + "mlp.c_fc.weight": p[here + "W_in"].T,
                there + "mlp.c_fc.bias": p[here + "b_in"],
                there + "mlp.c_proj.weight": p[here + "W_out"].T,
                there + "mlp.c_proj.bias": p[here + "b_out"],
            }
        missing = self.model.load_state_dict(state, strict=False)
        assert all(name.endswith("attn.bias") for name in missing.missing_keys), missing  # the causal mask
        assert not missing.unexpected_keys, missing


def rows(W: torch.Tensor) -> torch.Tensor:
    """A weight (H, D, K) of all heads as the matrix (H · K, D) of a Linear."""
    return W.transpose(1, 2).flatten(0, 1)


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes, after a pause in which what was measured before can come to rest: makemore's data loader has
    four processes that work ahead, and PyTorch's threads wait busily for a while."""
    time.sleep(0.3)
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def repeat(work: Callable[[], Any], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            work()

    return run


def our_steps(training: Training, count: int) -> None:
    training.step_to(training.where.step + count, Clock())


def compare(title: str, ours: Callable[[], Any], theirs: Callable[[], Any], each: int, rounds: int, unit: str) -> None:
    ratios, best = [], [float("inf")] * 2
    for _ in range(rounds):
        a, b = seconds(ours), seconds(theirs)
        ratios.append(b / a)
        best = [min(best[0], a), min(best[1], b)]
    span = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(
        f"{title}: {statistics.median(ratios):.2f} times makemore (rounds: {span}); at best "
        f"{each / best[0]:.1f} against {each / best[1]:.1f} {unit} a second",
        flush=True,
    )


def run_case(makemore: Any, name: str, rounds: int, samples: int, engine: str = "torch") -> None:
    task, count, steps = CASES[name]
    ours = prepare(task, count=count, steps=10**9, engine=engine)
    theirs = Theirs(makemore, ours)
    print(f"{name}: {task}, {count:,} strings")
    our_steps(ours, steps)
    repeat(theirs.step, 5)()
    compare("  training", lambda: our_steps(ours, steps), repeat(theirs.step, steps), steps, rounds, "steps")
    our_steps(ours, 200)  # until strings have about the right lengths
    theirs.take(ours)
    model, vocab = ours.model(), ours.task.vocab
    end = vocab.id("<end>")

    def ours_samples() -> None:
        generate(model, [[end]] * samples, temperature=1.0, engine=engine, steps=theirs.longest + 1)

    seconds(ours_samples)
    compare("  sampling", ours_samples, lambda: theirs.sample(samples), samples, max(1, rounds // 3), "strings")


def time_to_success(makemore: Any, engine: str = "torch", goal: float = 0.99) -> None:
    """Seconds of training until 99 % of 300 samples obey the 13/22 rule, sampling not counted; three seeds."""
    for seed in range(3):
        task, count, _ = CASES["a"]
        ours = prepare(task, count=count, steps=10**9, seed=seed, engine=engine)
        torch.manual_seed(seed)
        theirs = Theirs(makemore, ours)
        found = []
        for step, sample in (
            (lambda ours=ours: our_steps(ours, 100), lambda ours=ours: our_texts(ours)),
            (repeat(theirs.step, 100), lambda theirs=theirs: theirs.sample(300)),
        ):
            spent, steps, rate = 0.0, 0, 0.0
            while rate < goal and spent < 600.0:
                spent += seconds(step)
                steps += 100
                rate = np.mean([len(text) >= 22 and text[12] == text[21] for text in sample()])
            found.append((spent, steps, rate))
        (a, n, _), (b, m, reached) = found
        more = "" if reached >= goal else f" (only {reached:.1%})"
        print(f"99 % of 13/22, seed {seed}: {a:.1f} s ({n} steps) against {b:.1f} s ({m} steps){more}", flush=True)


def our_texts(training: Training) -> list[str]:
    vocab = training.task.vocab
    said = generate(training.model(), [[vocab.id("<end>")]] * 300, temperature=1.0, engine="auto")
    return [vocab.decode(ids) for ids in said]


def memory(engine: str = "torch") -> None:
    """The largest resident memory of a training run as a user starts it."""
    for name, (task, count, _) in CASES.items():
        words = ["-m", "handloom", "learn", task, "--count", str(count), "--steps", "60", "--every", "30"]
        words += ["--engine", engine]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        print(f"{name}: at most {peak:.2f} GB resident (so far)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("makemore", type=Path, help="makemore.py of a checkout")
    parser.add_argument("--only", choices=[*CASES, "time", "memory"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--samples", type=int, default=1000)
    given = parser.parse_args()
    if given.only in (None, "memory"):
        memory()  # first, before this process has children of its own
    makemore = load_makemore(given.makemore)
    for name in CASES:
        if given.only in (None, name):
            run_case(makemore, name, given.rounds, given.samples)
    if given.only in (None, "time"):
        time_to_success(makemore)


if __name__ == "__main__":
    main()
