// Watch: two films of the same requests, drawn from the steps of the model.

const SPEEDS = [
  ["1/1000 of real time", 1 / 1000], ["1/300", 1 / 300], ["1/100", 1 / 100], ["1/30", 1 / 30],
  ["1/10", 1 / 10], ["real time", 1], ["10 times as fast", 10],
];
const TURN = 2 ** 32;
const WORK = { idle: "--band", read: "--arm-3", program: "--arm-2", collect: "--arm-1", erase: "--arm-5" };
const WORK_WORDS = {
  idle: "idle", read: "reads", program: "programs a page", collect: "copies for garbage collection", erase: "erases a block",
};
const BY = { medium: "the medium", "read-cache": "its read cache", "write-cache": "its write cache" };

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// The state of a drive at a moment of its film: scenes are applied in order, and from the start again
// where time goes back.
class Play {
  constructor(film, arm) {
    this.film = film;
    this.arm = arm;
    this.rewind();
  }

  rewind() {
    this.next = 0;
    this.requests = new Map();
    this.byTag = new Map();
    this.access = null;
    this.from = 0;
    this.cached = 0;
    this.answered = 0;
    this.took = 0;
    this.hits = 0;
    this.last = null;
    this.dies = this.film.flash ? new Array(this.film.flash.dies).fill("idle") : [];
    this.moves = 0;
  }

  to(ns) {
    const { scenes } = this.film;
    if (this.next > 0 && scenes[this.next - 1].at > ns) this.rewind();
    while (this.next < scenes.length && scenes[this.next].at <= ns) this.apply(scenes[this.next++]);
    this.now = ns;
  }

  apply(scene) {
    const { is } = scene;
    if (is === "arrived") this.requests.set(scene.id, { ...scene, where: "host" });
    if (is === "sent") {
      const request = this.requests.get(scene.id);
      if (request) Object.assign(request, { where: "drive", tag: scene.tag });
      this.byTag.set(scene.tag, scene.id);
    }
    if (is === "cached") {
      this.cached += 1;
      const request = this.requests.get(this.byTag.get(scene.tag));
      if (request) request.where = "cache";
    }
    if (is === "begun") {
      this.from = this.access?.cylinder ?? this.from;
      this.access = { ...scene, over: false };
      if (scene.tag === null) this.cached = Math.max(0, this.cached - 1);
      else {
        const request = this.requests.get(this.byTag.get(scene.tag));
        if (request) request.where = "medium";
      }
      this.moves += 1;
    }
    if (is === "ended" && this.access) this.access.over = true;
    if (is === "die") this.dies[scene.die] = scene.work;
    if (is === "answered") {
      this.requests.delete(scene.id);
      this.answered += 1;
      this.took += scene.took;
      if (scene.by === "read-cache") this.hits += 1;
      this.last = scene;
    }
  }

  // What the drive is doing, and why this request is next.
  words() {
    const waiting = [...this.requests.values()];
    const host = waiting.filter(({ where }) => where === "host").length;
    const drive = waiting.filter(({ where }) => where === "drive").length;
    const queue = `${host} wait in the host's elevator, ${drive} in the drive.`;
    if (this.film.flash) {
      const count = (work) => this.dies.filter((one) => one === work).length;
      const parts = Object.keys(WORK_WORDS).filter((work) => work !== "idle" && count(work) > 0);
      const busy = parts.map((work) => `${count(work)} of ${this.dies.length} dies: ${WORK_WORDS[work]}`).join("; ");
      return `${busy || "All dies are idle"}. ${queue}`;
    }
    const { access } = this;
    if (!access) return this.last ? `Answered by ${BY[this.last.by]}. ${queue}` : `Nothing has reached the medium yet. ${queue}`;
    const what = access.tag === null ? "data out of the write cache" : `${access.write ? "the write" : "the read"} with tag ${access.tag}`;
    const where = `cylinder ${access.cylinder.toLocaleString("en")}, head ${access.head}`;
    let does;
    if (access.over) does = `Finished ${what} on ${where}.`;
    else if (this.now < access.on_sector) {
      does = `Moves to ${where} for ${what}: seek and rotation take ${duration(access.on_sector - access.at)} in all.`;
    } else does = `${access.write ? "Writes" : "Reads"} ${what} on ${where}, until ${duration(access.until - access.on_sector)} of it have passed.`;
    let why = "It was the only command in the drive.";
    if (access.tag === null) why = "Cached data goes to the medium while nothing more urgent waits.";
    else if (access.ahead) why = "It continues the read-ahead, so the head is there already.";
    else if (access.waiting > 1 && access.overtaken > 0) {
      why = `Chosen out of ${access.waiting} because it is reached soonest, ahead of ${access.overtaken} older.`;
    } else if (access.waiting > 1) why = `Chosen out of ${access.waiting}; it is also the oldest.`;
    return `${does} ${why} ${queue}`;
  }

