"""Patterns on torch: what `reference.pattern_of` defines, for softmax, linear, least-squares and hard attention.

`seen` says which positions (T, S) each may see, and is None if all are; in causal models they are the first ones.
"""

import math

import torch
from torch import Tensor

from handloom.core.config import Config
from handloom.core.errors import HandloomError
from handloom.core.reference import TIE


def pattern_tensor(config: Config, scores: Tensor, k: Tensor, seen: Tensor | None) -> Tensor:
    """How much each position takes from each that it sees, (B, H, T, S), from scores of this shape and keys
    (B, G, S, K)."""
    if config.attention == "linear":
        return hidden(scores, seen, 0.0)
    if config.attention == "least-squares":
        return least_squares(config, scores, k, seen)
    scores = hidden(scores, seen, -torch.inf)
    return scores.softmax(-1) if config.attention == "softmax" else largest_share(scores)


def hidden(x: Tensor, seen: Tensor | None, fill: float) -> Tensor:
    """x, with another number where a position does not see."""
    return x if seen is None else x.masked_fill(~seen, fill)


def largest_share(scores: Tensor) -> Tensor:
    """Equal shares of the largest scores."""
    size = scores.masked_fill(~scores.isfinite(), 0.0).abs().amax(-1, keepdim=True)
    largest = (scores >= scores.amax(-1, keepdim=True) - TIE * size).to(scores.dtype)
    return largest / largest.sum(-1, keepdim=True)


def least_squares(config: Config, scores: Tensor, k: Tensor, seen: Tensor | None) -> Tensor:
    """q_t Kᵀ (K Kᵀ + ridge · I)⁻¹ with the keys that t sees, from one triangular factor L of the matrix of all keys.

    The first n rows and columns of L are the factor of the first n keys. So L⁻¹ q_t Kᵀ, cut behind the last key that t
    sees, is what these keys alone give; and L⁻ᵀ keeps the zeros behind it."""
    gram = k @ k.transpose(-1, -2) + config.ridge * torch.eye(k.shape[-2], dtype=k.dtype, device=k.device)
    L, failed = torch.linalg.cholesky_ex(gram)  # (B, G, S, S)
    if failed.any():
        raise HandloomError(f"Config: ridge={config.ridge:g} is too small beside the keys in {k.dtype}; increase it")
    L = L.repeat_interleave(config.per_group, -3) if config.kv_heads else L
    products = scores.transpose(-1, -2) * math.sqrt(config.d_head)  # (B, H, S, T)
    half = torch.linalg.solve_triangular(L, products, upper=False).transpose(-1, -2)
    half = hidden(half, seen, 0.0).transpose(-1, -2)
    return torch.linalg.solve_triangular(L.transpose(-1, -2), half, upper=True).transpose(-1, -2)
