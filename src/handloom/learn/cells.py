"""Networks besides the transformer of core, on PyTorch's own modules.

    mlp                Bengio et al., 2003: the last tokens' embeddings side by side, a layer of tanh, the next token
    rnn, gru, lstm     a state carried from token to token: torch.nn.RNN, GRU, LSTM
    encoder-decoder    Vaswani et al., 2017: a question, read both ways, and its answer, predicted token by token

`Cells` holds the kind and the sizes, and is a Network. Each module computes the logits of whole strings (`forward`),
and the same token by token: `begin` reads prompts, padded at the end, and `step` one more token of each row, (B,). Both
return the logits (B, V) of the next token, and a state for the next step: tensors whose rows are the batch's.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from sys import maxsize
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from handloom.core import HandloomError
from handloom.core.arrays import Arrays
from handloom.core.checks import whole
from handloom.core.errors import shown
from handloom.core.reference import sinusoid
from handloom.learn.settings import CELLS as SIZES

Drop = Callable[[Tensor], Tensor]  # dropout
State = tuple[Tensor, ...]

RECURRENT: dict[str, Callable[..., nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
LARGEST = 1_000_000  # of any size; far larger ones, as in a damaged file, make torch itself fail


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The kind of a network, and its sizes. A size of 0 is one that the kind does not have."""

    kind: str
    vocab: int
    d_model: int  # D, the width of an embedding
    d_ff: int  # F, hidden units: of the layer of tanh, of a state, between the two matrices of a transformer's layer
    layers: int = 0
    heads: int = 0
    context: int = 0  # tokens that an MLP sees

    frozen: ClassVar[frozenset[str]] = frozenset()
    causal: ClassVar[bool] = True
    block: ClassVar[int] = maxsize  # these networks read strings of any length

    def __post_init__(self) -> None:
        if self.kind not in SIZES:
            raise HandloomError(f"no kind of model {shown(self.kind)} (expected one of {', '.join(SIZES)})")
        for name, value in self.to_json().items():
            if name != "kind":
                object.__setattr__(self, name, whole(name, value, 1))
                if value > LARGEST:
                    raise HandloomError(f"{name}={value} must be at most {LARGEST}")
        if self.heads and self.d_model % self.heads:
            raise HandloomError(f"d_model={self.d_model} must be a multiple of heads={self.heads}")

    @classmethod
    def of(cls, kind: str, vocab: int, sizes: Mapping[str, Any]) -> "Cells":
        """A network of that kind, with default sizes where none are given."""
        usual = SIZES[kind]
        if kind == "encoder-decoder" and "d_model" in sizes:
            usual = usual | {"d_ff": 4 * whole("d_model", sizes["d_model"], 1)}
        return cls(kind=kind, vocab=vocab, **usual | dict(sizes))

    def to_json(self) -> dict[str, Any]:
        has = {"kind", "vocab", *SIZES[self.kind]}
        return {name: value for name, value in asdict(self).items() if name in has}

    @classmethod
    def from_json(cls, values: Any) -> "Cells":
        kind = values.get("kind") if isinstance(values, dict) else None
        if kind not in SIZES or set(values) != {"kind", "vocab", *SIZES[kind]}:
            raise HandloomError(f"a network must have a kind ({', '.join(SIZES)}), a vocab, and the sizes of its kind")
        return cls(**values)

    def module(self) -> "Module":
        """The module that computes it, without weights."""
        with torch.device("meta"):
            return self.build()

    def build(self) -> "Module":
        if self.kind == "mlp":
            return MLP(self)
        return Recurrent(self) if self.kind in RECURRENT else EncoderDecoder(self)

    def start(self, seed: int) -> Arrays:
        """PyTorch's own initial weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed % 2**64)  # torch takes no more
            return {name: weight.detach().numpy() for name, weight in self.build().named_parameters()}

    def logits(
        self, weights: Mapping[str, Tensor], ids: Tensor, asked: Tensor, dropout: float, rng: torch.Generator | None
    ) -> Tensor:
        """Dropout acts on the embeddings and on the input of the last layer."""

        def drop(x: Tensor) -> Tensor:
            return x * torch.empty_like(x).bernoulli_(1.0 - dropout, generator=rng) / (1.0 - dropout)

        chosen = drop if dropout and rng is not None else nothing_dropped
        module = module_of_thread(self, threading.get_ident())
        return functional_call(module, dict(weights), (ids, asked, chosen), tie_weights=False)


@lru_cache(maxsize=64)
def module_of_thread(cells: Cells, thread: int) -> "Module":
    """A module of its own for each thread: `functional_call` puts the weights into it for the time of a call."""
    return cells.module()


def nothing_dropped(x: Tensor) -> Tensor:
    return x


class MLP(nn.Module):
    """The next token from the last few. Places before the beginning hold a token of their own."""

    def __init__(self, cells: Cells) -> None:
        super().__init__()
        self.context, self.before = cells.context, cells.vocab
        self.embed = nn.Embedding(cells.vocab + 1, cells.d_model)
        self.hidden = nn.Linear(cells.context * cells.d_model, cells.d_ff)
        self.unembed = nn.Linear(cells.d_ff, cells.vocab)

    def forward(self, ids: Tensor, asked: Tensor, drop: Drop) -> Tensor:
        return self.read(self.windows(ids), drop)

    def windows(self, ids: Tensor) -> Tensor:
        """The tokens that each position sees, (B, T, context)."""
        return nn.functional.pad(ids, (self.context - 1, 0), value=self.before).unfold(-1, self.context, 1)

    def read(self, windows: Tensor, drop: Drop) -> Tensor:
        side_by_side = drop(self.embed(windows)).flatten(-2)
        return self.unembed(drop(self.hidden(side_by_side).tanh()))

    def begin(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        window = self.windows(ids)[torch.arange(len(ids)), lengths - 1]  # (B, context)
        return self.read(window, nothing_dropped), (window,)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        window = torch.cat([state[0][:, 1:], tokens[:, None]], -1)
        return self.read(window, nothing_dropped), (window,)


class Recurrent(nn.Module):
    """One of torch's recurrent networks between an embedding and a linear layer. Its first state is zero."""

    def __init__(self, cells: Cells) -> None:
        super().__init__()
        self.embed = nn.Embedding(cells.vocab, cells.d_model)
        self.cell = RECURRENT[cells.kind](cells.d_model, cells.d_ff, cells.layers, batch_first=True)
        self.unembed = nn.Linear(cells.d_ff, cells.vocab)

    def forward(self, ids: Tensor, asked: Tensor, drop: Drop) -> Tensor:
        hidden, _ = self.cell(drop(self.embed(ids)))
        return self.unembed(drop(hidden))

    def begin(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(ids), lengths, batch_first=True, enforce_sorted=False)
        return self.unembedded(self.cell(packed)[1])

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        parts = tuple(part.transpose(0, 1).contiguous() for part in state)
        return self.unembedded(self.cell(self.embed(tokens[:, None]), parts if len(parts) > 1 else parts[0])[1])

    def unembedded(self, state: Tensor | State) -> tuple[Tensor, State]:
        """The logits, and the state with the batch first, from torch's: (layers, B, F), or two of these for an LSTM."""
        parts = (state,) if isinstance(state, Tensor) else state
        return self.unembed(parts[0][-1]), tuple(part.transpose(0, 1) for part in parts)


