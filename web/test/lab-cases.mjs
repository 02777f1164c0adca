// Random questions for the laboratory, and the commands that must answer with the same bytes.

// A generator of small numbers (xorshift of 32 bits), so that a seed names its cases.
function generator(seed) {
  let state = (seed * 2654435761) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

const DISKS = ["seagate-st31000333as", "seagate-st250dm000", "hitachi-hts542516k9sa00", "generic-5400", "generic-10k", "seagate-st2000dm006"];
const FLASH = ["generic-sata", "generic-nvme", "intel-x25m", "crucial-c300", "crucial-bx500", "samsung-850evo"];

export function randomCases(count, seed) {
  const below = generator(seed);
  const one = (list) => list[below(list.length)];
  const made = [];
  for (let at = 0; at < count; at += 1) {
    const isFlash = below(3) === 0;
    const name = one(isFlash ? FLASH : DISKS);
    const settings = [];
    const set = (key, ...values) => below(3) === 0 && settings.push(`${key}=${one(values)}`);
    if (!isFlash) set("controller", "ide", "ahci", "scsi");
    set("scheduler", "none", "deadline", "bioq", "fscan");
    set("tags", 1, 4, 31);
    set("nr-requests", 2, 32, 128);
    set("write-cache", "on", "off");
    if (!isFlash) set("specimen", 0, 3, 17);
    if (below(8) === 0) settings.push("drives=2", `raid=${one([0, 1])}`);
    const drive = [name, ...settings].join(",");
    const options = {
      rw: one(["read", "write", "randread", "randwrite", "randrw", "rw"]),
      bs: one(["512", "4k", "16k", "64k", "1M"]),
      iodepth: String(one([1, 2, 8, 32, 64])),
      number_ios: String(50 + below(isFlash ? 2000 : 400)),
    };
    if (below(4) === 0) options.fsync = String(1 + below(16));
    if (below(4) === 0) options.size = one(["1M", "1G", "20G"]);
    if (below(6) === 0) options.rwmixread = String(below(101));
    if (below(8) === 0) options.rate_iops = String(10 + below(1000));
    const number = 1 + below(1000000);
    const flags = Object.entries(options).flatMap(([key, value]) => [`--${key.replaceAll("_", "-")}`, value]);
    if (at % 25 === 24) {
      const asked = { rw: options.rw, bs: options.bs, number_ios: "100" };
      const words = Object.entries(asked).flatMap(([key, value]) => [`--${key.replaceAll("_", "-")}`, value]);
      made.push({
        words: ["drive", "predict", name, ...words, "--specimens", "2", "--seed", String(number), "--json"],
        question: { verb: "predict", drive: name, options: asked, specimens: 2, seed: number },
      });
    } else {
      made.push({
        words: ["run", `drive:${drive}`, ...flags, "--seed", String(number), "--json", "--no-archive"],
        question: { verb: "run", target: `drive:${drive}`, options, seed: number },
      });
    }
  }
  return made;
}
