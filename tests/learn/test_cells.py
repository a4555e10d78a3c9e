"""The networks besides the transformer: each is what it says, sees nothing it should not, and learns."""

import threading
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import nn

from handloom.core import HandloomError, Vocab, generate, trace
from handloom.core import load as core_load
from handloom.learn import cell_models
from handloom.learn.api import prepare, resume, train
from handloom.learn.cell_models import CellEngine, CellModel
from handloom.learn.cells import SIZES, Cells
from handloom.learn.data import Strings
from handloom.learn.kinds import learner_from_json
from handloom.learn.settings import Settings
from handloom.learn.torch_trainer import TorchTrainer
from handloom.tasks import Language, Task

KINDS = list(SIZES)
V = 7


@pytest.fixture(autouse=True)
def _one_core_an_operation():
    """All is so small here that two cores would mostly wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def small(kind, **sizes):
    fitting = {"d_model": 8, "d_ff": 12, "layers": 2, "heads": 2, "context": 4} | sizes
    return Cells.of(kind, V, {name: value for name, value in fitting.items() if name in SIZES[kind]})


def weights_of(network, seed=0):
    return {name: torch.tensor(array).double() for name, array in network.start(seed).items()}


def run(network, weights, ids, asked, dropout=0.0, rng=None):
    return network.logits(weights, torch.as_tensor(ids), torch.as_tensor(asked), dropout, rng)


def strings(rows=5, length=9, seed=0):
    """Token ids (B, T), and how many of each row are asked: from 1 to 4."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, V, (rows, length)), 1 + np.arange(rows) % 4


def alternating(longest=8):
    """abab… or baba…, of 3 letters or more."""

    def draw(rng):
        text = "ab" * longest if rng.random() < 0.5 else "ba" * longest
        return text[: rng.integers(3, longest + 1)]

    return Language(
        about="a and b by turns",
        tokens="ab",
        longest=longest,
        draw=draw,
        right=lambda text: "aa" not in text and "bb" not in text,
        formed=lambda text: 3 <= len(text) <= longest,
    )


def copying():
    """Letters and =, to be said again to a full stop."""
    vocab = Vocab((*"abcd", "=", "."), "", eos=".")
    return Task(
        takes="2 to 4 letters and =, such as abc=",
        vocab=vocab,
        oracle=lambda ids: [*ids[:-1], vocab.id(".")],
        draw=lambda rng: [*rng.integers(0, 4, rng.integers(2, 5)).tolist(), vocab.id("=")],
    )


def task_for(kind):
    return copying() if kind == "encoder-decoder" else alternating()


QUICK = {"d_model": 16, "steps": 150, "every": 150, "rate": 1e-2, "count": 300, "samples": 50, "lanes": 1}


# what they compute


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("layers", [1, 2])
def test_recurrent_networks_are_those_of_torch(kind, layers):
    network = small(kind, layers=layers)
    weights, (ids, asked) = weights_of(network), strings()
    cell = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[kind](8, 12, layers).double()  # here time comes first
    cell.load_state_dict({n.removeprefix("cell."): w for n, w in weights.items() if n.startswith("cell.")})
    hidden, _ = cell(weights["embed.weight"][torch.as_tensor(ids.T)])
    expected = hidden.transpose(0, 1) @ weights["unembed.weight"].T + weights["unembed.bias"]
    assert torch.allclose(run(network, weights, ids, asked), expected, rtol=0, atol=1e-12)


def test_the_mlp_reads_the_last_tokens_embeddings_side_by_side():
    network = small("mlp")
    weights, (ids, asked) = weights_of(network), strings()
    w = {name: weight.numpy() for name, weight in weights.items()}
    logits = run(network, weights, ids, asked).numpy()
    for row, found in zip(ids, logits, strict=True):
        for t in range(len(row)):
            seen = [row[i] if i >= 0 else V for i in range(t - 3, t + 1)]  # V: before the beginning
            hidden = np.tanh(w["hidden.weight"] @ w["embed.weight"][seen].ravel() + w["hidden.bias"])
            assert np.allclose(found[t], w["unembed.weight"] @ hidden + w["unembed.bias"], rtol=0, atol=1e-12)


