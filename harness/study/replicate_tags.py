"""Tags of runs that say of which system each is a replicate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from runs import InputError
from runs.run_file import RunFile

SYSTEM, REPLICATE = "system", "replicate"


def tag_pattern(text: str) -> re.Pattern[str]:
    """Read the regular expression of a study.

    Raises
    ------
    ValueError
        If it is none, or does not tell the system.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"is no regular expression ({error}), got {text!r}") from None
    if SYSTEM not in pattern.groupindex:
        raise ValueError(f"needs a group (?P<{SYSTEM}>...), got {text!r}")
    return pattern


def systems_of(files: Sequence[RunFile], text: str) -> tuple[str, ...]:
    """Name the system of each run, as the pattern finds it in the tag.

    Raises
    ------
    InputError
        If a tag does not match, or two files are the same replicate of a system.
    """
    pattern = tag_pattern(text)
    first: dict[tuple[str, str], RunFile] = {}
    names: list[str] = []
    for file in files:
        found = pattern.fullmatch(file.system)
        if found is None or not found[SYSTEM]:
            raise InputError(
                f"{file.path}: the tag {file.system!r} does not match `replicates`, {text!r}, "
                "which says of every run of which system it is."
            )
        names.append(found[SYSTEM])
        if REPLICATE not in pattern.groupindex:
            continue
        own = found[SYSTEM], found[REPLICATE] or ""
        if own in first:
            raise InputError(
                f"{file.path}: the tag {file.system!r} names the replicate {own[1]!r} of "
                f"{own[0]!r}, and so does {first[own].path}."
            )
        first[own] = file
    return tuple(names)


def numbered(files: Sequence[RunFile], text: str) -> list[RunFile]:
    """Number replicates that share a tag, which then name themselves.

    They may where the pattern does not tell replicates apart; other runs keep their tags.
    """
    if REPLICATE in tag_pattern(text).groupindex:
        return [*files]
    tags = [file.system for file in files]
    return [
        replace(file, system=f"{tag}-{1 + tags[:place].count(tag)}")
        if tags.count(tag) > 1
        else file
        for place, (file, tag) in enumerate(zip(files, tags, strict=True))
    ]
