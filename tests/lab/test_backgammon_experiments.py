"""The experiments on backgammon: they notice a player that has not learned, and read the judges that a user names."""

import json
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

from handloom.core import HandloomError
from handloom.lab.experiment import Lab, verdict_of
from handloom.lab.games import backgammon, ply
from handloom.lab.games.gammon import judged_record, judges
from handloom.lab.games.gammon.judged_record import judge_record, judged_in_words
from handloom.lab.games.gammon.judges import as_record, judge_name, judged, recorded_network
from handloom.lab.games.gammon.matches import MatchScore, network_player, play_match
from handloom.lab.games.gammon.value_net import first_weights

LEARN = backgammon.trained


@pytest.mark.slow
def test_learning_is_seen_in_the_quick_form_which_has_no_control():
    finding = backgammon.run(Lab(seed=0))
    assert [check.within for check in finding.checks] == [True, True, None]
    assert backgammon.picture([finding.series])


def test_a_rate_of_zero_teaches_nothing(monkeypatch):
    def frozen(lab, stages, decay=0.0, coin=False):
        return LEARN(lab, [(1, 0.0) for _ in stages], decay, coin)

    monkeypatch.setattr(backgammon, "trained", frozen)
    monkeypatch.setattr(backgammon, "play_match", lambda one, other, games, seed: play_match(one, other, 20, seed))
    finding = backgammon.run(Lab(seed=0))
    assert verdict_of([finding]) != "holds"
    assert finding.checks[0].value == 0.0, "the network is the one that it began with"


@pytest.mark.parametrize(("mean", "verdict"), [(0.5, "holds"), (-0.5, "does not hold")])
def test_the_verdict_on_plies_follows_the_match(monkeypatch, mean, verdict):
    monkeypatch.setattr(ply, "taught", lambda lab: first_weights(4, np.random.default_rng(0)))
    monkeypatch.setattr(
        ply, "against_one_ply", lambda lab, weights, games, worst=False: MatchScore(-1.0 if worst else mean, 0.1)
    )
    finding = ply.run(Lab(seed=0))
    assert verdict_of([finding]) == verdict
    assert ply.picture([finding.series])


def test_a_network_in_a_record_is_a_judge_and_even_with_itself(tmp_path):
    weights = first_weights(5, np.random.default_rng(0))
    path = tmp_path / "backgammon.json"
    path.write_text(json.dumps({"name": "backgammon", "series": [{"network": as_record(weights)}, {"network": []}]}))
    found = recorded_network(path)
    assert np.allclose(found, weights, atol=1e-4)
    assert judged(network_player(found), str(path), 6, seed=0) == MatchScore(0.0, 0.0)


def test_what_a_judge_found_is_told_of_the_network_that_it_judged_and_of_no_other(tmp_path, monkeypatch):
    record = tmp_path / "backgammon.json"

    def keep(seed):
        record.write_text(
            json.dumps({"series": [{"network": as_record(first_weights(5, np.random.default_rng(seed)))}]})
        )

    monkeypatch.setattr(judged_record, "judged", lambda *match, seed: MatchScore(0.25, 0.01))
    keep(0)
    assert judged_in_words(record) is None
    judge_record(record, [str(record)])
    assert "+0.250 ± 0.010 against the network" in judged_in_words(record)
    keep(1)
    assert judged_in_words(record) is None


@pytest.mark.parametrize("text", ["{}", '{"network": [1, 2]}', "not JSON", '{"series": [{"network": []}]}'])
def test_a_record_without_a_network_is_refused(tmp_path, text):
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(HandloomError, match=r"^record.json: .*expected the record of a full run"):
        recorded_network(path)


def test_a_judge_is_known_by_its_name():
    names = [judge_name(judge) for judge in ("gnubg", "/opt/games/gnubg", "weights/pubeval.txt", "docs/lab/x.json")]
    assert names == ["gnubg", "gnubg", "pubeval", "the network"]


@pytest.mark.parametrize("judge", ["nowhere.txt", "nowhere.json", "/nowhere/gnubg"])
def test_a_judge_that_is_not_there_is_an_error_before_the_games(monkeypatch, judge):
    monkeypatch.setattr(backgammon, "trained", None)
    with pytest.raises(HandloomError, match="nowhere"):
        backgammon.run(Lab(judge=judge))


def test_the_judge_adds_a_check(monkeypatch):
    monkeypatch.setattr(backgammon, "judged", lambda player, judge, games, seed: MatchScore(-0.4, 0.05))
    checks = partial(backgammon.judge_checks, weights=np.zeros(203))
    assert checks(Lab()) == []
    (gnubg,) = checks(Lab(judge="gnubg"))
    assert not gnubg.within
    assert gnubg.value == -0.4
    (pubeval,) = checks(Lab(judge="pubeval.txt"))
    assert pubeval.value == pytest.approx(-0.5)


def test_programs_side_by_side_play_every_pair_once(monkeypatch):
    monkeypatch.setattr(judges, "gnubg_player", lambda program: nullcontext(None))
    monkeypatch.setattr(judges, "paired_games", lambda player, judge, numbers, seed: list(numbers))
    assert judges.judged_by_programs(lambda turn: 0, "gnubg", 40, 0).mean == np.mean(range(20))