  totals() {
    const seconds = this.now / 1e9;
    if (this.answered === 0) return "No answer yet.";
    const hits = this.hits > 0 ? `, ${this.hits} from the read cache` : "";
    const cached = this.cached > 0 ? `; ${this.cached} writes in the volatile cache, lost by a power cut now` : "";
    return `${this.answered} answers (${number(this.answered / seconds)} a second, mean ${duration(this.took / this.answered)})${hits}${cached}.`;
  }
}

// A picture of a play.
class Picture {
  constructor(figure) {
    this.figure = figure;
    this.canvas = figure.querySelector("canvas");
    this.pen = this.canvas.getContext("2d");
    this.spots = [];
    this.chosen = -1;
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.colours();
  }

  colours() {
    const names = ["--paper", "--card", "--ink", "--soft", "--line", "--band", "--arm-1", "--arm-2", "--arm-3", "--arm-5", "--bad"];
    this.palette = Object.fromEntries(names.map((name) => [name, colour(name)]));
  }

  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.canvas.width;
    const y = ((event.clientY - box.top) / box.height) * this.canvas.height;
    const far = ({ x: at, y: up }) => Math.hypot(at - x, up - y);
    const near = this.spots.filter((spot) => far(spot) < 16).sort((one, other) => far(one) - far(other))[0];
    this.said = near ? near.words : null;
    if (this.play) this.tell();
  }

  key(event) {
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!way || this.spots.length === 0) return;
    event.preventDefault();
    this.chosen = (this.chosen + way + this.spots.length) % this.spots.length;
    this.said = this.spots[this.chosen].words;
    $("said").textContent = this.said;
    this.tell();
  }

  tell() {
    const { play } = this;
    this.figure.querySelector(".now").textContent = this.said ?? play.words();
    this.figure.querySelector(".totals").textContent = play.totals();
  }

  draw(play) {
    this.play = play;
    this.spots = [];
    const { pen, canvas, palette } = this;
    pen.fillStyle = palette["--card"];
    pen.fillRect(0, 0, canvas.width, canvas.height);
    if (play.film.flash) this.flash(play);
    else if (play.film.platter) this.platter(play);
    this.queues(play);
    this.tell();
  }

  platter(play) {
    const { pen, palette } = this;
    const { bands, cylinders, revolution_ns: turn } = play.film.platter;
    const [x, y, outer, inner] = [205, 210, 190, 62];
    const radius = (cylinder) => outer - ((outer - inner) * cylinder) / cylinders;
    const most = bands[0].per_track;
    for (const { first_cylinder: first, per_track: sectors } of bands) {
      pen.beginPath();
      pen.arc(x, y, radius(first), 0, 2 * Math.PI);
      pen.fillStyle = palette["--band"];
      pen.fill();
      pen.globalAlpha = 0.5 * (sectors / most) ** 2;
      pen.fillStyle = palette["--soft"];
      pen.fill();
      pen.globalAlpha = 1;
    }
    pen.beginPath();
    pen.arc(x, y, inner, 0, 2 * Math.PI);
    pen.fillStyle = palette["--card"];
    pen.fill();
    // The platter turns against the angle that is under the head, which stands at the right.
    const turned = ((play.now % turn) / turn) * 2 * Math.PI;
    const mark = -turned;
    pen.strokeStyle = palette["--ink"];
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x + (outer - 8) * Math.cos(mark), y + (outer - 8) * Math.sin(mark));
    pen.lineTo(x + (outer + 8) * Math.cos(mark), y + (outer + 8) * Math.sin(mark));
    pen.stroke();
    for (const request of play.requests.values()) {
      if (request.op !== "read" && request.op !== "write") continue;
      const angle = (request.angle / TURN) * 2 * Math.PI - turned;
      const [rx, ry] = [x + radius(request.cylinder) * Math.cos(angle), y + radius(request.cylinder) * Math.sin(angle)];
      const age = duration(play.now - request.at);
      const place = { host: "waits in the host's elevator", drive: "waits in the drive", cache: "is in the write cache", medium: "is being served" }[request.where];
      this.spots.push({ x: rx, y: ry, words: `A ${request.op} of ${request.sectors / 2} KiB on cylinder ${request.cylinder.toLocaleString("en")} ${place}; it arrived ${age} ago.` });
      pen.beginPath();
      pen.arc(rx, ry, request.where === "host" ? 2.5 : 5, 0, 2 * Math.PI);
      const ink = palette[request.op === "write" ? "--arm-5" : "--arm-3"];
      if (request.where === "medium" || request.where === "host") {
        pen.fillStyle = ink;
        pen.fill();
      } else {
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.stroke();
      }
    }
    this.arm(play, x, y, radius);
  }

  arm(play, x, y, radius) {
    const { pen, palette } = this;
    const { access, now, from } = play;
    let cylinder = from;
    if (access) {
      const done = access.seek > 0 ? Math.min(1, Math.max(0, (now - access.at) / access.seek)) : 1;
      cylinder = from + (access.cylinder - from) * done * done * (3 - 2 * done);
    }
    const head = x + radius(cylinder);
    pen.strokeStyle = palette["--ink"];
    pen.lineWidth = 5;
    pen.lineCap = "round";
    pen.beginPath();
    pen.moveTo(415, 210);
    pen.lineTo(head, y);
    pen.stroke();
    pen.beginPath();
    pen.arc(head, y, 6, 0, 2 * Math.PI);
    const reads = access && !access.over && now >= access.on_sector;
    pen.fillStyle = reads ? palette["--bad"] : palette["--ink"];
    pen.fill();
    this.spots.push({ x: head, y, words: play.words() });
  }

  flash(play) {
    const { pen, palette } = this;
    const { channels, dies } = play.film.flash;
    const columns = Math.ceil(dies / channels);
    const size = Math.min(44, 370 / Math.max(channels, columns));
    const gap = Math.max(2, size / 8);
    pen.font = "13px system-ui, sans-serif";
    for (let die = 0; die < dies; die += 1) {
      const [channel, column] = [die % channels, Math.floor(die / channels)];
      const [left, top] = [20 + column * size, 30 + channel * size];
      const work = play.dies[die];
      pen.fillStyle = palette[WORK[work]];
      pen.fillRect(left, top, size - gap, size - gap);
      pen.strokeStyle = palette["--soft"];
      pen.lineWidth = 1;
      pen.strokeRect(left, top, size - gap, size - gap);
      this.spots.push({ x: left + size / 2, y: top + size / 2, words: `Die ${die} on channel ${channel} ${WORK_WORDS[work] === "idle" ? "is idle" : WORK_WORDS[work]}.` });
    }
    pen.fillStyle = palette["--ink"];
    pen.fillText("dies, one row a channel", 20, 18);
    Object.entries(WORK_WORDS).forEach(([work, words], at) => {
      const [left, top] = [20 + (at % 2) * 190, 402 - 18 * Math.floor((5 - at) / 2)];
      pen.fillStyle = palette[WORK[work]];
      pen.fillRect(left, top - 10, 11, 11);
      pen.fillStyle = palette["--soft"];
      pen.fillText(words, left + 16, top);
    });
  }

  queues(play) {
    const { pen, palette } = this;
    pen.font = "13px system-ui, sans-serif";
    const list = [...play.requests.values()];
    const column = (title, members, top, rows) => {
      pen.fillStyle = palette["--ink"];
      pen.fillText(`${title}: ${members.length}`, 450, top);
      members.slice(0, rows * 12).forEach((request, at) => {
        const [left, up] = [450 + (at % 12) * 15, top + 10 + Math.floor(at / 12) * 15];
        pen.fillStyle = palette[request.op === "write" ? "--arm-5" : "--arm-3"];
        pen.globalAlpha = request.where === "host" ? 0.55 : 1;
        if (request.where === "medium" || request.where === "host") pen.fillRect(left, up, 11, 11);
        else {
          pen.strokeStyle = pen.fillStyle;
          pen.lineWidth = 2;
          pen.strokeRect(left + 1, up + 1, 9, 9);
        }
        pen.globalAlpha = 1;
        this.spots.push({ x: left + 6, y: up + 6, words: `${request.op === "write" ? "Write" : "Read"} of ${request.sectors / 2} KiB${request.tag === undefined ? "" : `, tag ${request.tag}`}; it arrived ${duration(play.now - request.at)} ago.` });
      });
    };
    const inside = list.filter(({ where }) => where !== "host").sort((one, other) => one.tag - other.tag);
    column("Host's elevator", list.filter(({ where }) => where === "host"), 40, 6);
    column(`Tags in use of ${play.film.tags}`, inside, 190, 6);
    pen.fillStyle = palette["--ink"];
    pen.fillText(`Unwritten in the cache: ${play.cached}`, 450, 330);
    pen.fillText(`Answered: ${play.answered}`, 450, 354);
  }
}

