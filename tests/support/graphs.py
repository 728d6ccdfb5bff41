"""Build graphs of recorded runs by hand."""

from torch import Tensor

from attn_drill.diagnosis._value_graph import Node, ValueGraph


class GraphBuilder:
    """Collect the nodes of a graph."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(
        self,
        operation: str,
        value: Tensor | None,
        *parents: Node,
        lines: tuple[int, ...] = (),
        is_cut: bool = False,
        written: Node | None = None,
    ) -> Node:
        """Add a node.

        Args:
            operation: torch's name, or `input x`.
            value: the result.
            parents: the operands.
            lines: the lines of the file, innermost first.
            is_cut: whether gradients were off.
            written: the node that an in-place operation changed.
        """
        node = Node(
            index=len(self.nodes),
            lines=lines,
            operation=operation,
            value=value,
            parents=parents,
            written=written,
            entries=1 if value is None else value.numel(),
            is_cut=is_cut,
        )
        self.nodes.append(node)
        return node

    def graph(self, **outputs: Node) -> ValueGraph:
        """Return the graph with these outputs."""
        return ValueGraph(tuple(self.nodes), outputs)
