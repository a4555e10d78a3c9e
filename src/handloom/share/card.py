"""The card of an exported model, README.md in its folder: what it is, its certificate, how to load and run it."""

import numpy as np

from handloom import __version__
from handloom.core import Model
from handloom.core.decoding import check_decode_steps, check_steps
from handloom.core.params import size
from handloom.share.agreement import Agreement
from handloom.tasks import Language, Task

HEAD = """\
---
library_name: transformers
pipeline_tag: text-generation
tags:
- gpt2
- handloom
---

# {name}

{about}
"""
USE = """\
## Use

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("{name}")
tokenizer = AutoTokenizer.from_pretrained("{name}")
prompt = tokenizer({prompt!r}, return_tensors="pt")
output = model.generate(**prompt{more})[0, prompt["input_ids"].shape[1] :]
print(tokenizer.decode(output, skip_special_tokens=True))
```

This prints

```text
{output}
```
"""
TRUTH_SECTION = """\
## Truth

`truth.json` has the true circuit of these weights: which head or neurons write which variable, which of them read it,
and the direction of each variable in the residual stream.
"""
LENGTH = """
An answer to a prompt of n tokens has {0} tokens, which `generate` cannot know: pass `max_length`, the number of tokens
of prompt and answer together.
"""
FLOAT64 = (
    "- They need float64: loaded with `dtype=torch.float32` or less, the model may give wrong answers.",
    "  transformers 5 opens them as float64; before it, pass `torch_dtype=torch.float64`. TransformerLens takes",
    "  float32 by default: pass `dtype=torch.float64` to `TransformerBridge.boot_transformers`.",
)
SHORT, LONG = 10, 100  # new tokens of the example: if nothing ends it, or if the model is large; and otherwise
LARGE = 10**6  # parameters


def card(name: str, model: Model, exported: Model, task: Task | Language | None, agreement: Agreement) -> str:
    """The text of the card. `model` is what was exported, `exported` what the folder holds."""
    parts = [HEAD.format(name=name, about=what_it_is(model, task))]
    parts += [example(name, model, task), "\n".join(["## Checks", "", *checks(exported, agreement), ""])]
    rows = [f"| {what} | {value} |" for what, value in sizes(model, exported)]
    if "truth" in model.notes:
        parts.append(TRUTH_SECTION)
    parts.append("\n".join(["## Sizes", "", "| | |", "| --- | --- |", *rows, ""]))
    return "\n".join(parts)


def what_it_is(model: Model, task: Task | Language | None) -> str:
    """Where the model came from, and its task, in a few sentences."""
    notes, program = model.notes, model.notes.get("program")
    origin = f"imported ({notes['imported']})" if "imported" in notes else "of unknown origin"
    made = f"written by hand, the program `{program}`" if program else str(notes.get("made", origin))
    lines = [f"A small transformer, {made}, exported by handloom {__version__} in the GPT-2 layout."]
    if isinstance(noted := notes.get("task"), str):
        lines.append(f"Its task is `{noted}`.")
    if isinstance(task, Task):
        lines.append(f"It takes {task.takes}.")
    elif isinstance(task, Language):
        lines.append(f"It generates {task.about}.")
    return " ".join(lines)


def example(name: str, model: Model, task: Task | Language | None) -> str:
    """The lines that load and run it, with an input and what the model outputs."""
    prompt, note = example_prompt(model, task), model.notes.get("decode_steps")
    each, more = check_decode_steps(note or 0)
    length, known = len(model.vocab.encode(prompt)), note is not None or model.vocab.eos is not None
    most = LONG if known and size(model.config) <= LARGE else SHORT
    steps = min(check_steps(model, length, None), most)
    stops_by_itself = known and not each and steps < most
    option = "" if stops_by_itself else f", max_length={length + steps}"
    text = USE.format(name=name, prompt=prompt, output=model(prompt, steps=steps, unchecked=True), more=option)
    tokens = f"{each} · n {'−' if more < 0 else '+'} {abs(more)}".removeprefix("1 · ")
    return text + LENGTH.format(tokens) if each else text


def example_prompt(model: Model, task: Task | Language | None) -> str:
    """A text to continue: an input of the task, the empty text if a token begins every text, or any."""
    if isinstance(task, Task):
        return task.example()
    if model.vocab.tokenizer:
        return "Hello"
    return "" if model.vocab.bos is not None else model.vocab.tokens[0]


def generation_limit(model: Model) -> dict[str, int]:
    """What ends an answer, for generation_config.json: its length, if it is always the same, or the end of the block,
    where handloom's window would slide."""
    each, more = check_decode_steps(model.notes.get("decode_steps", 0))
    if each or "decode_steps" not in model.notes:
        return {"max_length": model.config.block + 1}  # the last position predicts a token too
    return {"max_new_tokens": more}


def checks(exported: Model, agreement: Agreement) -> list[str]:
    lines = [f"- The weights in this folder, in {exported.dtype}, were checked when they were written: {agreement}."]
    if exported.dtype == "float64":
        lines += FLOAT64
    lines.append("- Positions count from the first token: pad on the left, with an attention mask, or not at all.")
    lines.append(f"- A prompt with its answer has up to {exported.config.block + 1} tokens.")
    return lines


def sizes(model: Model, exported: Model) -> list[tuple[str, str]]:
    c, nonzero = exported.config, sum(int(np.count_nonzero(array)) for array in exported.flat.values())
    return [
        ("layers, heads, width, neurons", f"{c.layers}, {c.heads}, {c.d_model}, {c.d_ff}"),
        ("tokens, positions", f"{c.vocab}, {c.block}"),
        ("parameters", f"{size(c):,} in this folder, {nonzero:,} of them not zero"),
        ("parameters before", f"{size(model.config):,}"),
        ("dtype", str(exported.dtype)),
    ]
