"""Draws the pictures of the README and of these pages anew: `make docs`."""

from pathlib import Path
from typing import Any

import numpy as np

from handloom.core import trace
from handloom.view.heatmap import beside, heatmap
from handloom.view.tour import hello_picture
from handloom.write import program
from handloom.write.taotp import load_taotp

HERE = Path(__file__).parent


def rounded(values: Any) -> Any:
    """Without the last digits, which another machine may compute differently."""
    return np.round(values, 6) + 0.0  # no −0


def stream_picture() -> str:
    """The stream of Hello World from the embedding to what the unembedding reads."""
    model = program("book/hello")
    ids = model.vocab.encode("Hello World!")
    seen = trace(model, ids, want=["embed", "pos_embed", "ln_final", "logits"])
    names = [token if token.strip() else "␣" for token in model.vocab.tokens]
    rows = [f"{names[token]:>5} → {names[then]:<5}" for token, then in zip(ids, seen["logits"].argmax(-1), strict=True)]
    columns = [f"{what} {i}" for what in ("token", "position / 10⁶", "norm of the sum") for i in range(3)]
    stream = np.hstack([seen["embed"], seen["pos_embed"] / 1e6, seen["ln_final"]])
    return heatmap(rounded(stream), rows, columns, "Hello World!, along the message", "token, and the next")


def search_picture() -> str:
    """Where the heads of the book's search look from the last position, those left out that only clear."""
    model, text = program("book/search"), "1 2 3 4 5 6 1 2 3"
    seen = trace(model, text, want=["0.pattern", "1.pattern"])
    looks = np.vstack([seen["0.pattern"][1:, -1], seen["1.pattern"][:1, -1]])
    rows = [*(f"layer 0, head {h}" for h in (1, 2, 3)), "layer 1, head 0"]
    return heatmap(rounded(looks), rows, text.split(), f"{text} → {model(text)}", "", "the last position looks at")


def sort_picture() -> str:
    """Where the book's sort looks while it answers."""
    model, text = program("book/sort"), "6 2 12 18 7 0"
    said = model(text).split()
    whole = [*text.split(), *said[:-1]]
    pattern = trace(model, " ".join(whole), want="0.pattern")["0.pattern"][0, -len(said) :]
    rows = [f"at {at:>2} says {next_one:>2}" for at, next_one in zip(whole[-len(said) :], said, strict=True)]
    return heatmap(rounded(pattern), rows, whole, "6 2 12 18 7 in order", "", "looks at")


def taotp_picture() -> str:
    """The arrays of examples/min.taotp, under the names they have there."""
    model = load_taotp(HERE.parent / "examples" / "min.taotp")
    layer, dimensions = model.params["layers"][0], ["0", "1", "2"]
    tokens = heatmap(rounded(model.params["W_E"].T), dimensions, model.vocab.tokens, "tok_emb, on its side")
    Q, K, V, P = layer["W_Q"][0] / 1e8, layer["W_K"][0], layer["W_V"][0], layer["W_O"][0].T / 1e6
    parts = {"Q / 10⁸": Q, "K": K, "V": V, "P / 10⁶": P}
    return beside(tokens, *(heatmap(rounded(part), dimensions, dimensions, name) for name, part in parts.items()))


def addition_picture() -> str:
    """Where the last layer of the adder looks while it answers."""
    model, text = program("addition:digits=4"), "0995+0007=0100"
    seen = trace(model, text, want=["3.pattern", "logits"])
    pattern, said = seen["3.pattern"][0, 9:], seen["logits"][9:].argmax(-1)
    rows = [f"says {model.vocab.tokens[token]}" for token in said]
    return heatmap(pattern, rows, list(text), "0995+0007=01002", "", "looks at")


PICTURES = {
    "hello.svg": hello_picture,
    "book/stream.svg": stream_picture,
    "book/search.svg": search_picture,
    "book/sort.svg": sort_picture,
    "book/addition.svg": addition_picture,
    "book/taotp.svg": taotp_picture,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw())
