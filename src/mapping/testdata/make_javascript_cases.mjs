// Writes javascript_cases.jsonl: JavaScript's own results for the ordinary cases of every function.
// Run it with Node 20 from this folder; the file is checked in, so building and testing need no Node.
//   node make_javascript_cases.mjs > javascript_cases.jsonl
// A line is {"function": name, "cells": [...], "expected": value}; "{@symbol.x}" cells stand for values that
// JSON cannot write. Answers that JSON cannot hold (undefined, NaN, Infinity) are null, as in a result.
process.env.TZ = 'UTC';

const symbols = { '{@symbol.NaN}': NaN, '{@symbol.posInfinity}': Infinity, '{@symbol.negInfinity}': -Infinity,
                  '{@symbol.undefined}': undefined, '{@symbol.null}': null };
const D = (x) => new Date(typeof x === 'string' && /^\d+$/.test(x) && x.length !== 4 ? Number(x) : x);
const flat = (args) => args.flat(Infinity).map(Number);

const js = {
  array: {
    get: (a, i = 0) => a[i], length: (a) => a.length, concat: (a, ...b) => a.concat(...b),
    indexOf: (a, ...r) => a.indexOf(...r), join: (a, s) => a.join(s), lastIndexOf: (a, ...r) => a.lastIndexOf(...r),
    pop: (a) => a.pop(), push: (a, ...r) => { a.push(...r); return a; }, reverse: (a) => a.reverse(),
    shift: (a) => a.shift(), slice: (a, ...r) => a.slice(...r), splice: (a, ...r) => a.splice(...r),
    sort: (a, order) => { a.sort((x, y) => (x < y ? -1 : x > y ? 1 : 0)); return order === 'DESCENDING' ? a.reverse() : a; },
  },
  bitwise: {
    and: (a, b) => a & b, or: (a, b) => a | b, xor: (a, b) => a ^ b, leftShift: (a, b) => a << b,
    rightShift: (a, b) => a >> b, unsignedRightShift: (a, b) => a >>> b,
  },
  conditional: {
    ternary: (c, a, b) => (c ? a : b), equality: (a, b) => a == b, strict_equality: (a, b) => a === b,
    inequality: (a, b) => a != b, strict_inequality: (a, b) => a !== b, greater_than: (a, b) => a > b,
    less_than: (a, b) => a < b, greater_than_or_equal: (a, b) => a >= b, less_than_or_equal: (a, b) => a <= b,
    nullish: (a, b) => a ?? b,
  },
  date: {
    fromISOString: (d) => new Date(d).toISOString(), parse: (d) => Date.parse(d), UTC: (...r) => Date.UTC(...r),
  },
  json: { stringify: (v, s) => JSON.stringify(v, null, s), parse: (t) => JSON.parse(t) },
  logical: { and: (a, b) => a && b, or: (a, b) => a || b },
  math: {
    add: (...r) => flat(r).reduce((a, b) => a + b), subtract: (...r) => flat(r).reduce((a, b) => a - b),
    multiply: (...r) => flat(r).reduce((a, b) => a * b),
    divide: (...r) => flat(r).reduce((a, b) => (b === 0 ? NaN : a / b)),
    max: (...r) => Math.max(...flat(r)), min: (...r) => Math.min(...flat(r)),
  },
  number: {
    isFinite: Number.isFinite, isEven: (n) => n % 2 === 0, isOdd: (n) => Math.abs(n % 2) === 1,
    isInteger: Number.isInteger, isNaN: Number.isNaN, parseFloat: (t) => parseFloat(t), parseInt: (t, r) => parseInt(t, r),
    toFixed: (n, d) => n.toFixed(d), toExponential: (n, d) => n.toExponential(d), toPrecision: (n, d) => n.toPrecision(d),
    gte: (a, b) => a >= b, lte: (a, b) => a <= b, gt: (a, b) => a > b, lt: (a, b) => a < b,
    max: (...r) => Math.max(...r), min: (...r) => Math.min(...r), pow: Math.pow, round: Math.round,
  },
  object: {
    get: (o, k) => o[k], set: (o, k, v) => { o = o || {}; o[k] = v; return o; },
    create: (...r) => { const o = {}; for (let i = 0; i < r.length; i += 2) o[r[i]] = r[i + 1]; return o; },
    keys: Object.keys, values: Object.values, entries: Object.entries, fromEntries: (e) => Object.fromEntries(e),
    assign: (...r) => Object.assign(...r), getOwnPropertyNames: Object.getOwnPropertyNames,
    getOwnPropertySymbols: Object.getOwnPropertySymbols,
    getOwnPropertyDescriptor: (o, k) => Object.getOwnPropertyDescriptor(o, k),
    freeze: Object.freeze, isFrozen: Object.isFrozen, seal: Object.seal, isSealed: Object.isSealed,
    preventExtensions: Object.preventExtensions, isExtensible: Object.isExtensible,
    hasOwnProperty: (o, k) => Object.prototype.hasOwnProperty.call(o, k), isPrototypeOf: (o, p) => Object.prototype.isPrototypeOf.call(o, p),
    propertyIsEnumerable: (o, k) => Object.prototype.propertyIsEnumerable.call(o, k),
  },
  string: { concat: (...r) => r.join(''), search: (s, p) => s.search(p) },
  symbol: {
    null: () => null, undefined: () => undefined, whitespace: () => ' ', object: () => ({}), array: () => [],
    posInfinity: () => Infinity, negInfinity: () => -Infinity, NaN: () => NaN,
  },
  unary: { not: (v) => !v, positive: (v) => +v, negative: (v) => -v, bitwise_not: (v) => ~v },
};
for (const f of ['abs', 'acos', 'acosh', 'asin', 'asinh', 'atan', 'atan2', 'atanh', 'cbrt', 'ceil', 'clz32', 'cos', 'cosh', 'exp',
  'expm1', 'floor', 'fround', 'hypot', 'imul', 'log', 'log10', 'log1p', 'log2', 'pow', 'round', 'sign', 'sin', 'sinh', 'sqrt', 'tan',
  'tanh', 'trunc']) js.math[f] = Math[f];
