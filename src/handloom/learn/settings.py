"""What a user can set when training: Settings, and the sizes of the kinds of models.

All of it is in one place, with its default, its limits and its help: `help(hl.train)` lists every option, a notebook
completes them, `handloom learn` takes them. Functions here load `core` when they check a value, and not before: the
help of a command needs only the tables, and is instant.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, NamedTuple, TypeVar, get_args

Function = TypeVar("Function", bound=Callable[..., Any])
Schedule = Literal["constant", "cosine", "linear"]

TRAINING, MODEL, RUN, SEARCH = "Training", "Model", "Run", "Search"  # what options are grouped by, in help


class Option(NamedTuple):
    """An option of `train` or `discover`, for its help and for the command line."""

    name: str
    default: Any
    about: str  # of a boolean: what the value does that is not the default
    group: str
    least: float | None = None
    written: str | None = None  # the default, where it follows from other options
    most: float | None = None


SIZE_OPTIONS = (  # of a transformer: makemore's sizes, and otherwise what a Config has by default
    Option("layers", 4, "layers; rnn, gru and lstm have 1, an encoder-decoder 2", MODEL),
    Option("heads", 4, "attention heads per layer", MODEL),
    Option("width", 64, "width of the residual stream (d_model)", MODEL),
    Option("d_head", None, "width of a head", MODEL, written="width // heads"),
    Option("d_ff", None, "neurons per layer, 0 for none; mlp, rnn, gru and lstm have 64", MODEL, written="4 * width"),
    Option("norm", "layer", "kind of norm: layer, rms or none", MODEL),
    Option("place", "pre", "place of the norms: pre or post", MODEL),
    Option("eps", 1e-5, "added to the variance by a norm", MODEL),
    Option("activation", "gelu_tanh", "activation of neurons: relu, gelu, gelu_tanh, silu or none", MODEL),
    Option("positions", "table", "kind of positions: table, sinusoid, rotary or none", MODEL),
    Option("rotary_base", 10000.0, "base of rotary positions", MODEL),
    Option("causal", True, "see both ways, and learn to predict hidden tokens", MODEL),
    Option("tied", False, "unembed with the embedding", MODEL),
    Option("biases", ("attn", "mlp", "norm"), "parts that have biases: some of attn, mlp, norm, unembed", MODEL),
    Option("gated", False, "multiply each neuron by a linear one, as SwiGLU does", MODEL),
    Option("kv_heads", 0, "heads for keys and values, each shared by several; 0 for as many as heads", MODEL),
    Option("attention", "softmax", "kind of attention: softmax, linear, least-squares or hard", MODEL),
    Option("ridge", 1.0, "ridge of least-squares attention, above 0", MODEL),
    Option("parallel", False, "attention and MLP read the same stream and add together, as in GPT-J", MODEL),
    Option("skips", ("attn", "mlp"), "sublayers that add to the stream: some of attn, mlp; others replace it", MODEL),
    Option("experts", 0, "experts per layer, MLPs of d_ff neurons, of which a position uses `top`; 0: one MLP", MODEL),
    Option("top", 2, "experts that a position uses", MODEL),
)
CONTEXT = Option("context", 16, "tokens that an mlp sees", MODEL)
TRANSFORMER = {"d_model" if one.name == "width" else one.name: one.default for one in SIZE_OPTIONS}
CELLS: dict[str, dict[str, int]] = {  # on torch's own modules, with default sizes: makemore's where it has one
    "mlp": {"d_model": 64, "d_ff": 64, "context": CONTEXT.default},
    **{kind: {"d_model": 64, "d_ff": 64, "layers": 1} for kind in ("rnn", "gru", "lstm")},
    "encoder-decoder": {"d_model": 64, "d_ff": 256, "layers": 2, "heads": 4},
}
KINDS: dict[str, set[str]] = {
    "transformer": set(TRANSFORMER),
    "bigram": set(),
    "bow": {"d_model"},
    **{kind: set(sizes) for kind, sizes in CELLS.items()},
}
SIZES = set().union(*KINDS.values())


def setting(default: Any, about: str, group: str, least: float | None = None, most: float = math.inf) -> Any:
    """A field with its default, what it is (of a boolean: what its other value does) and its limits. `help`, the
    command line and `check_fields` read them."""
    return field(default=default, metadata={"about": about, "group": group, "least": least, "most": most})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a model is trained: all but the task and the model, in one frozen value that goes into the run's folder. The
    defaults are makemore's, but for clipping."""

    steps: int = setting(15_000, "steps of training", TRAINING, 0)
    batch: int = setting(32, "strings per step", TRAINING, 1)
    rate: float = setting(5e-4, "learning rate", TRAINING, 0)
    schedule: Schedule = setting("constant", "schedule of the rate: constant, or cosine or linear to 0", TRAINING)  # noqa: RUF009
    warmup: int = setting(0, "steps in which the rate rises from 0", TRAINING, 0)
    decay: float = setting(0.01, "weight decay, on matrices and embeddings", TRAINING, 0)
    betas: tuple[float, float] = setting((0.9, 0.99), "betas of AdamW", TRAINING)
    clip: float = setting(1.0, "largest norm of a gradient; 0: any", TRAINING, 0)
    dropout: float = setting(0.0, "share of values dropped", TRAINING, 0, 0.99)
    count: int = setting(0, "strings drawn from the task; 0: 10,000, or all lines of a text file", TRAINING, 0)
    fraction: float = setting(0.0, "train on this fraction of all inputs, hold out the others; 0: draw", TRAINING, 0, 1)
    fresh: bool = setting(False, "draw every batch anew from the task, not from a stored set", TRAINING)
    patience: int = setting(0, "stop after this many evaluations without a better held-out loss; 0: never", TRAINING, 0)
    until: float = setting(0.0, "stop at the first evaluation with this success rate; 0: never", TRAINING, 0, 1)
    lora: int = setting(0, "train only matrices of this rank, added to those of `start`; 0: all weights", TRAINING, 0)
    every: int = setting(500, "steps between evaluations, at which the run is also saved", RUN, 1)
    samples: int = setting(200, "strings sampled per evaluation", RUN, 0)
    keep: int = setting(0, "keep the model every this many steps; 0: only the last and the best", RUN, 0)
    seed: int = setting(0, "one seed gives one run", RUN, 0)
    lanes: int = setting(0, "parts of a batch, summed in order; 0: native up to 8, torch one per core", RUN, 0)

    def __post_init__(self) -> None:
        from handloom.core.checks import is_number, whole
        from handloom.core.errors import HandloomError, shown

        check_fields(self)
        whole("count", self.count, 10 if self.count else 0)
        if self.count and self.fraction:
            text = f"count={self.count} and fraction={self.fraction:g} both choose the training set"
            raise HandloomError(f"{text} (expected one of them); leave out the other")
        if not isinstance(self.fresh, bool):
            raise HandloomError(f"fresh={shown(self.fresh)} must be True or False")
        if self.fresh and self.fraction:
            text = f"fresh and fraction={self.fraction:g}: batches are drawn, or taken from a fraction of all inputs"
            raise HandloomError(f"{text} (expected one of them); leave out the other")
        if self.schedule not in get_args(Schedule):
            raise HandloomError(f"schedule={shown(self.schedule)} must be one of {', '.join(get_args(Schedule))}")
        if not isinstance(self.betas, list | tuple) or len(self.betas) != 2:
            raise HandloomError(f"betas={shown(self.betas)} must be two numbers, such as (0.9, 0.99)")
        if not all(is_number(beta) and 0.0 <= beta < 1.0 for beta in self.betas):
            raise HandloomError(f"betas={shown(self.betas)} must be from 0 to below 1")
        object.__setattr__(self, "betas", tuple(self.betas))

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        if self.schedule == "constant":
            return self.rate
        gone = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        return self.rate * (0.5 + 0.5 * math.cos(math.pi * gone) if self.schedule == "cosine" else 1.0 - gone)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"betas": list(self.betas)}

    @classmethod
    def from_json(cls, values: Any) -> "Settings":
        return cls(**checked(values, cls))


