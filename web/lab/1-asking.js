"use strict";
// Asking the model, and putting text on the page. Text of others is set as text, never as HTML.

const $ = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function fill(parent, ...children) {
  parent.replaceChildren(...children);
}

class Refused extends Error {
  constructor({ message, hints = [] }) {
    super(message);
    this.hints = hints;
  }
}

async function moduleBytes() {
  const coded = atob($("module").textContent);
  const packed = Uint8Array.from(coded, (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// One worker; questions wait for one another. A question that is stopped ends its worker.
class Laboratory {
  constructor() {
    this.source = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
    this.bytes = moduleBytes();
    this.last = Promise.resolve();
    this.worker = null;
    this.stop = null;
  }

  async begun() {
    if (this.worker) return this.worker;
    const bytes = await this.bytes;
    const worker = new Worker(this.source);
    await new Promise((done, failed) => {
      worker.onmessage = ({ data }) => (data.ready ? done() : failed(new Error(data.broken)));
      worker.onerror = (event) => failed(new Error(event.message));
      worker.postMessage({ bytes });
    });
    this.worker = worker;
    return worker;
  }

  end() {
    this.worker?.terminate();
    this.worker = null;
  }

  ask(question, progress = () => {}) {
    const asked = this.last.then(() => this.answer(question, progress));
    this.last = asked.catch(() => {});
    return asked;
  }

  async answer(question, progress) {
    const worker = await this.begun();
    return new Promise((done, failed) => {
      this.stop = () => {
        this.end();
        failed(new Refused({ message: "Stopped.", hints: [] }));
      };
      worker.onmessage = ({ data }) => {
        if (data.done !== undefined) return progress(data.done, data.of);
        this.stop = null;
        if (data.broken) {
          this.end();
          const message = `The model stopped on this page: ${data.broken}`;
          return failed(new Refused({ message, hints: ["ask for less: fewer blocks, a shorter time, a smaller drive"] }));
        }
        const answer = JSON.parse(data.answer);
        return answer.refused ? failed(new Refused(answer.refused)) : done(answer.ok);
      };
      worker.postMessage({ question: JSON.stringify(question) });
    });
  }
}

const laboratory = new Laboratory();

function trouble(error) {
  const box = $("trouble");
  box.hidden = !error;
  if (!error) return;
  box.querySelector("p").textContent = error.message;
  fill(box.querySelector("ul"), ...(error.hints ?? []).map((hint) => element("li", { textContent: hint })));
}

function number(value, digits = 3) {
  return Number(value).toLocaleString("en", { maximumSignificantDigits: digits });
}

function duration(ns) {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${number(ns / 1e3)} µs`;
  if (ns < 1e9) return `${number(ns / 1e6)} ms`;
  return `${number(ns / 1e9)} s`;
}
