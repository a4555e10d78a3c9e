"""Proposals: by orbits, from images, of nulls, by reward; what pays; and what is held out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloom.core import HandloomError
from handloom.discover import Problem, abelian_group, code, discover, graph, grid, permutation, subsets, word
from handloom.discover.catalogue import problem_named
from handloom.discover.loop.balance import LEAST, MOST, PROPOSED, SEARCHED, Balance
from handloom.discover.loop.examples import examples_of, is_held_out, marginal_loss
from handloom.discover.loop.ledger import Member, Pool
from handloom.discover.loop.model_turn import common_symmetry
from handloom.discover.loop.plan import PROPOSALS, Plan
from handloom.discover.loop.start import begin, reopen
from handloom.discover.model.codec import Codec
from handloom.discover.model.images import images_of
from handloom.discover.model.nulls import NULLS, proposed
from handloom.discover.model.orbit_writing import Orbitwise
from handloom.discover.model.rewarded import rewarded
from handloom.discover.problem import verdict
from handloom.discover.search.canonical import form_of
from handloom.discover.search.greedy import greedy
from handloom.discover.search.symmetry import orbits_of

ISOSCELES = problem_named("isosceles:n=6")
DIAGONALS = orbits_of(ISOSCELES, "diagonals")
TINY = {"attempts": 60, "samples": 30, "learn": 5, "layers": 1, "width": 16, "heads": 1, "steps": 300}


# Orbits


@given(st.sets(st.integers(0, len(DIAGONALS.members) - 1)))
def test_a_union_of_orbits_comes_back_and_has_one_token_per_orbit(chosen):
    codec = Codec.of("orbits", ISOSCELES.space, orbits=DIAGONALS.of)
    construction = tuple(sorted(int(i) for orbit in chosen for i in DIAGONALS.members[orbit]))
    ids = codec.encode(construction)
    assert len(ids) == len(chosen) + 2
    assert codec.decode(ids) == (construction, False)


@given(st.lists(st.integers(0, 12), max_size=20))
def test_whatever_is_generated_in_orbits_has_the_symmetry(ids):
    codec = Codec.of("orbits", ISOSCELES.space, orbits=DIAGONALS.of)
    found = codec.decode(ids).construction
    assert found is None or images(DIAGONALS.group, found) == {found}


def images(maps, construction):
    return {tuple(sorted(int(one[i]) for i in construction)) for one in maps}


def test_a_codec_of_orbits_is_the_same_from_json():
    codec = Codec.of("orbits", ISOSCELES.space, orbits=DIAGONALS.of)
    assert Codec.from_json(codec.to_json(), ISOSCELES.space) == codec


@pytest.mark.parametrize("orbits", [None, [0, 0, 1], [0] * 35 + [2], [0] * 35 + [-1]])
def test_orbits_that_are_not_those_of_the_space_raise_an_error(orbits):
    with pytest.raises(HandloomError, match="expected orbits of all 36 elements"):
        Codec.of("orbits", ISOSCELES.space, orbits=orbits)


def test_the_pool_keeps_a_construction_as_it_was_found_beside_its_form():
    pool = Pool(100, form_of(ISOSCELES))
    found = (31, 34)  # not its form, the least of its images
    member = pool.add(found, 2, 0, "mirror")
    assert member.construction != found
    assert member.as_found == found
    again = Pool(100, form_of(ISOSCELES))
    again.restore(pool.to_json())
    assert again.best() == pool.best()
    again.restore([[[0, 1], 2, 0]])  # of a run of an earlier version
    assert again.members[0, 1].as_found == (0, 1)


def test_the_writing_follows_the_symmetry_of_most_of_the_best():
    members = [Member((i,), 1, 0, (), symmetry) for i, symmetry in enumerate(["mirror", "none", "mirror", "square"])]
    assert common_symmetry(members, 0.5) == "mirror"
    assert common_symmetry(members, 0.6) is None
    assert common_symmetry(members[1:2], 0.0) is None


def test_a_run_with_orbit_tokens_resumes_with_them(tmp_path):
    how = {"tokens": "orbits", "symmetry": "diagonals", "store": tmp_path / "r.sqlite", **TINY}
    whole = begin("isosceles:n=9", generations=3, folder=tmp_path / "whole", **how).run()
    begin("isosceles:n=9", generations=2, folder=tmp_path / "parts", **how).run()
    parts = reopen(tmp_path / "parts", generations=3).run()
    assert whole.state.model.codec.kind == "orbits"
    assert whole.state.model.symmetry == parts.state.model.symmetry == "diagonals"
    assert whole.lines[2]["after"] == parts.lines[2]["after"]
    assert whole.state.ledger.pool.to_json() == parts.state.ledger.pool.to_json()


@pytest.mark.parametrize(
    ("problem", "choices", "why"),
    [
        ("isosceles:n=9", {"symmetry": "none"}, "symmetry=none finds no constructions with a symmetry"),
        ("isosceles:n=9", {"smaller": 2}, "smaller=2 mixes sizes, which have other orbits"),
        ("words:length=8", {}, "words:.* is not searched under any symmetry"),
        ("permanent-312:n=4", {}, "permanent-312:n=4 is not searched under any symmetry"),
    ],
)
def test_orbits_without_a_symmetry_raise_an_error_before_the_run_begins(tmp_path, problem, choices, why):
    with pytest.raises(HandloomError, match=f"^tokens=orbits: {why}; leave it to auto"):
        begin(problem, store=tmp_path / "r.sqlite", tokens="orbits", folder=tmp_path / "run", **choices)
    assert not (tmp_path / "run").exists()


# Images


@pytest.mark.parametrize(
    "problem",
    [
        ISOSCELES,
        problem_named("four-cycle-free:n=7"),
        problem_named("sidon:n=20"),
        Problem(code(4), forbidden=lambda a, b: sum(x != y for x, y in zip(a, b, strict=True)) < 3),
        Problem(abelian_group(13), forbidden=[[0, 1, 3]]),
    ],
    ids=str,
)
def test_an_image_of_a_legal_construction_is_legal_and_has_its_form(problem):
    rng, image, form = np.random.default_rng(0), images_of(problem), form_of(problem)
    legal = greedy(problem, 0)
    drawn = {image(legal, rng) for _ in range(20)}
    assert {verdict(problem, one).score for one in drawn} == {len(legal)}
    assert {form(one) for one in drawn} == {form(legal)}


def test_images_of_a_symmetric_construction_have_the_symmetry():
    image, rng = images_of(ISOSCELES, "diagonals"), np.random.default_rng(0)
    one = tuple(sorted(DIAGONALS.members[1].tolist() + DIAGONALS.members[2].tolist()))
    drawn = {image(one, rng) for _ in range(50)}
    assert len(drawn) > 1
    assert all(images(DIAGONALS.group, some) == {some} for some in drawn)


# Nulls

SPACES = [grid(4, 4), subsets([1, 2, 3, 5, 8]), graph(5), word(7, "abc"), permutation(6)]


@pytest.mark.parametrize("kind", NULLS)
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.kind)
def test_every_null_proposes_constructions(space, kind):
    rng = np.random.default_rng(0)
    pool = [some_construction(space, rng) for _ in range(8)]
    drawn = proposed(kind, space, pool, 40, rng)
    assert len(drawn) == 40
    for one in drawn:
        assert space.read(space.shown(one)) == one


def some_construction(space, rng):
    if space.kind == "permutation":
        return tuple(rng.permutation(space.length).tolist())
    if space.kind == "word":
        return tuple(rng.integers(0, 3, space.length).tolist())
    return tuple(np.flatnonzero(rng.random(len(space.elements)) < 0.4).tolist())


def test_the_nulls_are_as_their_names_say():
    space, rng = grid(10, 10), np.random.default_rng(0)
    pool = [tuple(range(10)), tuple(range(5, 15))]
    random = proposed("random", space, pool, 400, rng)
    assert {len(one) for one in random} == {10}
    share = np.bincount(np.concatenate(random), minlength=100) / 400
    assert np.abs(share - 0.1).max() < 0.08  # anywhere
    marginals = proposed("marginals", space, pool, 400, rng)
    share = np.bincount(np.concatenate([one for one in marginals if one]), minlength=100) / 400
    assert share[5:10].min() == 1
    assert np.abs(np.r_[share[:5], share[10:15]] - 0.5).max() < 0.1
    assert share[15:].max() == 0
    redrawn = proposed("redrawn", space, pool, 400, rng)
    kept = np.mean([max(len({*one} & {*some}) for some in pool) for one in redrawn])
    assert {len(one) for one in redrawn} == {10}
    assert 7.6 < kept < 8.6  # of ten, two are drawn again, hardly ever as before


@pytest.mark.parametrize("kind", NULLS)
def test_where_the_model_writes_orbits_the_nulls_do_too(kind):
    orbits = Orbitwise((ISOSCELES.space,), tuple(DIAGONALS.of.tolist()))
    pool = [orbits.read([1, 3, 4]), orbits.read([0, 2])]
    for one in proposed(kind, ISOSCELES.space, pool, 30, np.random.default_rng(0), orbits):
        assert images(DIAGONALS.group, one) == {one}


@pytest.mark.parametrize("proposals", PROPOSALS)
def test_a_run_repeats_and_resumes_whoever_proposes(tmp_path, proposals):
    how = {"proposals": proposals, "store": tmp_path / "r.sqlite", **TINY}
    whole = begin("four-cycle-free:n=9", generations=3, folder=tmp_path / "whole", **how).run()
    begin("four-cycle-free:n=9", generations=2, folder=tmp_path / "parts", **how).run()
    parts = reopen(tmp_path / "parts", generations=3).run()
    wanted = [line["after"] for line in whole.lines]
    assert [line["after"] for line in parts.lines] == wanted
    assert wanted[2]["count"] > 0
    assert whole.state.balance.share == parts.state.balance.share
    assert (tmp_path / "whole" / "model.safetensors").exists() == (proposals == "model")


# What pays


def test_the_share_of_proposals_follows_what_paid():
    balance = Balance()
    for source, members in ((PROPOSED, range(5)), (SEARCHED, range(100, 102))):
        for i in members:
            balance.count(source, 100, Member((i,), 9, 1))
    best = [Member((i,), 9, 1) for i in (0, 1, 2, 100)]
    balance.settle(best)
    wanted = (4 / 500) / (4 / 500 + 2 / 200)
    assert balance.share == pytest.approx((0.75 + wanted) / 2)
    assert (balance.generations, balance.steps[PROPOSED]) == (1, 0)


def test_the_share_stays_within_its_bounds_and_generations_grow():
    balance = Balance()
    for _ in range(30):
        balance.count(PROPOSED, 10**9, None)
        balance.count(SEARCHED, 1, None)
        balance.settle([])
    assert balance.share == pytest.approx(LEAST)
    assert MOST == 0.9
    assert [sum(Balance(0.75, g).sizes(2000)) for g in range(5)] == [250, 500, 1000, 2000, 2000]
    assert Balance(0.1).sizes(1) == (1, 1)


# What is held out


def test_a_tenth_of_a_large_pool_is_never_trained_on():
    members = [Member((i, i + 1), 2, 0) for i in range(400)]
    codec = Codec.of("sparse", subsets(range(401)))
    examples = examples_of(members, codec, None, 0, np.random.default_rng(0))
    held = {member.construction for member in members if is_held_out(member)}
    assert set(examples.held_out) == held
    assert not held & set(examples.trained)
    assert 20 <= len(held) <= 60
    assert len(examples_of(members[:99], codec, None, 0, np.random.default_rng(0)).held_out) == 0


def test_every_example_has_as_many_images_as_asked():
    members = [Member((0, 7), 2, 0), Member((3, 4), 2, 0)]
    codec, image = Codec.of("sparse", ISOSCELES.space), images_of(ISOSCELES)
    examples = examples_of(members, codec, image, 3, np.random.default_rng(0))
    assert [member.construction for member in examples.members] == [(0, 7)] * 3 + [(3, 4)] * 3
    assert [form_of(ISOSCELES)(one) for one in examples.trained[:3]] == [form_of(ISOSCELES)((0, 7))] * 3


def test_the_marginals_loss_is_the_entropy_of_independent_cells():
    rng = np.random.default_rng(0)
    codec = Codec.of("cells", subsets(range(20)))
    draw = [tuple(np.flatnonzero(rng.random(20) < 0.3).tolist()) for _ in range(6000)]
    entropy = -20 * (0.3 * np.log(0.3) + 0.7 * np.log(0.7))
    assert marginal_loss(codec, draw[:5000], draw[5000:]) == pytest.approx(entropy, rel=0.02)
    words = Codec.of("cells", word(12, "abcd"))
    drawn = [tuple(row) for row in rng.integers(0, 4, (6000, 12)).tolist()]
    assert marginal_loss(words, drawn[:5000], drawn[5000:]) == pytest.approx(12 * np.log(4), rel=0.01)


def test_a_model_that_has_learned_the_pool_has_a_lower_loss_than_the_marginals(tmp_path):
    problem = problem_named("permanent-312:n=6")
    how = {"attempts": 300, "samples": 20, "learn": 150, "layers": 1, "width": 32, "steps": 50}
    found = discover(problem, store=tmp_path / "r.sqlite", generations=2, **how)
    line = found.lines[1]
    assert 0 < line["held_out"] < line["marginals"]


# Reward


def test_reward_leads_the_model_to_what_scores_more():
    pytest.importorskip("torch")
    from handloom.discover.model.proposer import Proposer

    codec = Codec.of("cells", word(6, "ab"))
    proposer = Proposer.of(codec, layers=1, heads=1, width=16)
    strings = codec.strings([tuple(row) for row in np.random.default_rng(0).integers(0, 2, (60, 6)).tolist()])
    proposer.train(strings, steps=30)

    def letters_b(constructions):
        return [sum(one) for one in constructions]

    def mean(model):
        drawn = proposer.propose(200, seed=1, model=model)
        return np.mean(letters_b([one for ids in drawn if (one := codec.decode(ids).construction) is not None]))

    before = proposer.model()
    after = rewarded(before, codec, letters_b, 8, proposer.most_tokens(), 0, lambda: False)
    assert mean(after) > mean(before) + 0.2
    assert np.array_equal(proposer.model().flat["W_E"], before.flat["W_E"])  # the model of the pool stays


@pytest.mark.slow
def test_a_run_with_reward_repeats(tmp_path):
    pytest.importorskip("torch")
    how = {"generations": 2, "reward": 2, **TINY}
    lines = [discover("isosceles:n=5", store=tmp_path / f"{i}.sqlite", **how).lines for i in range(2)]
    assert [one["after"] for one in lines[0]] == [one["after"] for one in lines[1]]


@pytest.mark.parametrize(("name", "value"), [("tokens", "words"), ("proposals", "anyone")])
def test_a_wrong_name_gets_the_right_ones(name, value):
    with pytest.raises(HandloomError, match=rf"{name}='{value}' must be one of .*model|auto"):
        Plan(**{name: value})
