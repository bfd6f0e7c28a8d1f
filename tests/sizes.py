"""Lines of the project by package: ``make sizes``. Docstrings, comments, imports are no code."""

from __future__ import annotations

import ast
import io
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def place_of(name: str) -> str:
    """Name the package of a file: one folder deep, but for analyses and harness."""
    parts = Path(name).parent.parts
    return "/".join(parts[: 2 if parts and parts[0] in ("analyses", "harness") else 1])


def code_lines(text: str) -> int:
    """Count the lines that hold code."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            left_out.update(range(node.lineno, (node.end_lineno or 0) + 1))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            for part in node.body:
                if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
                    left_out.update(range(part.lineno, (part.end_lineno or 0) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    held = {n for t in tokens if t.type not in NOT_CODE for n in range(t.start[0], t.end[0] + 1)}
    return len(held - left_out)


def main() -> None:
    """Print a row for each package."""
    command = ["git", "-C", str(ROOT), "ls-files", "*.py"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    files, lines, code = Counter[str](), Counter[str](), Counter[str]()
    for name in filter(lambda name: (ROOT / name).is_file(), names):
        text = (ROOT / name).read_text(encoding="utf-8")
        whole = "tests" if name.startswith("tests/") else "all but tests"
        for place in {place_of(name), whole}:
            files[place] += 1
            lines[place] += text.count("\n")
            code[place] += code_lines(text)
    print(f"{'package':24}{'files':>7}{'lines':>9}{'code':>9}")
    for place in sorted(lines):
        print(f"{place:24}{files[place]:7,}{lines[place]:9,}{code[place]:9,}")


if __name__ == "__main__":
    main()
