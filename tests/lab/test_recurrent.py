"""Recurrent networks, steps of thought and bigrams: the parts of the experiments against oracles, and mutations."""

from itertools import pairwise, product
from math import comb, log

import numpy as np
import pytest
import torch

from handloom.lab.learned import bigram, both_ways, chain_of_thought, circuits, parallel, translation, vanishing
from handloom.lab.running import conclude
from handloom.tasks.sequences import dyck


def test_the_running_states_of_parity_and_of_s5():
    assert chain_of_thought.running_parity([1, 0, 1, 1]) == [1, 1, 0, 1]
    running = chain_of_thought.running_product(chain_of_thought.generator_table())
    reached = {running(list(word))[-1] for word in product((0, 1), repeat=14)}
    assert len(reached) > 60  # not the alternating group alone: the two letters generate S5
    assert running([0, 0, 1, 1, 1, 1, 1])[-1] == 0  # an exchange twice, a shift five times


def test_dots_have_the_length_of_the_steps_and_tell_nothing_before_the_end():
    steps, none, dots = (chain_of_thought.parity(4, kind) for kind in chain_of_thought.KINDS)
    assert [one.answer("1 0 1 1 =") for one in (steps, none, dots)] == ["1 1 0 1", "1", ". . . 1"]


@pytest.mark.slow
def test_wrong_running_states_are_of_no_use(monkeypatch):
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2, (2**16, 16)).tolist()

    def wrong(ids):
        return [*noise[int("".join(map(str, ids)), 2)][:-1], sum(ids) % 2]

    monkeypatch.setattr(chain_of_thought, "running_parity", wrong)
    assert conclude(chain_of_thought, seeds=[0]).verdict == "holds in part"


def test_a_gate_takes_its_wires_and_a_circuit_depends_on_many_inputs():
    rng = np.random.default_rng(0)
    circuit = circuits.hard_circuit(rng, window=2)
    bits = rng.integers(0, 2, (3, circuits.INPUTS))
    gates = circuit.gates(bits)
    for row, values in zip(bits, gates, strict=True):
        known = [*row]
        for (a, b), table in zip(circuit.wires, circuit.tables, strict=True):
            known.append(table[known[a]][known[b]])
        assert known[circuits.INPUTS :] == values.tolist()
    assert circuits.sensitivity(circuit, rng.integers(0, 2, (500, circuits.INPUTS))) > 5


@pytest.mark.parametrize(("share", "shown"), [(0, 1), (25, 6), (50, 12), (100, 24)])
def test_a_share_of_the_gates_is_shown_and_always_the_output(share, shown):
    circuit = circuits.random_circuit(np.random.default_rng(0), 2)
    question = [1] * circuits.INPUTS + [circuits.EQUALS]
    honest, foreign = (circuits.circuit_task(circuit, share, other).oracle(question) for other in (False, True))
    assert len(honest) == len(foreign) == shown
    assert honest[-1] == foreign[-1] == circuit.gates(np.ones((1, circuits.INPUTS), int))[0, -1]
    assert share < 100 or honest == circuit.gates(np.ones((1, circuits.INPUTS), int))[0].tolist()


def all_words(length, kinds):
    language = dyck(kinds, str(length), length)
    letters = language.tokens
    return [word for word in map("".join, product(letters, repeat=length)) if language.right(word)]


def test_the_entropies_are_those_of_all_words(monkeypatch):
    monkeypatch.setattr(bigram, "KINDS", 2)
    words = all_words(6, 2)
    assert len(words) == comb(6, 3) // 4 * 2**3
    assert bigram.entropy(6) == pytest.approx(log(len(words)) / 7)
    counts: dict[tuple[str, str], int] = {}
    for word in words:
        for pair in zip("$" + word, word + "$", strict=True):
            counts[pair] = counts.get(pair, 0) + 1
    firsts: dict[str, int] = {}
    for (first, _), count in counts.items():
        firsts[first] = firsts.get(first, 0) + count
    lost = -sum(count * log(count / firsts[first]) for (first, _), count in counts.items())
    assert bigram.bigram_entropy(6) == pytest.approx(lost / len(words) / 7)