class EncoderDecoder(nn.Module):
    """The encoder reads the question, every token seeing all of it. The decoder reads the question's last token and
    then the answer. Logits are computed where an answer is predicted, and are zero elsewhere in the question."""

    def __init__(self, cells: Cells) -> None:
        super().__init__()
        sizes = (cells.d_model, cells.heads, cells.d_ff)
        usual: dict[str, Any] = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True}
        self.embed = nn.Embedding(cells.vocab, cells.d_model)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(*sizes, **usual) for _ in range(cells.layers))
        self.decoder: Any = nn.ModuleList(nn.TransformerDecoderLayer(*sizes, **usual) for _ in range(cells.layers))
        self.norm_encoded, self.norm_decoded = nn.LayerNorm(cells.d_model), nn.LayerNorm(cells.d_model)
        self.unembed = nn.Linear(cells.d_model, cells.vocab)

    def forward(self, ids: Tensor, asked: Tensor, drop: Drop) -> Tensor:
        T = ids.shape[1]
        at = torch.arange(T, device=ids.device) - (asked[:, None] - 1)  # (B, T): where each token is in the decoder
        length = max(1, int(at.max()) + 1)
        places = (asked[:, None] - 1 + torch.arange(length, device=ids.device)).clamp(0, T - 1)
        memory, padding = self.encode(ids, asked, drop)
        logits = self.unembed(drop(self.decode(ids.gather(1, places), memory, padding, drop)))  # (B, length, V)
        logits = logits.gather(1, at.clamp(min=0)[..., None].expand(-1, -1, logits.shape[-1]))
        return logits * (at >= 0)[..., None]

    def encode(self, ids: Tensor, asked: Tensor, drop: Drop) -> tuple[Tensor, Tensor]:
        """What the decoder attends to, (B, S, D), and where it is padding."""
        ids = ids[:, : int(asked.max())]
        padding = torch.arange(ids.shape[1], device=ids.device) >= asked[:, None]
        x = self.placed(ids, drop)
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=padding)
        return self.norm_encoded(x), padding

    def decode(self, ids: Tensor, memory: Tensor, padding: Tensor, drop: Drop) -> Tensor:
        later = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).triu(1)
        x = self.placed(ids, drop)
        for layer in self.decoder:
            x = layer(x, memory, tgt_mask=later, tgt_is_causal=True, memory_key_padding_mask=padding)
        return self.norm_decoded(x)  # (B, T, D)

    def placed(self, ids: Tensor, drop: Drop) -> Tensor:
        """Embeddings plus positions; sinusoids, so that strings may have any length."""
        x = self.embed(ids)
        positions = torch.arange(ids.shape[1]).numpy()
        return drop(x + torch.as_tensor(sinusoid(positions, x.shape[-1])).to(x))

    def begin(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, State]:
        """The state: where the question is padding; then for each layer the keys and values of the answer so far, none
        yet, and of the question."""
        memory, padding = self.encode(ids, lengths, nothing_dropped)
        state = [padding]
        for layer in self.decoder:
            _, keys, values = projected(layer.multihead_attn, memory)
            state += [keys[:, :, :0], values[:, :, :0], keys, values]
        return self.step(ids[torch.arange(len(ids)), lengths - 1], tuple(state))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        padding, *remembered = state
        x = self.embed(tokens)[:, None]
        x = x + torch.as_tensor(sinusoid(np.array([remembered[0].shape[2]]), x.shape[-1])).to(x)
        for i, layer in enumerate(self.decoder):
            keys, values, asked_keys, asked_values = remembered[4 * i : 4 * i + 4]
            query, key, value = projected(layer.self_attn, layer.norm1(x))
            keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
            remembered[4 * i : 4 * i + 2] = keys, values
            x = x + attended(layer.self_attn, query, keys, values)
            query, _, _ = projected(layer.multihead_attn, layer.norm2(x))
            x = x + attended(layer.multihead_attn, query, asked_keys, asked_values, ~padding[:, None, None])
            x = x + layer.linear2(layer.activation(layer.linear1(layer.norm3(x))))
        return self.unembed(self.norm_decoded(x)[:, 0]), (padding, *remembered)


def projected(attention: nn.MultiheadAttention, x: Tensor) -> tuple[Tensor, ...]:
    """Queries, keys and values of (B, T, D), each (B, H, T, K)."""
    all_three = nn.functional.linear(x, attention.in_proj_weight, attention.in_proj_bias)
    return tuple(part.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2) for part in all_three.chunk(3, -1))


def attended(
    attention: nn.MultiheadAttention, query: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None = None
) -> Tensor:
    """The output of the heads, (B, T, D)."""
    z = nn.functional.scaled_dot_product_attention(query, keys, values, seen)
    return attention.out_proj(z.transpose(1, 2).flatten(-2))


Module = MLP | Recurrent | EncoderDecoder
