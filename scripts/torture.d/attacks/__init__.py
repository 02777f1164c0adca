"""All attacks, in the order in which they are made."""

from __future__ import annotations

from rig.attack import Attack

from .drives.control import Control
from .drives.cuts import Cuts
from .drives.fuse import Fuse, FuseKilled
from .drives.nbd_hostile import Descriptors, NbdHostile
from .drives.nbd_load import NbdLoad
from .machine.command_lines import CommandLines
from .machine.full_disks import FullDisks
from .machine.swaps import Swaps
from .results.archive import ArchiveKills
from .results.archive_cuts import ArchiveCuts
from .results.arm_kills import ArmKills
from .results.damage import Damage, Flips
from .results.kill_points import KillPoints
from .results.kills import Kills
from .results.locks import Locks
from .results.study_cuts import StudyCuts
from .results.suites import SuiteKills
from .results.sweeps import SweepKills

ATTACKS: list[Attack] = [
    Kills(), KillPoints(), ArmKills(), Flips(), Damage(), Locks(),
    SuiteKills(), ArchiveKills(), SweepKills(),
    Cuts(), StudyCuts(), ArchiveCuts(),
    NbdLoad(), NbdHostile(), Descriptors(), Control(),
    Fuse(), FuseKilled(),
    FullDisks(), CommandLines(), Swaps(),
]
