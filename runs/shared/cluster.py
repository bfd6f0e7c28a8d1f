"""Work that goes to a Dask cluster: one that is running somewhere, or two processes here."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any, Final

from runs.shared.errors import InputError, missing_package

LOCAL: Final = "local"
SECONDS_TO_ANSWER: Final = 5
N_PROCESSES: Final = 2


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Send the parallel work of joblib to a Dask cluster, or leave it here for None.

    The address is that of the scheduler, such as "tcp://10.0.0.5:8786"; "local" starts two
    processes. Workers need this harness installed.

    Raises
    ------
    InputError
        If the package distributed is missing, or nobody answers.
    """
    if address is None:
        yield
        return
    import joblib

    distributed = _import_distributed()
    with ExitStack() as stack:
        client = stack.enter_context(_client(distributed, address, stack))
        stack.enter_context(joblib.parallel_config("dask", client=client))
        yield


def _import_distributed() -> Any:
    try:
        return import_module("distributed")
    except ModuleNotFoundError:
        raise missing_package("distributed", needed_by="--dask", extra="cluster") from None


def _client(distributed: Any, address: str, stack: ExitStack) -> Any:
    if address == LOCAL:
        cluster = distributed.LocalCluster(
            n_workers=N_PROCESSES, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        )
        return distributed.Client(stack.enter_context(cluster))
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=SECONDS_TO_ANSWER)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({error}); an address looks like "
            "tcp://10.0.0.5:8786, and 'local' starts a cluster here."
        ) from None
    if not client.scheduler_info()["workers"]:
        client.close()
        raise InputError(f"the Dask cluster at {address!r} has no workers.")
    return client
