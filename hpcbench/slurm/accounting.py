"""How many jobs Slurm's accounting lets this user have: which limits of associations and QOS hold for a job. Pure.

The rules are slurmctld's: https://slurm.schedmd.com/resource_limits.html, "Hierarchy", and acct_policy.c from 20.11 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hpcbench.config.slurm_options import SlurmOptions

DEFAULT_QOS = "normal"  # Slurm's own
Counter = tuple[str, ...]  # names a set of jobs that Slurm counts together


class Cap(NamedTuple):
    """At most so many jobs of one counter at a time."""

    counter: Counter
    most: int
    words: str


@dataclass(frozen=True)
class Association:
    """A user's place under an account, or an account's own. MaxSubmitJobs is told as inherited, GrpSubmitJobs not."""

    account: str
    user: str = ""
    partition: str = ""
    parent: str = ""  # the account above; empty for users
    default: bool = False
    max_submit: int | None = None
    group_submit: int | None = None

    @property
    def counter(self) -> Counter:
        return ("association", self.account, self.user, self.partition)

    @property
    def words(self) -> str:
        partition = f" in partition {self.partition}" if self.partition else ""
        return f"user {self.user} under account {self.account}{partition}" if self.user else f"account {self.account}"


@dataclass(frozen=True)
class Qos:
    """The limits of a quality of service."""

    name: str
    group_submit: int | None = None
    per_user: int | None = None
    per_account: int | None = None
    over_partition: bool = False  # OverPartQOS: its limits go before those of the partition's QOS

    @property
    def counter(self) -> Counter:
        return ("qos", self.name)

    @property
    def user_counter(self) -> Counter:
        return ("qos of user", self.name)

    def account_counter(self, account: str) -> Counter:
        return ("qos of account", self.name, account)


@dataclass(frozen=True)
class Standing:
    """Where a job stands: its account, the associations from the user's up to the root, its QOS by precedence."""

    account: str
    associations: tuple[Association, ...]
    qos: tuple[Qos, ...]

    def counters(self) -> set[Counter]:
        """All that it counts in, limited or not."""
        by_qos = {each for q in self.qos for each in (q.counter, q.user_counter, q.account_counter(self.account))}
        return by_qos | {each.counter for each in self.associations}

    def caps(self) -> Iterator[Cap]:
        """What limits it: of each kind the first QOS that has one, and associations only where no QOS has."""
        group = _first((qos, qos.group_submit) for qos in self.qos)
        per_account = _first((qos, qos.per_account) for qos in self.qos)
        per_user = _first((qos, qos.per_user) for qos in self.qos)
        if group:
            qos, most = group
            yield Cap(qos.counter, most, f"GrpSubmitJobs of QOS {qos.name}")
        if per_account:
            qos, most = per_account
            words = f"MaxSubmitJobsPerAccount of QOS {qos.name} for account {self.account}"
            yield Cap(qos.account_counter(self.account), most, words)
        if per_user:
            qos, most = per_user
            yield Cap(qos.user_counter, most, f"MaxSubmitJobsPerUser of QOS {qos.name}")
        for each in self.associations:
            if each.group_submit is not None and not group:
                yield Cap(each.counter, each.group_submit, f"GrpSubmitJobs of {each.words}")
            if each.max_submit is not None and each.user and not per_user and not per_account:
                yield Cap(each.counter, each.max_submit, f"MaxSubmitJobs of {each.words}")


def _first(limits: Iterable[tuple[Qos, int | None]]) -> tuple[Qos, int] | None:
    """The first that is set."""
    return next(((qos, most) for qos, most in limits if most is not None), None)


@dataclass(frozen=True)
class Accounting:
    """What is known of the accounting; nothing where there is none, or where it enforces no limits."""

    associations: tuple[Association, ...] = ()  # this user's, and those of all accounts
    qos: Mapping[str, Qos] = field(default_factory=dict)
    default_qos: Mapping[tuple[str, str], str] = field(default_factory=dict)  # by account and partition
    partition_qos: Mapping[str, str] = field(default_factory=dict)
    default_partition: str = ""

    def standings(self, options: SlurmOptions) -> list[Standing]:
        """One for each partition and QOS that the job names, as Slurm takes several: it must fit in all of them."""
        account = (options.account or self._default_account()).lower()
        found = []
        for partition in (options.partition or self.default_partition).split(","):
            mine = {(each.account, each.partition): each for each in self.associations if each.user}
            own = mine.get((account, partition)) or mine.get((account, ""))
            asked = options.qos or (own and self.default_qos.get((own.account, own.partition))) or DEFAULT_QOS
            chain = (own, *self._accounts_from(account)) if own else ()
            found += [Standing(account, chain, self._qos(qos, partition)) for qos in asked.lower().split(",")]
        return found

    def _default_account(self) -> str:
        return next((each.account for each in self.associations if each.user and each.default), "")

    def _accounts_from(self, name: str) -> Iterator[Association]:
        accounts = {each.account: each for each in self.associations if not each.user}
        while name in accounts:
            yield accounts[name]
            name = accounts[name].parent

    def _qos(self, name: str, partition: str) -> tuple[Qos, ...]:
        own = self.qos.get(name, Qos(name))
        of_partition = self.partition_qos.get(partition)
        if of_partition is None or of_partition == name:
            return (own,)
        other = self.qos.get(of_partition, Qos(of_partition))
        return (own, other) if own.over_partition else (other, own)
