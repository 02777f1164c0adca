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

// The picture: its axis, the radii of the medium, requests in a row.
const AXIS = { x: 205, y: 210 };
const [OUTER, INNER] = [190, 62];
const ROW = 12;
const FONT = "13px system-ui, sans-serif";
const PLACES = {
  host: "waits in the host's elevator", drive: "waits in the drive", cache: "is in the write cache", medium: "is being served",
};
// Time between two texts while a film runs: a reader needs no more, and each lays the page out again.
const TELL_MS = 200;

const radius = (cylinder, cylinders) => OUTER - ((OUTER - INNER) * cylinder) / cylinders;
const tile = (at, top) => [10 + (at % ROW) * 15, top + 10 + Math.floor(at / ROW) * 15];
const isFilled = ({ where }) => where === "medium" || where === "host";

function waits(play, request) {
  const { op, sectors, cylinder, where, at } = request;
  return `A ${op} of ${sectors / 2} KiB on cylinder ${WHOLE_NUMBER.format(cylinder)} ${PLACES[where]}; it arrived ${duration(play.now - at)} ago.`;
}

function asked(play, { op, sectors, tag, at }) {
  const named = tag === undefined ? "" : `, tag ${tag}`;
  return `${op === "write" ? "Write" : "Read"} of ${sectors / 2} KiB${named}; it arrived ${duration(play.now - at)} ago.`;
}

