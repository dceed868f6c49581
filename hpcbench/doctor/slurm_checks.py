"""What a cluster's Slurm means for sweeps: is it up, what does it count and limit, does the site file agree. Pure."""

from __future__ import annotations

from hpcbench.config.site import Site
from hpcbench.config.slurm_options import walltime_s
from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, Finding
from hpcbench.errors import nearest
from hpcbench.slurm.cluster_query import Association, Cluster

_DEFAULT_QOS = "normal"  # Slurm's own
SILENT = Finding(
    "Slurm",
    PROBLEM,
    "it is set up here and does not answer",
    "No job can be submitted, and none of those that run can be followed.",
    "Is slurmctld up? `scontrol ping` says; the administrators know.",
)

ABSENT = Finding(
    "Slurm",
    PROBLEM,
    "its commands are not here, and the site has it",
    "No job can be submitted from this machine.",
    "Run this on a login node, or load the module that brings sbatch.",
)


def look(cluster: Cluster, site: Site) -> list[Finding]:
    """Everything that Slurm's commands tell; `site` is the site file, or what was found where there is none."""
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


def _version(cluster: Cluster) -> Finding:
    version = cluster.config.get("SLURM_VERSION")
    if version is None:
        means = "Limits and settings of the cluster are not known."
        return Finding("Slurm", WARNING, "answers, but does not show its configuration", means, "scontrol show config")
    return Finding("Slurm", OK, f"{version} answers, cluster {cluster.config.get('ClusterName', '?')}")


def _nodes(cluster: Cluster) -> list[Finding]:
    told = ", ".join(f"{name} {nodes.usable} of {nodes.total}" for name, nodes in cluster.nodes.items())
    empty = [name for name, nodes in cluster.nodes.items() if not nodes.usable]
    if not empty:
        return [Finding("nodes that take jobs", OK, told)] if told else []
    means = f"Jobs wait in {', '.join(empty)} until somebody brings nodes back."
    return [Finding("nodes that take jobs", WARNING, told, means, "`sinfo -R` says why they are out of service.")]


def _partitions(cluster: Cluster, site: Site) -> list[Finding]:
    """Where the site file says otherwise than Slurm."""
    theirs = cluster.site.partitions
    if not theirs:
        return []
    findings = []
    named = {*site.partitions, *filter(None, [site.slurm.partition])}
    for name in sorted(named - set(theirs)):
        means = "Every job for it is refused."
        mend = f"Correct the site file: {nearest(name, theirs)}"
        findings.append(Finding("partitions", PROBLEM, f"Slurm has no '{name}', which the site names", means, mend))
    for name in sorted(set(site.partitions) & set(theirs)):
        asked, most = site.partitions[name].max_time, theirs[name].max_time
        if asked and most and walltime_s(asked) > walltime_s(most):
            found = f"{name} allows {most}, the site file {asked}"
            means = "Cases that take longer are planned, and then refused or never started."
            mend = f"In the site file: max_time: {most!r}"
            findings.append(Finding("partitions", WARNING, found, means, mend))
    return findings


def _sharing(cluster: Cluster, site: Site) -> list[Finding]:
    forced = [name for name, nodes in cluster.nodes.items() if nodes.sharing.startswith("FORCE")]
    if forced:
        means = "Slurm gives the same CPUs to several jobs at once: times say as much about others as about the case."
        mend = "Ask for a partition without OverSubscribe=FORCE."
        return [Finding("shared CPUs", WARNING, f"in {', '.join(forced)}", means, mend)]
    whole = site.slurm.exclusive or cluster.config.get("SelectType") == "select/linear"
    shared = [name for name, nodes in cluster.nodes.items() if not nodes.sharing.startswith("EXCL")]
    if whole or not shared:
        return [Finding("shared nodes", OK, "none: each job has its nodes for itself")]
    means = "Jobs of others on the same node share memory bandwidth, caches, network and power with a case."
    mend = "slurm: {exclusive: true} in the site file or the experiment; it costs the whole node."
    return [Finding("shared nodes", NOTE, f"in {', '.join(shared)}", means, mend)]


def _accounting(cluster: Cluster) -> Finding:
    if not cluster.has_accounting:
        means = "How a job ended that left no record is told only for as long as Slurm remembers it, for minutes."
        return Finding(
            "accounting", NOTE, "none", means, "Run `hpcbench status` soon after a sweep, or ask for slurmdbd."
        )
    if not cluster.sacct_responds:
        means = "How a job ended that left no record cannot be told, nor what it used."
        return Finding("accounting", WARNING, "there is one, and sacct gives no answer", means, "Is slurmdbd up?")
    accounts = list(dict.fromkeys(each.account for each in cluster.associations or ()))
    if not accounts:
        return Finding("accounting", OK, "sacct answers; no association of yours")
    return Finding("accounting", OK, f"sacct answers; your account{'s' * (len(accounts) > 1)}: {', '.join(accounts)}")