for (const f of ['split', 'charAt', 'includes', 'indexOf', 'lastIndexOf', 'slice', 'toLowerCase', 'toUpperCase', 'trim', 'trimStart',
  'trimEnd', 'padStart', 'padEnd', 'replace', 'substring', 'startsWith', 'endsWith', 'repeat'])
  js.string[f] = (s, ...r) => s[f](...r);
const dateFunctions = Object.getOwnPropertyNames(Date.prototype).filter((f) => /^(get|set|to|valueOf)/.test(f) &&
  !['getYear', 'setYear', 'toGMTString', 'toUTCString', 'toTimeString'].includes(f));
for (const f of dateFunctions) js.date[f] = (d, ...r) => D(d)[f](...r);

const numbers = [0, 1, -1, 0.5, -0.5, 2.5, -2.5, 1.005, 3, 7, 10, 99.99, 255, 1e-7, 1e21, 123456.789, 4294967295, -2147483649,
  '{@symbol.NaN}', '{@symbol.posInfinity}', '{@symbol.negInfinity}', null, true, '12', ' 3.5 ', 'x', ''];
const anything = [0, 1, '', '0', '1', 'a', true, false, null, '{@symbol.undefined}', '{@symbol.NaN}', 1.5, '1.5', ' 1 '];
const texts = ['', 'a', 'abc', 'Hello World', '  pad\t\n', 'a,b,,c', 'ÄÖü ß éa', 'жЖ ΑΣ', 'x😀y', 'aaa', '12.5kg', '\u00a0nb\ufeff'];
const dates = ['2024-02-29T13:05:09.007Z', '1999-12-31', '2024', '1970-01-01T00:00:00.000Z', '2021-03-04T05:06:07+02:00',
  0, -1, 951782400000, '1700000000000', 8.64e15, '0099-01-01T00:00:00Z', '-000001-06-15T12:00:00Z', '+012345-06-07T00:00:00.000Z'];
const out = [];
const real = (c) => (typeof c === 'string' && c in symbols ? symbols[c] : structuredClone(c));
function add(name, ...cells) {
  const [family, f] = name.split('.');
  let value;
  try { value = js[family][f](...cells.map(real)); } catch (e) { return; }  // refusals have other tests
  const plain = JSON.parse(JSON.stringify({ v: value === undefined ? null : value }));
  const escaped = cells.map((c) => (typeof c === 'string' && c.startsWith('{') && !(c in symbols) ? `{${c}}` : c));
  const line = JSON.stringify({ function: name, cells: escaped, expected: plain.v });
  if (!/\\ud[89a-f]/i.test(line)) out.push(line);  // half pairs are covered by docs/MAPPING.md
}
const pairs = (xs, f) => { for (const a of xs) for (const b of xs) f(a, b); };