// Both pictures under one clock.
class Player {
  constructor() {
    this.pictures = [0, 1].map((arm) => new Picture($(`film-${arm}`)));
    this.plays = [];
    this.now = 0;
    this.end = 0;
    this.playing = false;
    this.frames = [];
    fill($("speed"), ...SPEEDS.map(([words, value]) => element("option", { value, textContent: words })));
    $("speed").value = SPEEDS[2][1];
    $("play").onclick = () => this.run(!this.playing);
    $("step").onclick = () => this.step(1);
    $("back").onclick = () => this.step(-1);
    $("scrub").oninput = () => this.seek((Number($("scrub").value) / 1000) * this.end);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.pictures.forEach((picture) => picture.colours());
      this.show();
    });
  }

  load(films) {
    this.plays = films.map((film, arm) => new Play(film, arm));
    this.end = Math.min(...films.map((film) => film.end_ns));
    const isFast = films.some((film) => film.flash);
    $("speed").value = SPEEDS[isFast ? 0 : 2][1];
    films.forEach((film, arm) => {
      const words = film.settings.slice(1, 9).map(([name, value]) => `${name} ${value}`).join(", ");
      this.pictures[arm].figure.querySelector(".settings").textContent = words;
    });
    this.seek(0);
    this.run(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  }

  run(playing) {
    this.playing = playing && this.plays.length > 0;
    if (this.playing && this.now >= this.end) this.now = 0;
    $("play").textContent = this.playing ? "Pause" : "Play";
    $("play").setAttribute("aria-pressed", this.playing);
    this.before = null;
    if (this.playing) requestAnimationFrame((time) => this.frame(time));
    else if (this.plays.length > 0) $("said").textContent = this.plays.map((play, arm) => `Arm ${"AB"[arm]}: ${play.words()}`).join(" ");
  }

  frame(time) {
    if (!this.playing) return;
    this.frames.push(time);
    if (this.frames.length > 600) this.frames.shift();
    // A pause of the browser is no jump of the film.
    const passed = this.before === null ? 0 : Math.min(time - this.before, 100);
    this.before = time;
    this.seek(Math.min(this.end, this.now + passed * 1e6 * Number($("speed").value)));
    if (this.now >= this.end) this.run(false);
    else requestAnimationFrame((next) => this.frame(next));
  }

  seek(ns) {
    this.now = ns;
    this.plays.forEach((play) => play.to(ns));
    this.show();
  }

  step(way) {
    this.run(false);
    const times = this.plays.flatMap(({ film, next }) => {
      const { scenes } = film;
      if (way > 0) return scenes[next] ? [scenes[next].at] : [];
      let at = next - 1;
      while (at >= 0 && scenes[at].at >= this.now) at -= 1;
      return at >= 0 ? [scenes[at].at] : [];
    });
    if (times.length > 0) this.seek(way > 0 ? Math.min(...times) : Math.max(...times));
    $("said").textContent = this.plays.map((play, arm) => `Arm ${"AB"[arm]}: ${play.words()}`).join(" ");
  }

  show() {
    this.plays.forEach((play, arm) => this.pictures[arm].draw(play));
    $("scrub").value = this.end > 0 ? Math.round((this.now / this.end) * 1000) : 0;
    $("clock").textContent = `${(this.now / 1e6).toFixed(this.end < 1e8 ? 3 : 1)} ms`;
    $("scrub").setAttribute("aria-valuetext", $("clock").textContent);
  }
}
