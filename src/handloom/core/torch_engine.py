"""The torch engine: the function of `reference.py`, for batches, with gradients, in float32 or float64, on a GPU
if there is one. Same sites, same edits.

    forward(model, tokens)                   as the reference, on tensors
    params = tensors(model, grad=True)       weights to differentiate by
    compute(model.config, params, tokens)    a run that autograd follows

It differs from the reference only in method: queries, keys and values come out of one matrix product, attention is
PyTorch's fused kernel unless its scores or pattern are wanted, keys and values that heads share are not repeated, and
the product with W_O sums over heads. All experts are computed and those not chosen multiplied by 0, as there, which
needs no sorting of positions by expert but as much time as a dense MLP of all their neurons. Hard attention has no
gradient through its pattern: that is constant almost everywhere.
"""

import ctypes
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from handloom.core import params as parameters
from handloom.core import reference
from handloom.core.arrays import Array
from handloom.core.checks import check_tokens
from handloom.core.config import Config
from handloom.core.errors import HandloomError
from handloom.core.model import Model
from handloom.core.params import Params
from handloom.core.reference import kept
from handloom.core.torch_past import Past
from handloom.core.torch_patterns import pattern_tensor
from handloom.core.trace import Edits, Tap, Trace, Want


def tensors(
    model: Model,
    dtype: torch.dtype | None = None,
    device: str | torch.device | None = None,
    grad: bool = False,
) -> Params:
    """The model's weights as tensors, by default of its own dtype and on the GPU if there is one."""
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    flat = {
        name: torch.tensor(array, dtype=dtype, device=device, requires_grad=grad) for name, array in model.flat.items()
    }
    return parameters.unflatten(model.config, flat)


def forward(
    model: Model,
    tokens: Any,
    want: Want = (),
    edits: Edits | None = None,
    dtype: torch.dtype | None = None,
    device: str | torch.device | None = None,
) -> tuple[Tensor, Trace]:
    """Run a model on tokens (..., T). Gives the logits (..., T, V) and the wanted sites."""
    with torch.no_grad():
        return compute(model.config, tensors(model, dtype, device), tokens, want, edits)


def compute(
    config: Config,
    p: Params,
    tokens: Any,
    want: Want = (),
    edits: Edits | None = None,
    past: Past | None = None,
    last: int | None = None,
) -> tuple[Tensor, Trace]:
    """The run itself, on given tensors; autograd follows it. Tokens are checked, in any batch shape. With `last`,
    only the logits of that many positions at the end: the last layer's MLP and what follows are not run for others."""
    W_E = p["W_E"]
    ids = torch.as_tensor(check_tokens(config, tokens), device=W_E.device)
    tap = Tap(config, ids, want, edits, cast, torch.clone)
    if past:
        past.begin(ids.shape[-1])

    x = tap("embed", W_E[ids])  # (B, T, D)
    if config.positions in ("table", "sinusoid"):
        x = x + tap("pos_embed", position_rows(config, p, ids, past).to(x.dtype).expand_as(x))
    for i, layer in enumerate(p["layers"]):
        x = transformer_layer(config, layer, x, i, tap, past, last if i == config.layers - 1 else None)
    x = normed(config, p.get("ln_final"), tap("resid_final", at_end(x, last)), "ln_final", tap)
    logits = F.linear(x, W_E if config.tied else p["W_U"].T, p.get("b_U"))
    return tap("logits", logits), tap.trace


def position_rows(config: Config, p: Params, ids: Tensor, past: Past | None) -> Tensor:
    """What is added to the embeddings, (T, D) or, where rows of the batch are at different positions, (B, T, D)."""
    at = past.positions if past else torch.arange(ids.shape[-1], device=ids.device)
    if config.positions == "table":
        return p["W_pos"][at]
    return torch.as_tensor(reference.sinusoid(at.cpu().numpy(), config.d_model), device=ids.device)


