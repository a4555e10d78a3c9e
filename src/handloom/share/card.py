"""The card of an exported model, README.md in its folder: what it is, its certificate, how to load and run it."""

from pathlib import Path
from typing import Any

import handloom
from handloom.core import Model, count
from handloom.core.decoding import check_decode_steps, check_steps
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
USE = '''\
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
'''
SHORT = 20  # new tokens of the example, if nothing says how many


def card(name: str, model: Model, exported: Model, task: Task | Language | None, agreement: Agreement) -> str:
    """The text of the card. `model` is what was exported, `exported` what the folder holds."""
    parts = [HEAD.format(name=name, about=what_it_is(model, task))]
    parts += [example(name, model, task), "\n".join(["## Checks", "", *checks(exported, agreement), ""])]
    rows = [f"| {what} | {value} |" for what, value in sizes(model, exported)]
    parts.append("\n".join(["## Sizes", "", "| | |", "| --- | --- |", *rows, ""]))
    return "\n".join(parts)


def what_it_is(model: Model, task: Task | Language | None) -> str:
    """Where the model came from, and its task, in a few sentences."""
    notes, program = model.notes, model.notes.get("program")
    made = f"written by hand, the program `{program}`" if program else str(notes.get("made", "of unknown origin"))
    lines = [f"A small transformer, {made}, exported by handloom {handloom.__version__} in the GPT-2 layout."]
    if isinstance(noted := notes.get("task"), str):
        lines.append(f"Its task is `{noted}`.")
    if isinstance(task, Task):
        lines.append(f"It takes {task.takes}.")
    elif isinstance(task, Language):
        lines.append(f"It generates {task.about}.")
    return " ".join(lines)


def example(name: str, model: Model, task: Task | Language | None) -> str:
    """The lines that load and run it, with an input and what the model outputs."""
    prompt = task.example() if isinstance(task, Task) else "" if model.vocab.bos else model.vocab.tokens[0]
    length, note = len(model.vocab.encode(prompt)), model.notes.get("decode_steps")
    steps = check_steps(model, length, None if note is not None or model.vocab.eos else SHORT)
    more = "" if generation_limit(model) and (note is not None or model.vocab.eos) else f", max_length={length + steps}"
    output = model(prompt, steps=steps, unchecked=True)
    text = USE.format(name=name, prompt=prompt, output=output, more=more)
    if note is not None and not generation_limit(model):
        each, extra = check_decode_steps(note)
        text += (
            f"\nThe answer to n tokens has {each} · n {'−' if extra < 0 else '+'} {abs(extra)} tokens, which "
            "`generate` cannot know: pass `max_length`, the number of tokens of prompt and answer together.\n"
        )
    return text


def generation_limit(model: Model) -> dict[str, Any]:
    """What ends an answer, for generation_config.json. handloom's window slides when the block is full; here it is
    the end."""
    if "decode_steps" not in model.notes:
        return {"max_length": model.config.block + 1}  # the last position predicts a token too
    each, more = check_decode_steps(model.notes["decode_steps"])
    return {} if each else {"max_new_tokens": max(more, 1)}


def checks(exported: Model, agreement: Agreement) -> list[str]:
    lines = [f"- The weights in this folder, in {exported.dtype}, were checked when they were written: {agreement}."]
    if exported.dtype == "float64":
        lines.append("- They need float64: before transformers 5, load them with `torch_dtype=torch.float64`.")
    lines.append("- Positions count from the first token: pad on the left, with an attention mask, or not at all.")
    lines.append(f"- A prompt with its answer has up to {exported.config.block + 1} tokens.")
    return lines


def sizes(model: Model, exported: Model) -> list[tuple[str, str]]:
    c, ours, theirs = exported.config, count(model), count(exported)
    return [
        ("layers, heads, width, neurons", f"{c.layers}, {c.heads}, {c.d_model}, {c.d_ff}"),
        ("tokens, positions", f"{c.vocab}, {c.block}"),
        ("parameters", f"{theirs.trainable:,} in this folder, {theirs.nonzero:,} of them not zero"),
        ("parameters before padding", f"{ours.total:,}, without norms"),
        ("dtype", str(exported.dtype)),
    ]


def name_of(folder: Path) -> str:
    """The name of a folder, as a path from the current one."""
    return folder.name
