// Learn: each lesson asks what the model then computes.

const DISK = "drive:seagate-st31000333as";
const FLASH = "drive:generic-sata";
const read = (extra = {}) => ({ rw: "randread", bs: "4k", iodepth: "1", runtime: "20s", ...extra });
const run = (words, target, options) => ({ words, target, options });
// Which of three ranges a ratio lies in.
const ranges = (...limits) => (ratio) => limits.filter((limit) => ratio >= limit).length;

const LESSONS = [
  {
    name: "Rotation",
    text: "A sector passes the head once in a revolution: 8.3 ms at 7200 rpm. After a seek the head waits half of one on average, whatever the interface.",
    question: "How many random 4 KiB reads a second does a 7200 rpm disk make at queue depth 1?",
    choices: ["below 50", "50 to 200", "above 200"],
    runs: [run("random reads, depth 1", DISK, read())],
    figure: "iops", answer: ([one]) => ranges(50, 200)(one),
  },
  {
    name: "The seek curve",
    text: "A seek over a few cylinders takes little less than one over a third of the disk, because the arm must settle on its track each time.",
    question: "Reads stay within 1 GB instead of 1000 GB: how much faster?",
    choices: ["not at all", "about twice", "about a thousand times"],
    runs: [run("whole disk", DISK, read()), run("1 GB", DISK, read({ size: "1G" }))],
    figure: "iops", answer: ([all, part]) => ranges(1.2, 10)(part / all),
  },
  {
    name: "Zones",
    text: "Outer tracks are longer and hold more sectors, so more of them pass the head in a revolution. Low addresses are outside.",
    question: "A stream at the end of the disk, against one at the start:",
    choices: ["about half as fast", "as fast", "about twice as fast"],
    runs: [run("start", DISK, read({ rw: "read", bs: "1M", runtime: "3s" })), run("end", DISK, read({ rw: "read", bs: "1M", runtime: "3s", offset: "900G" }))],
    figure: "iops", answer: ([start, end]) => ranges(0.75, 1.5)(end / start),
  },
  {
    name: "Read-ahead",
    text: "After a read the head goes on and fills the drive's cache: the next sectors are there before they are asked for.",
    question: "4 KiB reads one after the other, against random ones:",
    choices: ["about as fast", "about 10 times as fast", "more than 100 times as fast"],
    runs: [run("random", DISK, read()), run("in sequence", DISK, read({ rw: "read", runtime: "3s" }))],
    figure: "iops", answer: ([random, stream]) => ranges(3, 100)(stream / random),
  },
  {
    name: "Write cache and flush",
    text: "With the write cache on, a write is acknowledged before the medium has it. That is why random writes look faster than random reads. A flush waits until everything is on the medium.",
    question: "A flush after every write: what is left of the rate?",
    choices: ["all of it", "half to three quarters", "less than half"],
    runs: [run("random reads", DISK, read()), run("random writes, cached", `${DISK},write-cache=on`, read({ rw: "randwrite" })), run("each with a flush", `${DISK},write-cache=on`, read({ rw: "randwrite", fsync: "1" }))],
    figure: "iops", answer: ([, cached, flushed]) => [2, 1, 0][ranges(0.5, 0.8)(flushed / cached)],
  },
  {
    name: "Queue depth",
    text: "With many requests outstanding, a disk serves the one that it reaches soonest, and a solid-state drive serves several at once on different dies.",
    question: "What does queue depth 32 buy on a solid-state drive for random reads?",
    choices: ["nothing", "2 to 4 times the rate", "more than 4 times the rate"],
    runs: [run("depth 1", FLASH, read({ number_ios: "4000" })), run("depth 32", FLASH, read({ iodepth: "32", number_ios: "20000" }))],
    figure: "iops", answer: ([one, many]) => ranges(1.5, 4)(many / one),
  },
  {
    name: "NCQ against the elevator",
    text: "NCQ lets the drive order up to 32 commands by seek and rotation. The elevator of the host orders too, by address. With NCQ off the host still sorts.",
    question: "The same disk, depth 32, NCQ on against NCQ off with an elevator that has 64 requests:",
    choices: ["NCQ makes it slower", "less than a third faster", "more than twice as fast"],
    runs: [run("NCQ off, elevator", `${DISK},controller=ahci,ncq=off,scheduler=deadline,nr-requests=64`, read({ iodepth: "32", runtime: "60s" })), run("NCQ on", `${DISK},controller=ahci,ncq=on,scheduler=deadline,nr-requests=64`, read({ iodepth: "32", runtime: "60s" }))],
    figure: "iops", answer: ([off, on]) => ranges(1, 1.33)(on / off),
  },
  {
    name: "Tail latency",
    text: "Who serves the nearest request first lets distant ones wait. The mean falls, and the slowest of a hundred may rise.",
    question: "At depth 32 with NCQ: how long is the 99th percentile, against the median?",
    choices: ["about the same", "about twice", "more than three times"],
    runs: [run("median", `${DISK},controller=ahci`, read({ iodepth: "32", runtime: "60s" })), run("99th percentile", `${DISK},controller=ahci`, read({ iodepth: "32", runtime: "60s" }))],
    figure: "latency", pick: ["p50", "p99"], answer: ([half, tail]) => ranges(1.5, 3)(tail / half),
  },
  {
    name: "The SLC cliff",
    text: "Many drives write into a part of their flash with one bit a cell first, which is fast. When that part is full, each write must wait for slower cells, and on a full drive for copies as well.",
    question: "Random 64 KiB writes on a full drive: what is left of the rate once the SLC part is full?",
    choices: ["all of it", "about three quarters", "less than half"],
    runs: [run("the first 250 MB", "drive:crucial-bx500,precondition=full", read({ rw: "randwrite", bs: "64k", iodepth: "32", number_ios: "4000" })), run("after 20 s", "drive:crucial-bx500,precondition=full", read({ rw: "randwrite", bs: "64k", iodepth: "32", ramp_time: "20s", runtime: "5s" }))],
    figure: "iops", answer: ([first, later]) => [2, 1, 0][ranges(0.5, 0.95)(later / first)],
  },
  {
    name: "Garbage collection",
    text: "Flash is erased in blocks. On a full drive each block still holds valid data, which is copied before the erase: one write of the host becomes several of the flash.",
    question: "Random writes on a drive in steady state, against a fresh one:",
    choices: ["as fast", "half as fast", "less than half as fast"],
    runs: [run("fresh", `${FLASH},precondition=fresh`, read({ rw: "randwrite", iodepth: "32", number_ios: "20000" })), run("steady state", `${FLASH},precondition=steady`, read({ rw: "randwrite", iodepth: "32", number_ios: "20000" }))],
    figure: "iops", answer: ([fresh, steady]) => [2, 1, 0][ranges(0.45, 0.9)(steady / fresh)],
  },
  {
    name: "Misalignment",
    text: "Many disks store sectors of 4096 bytes behind addresses of 512. A block that begins within such a sector covers parts of two: the drive reads them, waits a revolution, and writes them whole.",
    question: "Random writes of 4 KiB on a partition that begins at sector 63, as old tools made them: what is left?",
    choices: ["a tenth or less", "half or less", "nearly all"],
    runs: [run("from 1 MiB", "drive:generic-advanced-format,offset=1m", read({ rw: "randwrite" })), run("from sector 63", "drive:generic-advanced-format,offset=32256", read({ rw: "randwrite" }))],
    figure: "iops", answer: ([aligned, shifted]) => ranges(0.1, 0.7)(shifted / aligned),
  },
  {
    name: "A power cut",
    text: "What is only in a volatile cache is gone when the power fails, even if the drive acknowledged it. A program that must not lose it sends a flush.",
    question: "Power fails after a second of cached random writes. How many acknowledged writes can be lost?",
    choices: ["none", "fewer than 10", "dozens or more"],
    runs: [run("acknowledged but not on the medium", `${DISK},write-cache=on`, read({ rw: "randwrite" }))],
    figure: "lost", answer: ([lost]) => ranges(1, 10)(lost),
  },
];

