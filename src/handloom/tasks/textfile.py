"""The lines of a text file as a language, for data that come only as examples."""

from pathlib import Path

import numpy as np

from handloom.core import HandloomError
from handloom.core.errors import shown
from handloom.tasks.language import END, Language


def text_file(path: str | Path, tokens: str = "characters") -> Language:
    """The strings of a file, one per line, in UTF-8, without empty lines. A token is a character, or with
    tokens="words" a word between spaces. A file has no rule: any string that is neither empty nor longer than all lines
    counts as right."""
    if tokens not in ("characters", "words"):
        raise HandloomError(f"{path}: tokens={shown(tokens)} must be characters or words")
    lines = read_lines(Path(path))
    pieces = [line.split() for line in lines] if tokens == "words" else lines
    separator = " " if tokens == "words" else ""
    texts = [separator.join(line) for line in pieces]

    def draw(rng: np.random.Generator) -> str:
        return texts[int(rng.integers(len(texts)))]

    return Language(
        about=f"the {len(lines)} lines of {Path(path).name}; there is no rule, so every well-formed string is right",
        tokens=sorted(set().union(*pieces)),
        longest=max(map(len, pieces)),
        draw=draw,
        right=bool,
        formed=bool,
        lines=texts,
        separator=separator,
        has_rule=False,
    )


def read_lines(path: Path) -> list[str]:
    """The lines that are not empty, without line endings."""
    if path.is_char_device() or path.is_block_device():  # a pipe is read once, and saved with the run
        raise HandloomError(f"{path} is a device (expected a text file); copy its contents into a file first")
    if path.is_dir():
        raise HandloomError(f"{path} is a folder; give a text file with one string per line")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise HandloomError(
            f"cannot read {path}: {error.strerror}; give a text file with one string per line"
        ) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        where = data.count(b"\n", 0, error.start) + 1
        raise HandloomError(f"{path}, line {where}: not UTF-8; save the file in that encoding") from error
    lines = [line.strip("\r") for line in text.replace("\ufeff", "").split("\n")]  # of other systems
    for number, line in enumerate(lines, 1):
        if END in line:
            raise HandloomError(f"{path}, line {number}: {END} marks the end of a string; leave it out of the text")
    if not (lines := [line for line in lines if line.strip()]):
        raise HandloomError(f"{path} is empty; give a text file with one string per line")
    return lines