function set(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

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
    const where = `cylinder ${WHOLE_NUMBER.format(access.cylinder)}, head ${access.head}`;
    let does;
    if (access.over) does = `Finished ${what} on ${where}.`;
    else if (this.now < access.on_sector) {
      does = `Moves to ${where} for ${what}: seek and rotation take ${duration(access.on_sector - access.at)} in all.`;
    } else does = `${access.write ? "Writes" : "Reads"} on ${where} for ${what}: that takes ${duration(access.until - access.on_sector)}.`;
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

// A picture of a play. In a frame only what has changed is painted: what turns, in every one; queues
// and dies, when a scene changed them; layout and numbers of the drive, once.
class Picture {
  constructor(figure) {
    this.figure = figure;
    [this.canvas, this.side] = figure.querySelectorAll("canvas");
    [this.pen, this.list] = [this.canvas, this.side].map((canvas) => canvas.getContext("2d", { alpha: false }));
    this.chosen = -1;
    this.canvas.addEventListener("pointermove", (event) => this.hover(event, () => this.spots()));
    this.side.addEventListener("pointermove", (event) => this.hover(event, () => this.queued()));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.colours();
  }

  colours() {
    const names = ["--paper", "--card", "--ink", "--soft", "--line", "--band", "--arm-1", "--arm-2", "--arm-3", "--arm-5", "--bad"];
    this.palette = Object.fromEntries(names.map((name) => [name, colour(name)]));
    this.play = null;
  }

  hover({ target: canvas, clientX, clientY }, spots) {
    if (!this.play) return;
    const box = canvas.getBoundingClientRect();
    const x = ((clientX - box.left) / box.width) * canvas.width;
    const y = ((clientY - box.top) / box.height) * canvas.height;
    const far = ({ x: at, y: up }) => Math.hypot(at - x, up - y);
    const near = spots().filter((spot) => far(spot) < 16).sort((one, other) => far(one) - far(other))[0];
    this.said = near ? near.words() : null;
    this.tell();
  }

  key(event) {
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!way || !this.play) return;
    const spots = [...this.spots(), ...this.queued()];
    if (spots.length === 0) return;
    event.preventDefault();
    this.chosen = (this.chosen + way + spots.length) % spots.length;
    this.said = spots[this.chosen].words();
    $("said").textContent = this.said;
    this.tell();
  }

  // What the picture shows where, with what can be said about it.
  spots() {
    const { play } = this;
    const { flash, platter } = play.film;
    const found = [];
    if (flash) this.dies(play, ({ x, y, size, die, channel, work }) => found.push({ x: x + size / 2, y: y + size / 2, words: () => `Die ${die} on channel ${channel} ${work === "idle" ? "is idle" : WORK_WORDS[work]}.` }));
    else if (platter) {
      this.marks(play, (x, y, request) => found.push({ x, y, words: () => waits(play, request) }));
      found.push({ x: this.head(play), y: AXIS.y, words: () => play.words() });
    }
    return found;
  }

  queued() {
    const { play } = this;
    return this.columns(play).flatMap(({ members, top }) => members.map((request, at) => {
      const [left, up] = tile(at, top);
      return { x: left + 6, y: up + 6, words: () => asked(play, request) };
    }));
  }

  tell() {
    const { play, figure } = this;
    set(figure.querySelector(".now"), this.said ?? play.words());
    set(figure.querySelector(".totals"), play.totals());
  }

  draw(play) {
    const isOther = this.play !== play;
    if (isOther) {
      this.play = play;
      this.ground = this.painted(play);
      this.pen.drawImage(this.ground, 0, 0);
    }
    const isChanged = isOther || this.drawn !== play.next;
    this.drawn = play.next;
    if (play.film.platter) this.platter(play);
    else if (isChanged && play.film.flash) this.flash(play);
    if (isChanged) this.queues(play);
  }

  // What stays as it is: zones, or the legend of the dies.
  painted(play) {
    const canvas = element("canvas", { width: this.canvas.width, height: this.canvas.height });
    const pen = canvas.getContext("2d", { alpha: false });
    pen.fillStyle = this.palette["--card"];
    pen.fillRect(0, 0, canvas.width, canvas.height);
    if (play.film.flash) this.legend(pen);
    else if (play.film.platter) this.zones(play.film.platter, pen);
    return canvas;
  }

  zones({ bands, cylinders }, pen) {
    const { palette } = this;
    const most = bands[0].per_track;
    for (const { first_cylinder: first, per_track: sectors } of bands) {
      pen.beginPath();
      pen.arc(AXIS.x, AXIS.y, radius(first, cylinders), 0, 2 * Math.PI);
      pen.fillStyle = palette["--band"];
      pen.fill();
      pen.globalAlpha = 0.5 * (sectors / most) ** 2;
      pen.fillStyle = palette["--soft"];
      pen.fill();
      pen.globalAlpha = 1;
    }
    pen.beginPath();
    pen.arc(AXIS.x, AXIS.y, INNER, 0, 2 * Math.PI);
    pen.fillStyle = palette["--card"];
    pen.fill();
  }

  legend(pen) {
    const { palette } = this;
    pen.font = FONT;
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

  // The platter turns against the angle that is under the head, which stands at the right.
  marks(play, mark) {
    const { cylinders, revolution_ns: turn } = play.film.platter;
    const turned = (play.now % turn) / turn;
    for (const request of play.requests.values()) {
      if (request.op !== "read" && request.op !== "write") continue;
      const angle = (request.angle / TURN - turned) * 2 * Math.PI;
      const far = radius(request.cylinder, cylinders);
      mark(AXIS.x + far * Math.cos(angle), AXIS.y + far * Math.sin(angle), request);
    }
  }

  platter(play) {
    const { pen, palette } = this;
    const { revolution_ns: turn } = play.film.platter;
    pen.drawImage(this.ground, 0, 0);
    const mark = -((play.now % turn) / turn) * 2 * Math.PI;
    const rim = (far) => [AXIS.x + far * Math.cos(mark), AXIS.y + far * Math.sin(mark)];
    pen.strokeStyle = palette["--ink"];
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(...rim(OUTER - 8));
    pen.lineTo(...rim(OUTER + 8));
    pen.stroke();
    this.marks(play, (x, y, request) => {
      pen.beginPath();
      pen.arc(x, y, request.where === "host" ? 2.5 : 5, 0, 2 * Math.PI);
      const ink = palette[request.op === "write" ? "--arm-5" : "--arm-3"];
      if (isFilled(request)) {
        pen.fillStyle = ink;
        pen.fill();
      } else {
        pen.strokeStyle = ink;
        pen.stroke();
      }
    });
    this.arm(play);
  }

  head({ access, now, from, film }) {
    let cylinder = from;
    if (access) {
      const done = access.seek > 0 ? Math.min(1, Math.max(0, (now - access.at) / access.seek)) : 1;
      cylinder = from + (access.cylinder - from) * done * done * (3 - 2 * done);
    }
    return AXIS.x + radius(cylinder, film.platter.cylinders);
  }

  arm(play) {
    const { pen, palette } = this;
    const { access, now } = play;
    const head = this.head(play);
    pen.strokeStyle = palette["--ink"];
    pen.lineWidth = 5;
    pen.lineCap = "round";
    pen.beginPath();
    pen.moveTo(415, AXIS.y);
    pen.lineTo(head, AXIS.y);
    pen.stroke();
    pen.beginPath();
    pen.arc(head, AXIS.y, 6, 0, 2 * Math.PI);
    const reads = access && !access.over && now >= access.on_sector;
    pen.fillStyle = reads ? palette["--bad"] : palette["--ink"];
    pen.fill();
  }

  dies(play, each) {
    const { channels, dies } = play.film.flash;
    // Above the legend.
    const size = Math.min(44, 318 / Math.max(channels, Math.ceil(dies / channels)));
    for (let die = 0; die < dies; die += 1) {
      const [channel, column] = [die % channels, Math.floor(die / channels)];
      each({ x: 20 + column * size, y: 30 + channel * size, size, die, channel, work: play.dies[die] });
    }
  }

  flash(play) {
    const { pen, palette } = this;
    pen.strokeStyle = palette["--soft"];
    pen.lineWidth = 1;
    this.dies(play, ({ x, y, size, work }) => {
      const side = size - Math.max(2, size / 8);
      pen.fillStyle = palette[WORK[work]];
      pen.fillRect(x, y, side, side);
      pen.strokeRect(x, y, side, side);
    });
  }

  columns(play) {
    const list = [...play.requests.values()];
    const isHeld = ({ where }) => where === "host";
    const inside = list.filter((request) => !isHeld(request)).sort((one, other) => one.tag - other.tag);
    const [held, most] = [list.filter(isHeld), 6 * ROW];
    return [
      { title: `Host's elevator: ${held.length}`, members: held.slice(0, most), top: 40 },
      { title: `Tags in use of ${play.film.tags}: ${inside.length}`, members: inside.slice(0, most), top: 190 },
    ];
  }

  queues(play) {
    const { list: pen, palette, side } = this;
    pen.fillStyle = palette["--card"];
    pen.fillRect(0, 0, side.width, side.height);
    pen.font = FONT;
    pen.lineWidth = 2;
    for (const { title, members, top } of this.columns(play)) {
      pen.fillStyle = palette["--ink"];
      pen.fillText(title, 10, top);
      members.forEach((request, at) => {
        const [left, up] = tile(at, top);
        pen.fillStyle = palette[request.op === "write" ? "--arm-5" : "--arm-3"];
        pen.globalAlpha = request.where === "host" ? 0.55 : 1;
        if (isFilled(request)) pen.fillRect(left, up, 11, 11);
        else {
          pen.strokeStyle = pen.fillStyle;
          pen.strokeRect(left + 1, up + 1, 9, 9);
        }
        pen.globalAlpha = 1;
      });
    }
    pen.fillStyle = palette["--ink"];
    pen.fillText(`Unwritten in the cache: ${play.cached}`, 10, 330);
    pen.fillText(`Answered: ${play.answered}`, 10, 354);
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
    this.asked = 0;
    this.told = 0;
    fill($("speed"), ...SPEEDS.map(([words, value]) => element("option", { value, textContent: words })));
    $("speed").onchange = () => (this.speed = Number($("speed").value));
    this.choose(SPEEDS[2][1]);
    $("play").onclick = () => this.run(!this.playing);
    $("step").onclick = () => this.step(1);
    $("back").onclick = () => this.step(-1);
    $("scrub").oninput = () => this.seek((Number($("scrub").value) / 1000) * this.end);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.pictures.forEach((picture) => picture.colours());
      this.to(this.now);
    });
  }

  choose(speed) {
    $("speed").value = speed;
    this.speed = speed;
  }

  load(films) {
    this.plays = films.map((film, arm) => new Play(film, arm));
    this.end = Math.min(...films.map((film) => film.end_ns));
    const isFast = films.some((film) => film.flash);
    this.choose(SPEEDS[isFast ? 0 : 2][1]);
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
    // One that was asked for before would draw everything twice.
    cancelAnimationFrame(this.asked);
    if (this.playing) this.next();
    else if (this.plays.length > 0) {
      this.tell();
      this.say();
    }
  }

  next() {
    this.asked = requestAnimationFrame((time) => this.frame(time));
  }

  frame(time) {
    if (!this.playing) return;
    // A pause of the browser is no jump of the film.
    const passed = this.before === null ? 0 : Math.min(time - this.before, 100);
    this.before = time;
    this.to(Math.min(this.end, this.now + passed * 1e6 * this.speed));
    if (this.now >= this.end) return this.run(false);
    if (time - this.told >= TELL_MS) {
      this.told = time;
      this.tell();
    }
    this.next();
  }

  to(ns) {
    this.now = ns;
    this.plays.forEach((play, arm) => {
      play.to(ns);
      this.pictures[arm].draw(play);
    });
  }

  seek(ns) {
    this.to(ns);
    this.tell();
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
    this.say();
  }

  // For screen readers: what both drives do.
  say() {
    $("said").textContent = this.plays.map((play, arm) => `Arm ${"AB"[arm]}: ${play.words()}`).join(" ");
  }

  tell() {
    if (this.plays.length > 0) this.pictures.forEach((picture) => picture.tell());
    $("scrub").value = this.end > 0 ? Math.round((this.now / this.end) * 1000) : 0;
    const clock = `${(this.now / 1e6).toFixed(this.end < 1e8 ? 3 : 1)} ms`;
    set($("clock"), clock);
    $("scrub").setAttribute("aria-valuetext", clock);
  }
}
