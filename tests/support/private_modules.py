"""The contract `private` of import-linter: only its own folder imports a module `_name`."""

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    """Each folder has a door: other folders import only modules without an underscore."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Return the imports of private modules from other folders."""
        broken = []
        for module in sorted(graph.modules):
            folder, _, name = module.rpartition(".")
            if not name.startswith("_") or name.startswith("__"):
                continue
            for importer in sorted(graph.find_modules_that_directly_import(module)):
                if importer != folder and not importer.startswith(f"{folder}."):
                    broken.append(f"{importer} imports {module}")
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each import with the next step."""
        for line in check.metadata["broken"]:
            output.print_error(f"{line}. Import a module of that folder without an underscore.")