def _account(cluster: Cluster, site: Site) -> list[Finding]:
    """Whether the site file names an account and a QOS that this user may use, where Slurm insists on it."""
    if not cluster.associations:
        return []
    findings = []
    accounts = sorted({each.account for each in cluster.associations})
    insists = cluster.enforces("associations", "limits", "qos", "safe")
    if insists and site.slurm.account and site.slurm.account not in accounts:
        findings.append(_not_yours("account", site.slurm.account, accounts))
    allowed = sorted({qos for each in _charged(cluster.associations, site) for qos in each.qos})
    if cluster.enforces("qos") and site.slurm.qos and allowed and site.slurm.qos not in allowed:
        findings.append(_not_yours("qos", site.slurm.qos, allowed))
    return findings


def _not_yours(key: str, value: str, allowed: list[str]) -> Finding:
    found = f"the site names '{value}', which is not among yours: {', '.join(allowed)}"
    return Finding(
        key, PROBLEM, found, "sbatch refuses every job.", f"In the site file: slurm: {{{key}: {allowed[0]}}}"
    )


def _array_size(cluster: Cluster, site: Site) -> Finding:
    most = cluster.config.get("MaxArraySize", "")
    if not most.isdigit():
        return Finding("MaxArraySize", OK, f"not told; {site.limits.max_array_size} in the site")
    if site.limits.max_array_size <= int(most):
        return Finding("MaxArraySize", OK, most)
    found = f"{most}, and {site.limits.max_array_size} in the site file"
    means = f"Arrays of {most} repetitions and more are refused."
    return Finding("MaxArraySize", PROBLEM, found, means, f"In the site file: limits: {{max_array_size: {most}}}")


def _submitted_jobs(cluster: Cluster, site: Site) -> Finding:
    """The least of what the associations that may be charged allow, and their QOS."""
    if cluster.associations is None:
        return Finding("MaxSubmitJobs", OK, "unknown (no accounting)")
    charged = _charged(cluster.associations, site)
    limits = [each.max_submit_jobs for each in charged if each.max_submit_jobs]
    limits += [cluster.qos_limits[qos] for qos in _qos(charged, site) if qos in cluster.qos_limits]
    if not limits or not cluster.enforces("limits", "safe"):
        return Finding("MaxSubmitJobs", OK, "no limit" + (f"; {min(limits)} is not enforced" if limits else ""))
    most, planned = min(limits), site.limits.max_submit_jobs
    if planned is not None and planned <= most:
        return Finding("MaxSubmitJobs", OK, str(most))
    found = f"{most}, and {planned or 'nothing'} in the site file"
    means = f"A sweep of more than {most} repetitions is refused in its middle; `hpcbench resume` goes on later."
    return Finding("MaxSubmitJobs", WARNING, found, means, f"In the site file: limits: {{max_submit_jobs: {most}}}")


def _charged(associations: tuple[Association, ...], site: Site) -> list[Association]:
    """Those under the account that the site names, else all of the user's."""
    return [each for each in associations if site.slurm.account in (None, each.account)]


def _qos(associations: list[Association], site: Site) -> set[str]:
    if site.slurm.qos:
        return {site.slurm.qos}
    return {each.default_qos or _DEFAULT_QOS for each in associations}


def _binding(cluster: Cluster) -> list[Finding]:
    plugin = cluster.config.get("TaskPlugin")
    if plugin is None:
        return []
    if "affinity" in plugin or "cgroup" in plugin:
        return [Finding("TaskPlugin", OK, plugin)]
    means = "Slurm binds nothing: tasks of a job, and jobs of a node, run on each other's CPUs."
    mend = "Ask for TaskPlugin=task/cgroup,task/affinity in slurm.conf."
    return [Finding("TaskPlugin", WARNING, plugin, means, mend)]


def _energy(cluster: Cluster) -> Finding:
    plugin = cluster.config.get("AcctGatherEnergyType", "acct_gather_energy/none").rpartition("/")[2]
    period = cluster.config.get("AcctGatherNodeFreq", "").removesuffix(" sec")
    if plugin in ("none", "(null)"):
        means = "Energy comes from sensors that a job can read itself, or stays empty."
        mend = "Ask for AcctGatherEnergyType (rapl, ipmi, xcc, pm_counters) in slurm.conf."
        return Finding("energy counter", NOTE, "Slurm keeps none (AcctGatherEnergyType)", means, mend)
    if period == "0":
        means = "Slurm has a counter and never reads it: the energy of every job is 0."
        return Finding(
            "energy counter", WARNING, f"{plugin}, AcctGatherNodeFreq=0", means, "Ask for AcctGatherNodeFreq=30."
        )
    return Finding("energy counter", OK, f"{plugin}, every {period or '?'} s, by node: valid for whole nodes only")
