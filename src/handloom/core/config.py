"""Config: which transformer. Sizes and choices, checked when made, never changed afterwards.

    >>> Config(vocab=11, block=13, d_model=3)                       # no layers: embed, norm, unembed
    Config(vocab=11, block=13, d_model=3)
    >>> Config(vocab=27, block=16, d_model=64, layers=4, heads=4, d_head=16, d_ff=256).d_ff
    256

Every size is free: d_head need not be d_model / heads, d_ff may be 0 (attention-only layers), layers may be 0.
What a transformer with a given Config computes is written down in `reference.py`.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from handloom.core.checks import is_number, whole
from handloom.core.errors import HandloomError, shown

Norm = Literal["layer", "rms", "none"]
Place = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "none"]
Positions = Literal["table", "sinusoid", "rotary", "none"]
Attention = Literal["softmax", "linear", "least-squares", "hard"]
Bias = Literal["attn", "mlp", "norm", "unembed"]
Skip = Literal["attn", "mlp"]

CHOICES: dict[str, tuple[str, ...]] = {
    "norm": get_args(Norm),
    "place": get_args(Place),
    "activation": get_args(Activation),
    "positions": get_args(Positions),
    "attention": get_args(Attention),
}
SMALLEST = {"vocab": 1, "block": 1, "d_model": 1, "layers": 0, "heads": 0, "d_head": 0, "d_ff": 0, "kv_heads": 0}
SMALLEST |= {"experts": 0, "top": 1}

# what the first model files do not have
LATER = ("gated", "kv_heads", "attention", "ridge", "parallel", "skips", "experts", "top")


@dataclass(frozen=True, kw_only=True, repr=False)
class Config:
    """The shape of a transformer. The defaults are GPT-2's, except for the sizes."""

    vocab: int  # V, number of tokens
    block: int  # N, the most positions of a run
    d_model: int  # D, the width of the residual stream
    layers: int = 0
    heads: int = 0  # H, in each layer
    d_head: int = 0  # K, the width of each head
    d_ff: int = 0  # F, hidden neurons of the MLP in each layer; 0: attention only
    norm: Norm = "layer"
    place: Place = "pre"  # x + f(norm(x)), then a last norm; or post: norm(x + f(x))
    eps: float = 1e-5  # added to the variance; with 0 a constant stream, whose variance is 0, gives meaningless numbers
    activation: Activation = "gelu_tanh"
    positions: Positions = "table"
    rotary_base: float = 10_000.0
    causal: bool = True  # a position sees itself and those before it; or all positions
    tied: bool = True  # the unembedding is the embedding transposed
    biases: tuple[Bias, ...] = ("attn", "mlp", "norm")  # which parts have them; () for none
    gated: bool = False  # each neuron of the MLP is multiplied by a linear one: activation(x W_gate) · (x W_in)
    kv_heads: int = 0  # heads with keys and values, each shared by heads / kv_heads consecutive ones; 0: every head
    attention: Attention = "softmax"  # what makes a pattern of scores: reference.py has the four
    ridge: float = 1.0  # of least-squares attention: added to the diagonal of the matrix that is inverted
    parallel: bool = False  # attention and MLP read the same norm and add together, as in GPT-J: x + attn(y) + mlp(y)
    skips: tuple[Skip, ...] = ("attn", "mlp")  # which add to the stream; what the others write replaces it
    experts: int = 0  # E, MLPs of d_ff neurons in each layer, of which each position uses a few; 0: one MLP, for all
    top: int = 2  # how many experts a position uses, those with the largest logits; with 1 the gates learn nothing

    def __post_init__(self) -> None:
        for name, least in SMALLEST.items():
            object.__setattr__(self, name, whole(f"Config: {name}", getattr(self, name), least))
        for name, allowed in CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        for name in ("causal", "tied", "gated", "parallel"):
            check_choice(name, getattr(self, name), (True, False))
        object.__setattr__(self, "eps", check_number("eps", self.eps))
        object.__setattr__(self, "rotary_base", check_number("rotary_base", self.rotary_base))
        if not self.rotary_base:
            raise HandloomError("Config: rotary_base=0 must be above 0")
        object.__setattr__(self, "ridge", check_number("ridge", self.ridge))
        if self.attention == "least-squares" and not self.ridge:
            raise HandloomError("Config: ridge=0 (expected above 0): fewer keys than d_head have no inverse")
        object.__setattr__(self, "biases", check_parts("biases", self.biases, get_args(Bias)))
        object.__setattr__(self, "skips", check_parts("skips", self.skips, get_args(Skip)))
        if self.parallel and (self.place == "post" or len(self.skips) == 1):
            raise HandloomError(
                "Config: parallel sublayers have one norm before them and one skip; set both skips or none"
            )
        absent = {"attn": not self.heads, "mlp": not self.d_ff}  # what is not there replaces nothing
        if not self.parallel or all(absent.values()):
            kept = tuple(part for part in get_args(Skip) if part in self.skips or absent[part])
            object.__setattr__(self, "skips", kept)
        if self.layers and self.heads and not self.d_head:
            raise HandloomError(f"Config: {self.heads} heads with d_head=0 cannot attend: set d_head to 1 or more")
        if self.positions == "rotary" and self.d_head % 2:
            raise HandloomError(f"Config: rotary positions turn pairs, and d_head={self.d_head} is odd: make it even")
        if self.kv_heads and (self.kv_heads > self.heads or self.heads % self.kv_heads):
            raise HandloomError(f"Config: kv_heads={self.kv_heads} must be a divisor of heads={self.heads}, or 0")
        self.check_experts()
        if self.kv_heads == self.heads:  # so that equal Configs compare equal
            object.__setattr__(self, "kv_heads", 0)

    def check_experts(self) -> None:
        if not self.experts:
            object.__setattr__(self, "top", Config.top)  # so that equal Configs compare equal
        elif not self.d_ff:
            raise HandloomError(f"Config: {self.experts} experts with d_ff=0 have no neurons: set d_ff to 1 or more")
        elif self.top > self.experts:
            raise HandloomError(
                f"Config: top={self.top} (expected 1 to {self.experts}, the number of experts); reduce it"
            )
        elif self.gated:
            raise HandloomError(
                "Config: gated experts (expected experts or gated): W_gate chooses experts; set one of them"
            )

    @property
    def neurons(self) -> int:
        """The number of hidden neurons per layer, those of all experts together."""
        return self.d_ff * (self.experts or 1)

    @property
    def groups(self) -> int:
        """G, the number of heads with keys and values: kv_heads, or as many as heads."""
        return self.kv_heads or self.heads

    @property
    def per_group(self) -> int:
        """The number of consecutive heads that share keys and values; 1 if every head has its own."""
        return self.heads // self.kv_heads if self.kv_heads else 1

    @property
    def averages(self) -> bool:
        """Whether every head takes a weighted mean: no entry of a pattern is negative, and each row sums to 1."""
        return self.attention in ("softmax", "hard")

    def __repr__(self) -> str:
        """Only the fields that differ from the defaults."""
        shown = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Config({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in shown)})"

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values, as in model files. Those of LATER only if they differ from the defaults, so that
        earlier versions read the files of models that they could have made."""
        usual = {f.name: f.default for f in fields(self) if f.name in LATER}
        kept = {name: value for name, value in asdict(self).items() if name not in usual or value != usual[name]}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}

    @classmethod
    def from_json(cls, values: Any) -> "Config":
        """The inverse of `to_json`; a missing field takes its default, an unknown one raises an error."""
        if not isinstance(values, dict):
            raise HandloomError(f"Config: expected an object of fields, not {type(values).__name__}")
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise HandloomError(f"Config: no field {shown(unknown[0])}; the fields are {', '.join(sorted(known))}")
        if missing := [name for name in ("vocab", "block", "d_model") if name not in values]:
            raise HandloomError(f"Config: {missing[0]} is missing")
        return cls(**values)


def check_choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
        raise HandloomError(f"Config: {name}={shown(value)} must be one of {', '.join(map(repr, allowed))}")


def check_number(name: str, value: Any) -> float:
    """value as a float, finite and not negative."""
    if is_number(value) and value >= 0:
        return float(value)
    raise HandloomError(f"Config: {name}={shown(value)} must be a finite number, 0 or more")


def check_parts(name: str, value: object, parts: tuple[str, ...]) -> tuple[str, ...]:
    """The parts named, each once, in this order, so that equal Configs compare equal."""
    if not isinstance(value, list | tuple | set | frozenset) or not all(
        isinstance(part, str) and part in parts for part in value
    ):
        raise HandloomError(f"Config: {name}={shown(value)} must be some of {', '.join(map(repr, parts))}; () for none")
    return tuple(part for part in parts if part in value)
