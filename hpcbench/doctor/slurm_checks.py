"""Check a cluster's Slurm for sweeps: its state, its accounting and limits, and whether the site file agrees. Pure."""

from __future__ import annotations

from hpcbench.config.site import Site, variable_of
from hpcbench.config.slurm_options import walltime_s
from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, CheckResult
from hpcbench.errors import nearest
from hpcbench.slurm.cluster_query import Association, Cluster

_DEFAULT_QOS = "normal"  # the default of Slurm
_NO_ASSOCIATIONS = "sacctmgr does not show your associations"
_SHOW_ASSOCIATIONS = (
    "Run `sacctmgr show assoc user=$USER` to see the error, and ask the administrators whether slurmdbd is up."
)
SILENT = CheckResult(
    "Slurm",
    PROBLEM,
    "configured on this host, but not responding",
    "hpcbench cannot submit jobs or follow running ones.",
    "Check `scontrol ping`, and ask the administrators whether slurmctld is up.",
)

ABSENT = CheckResult(
    "Slurm",
    PROBLEM,
    "the site uses Slurm, but its commands were not found",
    "hpcbench cannot submit jobs from this machine.",
    "Run doctor on a login node, or load the module with sbatch.",
)


def check_slurm(cluster: Cluster, site: Site) -> list[CheckResult]:
    """Return the results for a cluster. `site` is the site file, otherwise the queried site."""
    return [
        _version(cluster),
        *_nodes(cluster),
        *_partitions(cluster, site),
        *_sharing(cluster, site),
        _accounting(cluster),
        *_account(cluster, site),
        _array_size(cluster, site),
        _submitted_jobs(cluster, site),
        *_binding(cluster),
        _energy(cluster),
    ]


def _version(cluster: Cluster) -> CheckResult:
    version = cluster.config.get("SLURM_VERSION")
    if version is None:
        means = "Limits and settings of the cluster are unknown."
        action = "Run `scontrol show config` to see why."
        return CheckResult("Slurm", WARNING, "responds, but does not show its configuration", means, action)
    return CheckResult("Slurm", OK, f"version {version}, cluster {cluster.config.get('ClusterName', '?')}")


def _nodes(cluster: Cluster) -> list[CheckResult]:
    usable = ", ".join(f"{name} {nodes.usable} of {nodes.total}" for name, nodes in cluster.nodes.items())
    empty = [name for name, nodes in cluster.nodes.items() if not nodes.usable]
    if not empty:
        return [CheckResult("usable nodes", OK, usable)] if usable else []
    means = f"Jobs in {', '.join(empty)} wait until the administrators return nodes to service."
    return [CheckResult("usable nodes", WARNING, usable, means, "`sinfo -R` shows why nodes are out of service.")]


def _partitions(cluster: Cluster, site: Site) -> list[CheckResult]:
    """Return differences between the partitions of the site file and of Slurm."""
    theirs = cluster.site.partitions
    if not theirs:
        return []
    results = []
    named = {*site.partitions, *filter(None, [site.slurm.partition])}
    for name in sorted(named - set(theirs)):
        from_shell = name not in site.partitions and "partition" in site.shell_defaults
        source = variable_of("partition") if from_shell else "the site"
        found, means = f"{source} names '{name}', which Slurm does not have", "Slurm refuses every job for it."
        correct = f"In the shell: unset {source}, or correct it" if from_shell else "Correct the site file"
        results.append(CheckResult("partitions", PROBLEM, found, means, f"{correct}: {nearest(name, theirs)}"))
    for name in sorted(set(site.partitions) & set(theirs)):
        ours_time, max_time = site.partitions[name].max_time, theirs[name].max_time
        if ours_time and max_time and walltime_s(ours_time) > walltime_s(max_time):
            found = f"{name} allows {max_time}, the site file {ours_time}"
            means = "hpcbench plans cases that Slurm refuses or never starts."
            action = f"In the site file: max_time: {max_time!r}"
            results.append(CheckResult("partitions", WARNING, found, means, action))
    return results


def _sharing(cluster: Cluster, site: Site) -> list[CheckResult]:
    forced = [name for name, nodes in cluster.nodes.items() if nodes.sharing.startswith("FORCE")]
    if forced:
        means = "Slurm gives the same CPUs to several jobs at once: other jobs change the measured times."
        action = "Ask for a partition without OverSubscribe=FORCE."
        return [CheckResult("shared CPUs", WARNING, f"in {', '.join(forced)}", means, action)]
    whole = site.slurm.exclusive or cluster.config.get("SelectType") == "select/linear"
    shared = [name for name, nodes in cluster.nodes.items() if not nodes.sharing.startswith("EXCL")]
    if whole or not shared:
        return [CheckResult("shared nodes", OK, "none: jobs have exclusive nodes")]
    means = "Other jobs on a node share memory bandwidth, caches, network and power with a case."
    action = "slurm: {exclusive: true} in the site file or the experiment; it costs the whole node."
    return [CheckResult("shared nodes", NOTE, f"in {', '.join(shared)}", means, action)]


def _accounting(cluster: Cluster) -> CheckResult:
    if not cluster.has_accounting:
        means = "slurmctld keeps the outcome of a job without a record only for minutes."
        action = "Run `hpcbench status` soon after a sweep, or ask for slurmdbd."
        return CheckResult("accounting", NOTE, "none", means, action)
    if not cluster.sacct_responds:
        means = "The outcomes and the resource usage of jobs without a record are unknown."
        return CheckResult("accounting", WARNING, "configured, but sacct fails", means, "Ask whether slurmdbd is up.")
    if cluster.associations is None:
        means = "Whether you may use the account and QOS of the site is unknown."
        return CheckResult("accounting", NOTE, f"sacct responds; {_NO_ASSOCIATIONS}", means, _SHOW_ASSOCIATIONS)
    accounts = list(dict.fromkeys(each.account for each in cluster.associations))
    if not accounts:
        return CheckResult("accounting", OK, "sacct responds; you have no association")
    return CheckResult(
        "accounting", OK, f"sacct responds; your account{'s' * (len(accounts) > 1)}: {', '.join(accounts)}"
    )