const lists = [[], [1], [1, 2, 3], ['a', 'b', 'a'], [3, 1, 2, 10], [[1], [2, [3]]], [{ a: 1 }, null, 'x', true], ['é', 'z', 'A', 'a', '😀', '\uffee']];
for (const l of lists) {
  for (const f of ['length', 'join', 'pop', 'reverse', 'shift', 'slice']) add('array.' + f, l);
  for (const i of [0, 1, 2, -1, 9, 0.5, null, 'x']) { add('array.get', l, i); add('array.slice', l, i ?? 0); add('array.splice', l, i ?? 0); }
  for (const [i, j] of [[0, 2], [1, -1], [-2, 9], [2, 1]]) { add('array.slice', l, i, j); add('array.splice', l, i, j); }
  for (const x of [1, 'a', true, null, 'zz']) {
    add('array.indexOf', l, x); add('array.lastIndexOf', l, x); add('array.indexOf', l, x, 1); add('array.indexOf', l, x, -1);
    add('array.lastIndexOf', l, x, 1); add('array.lastIndexOf', l, x, -2); add('array.push', l, x); add('array.push', l, x, [x]);
    add('array.concat', l, x); add('array.concat', l, [x, [x]], x);
  }
  for (const s of ['-', '', ', ']) add('array.join', l, s);
}
for (const l of [[], [3, 1, 2], ['b', 'a', 'C'], [10, 9, 1.5, -1], ['é', 'z', 'A', 'a', '😀', '\uffee']])
  for (const o of [[], ['ASCENDING'], ['DESCENDING']]) add('array.sort', l, ...o);
for (const f of Object.keys(js.bitwise)) pairs([0, 1, 5, -1, 31, 33, 4294967295, 2147483648, -2147483649, 1.9, '7', null, '{@symbol.NaN}'], (a, b) => add('bitwise.' + f, a, b));
for (const f of Object.keys(js.conditional)) if (f !== 'ternary') pairs(anything, (a, b) => add('conditional.' + f, a, b));
for (const f of ['equality', 'less_than', 'greater_than']) for (const a of [[1], [], ['a'], { a: 1 }]) for (const b of [1, '1', '', 'a', 0, '[object Object]', false]) { add('conditional.' + f, a, b); add('conditional.' + f, b, a); }
for (const c of anything) add('conditional.ternary', c, 'yes', 'no');
for (const f of ['and', 'or']) pairs(anything, (a, b) => add('logical.' + f, a, b));
for (const f of Object.keys(js.unary)) for (const v of [...numbers, [], [7], {}]) add('unary.' + f, v);
for (const f of Object.keys(js.symbol)) add('symbol.' + f);

for (const f of ['abs', 'ceil', 'clz32', 'floor', 'fround', 'round', 'sign', 'sqrt', 'trunc', 'max', 'min', 'add', 'multiply', 'subtract', 'divide', 'hypot'])
  for (const n of numbers) add('math.' + f, n);
for (const f of ['acos', 'acosh', 'asin', 'asinh', 'atan', 'atanh', 'cbrt', 'cos', 'cosh', 'exp', 'expm1', 'log', 'log10', 'log1p', 'log2', 'sin', 'sinh', 'tan', 'tanh'])
  for (const n of [0, 1, -1, 0.5, 8, 100, '{@symbol.NaN}']) add('math.' + f, n);
