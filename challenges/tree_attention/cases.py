"""Cases for the mask of a tree: chains, stars, forests, several orders of the nodes."""

import torch

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped


def drive(tree_mask, given):
    """Call once or twice."""
    outputs = {"mask": tree_mask(given.parents)}
    if "later_parents" in given.inputs:
        outputs["later_mask"] = tree_mask(given.later_parents)
    return outputs


class TreeMaker(CaseMaker):
    """Make cases with these parents."""

    def __call__(self, name, parents, *, later=None, **more):
        """Return one case; `later` are the parents of a second call."""
        parents = torch.as_tensor(parents)
        if later is not None:
            later = torch.as_tensor(later)
            more["later"] = SecondCall(sizes={"N": len(later)}, inputs={"parents": later})
        given = {"inputs": {"parents": parents}, "N": len(parents), "check": "masks"}
        return super().__call__(name, gradients=False, **given | more)


def drawn(draw, count, *, near=None, roots=0.1):
    """Return random parents.

    Args:
        draw: the source of the numbers.
        count: the number of nodes.
        near: the largest distance of a node from its parent; None for any distance.
        roots: the share of roots among the nodes.
    """
    node = torch.arange(count)
    distance = draw.integers(count, high=near or 10**6) % node.clamp(min=1) + 1
    is_root = draw.uniform(count) < roots
    return torch.where(is_root | (node == 0), -1, node - distance)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = TreeMaker(draw, inputs={}, outputs={"mask": "N N"})
    yield case("two branches of a root", [-1, 0, 0, 1, 1, 2, 5])
    yield case("two trees", [-1, 0, 1, -1, 3, 3, 5, 2])
    yield case("one node", [-1])
    yield case("a root and its child", [-1, 0])
    yield case("two roots", [-1, -1])
    yield case("a chain", [-1, 0, 1, 2, 3, 4])
    yield case("a star", [-1, 0, 0, 0, 0])
    yield case("roots only", [-1, -1, -1, -1])
    # parents[-1] and mask[-1] are entries of the last node.
    yield case("the last node is a root", [-1, 0, 1, 0, -1])
    yield case("the last node is deep", [-1, -1, 1, 2, -1, 3, 5])
    yield case("the last node is a child of node 0", [-1, -1, 1, 2, 0])
    yield case("two chains, one after the other", [-1, 0, 1, 2, -1, 4, 5, 6])
    yield case("two chains, node by node in turn", [-1, -1, 0, 1, 2, 3, 4, 5])
    yield case("three trees in turn", [-1, -1, -1, 0, 1, 2, 3, 3, 4, 5, 8])
    yield case("a chain with a leaf at each node", [-1, 0, 0, 2, 2, 4, 4, 6, 6])
    yield case("a full binary tree", [(node - 1) // 2 for node in range(15)])
    yield case("depth first", [-1, 0, 1, 2, 1, 0, 5, 6, 5])
    yield case("candidates 3, 2 and 1 of each step", [-1, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 6, 8])
    yield case("a root between parents and children", [-1, 0, -1, 1, 2, 3, 4])
    # A fixed number of steps, or of doublings, ends too early for some of these lengths.
    for count in (9, 17, 33, 64):
        yield case(f"a chain of {count}", torch.arange(count) - 1)
    yield case("a chain of 12 among leaves", comb(12))
    size = draw.sizes(N=(9, 16))["N"]
    yield case("a random tree", drawn(draw, size, roots=0.0))
    yield case("random trees", drawn(draw, 19))
    yield case("random trees, parents near", drawn(draw, 23, near=3))
    yield case("many random trees", drawn(draw, 21, roots=0.4))
    # From 257 on, integers are rounded in bfloat16, and they do not fit into 8 bits.
    yield case("300 nodes, parents near", drawn(draw, 300, near=4, roots=0.01))
    yield case("300 nodes", drawn(draw, 300, roots=0.01))
    yield case("a chain of 280", torch.arange(280) - 1)
    parts = {"layout": {"parents": "strided"}, "check": "properties"}
    yield case("part of a larger tensor", drawn(draw, 11), **parts)
    later = {"later": drawn(draw, 13), "check": "properties"}
    yield case("a larger tree afterwards", drawn(draw, 8), **later)


def comb(depth):
    """Return a chain of this depth whose nodes have 0, 1 or 2 leaves in turn."""
    parents, last = [], -1
    for level in range(depth):
        parents.append(last)
        last = len(parents) - 1
        parents += [last] * (level % 3)
    return parents


def realistic():
    """Return the call that is measured after a pass: the tree of a draft model."""
    return realistic_call("64 draft tokens", parents=shaped(64, dtype="int64"))
