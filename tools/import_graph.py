"""Cycles and chains of the imports within a package."""

from __future__ import annotations


def components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of a graph: each after all that it points to (Tarjan, 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def longest_chains(graph: dict[str, set[str]]) -> dict[str, list[str]]:
    """Return for each module the longest chain that begins with it. A cycle counts with all of its modules."""
    chains: dict[str, list[str]] = {}
    for group in components(graph):
        below = [chains[target] for node in group for target in sorted(graph[node]) if target not in group]
        tail = max(below, key=len, default=[])
        for node in group:
            chains[node] = [node, *(other for other in group if other != node), *tail]
    return chains
