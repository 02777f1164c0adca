"""The command line of the rig."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
import traceback
from fractions import Fraction
from pathlib import Path

from . import peers, table
from .attack import Attack, LeftOut, Tally
from .bench import Bench, interruptible

#: Violations of one attack that are printed.
SHOWN = 40

ROOT = Path(__file__).resolve().parents[3]


def arguments(names: list[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/torture",
        description="Tortures drivelab. docs/internals/torture.md says what each attack does.")
    parser.add_argument("attack", nargs="*", help=f"which: {', '.join(names)}; all where absent")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--minutes", type=float, help="about so long, scaled from the whole hour")
    size.add_argument("--share", type=Fraction, help="this share of the counts: 1/100")
    parser.add_argument("--seed", type=int, help="governs what is random; drawn and printed else")
    parser.add_argument("--case", type=int, help="one case of an attack again")
    parser.add_argument("--drivelab", type=Path, help="else $DRIVELAB, or the release build")
    parser.add_argument("--table", type=Path, help="write the table into this page")
    parser.add_argument("--list", action="store_true", help="say which attacks there are")
    asked = parser.parse_args()
    unknown = [name for name in asked.attack if name not in names]
    if unknown:
        parser.error(f"there is no attack {unknown[0]}; there are: {', '.join(names)}")
    if asked.case is not None and len(asked.attack) != 1:
        parser.error("--case is of one attack: name it")
    return asked


def program(asked: Path | None) -> Path:
    """The drivelab under test; the release build is made where nothing is named."""
    named = asked or (Path(os.environ["DRIVELAB"]) if "DRIVELAB" in os.environ else None)
    if named:
        return named.resolve(strict=True)
    # An older build that lies there is not the program under test.
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet"], cwd=ROOT, check=True)
    return ROOT / "target/release/drivelab"


def share_of(asked: argparse.Namespace, chosen: list[Attack]) -> float:
    """Which share of the counts is done."""
    if asked.share is not None:
        return float(asked.share)
    if asked.minutes is not None:
        return asked.minutes * 60 / sum(attack.seconds for attack in chosen)
    return 1.0


def endure(bench: Bench, attack: Attack, only: int | None) -> Tally | None:
    """Makes one attack; nothing where this machine cannot."""
    lacking = peers.missing(attack.tools, attack.needs_root)
    tally = Tally(attack.name, attack.title, bench.seed)
    began = time.monotonic()
    print(f"-- {attack.name}: {attack.title}", flush=True)
    try:
        if lacking:
            raise LeftOut(lacking)
        attack.run(bench, tally, only)
    except LeftOut as reason:
        print(f"LEFT OUT: {attack.name}: {reason}", flush=True)
        return None
    except Exception:  # an attack that cannot be made shows nothing, the others do
        tally.violate(0, f"the rig failed:\n{traceback.format_exc(limit=-4)}")
    print("| " + " | ".join(table.cells(tally)) + f" |  {time.monotonic() - began:.0f} s")
    for note in tally.notes:
        print(f"   {note}")
    for violation in tally.violations[:SHOWN]:
        print(f"VIOLATION: {violation}")
    if len(tally.violations) > SHOWN:
        print(f"... and {len(tally.violations) - SHOWN} more")
    sys.stdout.flush()
    return tally


def main() -> int:
    """Runs the rig and returns its exit code."""
    from attacks import ATTACKS  # here, since attacks use the rig

    asked = arguments([attack.name for attack in ATTACKS])
    if asked.list:
        for attack in ATTACKS:
            print(f"{attack.name:14} {attack.cases:>9,}  {attack.title}")
        return 0
    chosen = [attack for attack in ATTACKS if not asked.attack or attack.name in asked.attack]
    peers.install({tool for attack in chosen for tool in attack.tools})
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(1 << 32)
    share = share_of(asked, chosen)
    interruptible()
    bench = Bench(program(asked.drivelab), seed, share)
    print(f"seed {seed}, share {share:.4f}, {bench.drivelab}", flush=True)
    tallies: list[Tally] = []
    try:
        for attack in chosen:
            tally = endure(bench, attack, asked.case)
            tallies += [tally] if tally else []
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        bench.close()
    return conclude(asked, tallies, seed)


def conclude(asked: argparse.Namespace, tallies: list[Tally], seed: int) -> int:
    """Prints the table, writes it where asked, and says whether all was well."""
    text = table.markdown([table.cells(tally) for tally in tallies])
    print(f"\n{text}")
    if asked.table:
        table.write_between(asked.table, f"Seed {seed}.\n\n{text}")
    bad = sum(len(tally.violations) for tally in tallies)
    print(f"\n{bad} violations, seed {seed}" if bad else f"\nnothing lost, seed {seed}")
    return 1 if bad else 0
