// The page: controls, first answers, studies and links.

let experiment = structuredClone(FIRST);
const player = new Player();
// For tests: what was answered, and when.
window.lab = { player, times: {}, answers: {} };

function choice(key, value, change) {
  const shown = (one) => (one === "" ? "as the drive has it" : one);
  const select = element("select", { name: key }, ...CHOICES[key].map((one) => element("option", { value: one, textContent: key === "size" && one === "" ? "the whole drive" : shown(one) })));
  select.value = value ?? "";
  select.onchange = () => change(select.value);
  return element("label", {}, LABELS[key], select);
}

function typed(key, value, change) {
  const input = element("input", { name: key, value, pattern: FREE[key].source.replace(/[$^]/g, ""), required: true });
  input.onchange = () => input.checkValidity() && change(input.value);
  return element("label", {}, LABELS[key], input);
}

function controls() {
  const drive = element("select", { name: "drive" }, ...drives.map(({ name, model, capacity_bytes: bytes }) => element("option", { value: name, textContent: `${model}, ${Math.round(bytes / 1e9)} GB` })));
  drive.value = experiment.drive;
  drive.onchange = () => {
    experiment.drive = drive.value;
    // What a disk on SATA has no NVMe drive has: the arms start again as the drive is.
    const isNvme = /nvme|970|7300|pm9a3/.test(drive.value);
    experiment.arms = isNvme ? [{}, { "write-cache": "off" }] : structuredClone(FIRST.arms);
    controls();
  };
  fill($("shared"), element("label", {}, LABELS.drive, drive),
    ...LOAD.map((key) => choice(key, experiment[key], (value) => (experiment[key] = value))),
    ...Object.keys(FREE).map((key) => typed(key, experiment[key], (value) => (experiment[key] = value))));
  for (const arm of [0, 1]) {
    const set = (key) => (value) => (value === "" ? delete experiment.arms[arm][key] : (experiment.arms[arm][key] = value));
    fill($(`arm-${arm}`), ...ARM.map((key) => choice(key, experiment.arms[arm][key], set(key))));
  }
}

function firstAnswer(totals) {
  const rows = [
    ["Requests a second", (total) => number(total.iops)],
    ["Mean latency", (total) => duration(total.lat_ns.mean)],
    ["Median", (total) => duration(total.lat_ns.p50)],
    ["99th percentile", (total) => duration(total.lat_ns.p99)],
  ];
  const row = ([words, of]) => element("tr", {}, element("th", { scope: "row", textContent: words }), ...totals.map((total) => element("td", { textContent: of(total) })));
  const ratio = totals[1].iops / totals[0].iops;
  const head = element("tr", {}, ...["", "Arm A", "Arm B"].map((words) => element(words ? "th" : "td", { ...(words && { scope: "col" }), textContent: words })));
  fill($("first"), element("table", { className: "figures" },
    element("caption", { textContent: `One run of each arm, the same requests: B makes ${number(ratio)} times as many a second as A. One run of the median drive is no verdict; that takes a study.` }),
    element("thead", {}, head), element("tbody", {}, ...rows.map(row))));
}

function own() {
  try {
    $("toml").textContent = toml(experiment);
    $("commands").textContent = commands(experiment);
  } catch (error) {
    $("toml").textContent = $("commands").textContent = error.message;
  }
}

async function both() {
  const started = performance.now();
  trouble(null);
  own();
  const asked = [0, 1].map((arm) => ({ target: target(experiment, arm), options: options(experiment), seed: Number(experiment.seed) }));
  try {
    const answers = await Promise.all(asked.map((load) => laboratory.ask({ verb: "run", ...load })));
    lab.answers.runs = answers;
    firstAnswer(answers.map(({ json }) => JSON.parse(json).total));
    lab.times.answer = performance.now() - started;
    lab.times.answered = performance.now();
    const isFlash = drives.find(({ name }) => name === experiment.drive)?.rotates === false;
    const us = isFlash ? 20000 : 2000000;
    player.load(await Promise.all(asked.map((load) => laboratory.ask({ verb: "watch", ...load, us }))));
    lab.times.film = performance.now() - started;
  } catch (error) {
    trouble(error);
  }
}

async function study(question) {
  trouble(null);
  const [bar, said] = [$("progress"), $("progress-said")];
  const began = performance.now();
  $("stop").disabled = false;
  $("stop").onclick = () => laboratory.stop?.();
  bar.hidden = false;
  bar.removeAttribute("value");
  said.textContent = "Running…";
  try {
    const answer = await laboratory.ask(question, (done, of) => {
      [bar.max, bar.value] = [of, done];
      if (done === of || done % 50 === 0) said.textContent = `${done} of ${of} runs`;
    });
    lab.answers.study = answer;
    $("result").hidden = false;
    $("json").textContent = answer.json;
    $("report").srcdoc = answer.html;
    said.textContent = `Done after ${duration((performance.now() - began) * 1e6)}.`;
  } catch (error) {
    said.textContent = error.message;
    if (error.hints?.length) trouble(error);
  }
  $("stop").disabled = true;
  bar.hidden = true;
}

// The report has no scripts here: only its height is read.
function fitReport() {
  const report = $("report");
  report.style.height = "0";
  const height = report.contentDocument?.documentElement.scrollHeight;
  report.style.height = height ? `${height + 20}px` : "";
}

function wire() {
  $("form").onsubmit = (event) => {
    event.preventDefault();
    both();
  };
  $("study-own").onclick = () => {
    try {
      study({ verb: "study", name: "my-study.toml", text: toml(experiment) });
    } catch (error) {
      trouble(error);
    }
  };
  $("study-included").onclick = () => study({ verb: "study", name: $("included").value });
  $("link").onclick = async () => {
    const link = toLink(experiment);
    history.replaceState(null, "", new URL(link).hash);
    const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
    $("copied").textContent = copied ? "Copied." : "The address of this page is the link now.";
  };
  $("report").onload = fitReport;
  addEventListener("resize", fitReport);
  addEventListener("hashchange", () => open(location.hash));
}

async function open(hash) {
  try {
    const given = fromLink(hash);
    if (!given) return false;
    experiment = given;
    controls();
    await both();
    return true;
  } catch (error) {
    trouble(error);
    return true;
  }
}

async function begin() {
  wire();
  // Only a link needs the list of drives before it can be asked.
  const first = location.hash.startsWith("#e=") ? null : both();
  lessons();
  try {
    ({ drives } = await laboratory.ask({ verb: "drives" }));
    const studies = await laboratory.ask({ verb: "studies" });
    fill($("included"), ...studies.map(({ name, title }) => element("option", { value: name, textContent: `${name}: ${title}` })));
    $("included").value = "ahci-or-ide";
    controls();
    own();
    lab.times.ready = performance.now();
    await (first ?? open(location.hash));
  } catch (error) {
    trouble(error);
  }
  lab.begun = true;
}

begin();
