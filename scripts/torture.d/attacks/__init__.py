"""All attacks, in the order in which they are made."""

from __future__ import annotations

from rig.attack import Attack

from .drives.cuts import Cuts
from .machine.command_lines import CommandLines
from .results.damage import Damage, Flips
from .results.kill_points import KillPoints
from .results.kills import Kills
from .results.locks import Locks
from .results.study_cuts import StudyCuts

ATTACKS: list[Attack] = [Kills(), KillPoints(), Flips(), Damage(), Locks(), Cuts(), StudyCuts(), CommandLines()]
