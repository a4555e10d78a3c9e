"""Draws the pictures of the README and of these pages anew: `make docs`."""

from pathlib import Path

from handloom.view.tour import hello_picture

PICTURES = {"hello.svg": hello_picture}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        Path(__file__).with_name(name).write_text(draw())
