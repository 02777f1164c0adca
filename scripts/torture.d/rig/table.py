"""The table of a run: printed, and written between two markers of a page."""

from __future__ import annotations

from pathlib import Path

from .attack import Tally

HEAD = ("attack", "count", "survived", "lost", "violations", "peak RSS", "fds")
BEGIN = "<!-- torture: begin, written by scripts/torture --table -->"
END = "<!-- torture: end -->"


def cells(tally: Tally) -> list[str]:
    """The cells of one row."""
    size = f"{tally.rss_bytes / 1e6:.0f} MB" if tally.rss_bytes else "-"
    numbers = [tally.count, tally.survived, tally.lost, len(tally.violations)]
    return [tally.title, *(f"{number:,}" for number in numbers), size, tally.fds]


def markdown(rows: list[list[str]]) -> str:
    """Rows as a Markdown table whose columns stand below each other."""
    widths = [max(len(row[column]) for row in [list(HEAD), *rows]) for column in range(len(HEAD))]
    def line(row: list[str]) -> str:
        first = row[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        return "| " + " | ".join([first, *rest]) + " |"
    rule = "|---" + "|---:" * (len(HEAD) - 1) + "|"
    return "\n".join([line(list(HEAD)), rule, *map(line, rows)])


def write_between(path: Path, text: str) -> None:
    """Puts text between the markers of a page, or makes a page of it where there is none."""
    block = f"{BEGIN}\n{text}\n{END}"
    if not path.exists():
        path.write_text(block + "\n")
        return
    page = path.read_text()
    if BEGIN not in page or END not in page:
        raise ValueError(f"{path} has no markers: {BEGIN} ... {END}")
    before, _, rest = page.partition(BEGIN)
    path.write_text(before + block + rest.partition(END)[2])
