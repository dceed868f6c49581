"""The limits of associations and QOS on the number of submitted jobs, and which of them apply to a job. Does no I/O.

The rules are those of slurmctld: https://slurm.schedmd.com/resource_limits.html, "Hierarchy", and acct_policy.c of
Slurm 20.11 and later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hpcbench.config.slurm_options import SlurmOptions

DEFAULT_QOS = "normal"  # the default of Slurm
Counter = tuple[str, ...]  # the name of a set of jobs that Slurm counts together


class Cap(NamedTuple):
    """A limit: at most `most` jobs of one counter at a time."""

    counter: Counter
    most: int
    words: str


@dataclass(frozen=True)
class Association:
    """An association of a user with an account, or of an account itself.

    Slurm reports MaxSubmitJobs as inherited from the parent, and GrpSubmitJobs without inheritance.
    """

    account: str
    user: str = ""
    partition: str = ""
    parent: str = ""  # the account above; empty for users
    default: bool = False
    max_submit: int | None = None
    group_submit: int | None = None

    @property
    def counter(self) -> Counter:
        """Return the counter of the jobs of the association."""
        return ("association", self.account, self.user, self.partition)

    @property
    def words(self) -> str:
        """Return the user, account and partition, for a message."""
        partition = f" in partition {self.partition}" if self.partition else ""
        return f"user {self.user} under account {self.account}{partition}" if self.user else f"account {self.account}"


@dataclass(frozen=True)
class Qos:
    """The limits of a quality of service."""

    name: str
    group_submit: int | None = None
    per_user: int | None = None
    per_account: int | None = None
    over_partition: bool = False  # OverPartQOS: its limits override those of the partition's QOS

    @property
    def counter(self) -> Counter:
        """Return the counter of all jobs of the QOS."""
        return ("qos", self.name)

    @property
    def user_counter(self) -> Counter:
        """Return the counter of the jobs of this user in the QOS."""
        return ("qos of user", self.name)

    def account_counter(self, account: str) -> Counter:
        """Return the counter of the jobs of an account in the QOS."""
        return ("qos of account", self.name, account)


@dataclass(frozen=True)
class Standing:
    """The account of a job, its associations from the user up to the root, and its QOS by precedence."""

    account: str
    associations: tuple[Association, ...]
    qos: tuple[Qos, ...]

    def counters(self) -> set[Counter]:
        """Return all counters in which the job counts, limited or not."""
        by_qos = {each for q in self.qos for each in (q.counter, q.user_counter, q.account_counter(self.account))}
        return by_qos | {each.counter for each in self.associations}

    def caps(self) -> Iterator[Cap]:
        """Yield the limits of the job: for each kind, that of the first QOS that has one.

        A limit of an association applies only if no QOS has a limit of that kind.
        """
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
    """Return the first limit that is set, with its QOS, or None."""
    return next(((qos, most) for qos, most in limits if most is not None), None)


@dataclass(frozen=True)
class Accounting:
    """The state of the accounting; empty if the cluster has no accounting or does not enforce limits."""

    associations: tuple[Association, ...] = ()  # those of this user, and of all accounts
    qos: Mapping[str, Qos] = field(default_factory=dict)
    default_qos: Mapping[tuple[str, str], str] = field(default_factory=dict)  # by account and partition
    partition_qos: Mapping[str, str] = field(default_factory=dict)
    default_partition: str = ""

    def standings(self, options: SlurmOptions) -> list[Standing]:
        """Return the standing of a job for each of its partitions and QOS. It must fit in all of them."""
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