def test_the_encoder_decoder_is_that_of_torch_run_on_each_question_and_answer_alone():
    network = small("encoder-decoder")
    weights, (ids, asked) = weights_of(network), strings()
    logits = run(network, weights, ids, asked)
    sizes = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "dropout": 0.0, "activation": "gelu"}
    layer = {**sizes, "batch_first": True, "norm_first": True}
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), 2, nn.LayerNorm(8), enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), 2, nn.LayerNorm(8))
    for part, layers, norm in ((encoder, "encoder.", "norm_encoded."), (decoder, "decoder.", "norm_decoded.")):
        names = {name: name.replace(layers, "layers.").replace(norm, "norm.") for name in weights}
        part.double().load_state_dict({names[n]: w for n, w in weights.items() if n.startswith((layers, norm))})

    def placed(tokens):
        t, j = np.arange(len(tokens))[:, None], np.arange(8)
        angles = t / 10_000 ** (j // 2 * 2 / 8)
        return weights["embed.weight"][tokens] + torch.tensor(np.where(j % 2, np.cos(angles), np.sin(angles)))

    for row, n, found in zip(torch.as_tensor(ids), asked, logits, strict=True):
        later = nn.Transformer.generate_square_subsequent_mask(len(row) - n + 1, dtype=torch.float64)
        told = decoder(placed(row[n - 1 :])[None], encoder(placed(row[:n])[None]), tgt_mask=later)[0]
        expected = told @ weights["unembed.weight"].T + weights["unembed.bias"]
        assert torch.allclose(found[n - 1 :], expected, rtol=0, atol=1e-12)
        assert not found[: n - 1].any()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_depends_on_later_tokens_and_much_on_earlier_ones(kind):
    network = small(kind, context=9)
    weights, (ids, asked) = weights_of(network), strings()
    before = run(network, weights, ids, asked)
    for t in range(4, ids.shape[1]):  # in the answer, wherever it begins
        changed = ids.copy()
        changed[:, t] = (changed[:, t] + 1) % V
        same = (run(network, weights, changed, asked) == before).all(-1)
        assert same[:, :t].all()
        assert not same[:, t:].any()
    changed = ids.copy()
    changed[:, 0] = (changed[:, 0] + 1) % V  # in the question
    assert (run(network, weights, changed, asked) != before).any(-1)[:, 4:].all()


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind):
    network = small(kind)
    weights, (ids, asked) = weights_of(network), strings()
    lengths = [9, 5, 7, 6, 9]
    for filler in (0, 3):
        padded = np.where(np.arange(9) < np.array(lengths)[:, None], ids, filler)
        logits = run(network, weights, padded, asked)
        for i, n in enumerate(lengths):
            alone = run(network, weights, ids[i : i + 1, :n], asked[i : i + 1])[0]
            assert torch.allclose(logits[i, :n], alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_weight_has_a_gradient(kind):
    network = small(kind)
    weights, (ids, asked) = weights_of(network), strings()
    leaves = {name: weight.requires_grad_() for name, weight in weights.items()}
    run(network, leaves, ids, asked)[:, 4:].square().sum().backward()
    assert all(leaf.grad is not None and leaf.grad.abs().max() > 1e-9 for leaf in leaves.values())


@pytest.mark.parametrize("kind", KINDS)
def test_the_start_follows_from_the_seed_alone(kind):
    before = torch.get_rng_state()
    network = small(kind)
    first, again, other = network.start(3), network.start(3), network.start(4)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(np.array_equal(first[name], again[name]) and first[name].dtype == np.float32 for name in first)
    assert not np.array_equal(first["embed.weight"], other["embed.weight"])
    if kind == "encoder-decoder":
        assert not np.array_equal(first["encoder.0.linear1.weight"], first["encoder.1.linear1.weight"])


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_leaves_out_its_share_and_draws_from_the_given_generator(kind):
    network = small(kind, d_ff=V, d_model=V, heads=1)
    weights, (ids, asked) = weights_of(network), strings(rows=60)

    def dropped(seed):
        return run(network, weights, ids, asked, 0.25, torch.Generator().manual_seed(seed))

    before = torch.get_rng_state()
    assert torch.equal(dropped(1), dropped(1))
    assert not torch.equal(dropped(1), dropped(2))
    assert torch.equal(torch.get_rng_state(), before)
    # what the last layer reads is now the same in every row, and its output
    for name in ("embed.weight", "unembed.bias", "norm_decoded.weight"):
        weights[name] = torch.zeros_like(weights.get(name, torch.zeros(1)))
    weights |= {"unembed.weight": torch.eye(V).double(), "norm_decoded.bias": torch.ones(V).double()}
    weights = {name: weight for name, weight in weights.items() if name in network.start(0)}
    factors = (dropped(1) / run(network, weights, ids, asked))[:, 4:]
    left_out = factors == 0.0
    assert torch.allclose(factors[~left_out], torch.tensor(1 / 0.75).double())
    assert abs(left_out.double().mean() - 0.25) < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_two_threads_compute_what_one_does(kind):
    """Each with weights of its own, at the same time, on one network."""
    network, (ids, asked) = small(kind), strings()
    given = [weights_of(network, seed) for seed in range(2)]
    expected = [run(network, weights, ids, asked) for weights in given]
    wrong, ready = [], threading.Barrier(2)

    def work(i):
        ready.wait()
        wrong.extend(i for _ in range(100) if not torch.equal(run(network, given[i], ids, asked), expected[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("kind", KINDS)
def test_two_lanes_have_the_gradient_of_one(kind):
    network = small(kind)
    ids, asked = strings(rows=12)
    rows = Strings.of(
        [(row[:a].tolist(), row[a : 5 + i % 5].tolist()) for i, (row, a) in enumerate(zip(ids, asked, strict=True))]
    )
    gradients = []
    for lanes in (1, 2):
        trainer = TorchTrainer(network, network.start(0), Settings(lanes=lanes, clip=0.0))
        trainer.step(rows, np.arange(12), None, 0.0)
        gradients.append(trainer.gradient)
    assert torch.allclose(*gradients, rtol=1e-4, atol=1e-6)


# going on from prompts


def random_model(kind, seed=0, scale=3.0):
    """Weights large enough that the likeliest token is not always the same."""
    network = small(kind)
    arrays = {name: scale * array if array.ndim > 1 else array for name, array in network.start(seed).items()}
    return CellModel(network, arrays, Vocab(tuple("abcdef."), "", eos="."))


def by_the_definition(model, prompt, steps, temperature, seed, row):
    """One row, one token at a time, everything run again each time."""
    weights = {name: torch.tensor(array) for name, array in model.arrays.items()}
    text, rng = list(prompt), np.random.default_rng((seed, row))
    for _ in range(steps):
        logits = run(model.network, weights, [text], [len(prompt)])[0, -1].double().numpy()
        uniform = rng.random()
        if temperature:
            p = np.exp((logits - logits.max()) / temperature)
            text.append(int((np.cumsum(p) > uniform * p.sum()).argmax()))
        else:
            text.append(int(logits.argmax()))
        if text[-1] == V - 1:
            break
    return text[len(prompt) :]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_going_on_with_a_state_is_the_same_as_running_all_again(kind, temperature):
    """Prompts of different lengths, rows that end at different times."""
    model, rng = random_model(kind), np.random.default_rng(1)
    prompts = [rng.integers(0, V - 1, n).tolist() for n in (1, 6, 3, 3, 2, 9, 1, 4)]
    said = generate(model, prompts, steps=12, temperature=temperature, seed=5, engine=CellEngine())
    assert said == [by_the_definition(model, prompt, 12, temperature, 5, i) for i, prompt in enumerate(prompts)]
    assert len({len(new) for new in said}) > 1 or not temperature
    if kind != "encoder-decoder":
        again = generate(model, prompts, steps=12, temperature=temperature, seed=5, engine=CellEngine(), cache=False)
        assert again == said


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_on_several_workers_say_what_each_says_alone(kind):
    class TwoWorkers(CellEngine):
        def workers(self, useful):
            return nullcontext(2)

    model = random_model(kind)
    prompts = [[i % 6, i % 5] for i in range(250)]
    said = generate(model, prompts, steps=6, temperature=1.0, seed=2, engine=TwoWorkers())
    assert [said[i] for i in (0, 99, 249)] == [by_the_definition(model, prompts[i], 6, 1.0, 2, i) for i in (0, 99, 249)]


def test_an_encoder_decoder_says_that_it_cannot_be_run_without_its_cache():
    with pytest.raises(HandloomError, match="leave out cache=False"):
        random_model("encoder-decoder")("abc", steps=2, cache=False)
    with pytest.raises(HandloomError, match="no sites to edit"):
        random_model("rnn")("abc", steps=2, edits={"embed": 0.0})


# learning


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_learns_a_small_task(kind):
    sizes = {"d_ff": 32, "layers": 1, "steps": 200} if kind == "encoder-decoder" else {}
    training = train(task_for(kind), kind=kind, **QUICK | sizes)
    assert training.evaluation.success > 0.8
    if kind == "encoder-decoder":
        assert training.held_out_loss < 0.05
        assert training.model()(["abc=", "dd="]) == ["abc", "dd"]
        return
    # a string is one of two, and of six lengths, and has this many tokens on average, its end included; of these twelve
    # one is held out, so that there are no more to learn
    least = (np.log(2) + np.log(6)) / np.mean([n + 1 for n in range(3, 9)])
    assert training.trainer.loss(training.strings) < 1.1 * least
    said = training.model()(["", "ba"], temperature=1.0)
    assert training.task.right(said[0])
    assert training.task.right("ba" + said[1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_run_kept_or_resumed(kind, tmp_path):
    few = QUICK | {"steps": 12, "every": 6, "dropout": 0.1, "samples": 5, "lanes": 2}
    task = task_for(kind)
    whole = train(task, kind=kind, seed=3, **few)
    train(task, kind=kind, seed=3, folder=tmp_path / "run", **few | {"steps": 6})
    halves = resume(tmp_path / "run", steps=12, task=task)
    other = train(task, kind=kind, seed=4, **few)
    for name, array in whole.trainer.arrays().items():
        assert np.array_equal(array, halves.trainer.arrays()[name])
        assert array.ndim < 2 or not np.array_equal(array, other.trainer.arrays()[name])
    assert whole.evaluation == halves.evaluation


@pytest.mark.parametrize("kind", KINDS)
def test_a_learner_can_be_made_again_from_what_a_folder_says(kind):
    learner = prepare(task_for(kind), kind=kind, count=20, steps=0).learner
    again = learner_from_json(learner.to_json())
    assert (again.network, again.vocab.tokens, again.notes) == (learner.network, learner.vocab.tokens, learner.notes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_can_be_trained_on(kind):
    task, few = task_for(kind), {"count": 50, "steps": 0, "samples": 1, "lanes": 1}
    model = train(task, kind=kind, seed=1, **few).model()
    going_on = train(task, start=model, **few).model()
    assert all(np.array_equal(going_on.arrays[name], array) for name, array in model.arrays.items())
    with pytest.raises(HandloomError, match="has no LoRA"):
        train(task, start=model, lora=2, **few)


# files


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_comes_back_and_says_the_same(kind, tmp_path):
    model, path = random_model(kind), tmp_path / "model.safetensors"
    cell_models.save_cells(model, path)
    again = cell_models.load_cells(path)
    assert again.network == model.network
    assert (again.vocab.tokens, again.notes) == (model.vocab.tokens, model.notes)
    assert again(["ab", "c"], steps=8, temperature=1.0) == model(["ab", "c"], steps=8, temperature=1.0)
    cell_models.save_cells(again, tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_a_damaged_file_is_refused_in_one_line(tmp_path):
    path = tmp_path / "model.safetensors"
    cell_models.save_cells(random_model("gru"), path)
    data = path.read_bytes()
    with pytest.raises(HandloomError, match="it holds cells"):
        core_load(path)
    for damaged, what in (
        (data[:-4] + bytes(4), "sha256 does not match"),
        (data.replace(b'\\"kind\\": \\"gru\\"', b'\\"kind\\": \\"rnn\\"'), "names and shapes of this rnn"),
        (data.replace(b'\\"kind\\": \\"gru\\"', b'\\"kind\\": \\"mlp\\"'), "a network must have a kind"),
        (data.replace(b'\\"layers\\": 2', b'\\"layers\\": 9'), "names and shapes of this gru"),
        (data[:100], "cut short"),
    ):
        assert damaged != data
        path.write_bytes(damaged)
        with pytest.raises(HandloomError, match=what) as error:
            cell_models.load_cells(path)
        assert "\n" not in str(error.value)


# refusals


@pytest.mark.parametrize(
    ("choices", "what"),
    [
        (
            {"kind": "perceptron"},
            "no kind of model 'perceptron' .expected one of transformer, bigram, bow, mlp, rnn",
        ),
        ({"kind": "rnn", "heads": 2}, "heads: the kind rnn has no such size .it has d_ff, d_m"),
        ({"kind": "transformer", "context": 2}, "context: the kind transformer has no such size"),
        ({"kind": "bigram", "layers": 2}, "it has no sizes to choose"),
        ({"kind": "mlp", "context": 0}, "context=0 must be a whole number of at least 1"),
        ({"kind": "mlp", "d_ff": 10**30}, "must be at most 1000000"),
        ({"kind": "gru", "d_ff": 1.5}, "d_ff=1.5 must be a whole number of at least 1"),
        ({"kind": "rnn", "lora": 2}, "lora needs a base model"),
        ({"kind": "encoder-decoder"}, "an encoder-decoder answers questions, and this task has only strings"),
        ({"kind": "rnn", "contxt": 3}, "no option 'contxt'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(choices, what):
    with pytest.raises(HandloomError, match=what):
        train(alternating(), count=20, steps=0, **choices)


def test_heads_must_divide_the_width():
    with pytest.raises(HandloomError, match="d_model=10 must be a multiple of heads=4"):
        train(copying(), kind="encoder-decoder", d_model=10, count=20, steps=0)


# bigram and bag of words, which are transformers


def chain():
    """Strings of a Markov chain with three letters."""
    next_letter = {"": [0.5, 0.3, 0.2, 0.0], "a": [0.1, 0.6, 0.1, 0.2], "b": [0.3, 0, 0.5, 0.2], "c": [0.8, 0, 0, 0.2]}

    def draw(rng):
        text = ""
        while (i := rng.choice(4, p=next_letter[text[-1:]])) < 3 and len(text) < 20:
            text += "abc"[i]
        return text

    return Language("a chain", "abc", 20, draw, lambda text: True)


def test_a_bigram_model_reaches_the_entropy_of_pairs():
    training = train(
        chain(), kind="bigram", steps=300, every=300, rate=0.05, schedule="cosine", count=500, batch=128, lanes=1
    )
    rows = [asked + said for asked, said in map(training.strings.row, range(len(training.strings)))]
    pairs = np.zeros((4, 4))
    for row in rows:
        np.add.at(pairs, (row[:-1], row[1:]), 1)
    p = pairs / pairs.sum(1, keepdims=True)
    entropy = -(pairs * np.log(np.where(p > 0, p, 1.0))).sum() / pairs.sum()
    loss = training.trainer.loss(training.strings)
    assert entropy - 1e-6 < loss < 1.01 * entropy  # nothing that sees one token can be better
    logits = trace(training.model(), [3, 0, 1, 2, 0, 2, 0], "logits")["logits"]
    assert np.allclose(logits[1], logits[4], rtol=0, atol=1e-12)
    assert np.allclose(logits[3], logits[5], rtol=0, atol=1e-12)


def test_a_bag_of_words_stays_one():
    training = train(chain(), kind="bow", d_model=16, steps=100, every=100, rate=0.01, count=500, lanes=1)
    began = prepare(chain(), kind="bow", d_model=16, steps=0, count=500, lanes=1)
    model, loss = training.model(), training.held_out_loss
    began.measure()
    assert loss < 0.8 * began.held_out_loss
    for name in ("W_Q", "W_K", "b_Q", "b_K"):
        assert not model.flat[f"layers.0.{name}"].any()
    pattern = trace(model, [3, 0, 1, 2, 0], "0.pattern")["0.pattern"]
    assert np.allclose(pattern[0], np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None])
