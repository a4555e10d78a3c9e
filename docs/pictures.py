"""Draws the pictures of the README and of these pages anew: `make docs`."""

from pathlib import Path

from handloom.core import trace
from handloom.view.heatmap import heatmap
from handloom.view.tour import hello_picture
from handloom.write import program


def addition_picture() -> str:
    """Where the last layer of the adder looks while it answers."""
    model, text = program("addition:digits=4"), "0995+0007=0100"
    seen = trace(model, text, want=["3.pattern", "logits"])
    pattern, said = seen["3.pattern"][0, 9:], seen["logits"][9:].argmax(-1)
    rows = [f"says {model.vocab.tokens[token]}" for token in said]
    return heatmap(pattern, rows, list(text), "0995+0007=01002", "", "looks at")


PICTURES = {"hello.svg": hello_picture, "book/addition.svg": addition_picture}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (Path(__file__).parent / name).write_text(draw())
