"""Lists without their items: all that rates need of them, once it is known which were accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runs import Numbering


@dataclass(frozen=True, eq=False)
class Shown:
    """To whom lists were shown, when, by which arm and version; see `Slates`."""

    users: Numbering
    arms: tuple[str, ...]
    user: NDArray[np.int32]
    arm: NDArray[np.int32]
    time: NDArray[np.int64]
    versions: tuple[str, ...] = ()
    version: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.user)

    @classmethod
    def joined(cls, parts: Sequence[Shown]) -> Shown:
        """Put lists of different users together, over the numberings of all."""
        users = Numbering.of(np.concatenate([part.users.ids for part in parts]))
        arms, versions = (_names([getattr(p, n) for p in parts]) for n in ("arms", "versions"))
        version = [
            versions.numbers(part.versions)[part.version]
            for part in parts
            if part.version is not None
        ]
        return cls(
            users,
            tuple(arms.ids.tolist()),
            np.concatenate([users.numbers(part.users.ids)[part.user] for part in parts]),
            np.concatenate([arms.numbers(part.arms)[part.arm] for part in parts]),
            np.concatenate([part.time for part in parts]),
            tuple(versions.ids.tolist()),
            np.concatenate(version) if version else None,
        )


def _names(parts: Sequence[tuple[str, ...]]) -> Numbering:
    return Numbering.of([name for part in parts for name in part])
