"""Small logs, written as files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from analyses.online.logs import Logs, read_logs
from analyses.online.logs.interactions import Intake

LISTS = """rec_id,time,user,arm,position,item
r1,1000,ann,A,1,x
r1,1000,ann,A,2,y
r2,2000,bob,B,1,x
"""
CLICKS = """time,user,item,type
1500,ann,y,view
2500,bob,z,purchase
"""
MODELS = """arm,model_version,valid_from,valid_to
A,v2,2000,3000
A,v1,0,1500
B,v1,0,3000
"""


def write_csv(folder: Path, **tables: str) -> dict[str, Path]:
    """Write tables under their names."""
    paths = {name: folder / f"{name}.csv" for name in tables}
    for name, path in paths.items():
        path.write_text(tables[name])
    return paths


def write_parquet(path: Path, columns: Mapping[str, Sequence[Any] | pa.Array]) -> Path:
    """Write columns; of lists, if their values are."""
    parquet.write_table(pa.table(dict(columns)), path)
    return path


def read_csv(
    folder: Path, recommendations: str = LISTS, interactions: str = CLICKS, **options: Any
) -> Logs:
    """Read a log whose tables are given as text; options that are tables are text, too."""
    texts = {name: options.pop(name) for name in ("models", "assignment") if name in options}
    paths = write_csv(folder, recommendations=recommendations, interactions=interactions, **texts)
    return read_logs(**paths, intake=Intake(**options))
