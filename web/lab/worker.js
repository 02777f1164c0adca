// The worker: holds the module, answers one question at a time.
let exports = null;
const written = new TextEncoder();
const read = new TextDecoder();

async function begin(packed) {
  const page = { progress: (done, of) => postMessage({ done, of }) };
  const { instance } = await WebAssembly.instantiate(unpacked(packed), { page });
  exports = instance.exports;
}

function ask(question) {
  const bytes = written.encode(question);
  const at = exports.space(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const length = exports.ask();
  return read.decode(new Uint8Array(exports.memory.buffer, exports.answered(), length));
}

onmessage = async ({ data }) => {
  try {
    if (data.packed) {
      await begin(data.packed);
      postMessage({ ready: true });
    } else {
      postMessage({ answer: ask(data.question) });
    }
  } catch (error) {
    postMessage({ broken: String(error) });
  }
};
