"""Blocks, halving, duels and the whole search, on made-up machines."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median, stdev

import pytest

from benchmarks.simulated_settings import made_up, run_search, searched
from hpcbench.tuning import paired_comparison
from hpcbench.tuning.ask_tell import Block, Outcome, Trials
from hpcbench.tuning.block_model import Effects, Measured, fit
from hpcbench.tuning.exhaustive import cost_over_choice, whole_grid
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.paired_comparison import MIN_PAIRS, Verdict, alpha_share, compare
from hpcbench.tuning.search import FINALISTS, search
from hpcbench.tuning.successive_halving import halve

Measure = Callable[[Block], list[Outcome]]


class Machine:
    """Costs without noise, or with that of a sequence; None fails, and so does what `fails` says, of a setting and the
    block that it is measured in. It keeps the blocks that it was requested."""

    def __init__(
        self,
        costs: Mapping[int, float | None],
        noise: Callable[[int, int], float] = lambda *_: 0.0,
        fails: Callable[[int, Sequence[Block]], bool] = lambda *_: False,
    ) -> None:
        self.costs, self.noise, self.fails = costs, noise, fails
        self.blocks: list[Block] = []

    def __call__(self, block: Block) -> list[Outcome]:
        self.blocks.append(block)
        return [Outcome(setting, self._cost(setting)) for setting in block.configurations]

    def _cost(self, setting: int) -> float | None:
        cost = None if self.fails(setting, self.blocks) else self.costs[setting]
        return None if cost is None else cost * math.exp(self.noise(setting, len(self.blocks)))

    def measured(self, stage: Stage) -> list[int]:
        return sorted(setting for block in self.blocks for setting in block.configurations if block.stage is stage)


def wobble(setting: int, block: int) -> float:
    """A noise of about 1 %, the same each time."""
    return 0.01 * math.sin(12.9898 * setting + 78.233 * block)


def test_a_block_is_in_another_order_each_time_and_the_same_for_a_seed() -> None:
    machine = Machine(dict.fromkeys(range(8), 1.0))
    run_search(whole_grid(Trials(1), range(8), 3), machine)
    assert all(sorted(block.configurations) == list(range(8)) for block in machine.blocks)
    assert len({block.configurations for block in machine.blocks}) == 3
    again = Machine(dict.fromkeys(range(8), 1.0))
    run_search(whole_grid(Trials(1), range(8), 3), again)
    assert again.blocks == machine.blocks


def test_what_failed_is_not_asked_for_again() -> None:
    machine = Machine({0: 1.0, 1: None, 2: 0.0, 3: math.nan, 4: math.inf})
    trials = Trials(0)
    run_search(whole_grid(trials, range(5), 2), machine)
    assert trials.failed == {1, 2, 3, 4}
    assert machine.measured(Stage.FULL) == [0, 0, 1, 2, 3, 4]
    assert trials.configurations == [0]


def test_halving_keeps_the_better_third_and_measures_it_for_longer() -> None:
    machine = Machine({setting: 1.0 + 0.5 * setting for setting in range(12)}, wobble)
    trials = Trials(0)
    run_search(trials.measure(range(12), Stage.SHORT), machine)
    left = run_search(halve(trials, range(12), 2), machine)
    assert left == [0]  # the next one is certainly worse
    assert machine.measured(Stage.SHORT) == list(range(12))
    assert machine.measured(Stage.MEDIUM) == [0, 1, 2, 3]
    assert machine.measured(Stage.FULL) == []


def test_a_search_finds_the_best_of_quiet_settings_and_is_certain() -> None:
    machine = Machine({setting: 1.0 + 0.1 * ((5 * setting) % 24) for setting in range(24)}, wobble)
    found = run_search(search(Trials(0), range(24), 7, 6), machine)
    assert found is not None
    assert found.best == found.winner == 0
    assert found.verdict is not None
    assert found.verdict.certain
    assert found.verdict.gain is not None
    assert found.verdict.gain.estimate == pytest.approx(1.0 + 0.1 * (35 % 24), rel=0.03)
    finals = set(machine.measured(Stage.FULL))
    assert len(finals) <= FINALISTS + 1
    assert 7 in finals  # the default is in the compare


def test_where_the_default_is_best_it_stays() -> None:
    machine = Machine({setting: 1.0 + 0.1 * setting for setting in range(6)}, wobble)
    found = run_search(search(Trials(0), range(6), 0, 6), machine)
    assert found is not None
    assert (found.best, found.winner, found.verdict) == (0, 0, None)


def test_a_gain_that_is_not_certain_leaves_the_default() -> None:
    noisy = Machine({0: 1.0, 1: 0.99}, lambda setting, block: 20 * wobble(setting, block))
    found = run_search(search(Trials(0), range(2), 0, 6), noisy)
    assert found is not None
    assert found.best == 0


def test_settings_that_fail_are_left_out() -> None:
    machine = Machine({0: None, 1: 1.5, 2: 1.0, 3: None}, wobble)
    found = run_search(search(Trials(0), range(4), 0, 6), machine)
    assert found is not None
    assert found.best == 2
    assert found.verdict == Verdict(None, True, 0)  # the default failed again: there is nothing to gain over


def test_a_default_that_fails_by_chance_is_not_lost_to_something_slower() -> None:
    machine = Machine({0: 1.0, 1: 1.2, 2: 1.3}, wobble, lambda setting, blocks: setting == 0 and len(blocks) == 1)
    found = run_search(search(Trials(0), range(3), 0, 6), machine)
    assert found is not None
    assert (found.best, found.winner) == (0, 1)
    assert found.effects.order()[0] == 0


def test_where_all_finalists_fail_the_best_of_the_others_is_found() -> None:
    def fails(setting: int, blocks: Sequence[Block]) -> bool:
        return setting < 3 and blocks[-1].stage is Stage.FULL

    machine = Machine({setting: 1.0 + 0.01 * setting for setting in range(12)}, fails=fails)
    found = run_search(search(Trials(0), range(12), 11, 6), machine)
    assert found is not None
    assert found.best == 3
    assert {0, 1, 2} <= set(machine.measured(Stage.FULL))


def duel_of_three() -> tuple[Machine, int]:
    """Three settings, of which 0 is the default and 1 the best, and in which block these two first meet."""
    whole = Machine({0: 1.5, 1: 1.0, 2: 1.6}, wobble)
    run_search(search(Trials(0), range(3), 0, 6), whole)
    return whole, next(n for n, block in enumerate(whole.blocks, 1) if sorted(block.configurations) == [0, 1])


def test_where_all_fail_from_the_duel_on_nothing_is_recommended() -> None:
    whole, pair = duel_of_three()
    late = Machine(whole.costs, wobble, lambda setting, blocks: len(blocks) >= pair)
    assert run_search(search(Trials(0), range(3), 0, 6), late) is None


def test_where_both_fail_in_the_duel_the_next_one_is_found() -> None:
    whole, pair = duel_of_three()
    late = Machine(whole.costs, wobble, lambda setting, blocks: len(blocks) >= pair and setting < 2)
    found = run_search(search(Trials(0), range(3), 0, 6), late)
    assert found is not None
    assert (found.best, found.verdict) == (2, Verdict(None, True, 0))


def test_a_default_that_is_best_and_fails_at_last_is_still_the_answer() -> None:
    whole = Machine({0: 1.0, 1: 2.0, 2: 3.0}, wobble)
    run_search(search(Trials(0), range(3), 0, 6), whole)
    last = len(whole.blocks)
    late = Machine(whole.costs, wobble, lambda setting, blocks: len(blocks) >= last)
    found = run_search(search(Trials(0), range(3), 0, 6), late)
    assert found is not None
    assert found.best == 0
    assert 0 in found.effects.costs


def test_where_all_fail_nothing_is_found() -> None:
    assert run_search(search(Trials(0), range(3), 0, 6), Machine(dict.fromkeys(range(3)))) is None


def test_a_duel_ends_when_it_is_decided() -> None:
    machine = Machine({0: 1.0, 1: 2.0}, wobble)
    verdict: Verdict = run_search(compare(Trials(0), 0, 1, 18), machine)
    assert (verdict.certain, verdict.pairs) == (True, MIN_PAIRS + 1)
    assert verdict.gain is not None
    assert verdict.gain.estimate == pytest.approx(2.0, rel=0.05)


def noisier_pair(generator: random.Random) -> Machine:
    """Equal settings, of which the first two are five times as noisy as the rest."""
    return Machine(dict.fromkeys(range(8), 1.0), lambda setting, _: generator.gauss(0, 0.05 if setting < 2 else 0.01))


@pytest.mark.soak
@pytest.mark.parametrize("most", [6, 18])
def test_of_a_pair_that_is_noisier_than_the_rest_few_duels_are_won_by_what_is_as_good(most: int) -> None:
    won = 0
    for seed in range(300):
        machine, trials = noisier_pair(random.Random(seed)), Trials(seed)
        run_search(whole_grid(trials, range(2, 8), 3), machine)
        verdict: Verdict = run_search(compare(trials, 0, 1, most), machine)
        won += verdict.certain
    assert won <= 6  # of 300; more where the noise of the others counts for these


class QuietOthers(Trials):
    """One that knows the noise of all measurements, which is that of the others."""

    def effects(self, _: Stage | None = None) -> Effects:
        return Effects({}, {}, 0.01, 10)


def plain_fit(pairs: Sequence[Measured]) -> Effects:
    """That of two configurations by least squares, in a fiftieth of the time that a robust one takes."""
    costs = {
        configuration: [each.log_cost for each in pairs if each.configuration == configuration]
        for configuration in (0, 1)
    }
    spread = stdev(map(operator.sub, *costs.values())) / math.sqrt(2)
    counts = {configuration: len(logs) for configuration, logs in costs.items()}
    return Effects({configuration: fmean(logs) for configuration, logs in costs.items()}, counts, spread, counts[0] - 1)


@pytest.mark.parametrize(("duels", "at_most"), [(100, 2), pytest.param(1000, 20, marks=pytest.mark.soak)])
@pytest.mark.parametrize("most", [6, 18])
def test_few_of_those_duels_are_won_where_the_fits_are_plain(
    most: int, duels: int, at_most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bound for what a duel makes of its fits: its looks, and whose noise counts."""
    monkeypatch.setattr(paired_comparison, "fit", plain_fit)
    won = sum(
        run_search(compare(QuietOthers(seed), 0, 1, most), noisier_pair(random.Random(seed))).certain
        for seed in range(duels)
    )
    assert won <= at_most


