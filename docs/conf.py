"""How the documentation is built: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent)]

from harness import __version__  # noqa: E402

project = "Metric robustness harness"
release = version = __version__

extensions = [
    *("sphinx.ext.autodoc", "numpydoc", "myst_parser"),
    *("executed", "mathml", "notebooks", "reference", "pages", "gallery"),
]
exclude_patterns = ["build"]
html_theme = "furo"
html_title = f"Metric robustness harness {release}"
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["docs.css"]

# A word in single backticks is code, as in the docstrings.
default_role = "literal"
highlight_language = "text"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    "ArrayLike": "ArrayLike",
    # Classes of that name are documented in two places.
    "Estimates": "analyses.shared.measure_estimates.Estimates",
    "Scores": "analyses.shared.scores.Scores",
    "FrameOfScores": "harness.readers.scores.FrameOfScores",
    "Runs": "harness.readers.rankings.Runs",
    "Judgements": "harness.readers.judgements.Judgements",
    "Counts": "harness.readers.judgements.Counts",
}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
numpydoc_show_class_members = False