def check_fields(settings: Any) -> None:
    """Raise an error for a number that is not within the limits of its field."""
    from handloom.core.checks import is_number, whole
    from handloom.core.errors import HandloomError, shown

    for one in fields(settings):
        value, least, most = getattr(settings, one.name), one.metadata["least"], one.metadata["most"]
        if least is None:
            continue
        if isinstance(one.default, int):
            whole(one.name, value, least)
        elif not is_number(value) or not least <= value <= most:
            allowed = f"of {least:g} or more" if most == math.inf else f"from {least:g} to {most:g}"
            raise HandloomError(f"{one.name}={shown(value)} must be a number {allowed}")


def checked(values: Any, kind: Any) -> dict[str, Any]:
    """Values for the fields of a dataclass, from JSON."""
    from handloom.core.errors import HandloomError, shown

    known = {f.name for f in fields(kind)}
    if not isinstance(values, dict):
        raise HandloomError(f"settings={shown(values)} must be an object of names and values")
    if unknown := sorted(set(values) - known):
        raise HandloomError(f"no option {shown(unknown[0])} (expected some of {', '.join(sorted(known))})")
    return values


def with_width(choices: dict[str, Any]) -> dict[str, Any]:
    """Choices in which width is called d_model, as in a Config."""
    if "width" not in choices:
        return choices
    if "d_model" in choices:
        from handloom.core.errors import HandloomError

        raise HandloomError("width and d_model are two names for one size (expected one of them); leave out the other")
    return {"d_model" if name == "width" else name: value for name, value in choices.items()}


def options() -> Iterator[Option]:
    """Every option of `train` but those that it names itself."""
    yield from (*options_of(Settings), *SIZE_OPTIONS, CONTEXT)


def options_of(settings: Any) -> Iterator[Option]:
    """An option for each field of a class of settings."""
    for one in fields(settings):
        data, most = one.metadata, one.metadata["most"]
        limit = None if most == math.inf else most
        yield Option(one.name, one.default, data["about"], data["group"], data["least"], most=limit)


def with_help(function: Function, found: Iterable[Option]) -> Function:
    """The function, with these options in its help and in its signature."""
    found = list(found)
    function.__doc__ = "\n\n".join([inspect.cleandoc(function.__doc__ or ""), option_lines(found)])
    signature = inspect.signature(function)
    named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [inspect.Parameter(o.name, inspect.Parameter.KEYWORD_ONLY, default=o.default) for o in found]
    function.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
    return function


def option_lines(found: Iterable[Option]) -> str:
    """Options in help: one line each, with its default and what it is."""
    heads = {f"{one.name}={one.written or repr(one.default)}": one for one in found}
    wide = max(map(len, heads))
    return "\n".join(
        f"    {head:<{wide}}  {'False: ' if one.default is True else ''}{one.about}" for head, one in heads.items()
    )