def transformer_layer(
    config: Config, p: Params, x: Tensor, i: int, tap: Tap, past: Past | None, last: int | None
) -> Tensor:
    ln1, ln2 = p.get("ln1"), p.get("ln2")
    x = tap(f"{i}.resid_pre", x)
    if config.parallel:
        y = normed(config, ln1, x, f"{i}.ln1", tap)
        x = kept(config, "attn", x) + attention(config, p, y, i, tap, past)
        x = at_end(x, last) + mlp(config, p, at_end(y, last), i, tap)
    elif config.place == "pre":
        x = kept(config, "attn", x) + attention(config, p, normed(config, ln1, x, f"{i}.ln1", tap), i, tap, past)
        x = at_end(tap(f"{i}.resid_mid", x), last)
        x = kept(config, "mlp", x) + mlp(config, p, normed(config, ln2, x, f"{i}.ln2", tap), i, tap)
    else:
        x = normed(config, ln1, kept(config, "attn", x) + attention(config, p, x, i, tap, past), f"{i}.ln1", tap)
        x = at_end(tap(f"{i}.resid_mid", x), last)
        x = normed(config, ln2, kept(config, "mlp", x) + mlp(config, p, x, i, tap), f"{i}.ln2", tap)
    return tap(f"{i}.resid_post", x)


def at_end(x: Tensor, last: int | None) -> Tensor:
    return x if last is None else x[..., -last:, :]


def normed(config: Config, p: Params | None, x: Tensor, site: str, tap: Tap) -> Tensor:
    if p is None:
        return x
    eps = config.eps or torch.finfo(x.dtype).tiny
    if tap.touches(site + "_scale"):
        x = x - x.mean(-1, keepdim=True) if config.norm == "layer" else x
        scale = tap(site + "_scale", (x.square().mean(-1) + eps).sqrt())
        out = x / scale[..., None] * p["w"] + p.get("b", 0.0)
    elif config.norm == "layer":
        out = F.layer_norm(x, x.shape[-1:], p["w"], p.get("b"), eps)
    else:
        out = F.rms_norm(x, x.shape[-1:], p["w"], eps)
        out = out + p["b"] if "b" in p else out
    return tap(site, out)


def attention(config: Config, p: Params, x: Tensor, i: int, tap: Tap, past: Past | None) -> Tensor:
    if config.heads:
        q, k, v = (tap(f"{i}.{name}", value) for name, value in zip("qkv", project(config, p, x), strict=True))
        if config.positions == "rotary":
            cos, sin = turns(config, x, past)
            q = tap(f"{i}.rot_q", rotated(q, cos, sin))
            k = tap(f"{i}.rot_k", rotated(k, cos, sin))
        z = tap(f"{i}.z", attend(config, q, k, v, i, tap, past))  # (B, H, T, K)
        if tap.touches(f"{i}.result"):
            out = tap(f"{i}.result", z @ p["W_O"]).sum(-3)
        else:
            out = z.transpose(-3, -2).flatten(-2) @ p["W_O"].flatten(0, 1)
        out = out + p["b_O"] if "b_O" in p else out
    else:
        out = torch.zeros_like(x) + p.get("b_O", 0.0)
    return tap(f"{i}.attn_out", out)  # (B, T, D)


def project(config: Config, p: Params, x: Tensor) -> tuple[Tensor, ...]:
    """Queries (B, H, T, K), keys and values (B, G, T, K), out of one matrix product."""
    W, b = p.get("fused") or fused_weights(p)
    H, G = config.heads, config.groups
    heads = F.linear(x, W, b).unflatten(-1, (H + 2 * G, config.d_head))  # (B, T, H + 2G, K)
    return tuple(part.transpose(-3, -2) for part in heads.split((H, G, G), -2))


def fused_weights(p: Params) -> tuple[Tensor, Tensor | None]:
    """W_Q, W_K and W_V as one matrix, ((H + 2G)·K, D), and their biases as one vector."""
    W = torch.cat([p["W_Q"], p["W_K"], p["W_V"]]).transpose(1, 2).flatten(0, 1)
    return W, torch.cat([p["b_Q"], p["b_K"], p["b_V"]]).flatten() if "b_Q" in p else None


def attend(config: Config, q: Tensor, k: Tensor, v: Tensor, i: int, tap: Tap, past: Past | None) -> Tensor:
    """The pattern of q·k / √K, times v, over the positions each may see.

    PyTorch's fused kernel computes it for softmax, unless the inside is wanted or edited, or a past is continued by one
    token: for single queries the kernel was measured slower than two products."""
    mask = None
    first = past is None or past.total == q.shape[-2]  # nothing came before: q, k and v are all there is
    if past:
        k, v, mask = past.extend(i, k, v)
    fused = config.attention == "softmax" and (first or q.shape[-2] > 1)
    if fused and not tap.touches(f"{i}.scores", f"{i}.pattern"):
        seen = None if first else mask
        causal = config.causal and first
        return F.scaled_dot_product_attention(q, k, v, seen, is_causal=causal, enable_gqa=bool(config.kv_heads))
    scores = tap(f"{i}.scores", by_group(q / math.sqrt(config.d_head), k.transpose(-1, -2)))  # (B, H, T, S)
    if config.causal and past is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    return by_group(tap(f"{i}.pattern", pattern_tensor(config, scores, k, mask)), v)


