"""A drawing of a Config in text: the residual stream runs from the tokens at the bottom to the logits at the top,
and what adds to it stands beside it.

    >>> from handloom.core import Config
    >>> print(draw(Config(vocab=11, block=13, d_model=3)))
                 logits     T × 11
                   ▲
                   │  unembed     3 → 11, the embedding transposed
                   │  layer norm  eps 1e-05
                   │
                   ⊕─ positions   a table of 13
                   │  embed       11 → 3
                   ▲
                 tokens     T ≤ 13
"""

from handloom.core import Config

STREAM = "               │"
POSITIONS = {"table": "a table of {N}", "sinusoid": "sinusoidal, computed"}


def draw(config: Config) -> str:
    """The lines of the drawing, from the logits down to the tokens."""
    c = config
    lines = [f"             logits     T × {c.vocab}", "               ▲"]
    lines.append(along("unembed", f"{c.d_model} → {c.vocab}{', the embedding transposed' if c.tied else ''}"))
    lines += norm(c) if c.place == "pre" else []
    lines += [STREAM, *layers(c)]
    if c.positions in POSITIONS:
        lines.append(added("positions", POSITIONS[c.positions].format(N=c.block)))
    lines += [
        along("embed", f"{c.vocab} → {c.d_model}"),
        "               ▲",
        f"             tokens     T ≤ {c.block}",
    ]
    return "\n".join(lines)


def layers(c: Config) -> list[str]:
    """One layer, in a bracket that says how often it is there."""
    if not c.layers:
        return []
    inside = layer(c)
    bracket = ["╭", *"│" * len(inside), "╰"]
    count = f"{c.layers:,} ×"
    return [
        f"{count if i == len(bracket) // 2 else '':>10} {edge}{line[12:]}"
        for i, (edge, line) in enumerate(zip(bracket, [STREAM, *inside, STREAM], strict=True))
    ] + [STREAM]


def layer(c: Config) -> list[str]:
    """What adds to the stream in a layer, the last first."""
    turned = ", rotary positions" if c.positions == "rotary" else ""
    sees = "causal" if c.causal else "seeing both ways"
    attention = [added("attention", f"{plural(c.heads, 'head')} of {c.d_head}, {sees}{turned}")] if c.heads else []
    mlp = [added("MLP", f"{c.d_model} → {c.d_ff} → {c.d_model}, {c.activation}")] if c.d_ff else []
    if c.place == "pre":
        return [
            *mlp,
            *(norm(c, "└ reads through ") if mlp else []),
            *attention,
            *(norm(c, "└ reads through ") if attention else []),
        ]
    return [*(norm(c) if mlp else []), *mlp, *(norm(c) if attention else []), *attention]


def norm(c: Config, before: str = "") -> list[str]:
    if c.norm == "none":
        return []
    name = {"layer": "layer norm", "rms": "RMS norm"}[c.norm]
    if before:
        return [f"{STREAM}    {before}{name}, eps {c.eps:g}"]
    return [along(name, f"eps {c.eps:g}")]


def along(name: str, what: str) -> str:
    """Something the stream goes through."""
    return f"{STREAM}  {name:<12}{what}"


def added(name: str, what: str) -> str:
    """Something that adds to the stream."""
    return f"{STREAM[:-1]}⊕─ {name:<12}{what}"


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