def test_the_looks_of_a_duel_share_its_wrong_answers() -> None:
    assert [alpha_share(count, 5) for count in (3, 4, 5)] == pytest.approx([1 / 14, 4 / 14, 9 / 14])
    assert sum(alpha_share(count, 18) for count in range(3, 19)) == pytest.approx(1)


def test_a_duel_ends_when_there_is_nothing_to_gain() -> None:
    machine = Machine({0: 1.1, 1: 1.0}, wobble)
    verdict = run_search(compare(Trials(0), 0, 1, 18), machine)
    assert (verdict.certain, verdict.pairs) == (False, MIN_PAIRS)


def test_who_fails_in_a_duel_has_lost() -> None:
    lost = run_search(compare(Trials(0), 0, 1, 6), Machine({0: None, 1: 1.0}))
    assert (lost.gain, lost.certain) == (None, False)
    trials = Trials(0)
    won = run_search(compare(trials, 0, 1, 6), Machine({0: 1.0, 1: None}))
    assert (won.gain, won.certain) == (None, True)
    assert trials.failed == {1}


@pytest.mark.parametrize(("cost", "certain"), [(0.8, True), (1.0, False), (1.2, False)])
def test_a_champion_that_fails_late_is_judged_by_what_completed(cost: float, certain: bool) -> None:
    trials = Trials(0)
    machine = Machine({0: cost, 1: 1.0}, wobble, lambda setting, blocks: setting == 1 and len(blocks) == 3)
    verdict = run_search(compare(trials, 0, 1, 6), machine)
    assert verdict.certain == certain
    assert verdict.gain is not None
    assert verdict.gain.estimate == pytest.approx(1 / cost, rel=0.05)
    assert trials.failed == set()


