/**
 * Unpacks LZMA, which browsers do not. It makes the reader about a third smaller than gzip. The text of this function is part
 * of the script of the worker, so it must not use anything outside.
 *
 * The format is described in the LZMA specification of the LZMA SDK, which is in the public domain. Input is a `.lzma` file
 * whose header states the length of the output.
 */
export function unpackLzma(input: Uint8Array): Uint8Array {
  const header = new DataView(input.buffer, input.byteOffset, 13);
  const properties = header.getUint8(0);
  const length = header.getUint32(5, true);
  const [literalContextBits, remainder] = [properties % 9, Math.floor(properties / 9)];
  const [literalPositionBits, positionBits] = [remainder % 5, Math.floor(remainder / 5)];
  if (positionBits > 4 || header.getUint32(9, true) !== 0) throw new Error("the packed reader is damaged");
  const output = new Uint8Array(length);

  const HALF = 1 << 10;
  const probabilities = (count: number) => new Uint16Array(count).fill(HALF);
  let at = 13;
  let range = 0xffffffff;
  let code = 0;
  for (let index = 0; index < 5; index += 1) code = ((code << 8) | (input[at++] ?? 0)) >>> 0;

  const bit = (table: Uint16Array, index: number): number => {
    const probability = table[index] as number;
    const bound = (range >>> 11) * probability;
    let result: number;
    if (code < bound) {
      range = bound;
      table[index] = probability + ((2048 - probability) >>> 5);
      result = 0;
    } else {
      range -= bound;
      code -= bound;
      table[index] = probability - (probability >>> 5);
      result = 1;
    }
    if (range < 0x1000000) {
      range = (range << 8) >>> 0;
      code = ((code << 8) | (input[at++] ?? 0)) >>> 0;
    }
    return result;
  };
  const directBits = (count: number): number => {
    let result = 0;
    for (let index = 0; index < count; index += 1) {
      range >>>= 1;
      const one = code >= range ? 1 : 0;
      if (one) code -= range;
      result = result * 2 + one;
      if (range < 0x1000000) {
        range = (range << 8) >>> 0;
        code = ((code << 8) | (input[at++] ?? 0)) >>> 0;
      }
    }
    return result;
  };
  const tree = (table: Uint16Array, offset: number, bits: number): number => {
    let node = 1;
    for (let index = 0; index < bits; index += 1) node = node * 2 + bit(table, offset + node);
    return node - (1 << bits);
  };
  const reverseTree = (table: Uint16Array, offset: number, bits: number): number => {
    let [node, result] = [1, 0];
    for (let index = 0; index < bits; index += 1) {
      const one = bit(table, offset + node);
      node = node * 2 + one;
      result |= one << index;
    }
    return result;
  };

  const POSITIONS = 1 << 4;
  const STATES = 12;
  const literals = probabilities(0x300 << (literalContextBits + literalPositionBits));
  const isMatch = probabilities(STATES * POSITIONS);
  const isRepeat = probabilities(STATES);
  const isRepeat0 = probabilities(STATES);
  const isRepeat1 = probabilities(STATES);
  const isRepeat2 = probabilities(STATES);
  const isLongRepeat0 = probabilities(STATES * POSITIONS);
  const distanceSlots = probabilities(4 * 64);
  const distances = probabilities(128);
  const alignment = probabilities(16);
  const lengthTables = () => ({
    choice: probabilities(2),
    low: probabilities(POSITIONS * 8),
    middle: probabilities(POSITIONS * 8),
    high: probabilities(256),
  });
  const matchLengths = lengthTables();
  const repeatLengths = lengthTables();
  const matchLength = (tables: ReturnType<typeof lengthTables>, position: number): number => {
    if (bit(tables.choice, 0) === 0) return 2 + tree(tables.low, position * 8, 3);
    if (bit(tables.choice, 1) === 0) return 10 + tree(tables.middle, position * 8, 3);
    return 18 + tree(tables.high, 0, 8);
  };

  let state = 0;
  let [repeat0, repeat1, repeat2, repeat3] = [0, 0, 0, 0];
  let end = 0;
  while (end < length) {
    const position = end & ((1 << positionBits) - 1);
    if (bit(isMatch, state * POSITIONS + position) === 0) {
      const previous = end > 0 ? (output[end - 1] as number) : 0;
      const context =
        ((end & ((1 << literalPositionBits) - 1)) << literalContextBits) + (previous >> (8 - literalContextBits));
      const offset = 0x300 * context;
      let symbol = 1;
      if (state >= 7) {
        let match = output[end - repeat0 - 1] as number;
        while (symbol < 0x100) {
          const expected = (match >> 7) & 1;
          match <<= 1;
          const one = bit(literals, offset + ((1 + expected) << 8) + symbol);
          symbol = symbol * 2 + one;
          if (expected !== one) break;
        }
      }
      while (symbol < 0x100) symbol = symbol * 2 + bit(literals, offset + symbol);
      output[end++] = symbol;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count: number;
    if (bit(isRepeat, state) === 0) {
      [repeat3, repeat2, repeat1] = [repeat2, repeat1, repeat0];
      count = matchLength(matchLengths, position);
      state = state < 7 ? 7 : 10;
      const slot = tree(distanceSlots, Math.min(count - 2, 3) * 64, 6);
      if (slot < 4) repeat0 = slot;
      else {
        const bits = (slot >> 1) - 1;
        const base = (2 | (slot & 1)) * 2 ** bits;
        repeat0 =
          slot < 14
            ? base + reverseTree(distances, base - slot, bits)
            : base + directBits(bits - 4) * 16 + reverseTree(alignment, 0, 4);
      }
    } else {
      if (bit(isRepeat0, state) === 0) {
        if (bit(isLongRepeat0, state * POSITIONS + position) === 0) {
          state = state < 7 ? 9 : 11;
          output[end] = output[end - repeat0 - 1] as number;
          end += 1;
          continue;
        }
      } else {
        let distance: number;
        if (bit(isRepeat1, state) === 0) distance = repeat1;
        else {
          if (bit(isRepeat2, state) === 0) distance = repeat2;
          else {
            distance = repeat3;
            repeat3 = repeat2;
          }
          repeat2 = repeat1;
        }
        repeat1 = repeat0;
        repeat0 = distance;
      }
      count = matchLength(repeatLengths, position);
      state = state < 7 ? 8 : 11;
    }
    if (repeat0 >= end) throw new Error("the packed reader is damaged");
    for (const stop = Math.min(end + count, length); end < stop; end += 1)
      output[end] = output[end - repeat0 - 1] as number;
  }
  return output;
}