def _account(cluster: Cluster, site: Site) -> list[CheckResult]:
    """Return an account or QOS of the site that the user may not use, if Slurm enforces it."""
    if not cluster.associations:
        return []
    results = []
    accounts = sorted({each.account for each in cluster.associations})
    enforced = cluster.enforces("associations", "limits", "qos", "safe")
    if enforced and site.slurm.account and site.slurm.account not in accounts:
        results.append(_not_allowed("account", site, accounts))
    allowed = sorted({qos for each in _charged(cluster.associations, site) for qos in each.qos})
    if cluster.enforces("qos") and site.slurm.qos and allowed and site.slurm.qos not in allowed:
        results.append(_not_allowed("qos", site, allowed))
    return results


def _not_allowed(key: str, site: Site, allowed: list[str]) -> CheckResult:
    source, action = "the site", f"In the site file: slurm: {{{key}: {allowed[0]}}}"
    if key in site.shell_defaults:
        source = variable_of(key)
        action = f"In the shell: unset {source}, or export {source}={allowed[0]}"
    found = f"{source} names '{getattr(site.slurm, key)}', which is not among yours: {', '.join(allowed)}"
    return CheckResult(key, PROBLEM, found, "sbatch refuses every job.", action)


def _array_size(cluster: Cluster, site: Site) -> CheckResult:
    limit = cluster.config.get("MaxArraySize", "")
    if not limit.isdigit():
        return CheckResult("MaxArraySize", OK, f"unknown (no configuration); {site.limits.max_array_size} in the site")
    if site.limits.max_array_size <= int(limit):
        return CheckResult("MaxArraySize", OK, limit)
    found = f"{limit}, and {site.limits.max_array_size} in the site file"
    means = f"Slurm refuses arrays of {limit} or more tasks."
    return CheckResult("MaxArraySize", PROBLEM, found, means, f"In the site file: limits: {{max_array_size: {limit}}}")


def _submitted_jobs(cluster: Cluster, site: Site) -> CheckResult:
    """Check the smallest limit of the associations that the site may charge, and of their QOS."""
    if not cluster.has_accounting:
        return CheckResult("MaxSubmitJobs", OK, "no limit (no accounting)")
    if cluster.associations is None:
        means = "The number of jobs that Slurm accepts at the same time is unknown."
        return CheckResult("MaxSubmitJobs", NOTE, f"unknown ({_NO_ASSOCIATIONS})", means, _SHOW_ASSOCIATIONS)
    charged = _charged(cluster.associations, site)
    limits = [each.max_submit_jobs for each in charged if each.max_submit_jobs]
    limits += [cluster.qos_limits[qos] for qos in _qos(charged, site) if qos in cluster.qos_limits]
    if not limits or not cluster.enforces("limits", "safe"):
        return CheckResult("MaxSubmitJobs", OK, "no limit" + (f"; {min(limits)} is not enforced" if limits else ""))
    limit, planned = min(limits), site.limits.max_submit_jobs
    if planned is not None and planned <= limit:
        return CheckResult("MaxSubmitJobs", OK, str(limit))
    found = f"{limit}, and {planned or 'nothing'} in the site file"
    means = f"Slurm accepts {limit} jobs of a sweep at a time; `hpcbench resume` or slurm.follow_on submits the rest."
    return CheckResult(
        "MaxSubmitJobs", WARNING, found, means, f"In the site file: limits: {{max_submit_jobs: {limit}}}"
    )


def _charged(associations: tuple[Association, ...], site: Site) -> list[Association]:
    """Return the associations under the account that the site names; otherwise all of the user's."""
    return [each for each in associations if site.slurm.account in (None, each.account)]


def _qos(associations: list[Association], site: Site) -> set[str]:
    if site.slurm.qos:
        return {site.slurm.qos}
    return {each.default_qos or _DEFAULT_QOS for each in associations}


def _binding(cluster: Cluster) -> list[CheckResult]:
    plugin = cluster.config.get("TaskPlugin")
    if plugin is None:
        return []
    if "affinity" in plugin or "cgroup" in plugin:
        return [CheckResult("TaskPlugin", OK, plugin)]
    means = "Slurm does not bind tasks: those of a job, and of the jobs of a node, run on each other's CPUs."
    action = "Ask for TaskPlugin=task/cgroup,task/affinity in slurm.conf."
    return [CheckResult("TaskPlugin", WARNING, plugin, means, action)]


def _energy(cluster: Cluster) -> CheckResult:
    plugin = cluster.config.get("AcctGatherEnergyType", "acct_gather_energy/none").rpartition("/")[2]
    period = cluster.config.get("AcctGatherNodeFreq", "").removesuffix(" sec")
    if plugin in ("none", "(null)"):
        means = "Energy is measured only by sensors that a job can read itself."
        action = "Ask for AcctGatherEnergyType (rapl, ipmi, xcc, pm_counters) in slurm.conf."
        return CheckResult("energy counter", NOTE, "none in Slurm (AcctGatherEnergyType)", means, action)
    if period == "0":
        found, means = f"{plugin}, AcctGatherNodeFreq=0", "Slurm never reads its counter: the energy of every job is 0."
        return CheckResult("energy counter", WARNING, found, means, "Ask for AcctGatherNodeFreq=30.")
    return CheckResult("energy counter", OK, f"{plugin}, every {period or '?'} s, per node: valid only for whole nodes")