def test_a_champion_that_completed_once_and_fails_at_all_its_chances_is_not_beaten() -> None:
    trials = Trials(0)
    machine = Machine({0: 0.8, 1: 1.0}, fails=lambda setting, blocks: setting == 1 and len(blocks) > 1)
    assert run_search(compare(trials, 0, 1, 6), machine) == Verdict(None, False, 1)
    assert trials.failed == set()


@pytest.mark.parametrize("noise", [0.005, 0.02])
def test_on_made_up_machines_it_finds_the_best_in_a_fraction_of_the_time(noise: float) -> None:
    trials = [searched(made_up(seed, (4, 3, 3), noise), seed) for seed in range(20)]
    assert sum(trial.regret < 0.02 for trial in trials) >= 18
    assert median(trial.part for trial in trials) < 0.25
    assert median(trial.beats for trial in trials) > 0.95
    assert min(trial.gain for trial in trials) > -1e-9  # never slower than the default


def test_a_large_space_is_searched_with_a_surrogate() -> None:
    trial = searched(made_up(3, (8, 4, 4, 3, 2), 0.01), 3)
    assert trial.regret < 0.05
    assert trial.beats > 0.98
    assert trial.part < 0.05


def test_what_the_grid_chooses_is_told_by_blocks_that_did_not_choose_it() -> None:
    generator = random.Random(3)
    ratios, naive = [], []
    for _ in range(20):  # grids of settings that are all the same, of which the best seems better than any
        measured = [Measured(setting, block, generator.gauss(0, 0.05)) for setting in range(24) for block in range(6)]
        beside = cost_over_choice(measured, 5)
        assert beside is not None
        ratios.append(math.log(beside.estimate))
        costs = fit(measured).costs
        naive.append(costs[5] - min(costs.values()))
    assert abs(fmean(ratios)) < 0.015
    assert fmean(naive) == pytest.approx(2 * 0.05 / math.sqrt(6), rel=0.2)  # the least of 24 is 2 deviations below
    exact = [Measured(setting, block, 0.1 * setting) for setting in range(3) for block in range(2)]
    beside = cost_over_choice(exact, 2)
    assert beside is not None
    assert beside == pytest.approx([math.exp(0.2)] * 3)
    assert cost_over_choice(exact[::2], 0) is None


@pytest.mark.parametrize("seed", range(50))
def test_where_most_blocks_choose_the_setting_itself_the_others_still_make_an_interval(seed: int) -> None:
    generator = random.Random(seed)
    measured = [Measured(each, block, 0.02 * each + generator.gauss(0, 0.02)) for each in (0, 1) for block in range(6)]
    beside = cost_over_choice(measured, 0)
    assert beside is not None
    assert beside.low is not None
    assert beside.low < beside.estimate or beside.estimate == 1
