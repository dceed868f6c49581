"""The sections of a PyTorch model's step: their order, and the time of each at its count.

Sections begin at the model's blocks: leaves of its tree of modules, or modules `depth` levels deep; an LSTM or an
attention counts as one. Blocks that run more than once in a step are merged into their parents. Blocks without
weights, such as activations, join the block before them. A module with several parents counts at its first path
alone.
"""

import time
from statistics import median
from typing import Any, Callable, Collection, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch import nn

from .. import BACKWARD, FORWARD
from ..branches import ConcurrentBranches
from ..compiled import is_compiled
from ..hooks import on_begin
from ..module_paths import is_in

WHOLE = (nn.RNNBase, nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
FIRST_STEPS = 5  # to find the order and, after the first of them, the short sections
SHORT = 20  # minimum length of a section, as a multiple of the time to set a count
_CALLS = 200

Step = Callable[[], Any]


class Refused(Exception):
    """The model has no sections whose counts could be set; the message has the reason."""


class SectionStart(NamedTuple):
    """The module and the phase at which a section begins."""

    module: str  # its path in the model
    phase: str


def blocks(model: nn.Module, whole: Collection[str] = (), depth: Optional[int] = None) -> Dict[str, nn.Module]:
    """Return the model's blocks by path, in the order of its tree. A module in `whole` counts as one.

    A compiled module belongs to the block before it: hooks are not called in it.
    """
    found: Dict[str, nn.Module] = {}
    inside: Optional[str] = None  # prefix of the paths in the last block
    for path, module in model.named_modules():
        if inside is not None and path.startswith(inside):
            continue
        if is_compiled(module):
            inside = path + "." if path else ""
            continue
        level = path.count(".") + 1 if path else 0
        if level == depth or path in whole or isinstance(module, WHOLE) or _is_leaf(module):
            found[path] = module
            inside = path + "." if path else ""
    return found


def _is_leaf(module: nn.Module) -> bool:
    return next(module.children(), None) is None


def _has_weights(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None


class Whole:
    """A step as one section, without hooks."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def time_step(self, counts: Sequence[int], divided: Collection[int] = ()) -> List[float]:
        """Return the seconds of a step with this count, as the time of one section."""
        torch.set_num_threads(counts[0])
        start = time.perf_counter()
        self.step()
        return [time.perf_counter() - start]


class Sections:
    """A step split into its sections.

    `branches` are those of modules that can compute them concurrently, by the paths of the modules. Raise Refused if
    steps differ, or if the model sets thread counts itself.
    """

    def __init__(
        self,
        model: nn.Module,
        step: Step,
        branches: Optional[Mapping[str, Sequence[str]]] = None,
        depth: Optional[int] = None,
    ) -> None:
        self.model, self.step, self._branches = model, step, branches or {}
        self._side_by_side = ConcurrentBranches(model)
        self._hooks: List[Any] = []
        self._modules = blocks(model, self._branches, depth)
        self._repeated: Optional[str] = None  # a block that was merged because it runs repeatedly
        self.places: List[SectionStart] = []
        self._begins: Dict[SectionStart, int] = {}  # sections by their start; any other start continues a section
        self._seen: List[Tuple[SectionStart, float]] = []
        self._counts: Sequence[int] = ()
        self._running: Optional[int] = None  # the section
        self.on_boundary: Callable[[Optional[int]], None] = lambda section: None  # takes the section that begins
        try:
            self._find()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._begins)

    def close(self) -> None:
        """Restore the model."""
        self._side_by_side.apply({})
        self._unhook()

    def _unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def branches(self, section: int) -> Optional[Sequence[str]]:
        """Return the branches of a section that can compute concurrently."""
        place = self.begins[section]
        return self._branches.get(place.module) if place.phase == FORWARD else None

    def why_one(self) -> Optional[str]:
        """Return why there is only one section; None if there are more."""
        if len(self) > 1:
            return None
        if len({place.module for place in self.places}) > 1:
            return "its blocks form one layer group: all but one are too short to measure"
        if self._repeated is not None:
            return "its blocks form one layer group: `%s` runs more than once" % self._repeated
        return "it has only one block"

    @property
    def divisible(self) -> List[int]:
        """Return the sections that have branches."""
        return [section for section in range(len(self)) if self.branches(section)]

    def time_step(self, counts: Sequence[int], divided: Collection[int] = ()) -> List[float]:
        """Return the seconds of each section in one step with these counts.

        The branches of the `divided` sections compute concurrently. Raise Refused if a section does not have its
        count.
        """
        self._side_by_side.apply(
            {self.begins[section].module: (self.branches(section) or (), counts[section]) for section in divided}
        )
        self._counts, self._seen, self._running = counts, [], None
        start = time.perf_counter()
        self.step()
        end = time.perf_counter()
        self._leave(None)
        self._check_order()
        return self._by_section(start, end)

    def time_whole(self, counts: Sequence[int], divided: Collection[int] = ()) -> List[float]:
        """Return the seconds of a step with one count, as one section, without hooks.

        With hooks, PyTorch does not use its fast path through some modules, such as nn.TransformerEncoderLayer.
        """
        self._side_by_side.apply({})
        self._unhook()
        try:
            return Whole(self.step).time_step(counts, divided)
        finally:
            self._watch()

    def _by_section(self, start: float, end: float) -> List[float]:
        """Return times by section; the time before the first one belongs to the last one of the step before."""
        begins = [moment for place, moment in self._seen if place in self._begins]
        times = [after - before for before, after in zip(begins, begins[1:] + [end])]
        times[-1] += begins[0] - start
        return times

    @property
    def begins(self) -> List[SectionStart]:
        """Return the start of each section, in order."""
        return list(self._begins)

    def _find(self) -> None:
        threads = torch.get_num_threads()  # a step may change it
        while True:
            self._watch()
            self._seen = []
            self.step()
            seen = [place for place, _ in self._seen]
            again = {place.module for place in seen if seen.count(place) > 1}
            if not again:
                break
            self._merge(again, [place.module for place in seen])
        self.places = seen
        if not seen:
            raise Refused("none of its blocks has run")
        self._begins = {place: number for number, place in enumerate(seen)}
        self._join_short_ones(threads)

    def _watch(self) -> None:
        self._unhook()
        for path, module in self._modules.items():
            for phase in (FORWARD, BACKWARD):
                self._hooks += on_begin(module, phase, self._beginner(SectionStart(path, phase)))

    def _beginner(self, place: SectionStart) -> Callable[[], None]:
        def begin() -> None:
            section = self._begins.get(place)
            self._seen.append((place, time.perf_counter()))
            if section is not None and self._counts:
                self._leave(section)
                if torch.get_num_threads() != self._counts[section]:
                    torch.set_num_threads(self._counts[section])

        return begin

    def _leave(self, next_section: Optional[int]) -> None:
        """Read the count back at the end of a section: a model may have set it itself."""
        if self._running is not None:
            read_back(self.begins[self._running].module, self._counts[self._running])
        self._running = next_section
        self.on_boundary(next_section)

    def _check_order(self) -> None:
        seen = [place for place, _ in self._seen]
        if seen == self.places:
            return
        pairs = zip(seen + [None], self.places + [None])
        found, expected = next(pair for pair in pairs if pair[0] != pair[1])
        values = ("%s of %s" % (place.phase, place.module) if place else "the end" for place in (found, expected))
        raise Refused("the order of its blocks depends on the data: now %s, before %s" % tuple(values))

    def _merge(self, repeated: Set[str], order: Sequence[str]) -> None:
        """Merge blocks that run more than once into their parents or, without weights, into the block before them."""
        if "" in repeated:
            raise Refused("the whole model runs more than once in a step")
        heavy = {path for path in repeated if _has_weights(self._modules[path])}
        self._repeated = next(path for path in order if path in (heavy or repeated))
        if set(order) == repeated - heavy:  # nothing is left that they could join
            heavy = repeated
        together = {self._modules[path] for path in heavy}
        self._modules = {path: module for path, module in self._modules.items() if path not in repeated}
        self._take_together(together)

    def _take_together(self, repeated: Set[nn.Module]) -> None:
        """Merge blocks into their parents; a block may have several."""
        modules, everywhere = dict(self.model.named_modules()), dict(self.model.named_modules(remove_duplicate=False))
        first_paths = {module: path for path, module in modules.items()}
        holders = {everywhere[path.rpartition(".")[0]] for path, module in everywhere.items() if module in repeated}
        parents = {first_paths[holder] for holder in holders}
        paths = [path for path in [*self._modules, *parents] if not any(is_in(path, parent) for parent in parents)]
        self._modules = {path: modules[path] for path in paths}

    def _join_short_ones(self, threads: int) -> None:
        """Join sections that are too short for their own count to the one before them."""
        uniform = [threads] * len(self._begins)
        steps = [self.time_step(uniform) for _ in range(FIRST_STEPS)][1:]
        shortest_s = SHORT * setting_s()
        times = [median(of_section) for of_section in zip(*steps)]
        self._begins = {self.places[first]: number for number, first in enumerate(long_enough(times, shortest_s))}


def read_back(module: str, asked: int) -> int:
    """Return the count at the end of a section. Raise Refused if it is not the requested one."""
    effective = torch.get_num_threads()
    if effective != asked:
        values = (module, effective, asked)
        raise Refused("the model sets threads itself: in %s there are %d, and %d were requested" % values)
    return effective


def long_enough(times_s: Sequence[float], shortest_s: float) -> List[int]:
    """Return the sections that have a start of their own, so that each, with those that join it, is long enough.

    The first one always has.
    """
    firsts = [0]
    together_s = times_s[0]
    for place, time_s in enumerate(times_s[1:], 1):
        if time_s >= shortest_s and together_s >= shortest_s:
            firsts.append(place)
            together_s = 0.0
        together_s += time_s
    return firsts


def setting_s() -> float:
    """Return the seconds that setting a count and setting it back take if nothing computes in between."""
    threads = torch.get_num_threads()
    start = time.perf_counter()
    for _ in range(_CALLS):
        torch.set_num_threads(1)
        torch.set_num_threads(threads)
    return (time.perf_counter() - start) / _CALLS
