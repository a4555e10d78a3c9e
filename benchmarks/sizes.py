"""The sizes of the standard programs, compiled: writes docs/sizes.md, and the sizes that `handloom write list` shows.

python benchmarks/sizes.py
"""

import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

import handloom as hl
from handloom.core.engines import choose_engine
from handloom.write.compiler import TokenProgram, compile
from handloom.write.compiler.proving import prove_compiled
from handloom.write.compiler.values import END
from handloom.write.standard import STANDARD, standard

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "sizes.md"
LISTED = ROOT / "src" / "handloom" / "write" / "standard_sizes.py"
SAMPLES = 200

# name → the size of Tracr's model, or the book's
OTHERS = {
    "reverse:n=5,letters=4": "Tracr 19,872",
    "sort:n=5,digits=4": "Tracr 17,716",
    "sort:n=10,digits=10": "Tracr 271,353",
    "sort-unique:n=5,digits=4": "Tracr 2,918",
    "histogram:n=5,letters=4": "Tracr 1,322, per position",
    "frac-prevs:n=5": "Tracr 1,122, per position",
    "shuffle-dyck-2:n=5": "Tracr 246,994",
    "length:n=5": "Tracr 1,322",
    "hello": "book 72",
    "induction:n=63,letters=10": "book's search, V=10, N=100: 4,800",
    "addition:digits=2": "book, with padding: 27,432",
    "addition:digits=10": "",
    "lookup": "book, 10 entries: 1,408",
}

HEAD = """# Sizes of compiled programs

What the compiler makes of its standard programs. Every model is a decoder with layer norm that takes inputs of any
length up to its size, answers token by token, and ends by itself; all run in float32. `handloom info
compiled/NAME:PARAMETERS` shows one.

Total counts every parameter, non-zero those that are not 0, unique the different values. The margin is the least by
which a right token's logit exceeds the next best, divided by the largest logit. Compiled is in seconds of one core, and
so is proven. A program without a proof is run, on all inputs or on a sample. Tracr's models have no layer norm and
answer for fixed lengths; the book is *The Art of Transformer Programming*. `python benchmarks/sizes.py` writes this
page.

| program | total | non-zero | unique | layers | width | heads × size | neurons | margin | compiled | proven | others |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |
"""


def main() -> None:
    listed = {name: asdict(hl.count(compile(standard(name)))) for name in STANDARD}
    rows = "".join(f"    {name!r}: {tuple(sizes.values())},\n" for name, sizes in listed.items())
    LISTED.write_text(
        '"""The sizes of the standard programs at their defaults: total, non-zero, unique, trainable.\n\n'
        'Written by benchmarks/sizes.py, so that nothing is compiled to list them."""\n\n'
        f"SIZES = {{\n{rows}}}\n".replace("'", '"')
    )
    names = [*OTHERS, *(name for name in STANDARD if not any(one.partition(":")[0] == name for one in OTHERS))]
    PAGE.write_text(HEAD + "\n".join(row(name) for name in sorted(names)) + "\n")
    print(PAGE.read_text())


def row(name: str) -> str:
    program, start = standard(name), time.process_time()
    model = compile(program)
    seconds = time.process_time() - start
    size, c = hl.count(model), model.config
    certificate = hl.certify(model, program.task, samples=SAMPLES)
    assert certificate.right, f"{name}: {certificate}"
    margin = certificate.margin / largest_logit(model, program)
    shape = f"{c.layers} | {c.d_model} | {c.heads} × {c.d_head} | {c.d_ff}"
    sizes = f"{size.total:,} | {size.nonzero:,} | {size.unique:,}"
    return f"| {name} | {sizes} | {shape} | {margin:.2g} | {seconds:.2f} | {proven(model)} | {OTHERS.get(name, '')} |"


def proven(model: hl.Model) -> str:
    """The seconds of a proof; or how the model is checked instead."""
    start = time.process_time()
    try:
        prove_compiled(model)
    except hl.HandloomError:
        return hl.certify(model).method
    return f"{time.process_time() - start:.1f}"


def largest_logit(model: hl.Model, program: TokenProgram) -> float:
    """Over the positions of some inputs and their answers."""
    largest, ids = 0.0, model.vocab.ids
    for word in list(dict.fromkeys(program.samples()))[-20:]:
        tokens = [END, *word, *program.answers(word)][: model.config.block]
        logits, _ = choose_engine("reference").forward(model, np.array([[ids[token] for token in tokens]]))
        largest = max(largest, float(np.abs(logits).max()))
    return largest


if __name__ == "__main__":
    main()
