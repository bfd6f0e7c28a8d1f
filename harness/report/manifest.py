"""The manifest of a finished study: what it was made from, by what, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from analyses.shared.figure_options import FigureOptions
from analyses.shared.sentences import TOPIC, USER, plural
from qrels.ratings.splitter import NEWER_TRAINING, OLDER_TESTS
from runs import InputError
from runs.shared.documents import (
    Document,
    Duration,
    Fact,
    FileName,
    StudyName,
    Text,
    checked_document,
    read_json,
    without_controls,
)

MANIFEST = "manifest.json"

DESCRIPTION = "the manifest of a study"
"""What messages call the file."""

GROUPS_OF_FACTS = {"ratings", "split", "truth"}
"""Keys of a collection that hold facts of their own."""

UNITS = (plural(USER), plural(TOPIC))
"""What the judgements of a collection are of."""

LACKING = ("relevant items", "judged non-relevant items")
"""What users may lack; a collection counts the users without it."""

COUNTS = ("judgements", "relevant judgements", "relevance level")
"""Whole numbers of a collection."""


def _check_collection(facts: dict[str, Any]) -> dict[str, Any]:
    """Check the facts of a collection that are computed with: counts, shares and groups.

    Counts are whole numbers from 0 on; users (or topics) without something are at most as many as
    users; shares are from 0 to 1; groups are objects. Facts that are missing are not checked.
    Returns the facts as they are. Raises ValueError, which pydantic words, for the first fault.
    """
    for group in GROUPS_OF_FACTS & facts.keys():
        # Experiments count interactions, and have no table of their ratings.
        if not isinstance(facts[group], dict):
            raise ValueError(f"must have an object as {group!r}")
    for unit in UNITS:
        counts_of_lacking = [f"{unit} without {lacking}" for lacking in LACKING]
        for count in (*COUNTS, unit, *counts_of_lacking):
            value = facts.get(count, 0)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"must have a whole number from 0 on as {count!r}")
        for count in counts_of_lacking:
            if facts.get(count, 0) > facts.get(unit, 0):
                raise ValueError(f"must not have more {count} than {unit}")
    for share in (OLDER_TESTS, NEWER_TRAINING):
        value = facts.get("split", {}).get(share, 0.0)
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ValueError(f"must have a share from 0 to 1 as {share!r}")
    return facts


def _require_harness(versions: dict[str, str]) -> dict[str, str]:
    """Refuse versions, by package, without that of the harness."""
    if "harness" not in versions:
        raise ValueError("must name the version of the 'harness'")
    return versions


class PartCost(Document):
    """Seconds that a part of a study took."""

    wall: Duration
    cpu: Duration


class Host(Document):
    """The machine on which a study was made."""

    system: Text = "unknown"
    processor: Text = "unknown"


class Manifest(Document):
    """What the manifest of a study says, as far as it is read.

    A manifest may come from anybody: names are those of files, texts have no control characters,
    and numbers are those that readers compute with.
    """

    study: StudyName
    seed: Fact = None
    figures: FigureOptions = FigureOptions()
    lead: Text
    data: Text
    ranked_for: Text = Field(plural(USER), alias="ranked for")
    results: tuple[FileName, ...]
    inputs: tuple[dict[Text, Fact], ...]
    collection: Annotated[dict[Text, Fact], AfterValidator(_check_collection)]
    systems: tuple[Text, ...]
    sources: dict[Text, tuple[Text, Text]] = Field(default_factory=dict)
    families: dict[Text, Text] = Field(default_factory=dict)
    notes: tuple[Text, ...] = ()
    warnings: tuple[Text, ...]
    seconds: dict[Text, PartCost]
    versions: Annotated[dict[Text, Text], AfterValidator(_require_harness)]
    host: Host = Host()

    @classmethod
    def of_unfinished(cls, *, study: str, results: Sequence[str]) -> Manifest:
        """Make the manifest of a study that is being made, of which some results are there."""
        return cls(
            study=study,
            results=tuple(results),
            lead="",
            data="",
            inputs=(),
            collection={},
            systems=(),
            warnings=(),
            seconds={},
            # What is made now does not depend on the number of the version.
            versions={"harness": "that makes it"},
        )

    @property
    def ratings(self) -> Mapping[str, Any]:
        """Counts of the ratings; empty for a study of TREC's files."""
        return self.collection.get("ratings", {})


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a finished study.

    Raises
    ------
    InputError
        If the folder holds no finished study, or one of an old version, or if the manifest breaks
        a rule.
    """
    path = folder / MANIFEST
    try:
        manifest = read_json(path, description=DESCRIPTION)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder}: no finished study is here (no {MANIFEST}).") from None
    if isinstance(manifest, dict) and "study" in manifest and "results" not in manifest:
        raise InputError(
            f"{folder}: the study was made by the harness {_version_in(manifest)}; make it again "
            "with `harness run`."
        )
    return checked_document(path, manifest, Manifest, description=DESCRIPTION)


def _version_in(manifest: Mapping[str, Any]) -> str:
    """Read the version of the harness in a manifest that is not checked; "of old" without one."""
    versions = manifest.get("versions")
    version = versions.get("harness") if isinstance(versions, dict) else None
    if not isinstance(version, str):
        return "of old"
    return without_controls(version[:20])