// The figure of one run, out of the record that the command line would print.
async function figure(lesson, at) {
  const { target, options } = lesson.runs[at];
  if (lesson.figure === "lost") {
    const film = await laboratory.ask({ verb: "watch", target, options, seed: 1, us: 1000000 });
    const play = new Play(film, 0);
    play.to(film.end_ns);
    return play.cached;
  }
  const { json } = await laboratory.ask({ verb: "run", target, options, seed: 1 });
  const { total } = JSON.parse(json);
  return lesson.figure === "latency" ? total.lat_ns[lesson.pick[at]] : total.iops;
}

function shownFigure(lesson, value) {
  if (lesson.figure === "latency") return duration(value);
  return lesson.figure === "lost" ? `${value} writes` : `${number(value)} a second`;
}

async function compute(lesson, form, said) {
  const chosen = new FormData(form).get("choice");
  if (chosen === null) {
    fill(said, "Choose an answer first.");
    return;
  }
  fill(said, "Computing…");
  try {
    const values = [];
    for (const at of lesson.runs.keys()) values.push(await figure(lesson, at));
    const right = lesson.answer(values);
    const isRight = Number(chosen) === right;
    const verdict = element("p", { className: `verdict ${isRight ? "right" : "wrong"}`, textContent: isRight ? "Right." : `No: ${lesson.choices[right]}.` });
    const figures = lesson.runs.map(({ words }, at) => `${words}: ${shownFigure(lesson, values[at])}`).join("; ");
    fill(said, verdict, element("p", { textContent: `The model: ${figures}.` }));
    form.dataset.right = right;
  } catch (error) {
    fill(said, element("p", { textContent: [error.message, ...(error.hints ?? [])].join(" — ") }));
  }
}

function lessons() {
  fill($("lessons"), ...LESSONS.map((lesson, at) => {
    const said = element("div", { role: "status" });
    const choices = lesson.choices.map((words, choice) => element("label", {}, element("input", { type: "radio", name: "choice", value: choice }), words));
    const button = element("button", { type: "submit", textContent: "Let the model answer" });
    const form = element("form", { id: `lesson-${at}` }, element("fieldset", {}, element("legend", { textContent: lesson.question }), ...choices), button, said);
    form.onsubmit = (event) => {
      event.preventDefault();
      compute(lesson, form, said);
    };
    return element("li", { id: `about-${at}` }, element("h3", { textContent: lesson.name }), element("p", { textContent: lesson.text }), form);
  }));
}
