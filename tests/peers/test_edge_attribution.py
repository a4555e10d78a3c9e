"""Edge attribution equals that of TransformerLens on an exported model.

Theirs takes the gradient at the run that it calls corrupt and goes towards the one that it calls clean. So their
corrupt run is our clean one. It has a score per position, and no `pos`.
"""

import numpy as np
import pytest
import torch
from transformer_lens.model_bridge import TransformerBridge
from transformer_lens.tools.analysis import EdgeAttributionConfig, attribution_patch

import handloom as hl
from handloom.read import edge_attribution
from handloom.read.inputs import NOT_ASKED, PairBatch

KINDS = {"q_input": ".q", "k_input": ".k", "v_input": ".v", "attn_head_out": "", "mlp_in": "mlp", "mlp_out": "mlp"}


def name_of(node):
    """Our name of a node of theirs."""
    if node.kind in ("embed", "logits"):
        return node.kind
    return f"{node.layer}.{'' if node.head is None else node.head}{KINDS[node.kind]}"


def theirs(bridge, batch):
    """Their scores by our edges, the mean over rows."""
    sums = {}
    for clean, other, answers in zip(batch.clean, batch.other, batch.answers, strict=True):

        def metric(logits, right=int(answers[-1])):
            last = logits[0, -1]
            others = torch.cat([last[:right], last[right + 1 :]])
            return last[right] - others.max()

        config = EdgeAttributionConfig(granularity="edge")
        found = attribution_patch(bridge, torch.tensor(other)[None], torch.tensor(clean)[None], metric, config)
        for (source, receiver), score in found.edge_scores.items():
            edge = name_of(source), name_of(receiver)
            sums[edge] = sums.get(edge, 0.0) + float(score) / len(batch.clean)
    return sums


@pytest.mark.parametrize("layers", [1, 3])
def test_edge_attribution_is_that_of_transformer_lens(layers, tmp_path):
    config = hl.Config(vocab=11, block=12, d_model=16, layers=layers, heads=4, d_head=4, d_ff=20)
    model = hl.Model(config, hl.params.random(config, seed=1, scale=0.4), hl.Vocab.numbers(11))
    hl.export(model, tmp_path / "model", dtype="float64")
    bridge = TransformerBridge.boot_transformers(str(tmp_path / "model"), dtype=torch.float64)
    bridge.eval()
    rng = np.random.default_rng(0)
    clean, other = rng.integers(0, 11, (2, 4, 9))
    answers = np.full((4, 9), NOT_ASKED)
    answers[:, -1] = rng.integers(0, 11, 4)
    batch = PairBatch(clean, other, answers)
    ours, expected = edge_attribution(hl.load(tmp_path / "model"), batch), theirs(bridge, batch)
    assert expected.keys() == {edge for edge in ours if edge[0] != "pos"}
    largest = max(map(abs, expected.values()))
    assert largest > 0.01
    assert max(abs(ours[edge] - score) for edge, score in expected.items()) <= 1e-9 * largest
