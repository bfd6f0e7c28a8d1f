"""``python -m harness.laws`` prints the page of the built-in metrics' cards."""

from harness.cli.main import main

main(["check", "--all", "--markdown"], prog_name="harness")
