"""A contract for import-linter: some packages are imported by those named, and by nobody else."""

from __future__ import annotations

from collections.abc import Sequence

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class KnownTo(Contract):
    """Modules of ``packages`` are imported by one another and by modules of ``importers`` alone."""

    packages = fields.ListField(subfield=fields.StringField())
    importers = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find the imports that come from anywhere else."""
        packages: list[str] = list(self.packages)  # type: ignore[call-overload]
        importers: list[str] = list(self.importers)  # type: ignore[call-overload]
        found = [
            f"{importer} imports {module}"
            for module in sorted(graph.modules)
            if is_within(module, packages)
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if not (is_within(importer, packages) or importer_is_named(importer, importers))
        ]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports."""
        for line in check.metadata["found"]:
            output.print_error(line)


def is_within(module: str, packages: Sequence[str]) -> bool:
    """Tell whether a module is one of some packages, or below one."""
    return any(module == name or module.startswith(f"{name}.") for name in packages)


def importer_is_named(module: str, importers: Sequence[str]) -> bool:
    """Tell whether a module is named, by itself or as one below ``package.*``."""
    below = [name.removesuffix(".*") for name in importers if name.endswith(".*")]
    return module in importers or is_within(module, below)
