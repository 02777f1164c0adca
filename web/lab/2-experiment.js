// The experiment: what a link holds, and what is made of it. Every value is checked on the way in.

const LINK_MAX = 4000;
const CHOICES = {
  rw: ["randread", "randwrite", "read", "write", "randrw"],
  bs: ["4k", "8k", "16k", "64k", "128k", "1M"],
  iodepth: ["1", "2", "4", "8", "16", "32", "64"],
  size: ["", "1G", "32G"],
  controller: ["", "ide", "ahci", "nvme"],
  ncq: ["", "on", "off"],
  scheduler: ["", "none", "deadline", "bioq", "fscan"],
  "write-cache": ["", "on", "off"],
  link: ["", "1.5", "3", "6", "pcie3x2", "pcie3x4", "pcie4x4"],
  tags: ["", "1", "2", "4", "8", "16", "31", "32"],
  "nr-requests": ["", "2", "4", "32", "64", "128", "256"],
};
const LABELS = {
  drive: "Drive", rw: "Requests", bs: "Size of a request", iodepth: "Queue depth", size: "Region",
  seed: "Seed", blocks: "Blocks", margin: "Smallest effect that matters", runtime: "Time of a run",
  controller: "Controller", ncq: "NCQ", scheduler: "Elevator of the host", "write-cache": "Write cache",
  link: "Link", tags: "Tags", "nr-requests": "Requests in the elevator",
};
const LOAD = ["rw", "bs", "iodepth", "size"];
const ARM = ["controller", "ncq", "tags", "scheduler", "nr-requests", "write-cache", "link"];
const WHOLE = ["iodepth", "tags", "nr-requests"];
const FREE = {
  seed: /^[0-9]{1,9}$/, blocks: /^([6-9]|[1-3][0-9]|40)$/, margin: /^([1-9]|[1-4][0-9])%$/,
  runtime: /^([1-9]|[1-9][0-9]|[1-5][0-9][0-9])s$/,
};
const FIRST = {
  drive: "seagate-st31000333as", rw: "randread", bs: "4k", iodepth: "32", size: "",
  seed: "1", blocks: "10", margin: "3%", runtime: "30s",
  arms: [
    { controller: "ide", scheduler: "deadline" },
    { controller: "ahci", scheduler: "deadline", tags: "32", "nr-requests": "64" },
  ],
};
let drives = [];

// The experiment in the form of a link, checked: anything unknown is refused.
function checked(given) {
  const wrong = (what) => {
    throw new Refused({
      message: `This link is not an experiment of this page: ${what}.`,
      hints: ["open the page without the part after #", "or copy the link again from where you have it"],
    });
  };
  const shown = (value) => JSON.stringify(value)?.slice(0, 60) ?? "nothing";
  if (typeof given !== "object" || given === null || Array.isArray(given)) wrong("it holds no settings");
  const known = ["drive", ...LOAD, ...Object.keys(FREE), "arms"];
  for (const key of Object.keys(given)) if (!known.includes(key)) wrong(`there is no setting ${shown(key)}`);
  const text = (object, key, fallback) => {
    if (!Object.hasOwn(object, key)) return fallback;
    const value = object[key];
    const allowed = FREE[key] ? typeof value === "string" && FREE[key].test(value) : CHOICES[key].includes(value);
    if (!allowed) wrong(`${LABELS[key]} cannot be ${shown(value)}`);
    return value;
  };
  const made = {};
  made.drive = given.drive ?? FIRST.drive;
  if (!drives.some(({ name }) => name === made.drive)) wrong(`there is no drive ${shown(made.drive)}`);
  for (const key of [...LOAD, ...Object.keys(FREE)]) made[key] = text(given, key, FIRST[key]);
  const arms = given.arms ?? FIRST.arms;
  if (!Array.isArray(arms) || arms.length !== 2) wrong("it has no two arms");
  made.arms = arms.map((arm) => {
    if (typeof arm !== "object" || arm === null || Array.isArray(arm)) wrong("an arm has no settings");
    for (const key of Object.keys(arm)) if (!ARM.includes(key)) wrong(`an arm has no setting ${shown(key)}`);
    const of = {};
    for (const key of ARM) {
      const value = text(arm, key, "");
      if (value !== "") of[key] = value;
    }
    return of;
  });
  return made;
}

function fromLink(hash) {
  if (!hash.startsWith("#e=")) return null;
  const refuse = (what) => {
    throw new Refused({ message: `This link cannot be read: ${what}.`, hints: ["open the page without the part after #"] });
  };
  if (hash.length > LINK_MAX) refuse(`it has more than ${LINK_MAX} letters`);
  let given;
  try {
    given = JSON.parse(decodeURIComponent(hash.slice(3)));
  } catch {
    refuse("it is damaged, or was cut off");
  }
  return checked(given);
}

function toLink(experiment) {
  const bare = location.href.split("#")[0];
  return `${bare}#e=${encodeURIComponent(JSON.stringify(experiment))}`;
}

function options(experiment) {
  const { rw, bs, iodepth, size, runtime } = experiment;
  return { rw, bs, iodepth, runtime, ...(size && { size }) };
}

function target(experiment, arm) {
  const set = ARM.filter((key) => experiment.arms[arm][key]).map((key) => `${key}=${experiment.arms[arm][key]}`);
  return ["drive:" + experiment.drive, ...set].join(",");
}

// Arm A is the baseline: every value is a word of a list above, so none needs an escape in TOML.
function toml(experiment) {
  const line = (key, value) => (WHOLE.includes(key) ? `${key} = ${value}` : `${key} = "${value}"`);
  const arm = (name, of) => ["[[arm]]", line("name", name), ...ARM.filter((key) => of[key]).map((key) => line(key, of[key])), ""];
  const same = JSON.stringify(experiment.arms[0]) === JSON.stringify(experiment.arms[1]);
  if (same) throw new Refused({ message: "Both arms are the same, so there is nothing to study.", hints: ["change a setting of one arm"] });
  return [
    'title = "Arm A or arm B?"',
    'primary = "load.iops"',
    'candidate = "b"',
    line("margin", experiment.margin),
    `blocks = ${experiment.blocks}`,
    `seed = ${experiment.seed}`,
    'stage = "simulate"',
    "",
    "[base]",
    line("drive", experiment.drive),
    "",
    ...arm("a", experiment.arms[0]),
    ...arm("b", experiment.arms[1]),
    "[[workload]]",
    line("name", "load"),
    ...Object.entries(options(experiment)).map(([key, value]) => line(key, value)),
    "",
  ].join("\n");
}

function commands(experiment) {
  const load = Object.entries(options(experiment)).map(([key, value]) => `--${key} ${value}`).join(" ");
  return [
    "# The verdict of this page, again:",
    "drivelab study my-study.toml --json",
    "# One run of each arm:",
    ...[0, 1].map((arm) => `drivelab run ${target(experiment, arm)} ${load} --seed ${experiment.seed} --json`),
    "# How your disk is attached now, and what would mislead a measurement:",
    "drivelab inspect",
    "# Measure your own disk (it is only read), model it, and ask the same of that model:",
    "drivelab drive measure /dev/sdX --out my-disk.toml",
    "drivelab drive fit my-disk.toml --out my-drive.toml",
    "drivelab study my-study.toml --drive my-drive.toml",
  ].join("\n");
}
