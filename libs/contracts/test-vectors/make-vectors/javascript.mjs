// Prints the vectors that JavaScript's own serialiser makes, as a merchant's client would sign and send them. With the
// argument `again`: the texts it makes of the JSON text on standard input.
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';

const { token, payloads } = JSON.parse(readFileSync(new URL('payloads.json', import.meta.url), 'utf8'));
const version = `node ${process.versions.node}`;
const hmac = (text) => createHmac('sha256', token).update(text).digest('hex');

function sortKeys(value) {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortKeys(value[key])]),
  );
}

const compact = (value) => JSON.stringify(value);

function serialiseAgain() {
  const data = JSON.parse(readFileSync(0, 'utf8'));
  return { 'JSON.stringify': compact(data), 'JSON.stringify of sorted keys': compact(sortKeys(data)) };
}

const vectors = [];
function add(name, call, data, signedText, write) {
  const sign = hmac(signedText);
  const body = write({ sign, timestamp: 1790000000, nonce: name, data });
  vectors.push({ name, serialiser: `${version}: ${call}`, sign, body });
}

for (const [name, data] of Object.entries(payloads)) {
  add(`javascript/${name}`, 'JSON.stringify', data, compact(data), compact);
  add(
    `javascript/${name}/sorted`,
    'JSON.stringify of sorted keys; body not sorted',
    data,
    compact(sortKeys(data)),
    compact,
  );
}
const { hostile } = payloads;
add(
  'javascript/hostile/pretty-body',
  'JSON.stringify; body indented by 2',
  hostile,
  compact(hostile),
  (body) => JSON.stringify(body, null, 2),
);
add(
  'javascript/hostile/tabs-body',
  'JSON.stringify; body indented by tabs',
  hostile,
  compact(hostile),
  (body) => JSON.stringify(body, null, '\t').replaceAll('\n', '\r\n'),
);
add(
  'javascript/hostile/pretty-signed',
  'JSON.stringify indented by 2, not the body',
  hostile,
  JSON.stringify(hostile, null, 2),
  compact,
);
add(
  'javascript/hostile/upper-case-sign',
  'JSON.stringify; sign in upper case',
  hostile,
  compact(hostile),
  (body) => compact({ ...body, sign: body.sign.toUpperCase() }),
);
console.log(JSON.stringify(process.argv[2] === 'again' ? serialiseAgain() : vectors));
