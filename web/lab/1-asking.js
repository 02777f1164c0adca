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

// A function for each letter of a megabyte would take most of the time to the first answer.
function decoded(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

// One worker; questions wait for one another. A question that is stopped ends its worker.
class Laboratory {
  constructor() {
    this.source = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
    this.packed = null;
    this.last = Promise.resolve();
    this.worker = null;
    this.stop = null;
  }

  async begun() {
    if (this.worker) return this.worker;
    this.packed ??= decoded($("module").textContent);
    const worker = new Worker(this.source);
    await new Promise((done, failed) => {
      worker.onmessage = ({ data }) => (data.ready ? done() : failed(new Error(data.broken)));
      worker.onerror = (event) => failed(new Error(event.message));
      worker.postMessage({ packed: this.packed });
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

// Formats are kept: to make one takes longer than to draw a picture.
const FORMATS = new Map();
const WHOLE_NUMBER = new Intl.NumberFormat("en");

function number(value, digits = 3) {
  if (!FORMATS.has(digits)) FORMATS.set(digits, new Intl.NumberFormat("en", { maximumSignificantDigits: digits }));
  return FORMATS.get(digits).format(value);
}

function duration(ns) {
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  if (ns < 1e6) return `${number(ns / 1e3)} µs`;
  if (ns < 1e9) return `${number(ns / 1e6)} ms`;
  return `${number(ns / 1e9)} s`;
}