def by_group(x: Tensor, y: Tensor) -> Tensor:
    """x @ y, where x (B, H, T, ·) has a matrix per head, and y (B, G, ·, ·) one for several consecutive heads: the rows
    of these are put together, so that y need not be repeated."""
    H, G = x.shape[-3], y.shape[-3]
    if H == G:
        return x @ y
    rows = x.unflatten(-3, (G, H // G)).flatten(-3, -2)  # (B, G, H/G · T, ·)
    return (rows @ y).unflatten(-2, (H // G, -1)).flatten(-4, -3)


def mlp(config: Config, p: Params, x: Tensor, i: int, tap: Tap) -> Tensor:
    if config.d_ff:
        p = parameters.one_mlp(config, p)
        if config.experts:
            weights = tap(f"{i}.gate", expert_weights(config, F.linear(x, p["W_gate"].T, p.get("b_gate"))))  # (B, T, E)
        read = "gate" if config.gated else "in"
        pre = tap(f"{i}.mlp_pre", F.linear(x, p[f"W_{read}"].T, p.get(f"b_{read}")))  # (B, T, F)
        post = activated(config.activation, pre, tap.touches(f"{i}.mlp_pre"))
        if config.gated:
            post = post * tap(f"{i}.mlp_pre_linear", F.linear(x, p["W_in"].T, p.get("b_in")))
        if config.experts:
            by_expert = post.unflatten(-1, (config.experts, config.d_ff))  # (B, T, E, F)
            post = (by_expert * weights[..., None]).flatten(-2)
        out = F.linear(tap(f"{i}.mlp_post", post), p["W_out"].T, p.get("b_out"))
    else:
        out = torch.zeros_like(x) + p.get("b_out", 0.0)
    return tap(f"{i}.mlp_out", out)  # (B, T, D)


def expert_weights(config: Config, logits: Tensor) -> Tensor:
    """`reference.expert_weights`: constant where an expert is not chosen, so that no gradient comes from there."""
    chosen = logits.sort(dim=-1, descending=True, stable=True).indices[..., : config.top]
    others = torch.ones_like(logits, dtype=torch.bool).scatter(-1, chosen, False)
    return logits.masked_fill(others, -math.inf).softmax(-1)


def activated(kind: str, pre: Tensor, keep: bool) -> Tensor:
    """With `keep`, pre stays as it is. Otherwise ReLU overwrites it: a new array of that size costs as much as the ReLU
    itself, where the system provides its pages afresh (docs/LOG.md)."""
    return pre.relu_() if kind == "relu" and not keep else ACTIVATIONS[kind](pre)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    # without a derivative all of it in one new array
    "gelu_tanh": lambda x: GeluTanh.apply(x) if x.requires_grad else bent(x).sigmoid_().mul_(x),  # type: ignore[no-untyped-call]
    "silu": F.silu,
    "none": lambda x: x,
}


SLOPE, BEND = math.sqrt(8.0 / math.pi), 0.044715 * math.sqrt(8.0 / math.pi)


def gelu_tanh(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x · (1 + tanh(u / 2)) / 2, which is x · sigmoid(u) with u = √(8/π) · (x + 0.044715 x³); with u and the sigmoid.
    A sigmoid takes a fourth of the time of PyTorch's tanh here, where there is no AVX-512."""
    u = bent(x)
    s = u.sigmoid()
    return x * s, u, s


def bent(x: Tensor) -> Tensor:
    """The u of `gelu_tanh`."""
    return torch.addcmul(x.new_tensor(SLOPE), x, x, value=BEND).mul_(x)


class GeluTanh(torch.autograd.Function):
    """The same with its derivative, s + s (1 − s) x u', where x u' = 3 u − 2 √(8/π) x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y, u, s = gelu_tanh(x)
        ctx.save_for_backward(x, u, s)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, u, s = ctx.saved_tensors
        inner = torch.add(u, x, alpha=-2.0 / 3.0 * SLOPE).mul_(grad).mul_(3.0)
        return torch.ops.aten.sigmoid_backward(inner, s).addcmul_(grad, s)


def turns(config: Config, x: Tensor, past: Past | None) -> tuple[Tensor, Tensor]:
    """Cosine and sine of the rotary angles, (T, K/2) or (B, 1, T, K/2)."""
    T, K = x.shape[-2], config.d_head
    positions = past.positions if past else torch.arange(T, device=x.device)
    if positions.ndim > 1:
        positions = positions[:, None]
    frequencies = config.rotary_base ** (-torch.arange(0, K, 2, device=x.device, dtype=torch.float64) / K)
    angles = positions[..., None] * frequencies
    return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def cast(new: Any, old: Tensor) -> Tensor:
    """An edit's replacement, as a tensor like the one it replaces."""
    new = new if isinstance(new, Tensor) else torch.tensor(np.asarray(new, np.float64))
    return new.to(old).expand(old.shape).clone()


class Decoder:
    """What `decoding.py` needs of an engine, with one Past for a whole batch."""

    def __init__(self, model: Model) -> None:
        self.config, self.params = model.config, tensors(model)
        for layer in self.params["layers"]:
            layer["fused"] = fused_weights(layer)  # once, not at every step
        self.rows: list[int] = []

    def advance(self, rows: Sequence[int], tokens: Sequence[Sequence[int]]) -> Array:
        """Feed each row its next tokens; the logits (B, V) after the last of them. Rows not named are finished.

        The first call brings the prompts, of any lengths; later calls one token per row."""
        if not self.rows:
            self.rows = list(rows)
            self.past = Past(self.config, self.params, len(rows))
        elif len(rows) <= 0.75 * len(self.rows):  # copying the rest pays only when enough rows have left
            self.past.keep(self.slots(rows))
            self.rows = list(rows)
        slots = self.slots(rows)
        counts = np.ones(len(self.rows), np.int64)  # finished rows still in the batch get a token too: all stay even
        counts[slots] = [len(new) for new in tokens]
        fed = np.zeros((len(slots), counts.max()), np.int64)
        fed[np.arange(counts.max()) < counts[slots, None]] = np.fromiter(chain.from_iterable(tokens), np.int64)
        ids = np.zeros((len(self.rows), counts.max()), np.int64)
        ids[slots] = fed
        if (self.past.lengths + counts)[slots].max() > self.config.block:
            raise HandloomError(
                f"a row is longer than the block, which holds {self.config.block}; run its window again"
            )
        with torch.no_grad():
            logits, _ = compute(self.config, self.params, ids, past=self.past)
        self.past.lengths = np.minimum(self.past.lengths + counts, self.config.block)
        last = torch.as_tensor(counts[slots] - 1, device=logits.device)
        return logits[torch.as_tensor(slots, device=logits.device), last].double().cpu().numpy()

    def rerun(self, windows: Any, edits: Edits | None = None, last: int | None = None) -> Array:
        """The logits (..., T, V) of windows (..., T), run from the beginning; or only those of the `last` positions."""
        with torch.no_grad():
            logits, _ = compute(self.config, self.params, windows, edits=edits, last=last)
        return logits.double().cpu().numpy()

    def slots(self, rows: Sequence[int]) -> list[int]:
        """Where in the batch these rows are."""
        if rows == self.rows:
            return list(range(len(rows)))
        place = {row: i for i, row in enumerate(self.rows)}
        return [place[row] for row in rows]


def decoders_at_once(useful: int) -> int:
    """How many Decoders run at once: up to one per core, and one on a GPU."""
    return 1 if torch.cuda.is_available() else max(1, min(useful, torch.get_num_threads()))


def pool(count: int) -> ThreadPoolExecutor:
    """Threads that each keep to one core, so that the operations of one do not wait for the cores of another."""
    return ThreadPoolExecutor(count, initializer=keep_to_one_core)


def keep_to_one_core() -> None:
    """Run all operations of the calling thread on one core, from now on. OpenMP and MKL count this per thread; torch's
    own set_num_threads would change it for every thread."""
    torch.get_num_threads()  # PyTorch sets a thread's count at its first use: let that be now, not after the next line
    library = ctypes.CDLL(torch._C.__file__)
    for name in ("omp_set_num_threads", "MKL_Set_Num_Threads_Local"):
        with suppress(AttributeError):  # PyTorch built without OpenMP, whose threads share one pool, or without MKL
            getattr(library, name)(1)
