"""``python -m harness.laws`` prints the page of the built-in metrics' cards."""

from harness.cli import main

main(["check", "--all", "--markdown"], prog_name="harness")
