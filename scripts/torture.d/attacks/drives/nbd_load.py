"""Verified load through NBD: fio, 16 clients, each block with a checksum."""

from __future__ import annotations

import json

from rig.attack import Attack, LeftOut, Tally
from rig.bench import Bench, tool
from rig.process import Watch
from rig.served import Served

CLIENTS = 16
REGION_BYTES = 32 << 20  # of each client
#: Mean request of `--bsrange=512-8k`; how many fit the region decides how many rounds there are.
MEAN_BYTES = 4352


class NbdLoad(Attack):
    """Counts requests: each block is written, read back and verified, until there are enough."""

    name = "nbd"
    title = "verified NBD requests, 16 clients, crc32c"
    cases = 4_000_000
    seconds = 90.0
    least = 20_000
    tools = ("fio",)

    def counts_cases(self) -> bool:
        return False

    def run(self, bench: Bench, tally: Tally, only: int | None) -> None:
        if tool("fio", "--enghelp=nbd").returncode != 0:
            raise LeftOut("this fio has no nbd engine")
        wanted = self.scaled(bench)
        served = Served(bench, bench.folder("load"), "null", "--size", "512M", image=True)
        round_number = 0 if only is None else only
        while tally.count < wanted and not tally.violations:
            self._round(bench, tally, served, round_number, wanted - tally.count)
            round_number += 1
        tally.saw(served.rss_peak())
        tally.fds = f"{served.fds_at_start} -> {served.fds()}"
        if served.rss() > served.rss_at_start + (64 << 20):
            tally.violate(round_number, f"{served.rss() >> 20} MiB resident after the load, "
                          f"{served.rss_at_start >> 20} before")
        ended = served.stop()
        served.image_path.unlink()
        if ended.code != 0 or ended.panicked():
            tally.violate(round_number, f"the server: {ended.brief()}")

    def _round(self, bench: Bench, tally: Tally, served: Served, number: int, left: int) -> None:
        """Every client writes its region, or the part of it that is left to do, and verifies it."""
        io_bytes = min(REGION_BYTES, max(1 << 18, left // CLIENTS // 2 * MEAN_BYTES))
        seed = bench.random(self.name, number).randrange(1, 1 << 31)
        argv = ["fio", "--name=v", "--ioengine=nbd",
                f"--uri=nbd+unix:///?socket={served.nbd_path}", "--rw=randwrite",
                "--bsrange=512-8k", f"--numjobs={CLIENTS}", f"--size={REGION_BYTES}",
                f"--offset_increment={REGION_BYTES}", f"--io_size={io_bytes}", "--iodepth=16",
                "--verify=crc32c", "--do_verify=1", "--verify_fatal=1", "--verify_state_save=0",
                f"--randseed={seed}", "--group_reporting", "--output-format=json"]
        ended = bench.run(argv, served.folder, Watch(600))
        text = ended.out.decode(errors="replace")
        jobs = json.loads(text[text.find("{"):] or "{}").get("jobs", []) if "{" in text else []
        count = sum(job[way]["total_ios"] for job in jobs for way in ("read", "write"))
        errors = sum(job["error"] != 0 for job in jobs)
        tally.done(count, count if not errors else 0)
        if ended.code != 0 or errors or not count:
            tally.lose(number, 1, f"fio: {ended.brief()}, errors of {errors} jobs")
