"""Attention computes all positions at once; a recurrent network must wait for each state before the next.

Vaswani et al. 2017, Table 1: a layer of self-attention needs O(1) sequential operations, a recurrent layer O(T).
Mehlig's summary slide says the same: attention is efficient because positions are computed in parallel. Sequential
operations are counted exactly, on the graph that autograd keeps of a run: the longest chain of operations between the
weights and the output. This count is the same on every machine. Time is not, and no check depends on it: the picture
has CPU seconds of one core, forwards and backwards. There the transformer is ahead for another reason, since it makes
few large operations instead of many small ones, and falls back as T² grows.

The control is the same count for the GRU and the LSTM, which must grow with T.
"""

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from handloom.lab.experiment import Check, Claim, Finding, Lab, Series
from handloom.lab.learned.vanishing import bit_strings, network
from handloom.view.figures.panels import Lines, Panel, band

CLAIM = Claim(
    name="parallel",
    says="the sequential operations of attention do not grow with the length; those of a recurrent network do",
    source="Vaswani et al. 2017",
    papers=("1706.03762",),
    seed="Mehlig",
    number="O(1) and O(T) sequential operations",
    quick=0.9,
    full=2,
)
NETWORKS = {"transformer": "transformer, 2 layers", "gru, open": "GRU", "lstm, open": "LSTM"}
STRINGS = 8  # in a batch


def run(lab: Lab) -> Finding:
    lengths = lab.pick((16, 32, 64, 128), (16, 32, 64, 128, 256, 512))
    depths: dict[str, list[int]] = {name: [] for name in NETWORKS}
    seconds: dict[str, list[float]] = {name: [] for name in NETWORKS}
    for done, length in enumerate(lengths):
        for name in NETWORKS:
            depth, took = measured(name, length, lab.seed)
            depths[name].append(depth)
            seconds[name].append(took)
        lab.progress(done + 1, len(lengths))
    grown = {name: (found[-1] - found[0]) / (lengths[-1] - lengths[0]) for name, found in depths.items()}
    checks = [
        Check("transformer: operations added per token", grown["transformer"], most=0.0, said=0.0),
        Check("LSTM: operations added per token", grown["lstm, open"], least=1.0),
        Check("GRU's growth, held to attention's bound", grown["gru, open"], most=0.0, control=True),
        Check("LSTM's growth, held to attention's bound", grown["lstm, open"], most=0.0, control=True),
    ]
    return Finding(checks, {"lengths": list(lengths), "depths": depths, "seconds": seconds})


def measured(name: str, length: int, seed: int) -> tuple[int, float]:
    """The longest chain of operations of a run, and the seconds of a run forwards and backwards."""
    net = network(name, length, seed)
    x = bit_strings(length, STRINGS, torch.Generator().manual_seed(seed))[0]
    took = []
    for _ in range(3):  # the first run also allocates
        began = time.process_time()
        output = net.out(net.final(x))
        output.sum().backward(retain_graph=True)
        took.append(time.process_time() - began)
    return longest_chain(output), min(took)


def longest_chain(output: Tensor) -> int:
    """The number of operations on the longest way from a tensor back to a leaf of its graph."""
    depth: dict[Any, int] = {None: 0}
    stack = [output.grad_fn]
    while stack:
        before = [node for node, _ in stack[-1].next_functions]  # type: ignore[union-attr]
        waiting = [node for node in before if node not in depth]
        if waiting:
            stack += waiting
        else:
            node = stack.pop()
            depth[node] = 1 + max((depth[one] for one in before), default=0)
    return depth[output.grad_fn]


def picture(seeds: Sequence[Series]) -> Sequence[Panel]:
    lengths = seeds[0]["lengths"]
    depths, seconds = (
        [band(said, lengths, [one[key][name] for one in seeds]) for name, said in NETWORKS.items()]
        for key in ("depths", "seconds")
    )
    first = seeds[0]["depths"]["lstm, open"][0]
    depths.append(band("claimed: ∝ T", lengths, [[first * n / lengths[0] for n in lengths]]))
    return [
        Lines("Sequential operations", "length T", "longest chain", depths, log_x=True, log_y=True),
        Lines("Forwards and backwards, one core", "length T", "seconds", seconds, log_x=True, log_y=True),
    ]
