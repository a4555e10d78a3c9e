"""How does a model obey s[18] == s[n-20], when it cannot know where the string will end?

    handloom learn wagner/rule-2 --steps 60000 --out rule-2
    python examples/rule_2.py rule-2

It need not plan. At every digit from the 50th on it can ask whether the digit 20 back is the 18th's equal, and end only
if it is. This looks for that: which head looks 20 back, which at digit 18, how likely an end is in either case,
whether that is still so when the head that looks 20 back is put out, and which strings are right: those of a length at
which that head looks 20 back, and the others.
"""

import sys

import numpy as np

import handloom as hl

LENGTHS = (50, 200)


def main(run: str, count: int = 500) -> None:
    model = hl.load(f"{run}/model.safetensors")
    said = hl.sample(run, count, seed=1).samples
    texts = [text for text in said if LENGTHS[0] <= len(text) <= LENGTHS[1]]
    if not texts:
        sys.exit("the model has not learnt yet how long the strings are; train it for longer")
    back = most(model, texts, lambda rows: rows - 20)
    first = most(model, texts, lambda rows: np.full_like(rows, 18))
    print("layer {}, head {} looks 20 digits back most: {:.0%} of its attention".format(*back))
    print("layer {}, head {} looks at digit 18 most: {:.0%} of its attention".format(*first))
    print("ends if the digit 20 back equals the 18th: {:.2%}, if not: {:.2%}".format(*ends(model, texts)))
    without_it = ends(model, texts, without(*back[:2]))
    print("the same without the first of these heads: {:.2%} and {:.2%}".format(*without_it))
    right = right_by_length(model, texts, *back[:2])
    print("right, of strings that end where it looks 20 back: {} of {}, of the others: {} of {}".format(*right))


def rows_of(text):
    """Where a string may end: row t has read digit t, counted from 1."""
    return np.arange(LENGTHS[0], len(text) + 1)


def most(model, texts, looked_at):
    """The layer and the head that look most at a digit that depends on the row, and how much."""
    share = np.zeros((model.config.layers, model.config.heads))
    for text in texts:
        trace, rows = hl.trace(model, text, want="*.pattern", engine="torch"), rows_of(text)
        for layer in range(len(share)):
            share[layer] += np.asarray(trace[f"{layer}.pattern"])[:, rows, looked_at(rows)].mean(-1) / len(texts)
    return *np.unravel_index(share.argmax(), share.shape), share.max()


def ends(model, texts, edits=None):
    """The mean chance of an end where the digit 20 back equals the 18th, and where it does not."""
    found = {True: [], False: []}
    for text in texts:
        rows = rows_of(text)
        logits = np.asarray(hl.trace(model, text, want="logits", edits=edits, engine="torch")["logits"], float)[rows]
        chances = np.exp(logits - logits.max(-1, keepdims=True))
        end = chances[:, model.vocab.id("<end>")] / chances.sum(-1)
        for row, chance in zip(rows, end, strict=True):
            found[text[row - 21] == text[17]].append(chance)
    return np.mean(found[True]), np.mean(found[False])


def right_by_length(model, texts, layer, head, enough=0.3):
    """How many strings are right, and of how many: of a length at which the head looks 20 back, and of the others."""
    looks = {length: [] for length in range(LENGTHS[0], LENGTHS[1] + 1)}
    for text in texts:
        pattern = np.asarray(hl.trace(model, text, want=f"{layer}.pattern", engine="torch")[f"{layer}.pattern"])[head]
        for row in rows_of(text):
            looks[row].append(pattern[row, row - 20])
    found = {True: [], False: []}
    for text in texts:
        found[bool(np.mean(looks[len(text)]) >= enough)].append(text[17] == text[-21])
    return sum(found[True]), len(found[True]), sum(found[False]), len(found[False])


def without(layer, head):
    """An edit that puts a head out."""

    def put_out(z):
        z[..., head, :, :] = 0
        return z

    return {f"{layer}.z": put_out}


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
