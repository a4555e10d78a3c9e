"""A transformer as an ONNX graph: `core/reference.py` step by step, in ONNX's own operators.

Every Config has a graph, except those with least-squares attention, for ONNX solves no equations. Weights keep their
names (`layers.0.W_Q`), and so does every site (`0.pattern`), which can be an output. Batch and length are free.

The operators are those of opset 13, which runtimes have had since 2020. Norms are written out, for a LayerNormalization
may subtract the squared mean from the mean square, which in float32 can leave nothing. Scores are an Einsum, since
onnxruntime joins a product with the transposition and the division around it, in float32 even in a float64 graph.
Positions are tables, computed in float64. A length beyond the block reads outside them: an error in onnxruntime.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from handloom.core import Config, Model, Params, params, reference, sites
from handloom.core.arrays import Array, Arrays

# Adding less, which is 0 in float32, onnxruntime leaves out, even in a float64 graph.
SMALLEST_EPS = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Value:
    """A value of the graph, by its name. Operators add nodes to the graph."""

    graph: "Graph"
    name: str

    def __add__(self, other: "Operand") -> "Value":
        return self.graph.op("Add", self, other)

    def __sub__(self, other: "Operand") -> "Value":
        return self.graph.op("Sub", self, other)

    def __mul__(self, other: "Operand") -> "Value":
        return self.graph.op("Mul", self, other)

    def __truediv__(self, other: "Operand") -> "Value":
        return self.graph.op("Div", self, other)

    def __matmul__(self, other: "Operand") -> "Value":
        return self.graph.op("MatMul", self, other)

    __radd__, __rmul__ = __add__, __mul__


Operand = Value | Array | float  # a float has the dtype of the weights, an array its own


class Graph:
    """Nodes in the order in which they run, and the constants that they read."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.nodes: list[NodeProto] = []
        self.constants: Arrays = {}
        self.sites: set[str] = set()

    def constant(self, name: str, array: Array) -> Value:
        self.constants[name] = array
        return Value(self, name)

    def named(self, operand: Operand) -> str:
        """The name of a value; a number or a small array becomes a constant that is called what it is."""
        if isinstance(operand, Value):
            return operand.name
        array = np.asarray(operand, self.dtype) if isinstance(operand, float) else operand
        return self.constant(f"{array.dtype}:{array.tolist()}", array).name

    def ops(self, kind: str, *operands: Operand, outputs: int = 1, label: str = "", **attributes: Any) -> list[Value]:
        inputs = [self.named(operand) for operand in operands]
        names = [f"value:{len(self.nodes)}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, label, **attributes))
        return [Value(self, name) for name in names]

    def op(self, kind: str, *operands: Operand, label: str = "", **attributes: Any) -> Value:
        """Add a node; its output."""
        return self.ops(kind, *operands, label=label, **attributes)[0]

    def tap(self, site: str, value: Value) -> Value:
        """Call a value by the name of its site: the output of the last node directly, another as a copy."""
        if value.name in self.sites or value.name != self.nodes[-1].output[0]:
            value = self.op("Identity", value)
        self.nodes[-1].output[0] = site
        self.sites.add(site)
        return Value(self, site)

    def unfused(self, constant: Operand, like: Value) -> Value:
        """A constant of one element, with the shape of a value. onnxruntime takes a single number that multiplies or
        divides a matrix product into the product, as a float32 even in a float64 graph."""
        return self.op("Expand", constant, self.op("Shape", like))

    def proto(self, name: str, inputs: list[ValueInfoProto], outputs: list[ValueInfoProto]) -> GraphProto:
        """The finished graph, with the constants that a node reads."""
        read = {name for node in self.nodes for name in node.input}
        tensors = [numpy_helper.from_array(array, name) for name, array in self.constants.items() if name in read]
        return helper.make_graph(self.nodes, name, inputs, outputs, tensors)


@dataclass(frozen=True)
class Places:
    """What depends on the positions of a run alone, made once for all layers."""

    at: Value  # (T,)
    seen: Value | None = None  # (T, T): what a causal position may see
    cos: Value | None = None  # (T, K/2): the rotary turns
    sin: Value | None = None


def transformer_graph(model: Model, want: list[str]) -> GraphProto:
    """The graph from `tokens` to the wanted sites, in the model's dtype."""
    config, g = model.config, Graph(model.dtype)
    p = params.unflatten(config, {name: g.constant(name, array) for name, array in model.flat.items()})
    tokens = Value(g, "tokens")  # (B, T)
    places = write_places(g, config, tokens)

    ids = g.op("Gather", tokens, places.at, axis=1)  # all of them, if they fit into the block
    x = g.tap("embed", g.op("Gather", p["W_E"], ids))  # (B, T, D)
    if config.positions in ("table", "sinusoid"):
        table = p["W_pos"] if config.positions == "table" else sinusoid_table(g, config)
        rows = g.op("Gather", table, places.at)  # (T, D)
        x = x + g.tap("pos_embed", g.op("Expand", rows, g.op("Shape", x)))
    for i, layer in enumerate(p["layers"]):
        x = write_layer(g, config, layer, x, i, places)
    x = write_norm(g, config, p.get("ln_final"), g.tap("resid_final", x), "ln_final")
    logits = x @ (g.op("Transpose", p["W_E"], perm=[1, 0]) if config.tied else p["W_U"])
    g.tap("logits", plus(logits, p.get("b_U")))

    known = sites(config)
    given = helper.make_tensor_value_info("tokens", TensorProto.INT64, dims("T", config))
    kind = helper.np_dtype_to_tensor_dtype(g.dtype)
    outputs = [helper.make_tensor_value_info(site, kind, dims(known[site], config)) for site in want]
    return g.proto("transformer", [given], outputs)


def dims(letters: str, config: Config) -> list[str | int]:
    """The dimensions of a site, in a batch."""
    c = config
    sizes: dict[str, str | int] = {
        "T": "length",
        "S": "length",
        "D": c.d_model,
        "H": c.heads,
        "G": c.groups,
        "K": c.d_head,
        "F": c.neurons,
        "E": c.experts,
        "V": c.vocab,
    }
    return ["batch", *(sizes[letter] for letter in letters)]


def write_places(g: Graph, config: Config, tokens: Value) -> Places:
    """0, 1, …, T − 1, read from a table of the block, and what follows from it. (Of a Gather at a Range onnxruntime
    makes a Slice, which cuts a length beyond the block without a word. Abs, which changes nothing, prevents that.)"""
    T = g.op("Gather", g.op("Shape", tokens), np.array(1))
    count = g.op("Abs", g.op("Range", np.array(0), T, np.array(1)))
    table = g.constant("positions", np.arange(config.block))
    at = g.op("Gather", table, count, label=f"at most {config.block} tokens")
    seen = g.op("LessOrEqual", at, g.op("Unsqueeze", at, np.array([1]))) if config.causal else None
    if config.positions != "rotary":
        return Places(at, seen)
    pairs = np.repeat([[1.0, 0.0]], config.d_head // 2, axis=1)  # a pair (1, 0) becomes (cos, sin)
    turned = reference.turn_pairs(np.repeat(pairs, config.block, axis=0), 0, config.rotary_base)
    rows = g.op("Gather", g.constant("rotary", turned.astype(g.dtype)), at)  # (T, K)
    return Places(at, seen, *g.ops("Split", rows, outputs=2, axis=-1))


def sinusoid_table(g: Graph, config: Config) -> Value:
    rows = reference.sinusoid(np.arange(config.block), config.d_model)
    return g.constant("sinusoid", rows.astype(g.dtype))


def write_layer(g: Graph, config: Config, p: Params, x: Value, i: int, places: Places) -> Value:
    ln1, ln2 = p.get("ln1"), p.get("ln2")
    x = g.tap(f"{i}.resid_pre", x)
    if config.parallel:
        y = write_norm(g, config, ln1, x, f"{i}.ln1")
        x = reference.kept(config, "attn", x) + write_attention(g, config, p, y, i, places)
        x = x + write_mlp(g, config, p, y, i)
    elif config.place == "pre":
        y = write_norm(g, config, ln1, x, f"{i}.ln1")
        x = reference.kept(config, "attn", x) + write_attention(g, config, p, y, i, places)
        x = g.tap(f"{i}.resid_mid", x)
        y = write_norm(g, config, ln2, x, f"{i}.ln2")
        x = reference.kept(config, "mlp", x) + write_mlp(g, config, p, y, i)
    else:
        x = reference.kept(config, "attn", x) + write_attention(g, config, p, x, i, places)
        x = g.tap(f"{i}.resid_mid", write_norm(g, config, ln1, x, f"{i}.ln1"))
        x = reference.kept(config, "mlp", x) + write_mlp(g, config, p, x, i)
        x = write_norm(g, config, ln2, x, f"{i}.ln2")
    return g.tap(f"{i}.resid_post", x)


def write_norm(g: Graph, config: Config, p: Mapping[str, Value] | None, x: Value, site: str) -> Value:
    if p is None:
        return x
    last, D = np.array([-1]), float(config.d_model)
    if config.norm == "layer":
        x = x - g.op("ReduceSum", x, last) / D
    mean_square = g.op("ReduceSum", x * x, last, keepdims=0) / D
    eps = max(config.eps, SMALLEST_EPS)
    scale = g.tap(site + "_scale", g.op("Sqrt", mean_square + eps))  # (B, T)
    gain = p["w"] if config.d_model > 1 else g.unfused(p["w"], x)
    return g.tap(site, plus(x / g.op("Unsqueeze", scale, last) * gain, p.get("b")))


def write_attention(g: Graph, config: Config, p: Params, x: Value, i: int, places: Places) -> Value:
    if not config.heads:
        return g.tap(f"{i}.attn_out", plus(zeros_like(g, x), p.get("b_O")))
    x = g.op("Unsqueeze", x, np.array([1]))  # (B, 1, T, D), against (H, D, K)
    q, k, v = (g.tap(f"{i}.{one.lower()}", project(g, x, p[f"W_{one}"], p.get(f"b_{one}"))) for one in "QKV")
    if config.positions == "rotary":
        q = g.tap(f"{i}.rot_q", rotate(g, q, places))
        k = g.tap(f"{i}.rot_k", rotate(g, k, places))
    k, v = for_each_head(g, config, k), for_each_head(g, config, v)  # (B, H, T, K)
    products = g.op("Einsum", q, k, equation="bhtk,bhsk->bhts")
    scores = g.tap(f"{i}.scores", products / math.sqrt(config.d_head))  # (B, H, T, T)
    pattern = g.tap(f"{i}.pattern", write_pattern(g, config, scores, places))
    z = g.tap(f"{i}.z", pattern @ v)  # (B, H, T, K)
    result = g.tap(f"{i}.result", z @ p["W_O"])  # (B, H, T, D)
    out = g.op("ReduceSum", result, np.array([1]), keepdims=0)
    return g.tap(f"{i}.attn_out", plus(out, p.get("b_O")))


def write_pattern(g: Graph, config: Config, scores: Value, places: Places) -> Value:
    linear = g.op("Where", places.seen, scores, 0.0) if places.seen else scores
    if config.attention == "linear":
        return linear
    scores = g.op("Where", places.seen, scores, -math.inf) if places.seen else scores
    if config.attention == "softmax":
        return g.op("Softmax", scores, axis=-1)
    size = g.op("ReduceMax", g.op("Abs", linear), axes=[-1])
    least = g.op("ReduceMax", scores, axes=[-1]) - reference.TIE * size
    shares = g.op("Where", g.op("GreaterOrEqual", scores, least), 1.0, 0.0)
    return shares / g.op("ReduceSum", shares, np.array([-1]))


def write_mlp(g: Graph, config: Config, p: Params, x: Value, i: int) -> Value:
    if not config.d_ff:
        return g.tap(f"{i}.mlp_out", plus(zeros_like(g, x), p.get("b_out")))
    if config.experts:
        logits = plus(x @ p["W_gate"], p.get("b_gate"))
        weights = g.tap(f"{i}.gate", expert_weights(g, config, logits))  # (B, T, E)
        p = one_mlp(g, config, p)
    read = "gate" if config.gated else "in"
    pre = g.tap(f"{i}.mlp_pre", plus(x @ p[f"W_{read}"], p.get(f"b_{read}")))
    post = activated(g, config.activation, pre)
    if config.gated:
        post = post * g.tap(f"{i}.mlp_pre_linear", plus(x @ p["W_in"], p.get("b_in")))
    if config.experts:
        post = post * g.op("Gather", weights, np.arange(config.neurons) // config.d_ff, axis=-1)
    post = g.tap(f"{i}.mlp_post", post)
    return g.tap(f"{i}.mlp_out", plus(post @ p["W_out"], p.get("b_out")))


def expert_weights(g: Graph, config: Config, logits: Value) -> Value:
    """TopK takes the first of equal logits, as the reference does."""
    _, chosen = g.ops("TopK", logits, np.array([config.top]), outputs=2, axis=-1)  # (B, T, top)
    is_it = g.op("Equal", g.op("Unsqueeze", chosen, np.array([-1])), np.arange(config.experts))  # (B, T, top, E)
    seen = g.op("ReduceMax", g.op("Where", is_it, 1.0, 0.0), axes=[-2], keepdims=0)
    return g.op("Softmax", g.op("Where", g.op("Greater", seen, 0.5), logits, -math.inf), axis=-1)


def one_mlp(g: Graph, config: Config, p: Params) -> Params:
    """`params.one_mlp`: the neurons of all experts side by side."""
    shapes = {"W_in": [config.d_model, -1], "W_out": [-1, config.d_model], "b_in": [-1]}
    own = {**p, "W_in": g.op("Transpose", p["W_in"], perm=[1, 0, 2])}
    return own | {name: g.op("Reshape", own[name], np.array(shape)) for name, shape in shapes.items() if name in own}


def project(g: Graph, x: Value, W: Value, b: Value | None) -> Value:
    return x @ W if b is None else x @ W + g.op("Unsqueeze", b, np.array([1]))


def for_each_head(g: Graph, config: Config, x: Value) -> Value:
    groups = np.repeat(np.arange(config.groups), config.per_group)
    return g.op("Gather", x, groups, axis=1) if config.kv_heads else x


def rotate(g: Graph, x: Value, places: Places) -> Value:
    assert places.cos is not None
    assert places.sin is not None
    a, b = g.ops("Split", x, outputs=2, axis=-1)
    return g.op("Concat", a * places.cos - b * places.sin, b * places.cos + a * places.sin, axis=-1)


def activated(g: Graph, activation: str, x: Value) -> Value:
    match activation:
        case "relu":
            return g.op("Relu", x)
        case "gelu":
            return 0.5 * x * (1.0 + erf(g, x / math.sqrt(2.0)))
        case "gelu_tanh":
            return 0.5 * x * (1.0 + g.op("Tanh", math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))
        case "silu":
            return 0.5 * x * (1.0 + g.op("Tanh", 0.5 * x))
    return x


def erf(g: Graph, x: Value) -> Value:
    """onnxruntime has no Erf in float64. There it is a Fourier series, that of a square wave of period 24 convolved
    with a Gaussian, which makes every step of the wave an erf. Between −6 and 6, where erf is not yet ±1 to 16 digits,
    the other steps are too far away to matter; so are the terms from k = 49 on."""
    if g.dtype == np.float32:
        return g.op("Erf", x)
    k = np.arange(1.0, 49.0, 2.0) * math.pi / 12
    near = g.op("Unsqueeze", g.op("Clip", x, -6.0, 6.0), np.array([-1]))
    waves = g.op("Sin", near * g.constant("erf_frequencies", k))
    return waves @ g.constant("erf_weights", np.exp(-k * k / 4) / k / 3)


def plus(x: Value, b: Value | None) -> Value:
    return x if b is None else x + b


def zeros_like(g: Graph, x: Value) -> Value:
    zero = numpy_helper.from_array(np.zeros(1, g.dtype))
    return g.op("ConstantOfShape", g.op("Shape", x), value=zero)
