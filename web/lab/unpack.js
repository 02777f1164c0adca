// Unpacks LZMA, which makes the module a quarter smaller than what browsers can unpack themselves.
// The stream is raw, with lc = 4, lp = 0, pb = 0; before it is the length of the result. The names are
// those of the LZMA SDK's specification (lzma-specification.txt).
"use strict";
const LC = 4;
const HALF = 1 << 10;

function unpacked(packed) {
  const out = new Uint8Array(new DataView(packed.buffer, packed.byteOffset).getUint32(0));
  const probabilities = (count) => new Uint16Array(count).fill(HALF);
  const lengths = () => ({ choice: probabilities(2), low: probabilities(8), mid: probabilities(8), high: probabilities(256) });
  const literals = probabilities(0x300 << LC);
  const [isMatch, isRep, isRepG0, isRepG1, isRepG2, isRep0Long] = Array.from({ length: 6 }, () => probabilities(12));
  const [slots, special, align] = [Array.from({ length: 4 }, () => probabilities(64)), probabilities(115), probabilities(16)];
  const [matchLength, repLength] = [lengths(), lengths()];
  // The first byte of the range coder is zero.
  let at = 9;
  // In an array: a number of 32 bits in a variable would be an object, and made again each time.
  const coder = Uint32Array.of(0xffffffff, new DataView(packed.buffer, packed.byteOffset).getUint32(5));

  function bit(table, index) {
    const probability = table[index];
    const range = coder[0];
    const code = coder[1];
    const bound = (range >>> 11) * probability;
    const value = code < bound ? 0 : 1;
    let left = bound;
    let rest = code;
    if (value === 0) table[index] = probability + ((2048 - probability) >> 5);
    else {
      left = range - bound;
      rest = code - bound;
      table[index] = probability - (probability >> 5);
    }
    if (left < 0x1000000) {
      left <<= 8;
      rest = (rest << 8) | packed[at++];
    }
    coder[0] = left;
    coder[1] = rest;
    return value;
  }

  function direct(count) {
    let value = 0;
    for (; count > 0; count -= 1) {
      coder[0] >>>= 1;
      const is = coder[1] >= coder[0] ? 1 : 0;
      if (is) coder[1] -= coder[0];
      value = (value << 1) | is;
      if (coder[0] < 0x1000000) {
        coder[0] <<= 8;
        coder[1] = (coder[1] << 8) | packed[at++];
      }
    }
    return value;
  }

  function tree(table, bits) {
    let node = 1;
    for (let one = 0; one < bits; one += 1) node = (node << 1) | bit(table, node);
    return node - (1 << bits);
  }

  function reversed(table, offset, bits) {
    let [node, value] = [1, 0];
    for (let one = 0; one < bits; one += 1) {
      const is = bit(table, offset + node);
      node = (node << 1) | is;
      value |= is << one;
    }
    return value;
  }

  function length({ choice, low, mid, high }) {
    if (bit(choice, 0) === 0) return tree(low, 3);
    return bit(choice, 1) === 0 ? 8 + tree(mid, 3) : 16 + tree(high, 8);
  }

  function distance(long) {
    const slot = tree(slots[Math.min(long, 3)], 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 | (slot & 1)) << bits;
    if (slot < 14) return base + reversed(special, base - slot, bits);
    return base + (direct(bits - 4) << 4) + reversed(align, 0, 4);
  }

  let state = 0;
  let to = 0;
  let [rep0, rep1, rep2, rep3] = [0, 0, 0, 0];
  function literal() {
    const offset = 0x300 * ((to > 0 ? out[to - 1] : 0) >> (8 - LC));
    let symbol = 1;
    if (state >= 7) {
      let match = out[to - rep0 - 1];
      while (symbol < 0x100) {
        const expected = (match >> 7) & 1;
        match <<= 1;
        const is = bit(literals, offset + ((1 + expected) << 8) + symbol);
        symbol = (symbol << 1) | is;
        if (is !== expected) break;
      }
    }
    while (symbol < 0x100) symbol = (symbol << 1) | bit(literals, offset + symbol);
    out[to++] = symbol;
    state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
  }

  while (to < out.length) {
    if (bit(isMatch, state) === 0) {
      literal();
      continue;
    }
    let long;
    if (bit(isRep, state) === 0) {
      long = length(matchLength);
      state = state < 7 ? 7 : 10;
      [rep3, rep2, rep1, rep0] = [rep2, rep1, rep0, distance(long)];
    } else {
      if (bit(isRepG0, state) === 0) {
        if (bit(isRep0Long, state) === 0) {
          state = state < 7 ? 9 : 11;
          out[to] = out[to - rep0 - 1];
          to += 1;
          continue;
        }
      } else if (bit(isRepG1, state) === 0) [rep1, rep0] = [rep0, rep1];
      else if (bit(isRepG2, state) === 0) [rep2, rep1, rep0] = [rep1, rep0, rep2];
      else [rep3, rep2, rep1, rep0] = [rep2, rep1, rep0, rep3];
      long = length(repLength);
      state = state < 7 ? 8 : 11;
    }
    const end = to + long + 2;
    if (rep0 >= to || end > out.length || at > packed.length + 4) throw new Error("the page is damaged: load it again");
    for (; to < end; to += 1) out[to] = out[to - rep0 - 1];
  }
  return out;
}