def test_the_chain_has_the_bigrams_of_the_words():
    table, rng = bigram.bigram_table(8), np.random.default_rng(0)
    letters = bigram.OPENING[: bigram.KINDS] + bigram.CLOSING[: bigram.KINDS]
    chain = bigram.bigram_chain(8)
    pairs = [pair for _ in range(3_000) for pair in pairwise(chain.draw(rng))]
    opened = [second for first, second in pairs if first in bigram.OPENING]
    share = sum(one in bigram.OPENING for one in opened) / len(opened)
    rows = table[: bigram.KINDS]
    assert share == pytest.approx(rows[:, : bigram.KINDS].sum() / rows.sum(), abs=0.02)
    assert set(letters) == {one for pair in pairs for one in pair}


def test_a_gru_whose_z_is_one_keeps_its_state_and_all_gradients_vanish_without_it(monkeypatch):
    monkeypatch.setattr(vanishing, "OPEN", 100.0)
    net = vanishing.network("gru, open", 5, 0)
    now = tuple(torch.randn(2, vanishing.WIDTH) for _ in range(3))
    h = torch.randn(2, vanishing.WIDTH)
    opened = (now[0], now[1] + 100.0, now[2])
    torch.testing.assert_close(net.step(opened, h, h)[0], h)
    closed = vanishing.network("gru, z = 0", 5, 0)
    fresh = torch.tanh(now[0] + (torch.sigmoid(now[2] + h @ closed.back[2]) * h) @ closed.back[0])
    torch.testing.assert_close(closed.step(now, h, h)[0], fresh)


def test_the_gradients_fall_with_the_gate(monkeypatch):
    def slope(name):
        return vanishing.log_slope(vanishing.gradient_norms(vanishing.network(name, vanishing.DISTANCES, 0), 0))

    assert slope("rnn") < -0.5
    assert slope("gru, open") > -0.1
    assert slope("transformer") > -0.02
    monkeypatch.setattr(vanishing, "OPEN", 0.0)
    assert slope("gru, open") < -0.2


def test_the_gradient_of_a_linear_recurrence_is_its_power():
    norms = 3.0 * 0.8 ** np.arange(20)
    assert vanishing.log_slope(norms.tolist()) == pytest.approx(log(0.8))


def test_labels_of_the_future_and_of_the_past():
    x, labels = both_ways.labelled(4, past=False, rng=torch.Generator().manual_seed(0))
    ids, reach = x.argmax(-1), both_ways.REACH
    for t in range(both_ways.LENGTH):
        inside = reach <= t < both_ways.LENGTH - reach
        assert (labels[:, t] == (ids[:, t - reach] ^ ids[:, t + reach] if inside else -100)).all()
    x, labels = both_ways.labelled(4, past=True, rng=torch.Generator().manual_seed(0))
    assert (labels[:, -1] == x.argmax(-1)[:, -1 - reach] ^ x.argmax(-1)[:, -1 - 2 * reach]).all()


def test_both_sources_have_one_translation():
    rng = np.random.default_rng(0)
    forwards, backwards = (translation.language_pair(0, reverse, (2, 3)) for reverse in (False, True))
    question = forwards.draw(rng)
    turned = [*question[-2::-1], question[-1]]
    assert forwards.oracle(question) == backwards.oracle(turned)
    assert len(forwards.oracle(question)) == len(question)


def test_the_longest_chain_of_a_graph_is_counted():
    x = torch.ones(1, requires_grad=True)
    once, thrice = x.exp(), x.exp().exp().exp()
    assert parallel.longest_chain(once) == 2  # exp, and the leaf
    assert parallel.longest_chain(once + thrice) == 5


def test_attention_is_parallel_and_a_recurrent_network_in_its_place_is_not(monkeypatch):
    assert conclude(parallel, seeds=[0]).verdict == "holds"
    honest = parallel.network
    monkeypatch.setattr(parallel, "network", lambda name, length, seed: honest("rnn", length, seed))
    assert conclude(parallel, seeds=[0]).verdict == "holds in part"