for (const f of ['add', 'subtract', 'multiply', 'divide', 'max', 'min', 'pow', 'imul', 'atan2']) pairs([0, 1, -3, 2.5, 1e300, '4', null, '{@symbol.NaN}', '{@symbol.posInfinity}'], (a, b) => add('math.' + f, a, b));
add('math.add', [1, [2, 3]], 4); add('math.subtract', [10, [2, 3]], 1); add('math.multiply', [2, [3]], 4); add('math.divide', [100, [5]], 2);
add('math.hypot', 3, 4); add('math.add', 0.1, 0.2); add('math.max', 1, 5, 3); add('math.min', [4, 2], 3);
for (const f of ['isFinite', 'isEven', 'isOdd', 'isInteger', 'isNaN', 'round', 'max', 'min']) for (const n of numbers) add('number.' + f, n);
for (const f of ['gte', 'lte', 'gt', 'lt']) pairs([0, 1, 2.5, '10', '9', 'a', null, '{@symbol.NaN}'], (a, b) => add('number.' + f, a, b));
pairs([0, 2, -2, 0.5, 10], (a, b) => { add('number.pow', a, b); add('number.max', a, b); add('number.min', a, b); });
for (const t of ['3.14abc', '  -2e3x', '.5', '5.', '1e', '-', '', 'Infinityx', '-Infinity', '0x1F', '1_000', '1e400', '1e-400', 'abc', '٣', '+7', '12345678901234567890', '0.1e-5']) {
  add('number.parseFloat', t); for (const r of [[], [10], [16], [2], [36], [1], [0]]) if (t.length < 16 || r[0] !== 36) add('number.parseInt', t, ...r);
}
add('number.parseInt', 15.99); add('number.parseFloat', null); add('number.parseInt', 'ff', 16); add('number.parseInt', 1e21);
const shown = [0, 1, -1, 0.5, 1.5, 2.5, -2.5, 1.005, 1.45, 8.345, 10.235, 0.000001, 1e-7, 123.456, 99.99, 999999.5, 1e20, 1e21, 1.7976931348623157e308,
  5e-324, 123456789012345680000, 0.1, 1 / 3, 4294967295.5, -0.0000005, 1e-10, 25, 12345.6789, 0.00001234, 1.25, 1.35, -1.5];
for (const n of shown) {
  for (const d of [[], [0], [1], [2], [5], [20], [50]]) { add('number.toFixed', n, ...d); add('number.toExponential', n, ...d); }
  for (const d of [[], [1], [2], [3], [7], [21], [60]]) add('number.toPrecision', n, ...d);
  add('string.concat', n); add('json.stringify', n);
}
for (const n of ['{@symbol.NaN}', '{@symbol.posInfinity}', '{@symbol.negInfinity}', '{@symbol.null}', '{@symbol.undefined}']) add('string.concat', n, '|');

for (const v of [null, true, 'q"\\\b\f\n\r\t\u0001\u007fé😀', [], {}, [1, [2, {}]], { a: 1, b: [true, null, 'x'], c: { d: {} } }, 1e21, 0.1]) {
  add('json.stringify', v); add('json.stringify', v, 2); add('json.stringify', v, '--'); add('json.stringify', v, 99);
}
for (const t of ['null', '1', '-0.5e3', '"a\\u00e9\\n"', '[1,2,{"a":[]}]', '{"a":{"b":null}}', ' true ', '12345678901', '99.98999786376953', '123456789012345680000', '1e-400']) add('json.parse', t);

const objects = [{}, { a: 1 }, { a: 1, b: { c: [1, 2] } }, [], ['x', 'y'], { z: null, y: '', x: false }];
for (const o of objects) {
  for (const f of ['keys', 'values', 'entries', 'getOwnPropertyNames', 'getOwnPropertySymbols', 'freeze', 'seal', 'preventExtensions', 'isExtensible']) add('object.' + f, o);
  for (const k of ['a', 'b', 'zz', 0, '1']) {
    add('object.get', o, k); add('object.hasOwnProperty', o, k); add('object.propertyIsEnumerable', o, k);
    add('object.getOwnPropertyDescriptor', o, k); add('object.isPrototypeOf', o, { k });
    if (!Array.isArray(o)) { add('object.set', o, k === 0 ? 'k' : 'k' + k, 5); add('object.set', o, 'a', [1]); }
  }
  if (!Array.isArray(o)) { add('object.assign', o, { a: 2 }, null, { n: [1] }); add('object.assign', o); }
}
for (const v of [1, 'a', true]) for (const f of ['isFrozen', 'isSealed', 'isExtensible', 'freeze', 'seal', 'preventExtensions']) add('object.' + f, v);
for (const v of [null, 0, '', false]) add('object.set', v, 'a', 1);
add('object.isFrozen', { a: 1 }); add('object.isSealed', [1]);
add('object.create'); add('object.create', 'a', 1); add('object.create', 'a', 1, 'b', [2]); add('object.create', 'a', 1, 'a', 2); add('object.create', 'a');
add('object.fromEntries', [['a', 1], ['b', [2]]]); add('object.fromEntries', []); add('object.fromEntries', [['a', 1], ['a', 2], ['k']]);

for (const t of texts) {
  for (const f of ['toLowerCase', 'toUpperCase', 'trim', 'trimStart', 'trimEnd', 'charAt', 'slice', 'split', 'concat']) add('string.' + f, t);
  for (const s of ['', 'a', ',', 'lo', 'abc', 'ß', '😀', 'zzz', null, 1]) {
    add('string.split', t, s); add('string.concat', t, s, t);
    for (const p of [[], [0], [1], [2], [-1], [99]]) for (const f of ['includes', 'indexOf', 'lastIndexOf', 'startsWith', 'endsWith']) add('string.' + f, t, s, ...p);
    add('string.replace', t, s, 'R'); add('string.replace', t, s, "[$&|$$|$`|$'|$1|$]");
  }
  for (const i of [0, 1, 2, -1, -2, 99, 1.7, '1', null]) { add('string.charAt', t, i); add('string.slice', t, i); add('string.substring', t, i); }
  for (const [i, j] of [[0, 1], [1, 3], [-3, -1], [3, 1], [-1, 2], [0, 99]]) { add('string.slice', t, i, j); add('string.substring', t, i, j); }
  for (const n of [0, 3, 7, 12]) for (const f of ['padStart', 'padEnd']) { add('string.' + f, t, n); add('string.' + f, t, n, 'xy'); add('string.' + f, t, n, ''); add('string.' + f, t, n, 'é'); }
  for (const n of [0, 1, 3, 2.9]) add('string.repeat', t, n);
  for (const p of ['a', 'b+', '[A-Z]', '^a', 'c$', '\\d+', '(x|y)', 'W.r', 'zz', '\\w,', '', '[^a]', 'l{2}', '\\.']) add('string.search', t, p);
}
for (const t of ['ŉ', 'ǰ', 'ﬁ', 'İ', 'ΐ', 'ᾳ', 'Ǆ', 'ǅ', 'ა', 'Ꭰ', '𐐀', '𐐨', 'ΟΔΟΣ ΣΑΣ', 'Ⅷ', 'ⓐ', 'ÿ', 'µ', 'ſ', 'K', 'ẞ', 'ա', 'Ⱥ', 'ɐ', 'ꭰ'])
  { add('string.toLowerCase', t); add('string.toUpperCase', t); }

for (const d of dates) {
  for (const f of dateFunctions.filter((f) => !f.startsWith('set'))) add('date.' + f, d);
  add('date.fromISOString', d); if (typeof d === 'string' && !/^\d{13}$/.test(d)) add('date.parse', d);
  for (const f of dateFunctions.filter((f) => f.startsWith('set'))) {
    const count = { FullYear: 3, Month: 2, Date: 1, Hours: 4, Minutes: 3, Seconds: 2, Milliseconds: 1, Time: 1 }[f.replace(/^set(UTC)?/, '')];
    for (const values of [[2], [30, 40], [-1], [100, -5, 61], [5.9, 13, 14, 15], [0]]) add('date.' + f, d, ...values.slice(0, count));
  }
}
for (const t of ['Thu Feb 29 2024', 'Thu Feb 29 2024 13:05:09 GMT+0000 (Coordinated Universal Time)', 'Thu, 29 Feb 2024 13:05:09 GMT', 'Feb 29, 2024', '29 Feb 2024 01:02:03',
  '2024-02', '2024-02-29T24:00:00Z', '2024-02-29T13:05Z', '2024-02-29 13:05:09', '2024-02-29T13:05:09.123456Z', '2024-02-29T13:05:09-0530']) add('date.parse', t);
for (const r of [[2024], [2024, 1], [2024, 1, 29], [99, 11, 31, 23, 59, 59, 999], [2024, 13, 40], [-1, 0], [2024.9, 1.9], [300000, 0], ['2024', '5']]) add('date.UTC', ...r);
console.log([...new Set(out)].join('\n'));
