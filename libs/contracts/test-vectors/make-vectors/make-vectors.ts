/**
 * Regenerates signatures.json with every serialiser on this machine:
 * `node libs/contracts/test-vectors/make-vectors/make-vectors.ts [a go binary of 1.21 or before]`.
 * Fails unless all of them are available.
 */
import { writeFile } from 'node:fs/promises';
import { collectByHand, collectFrom, readToken } from './collect-vectors.ts';
import { listSerialisers } from './run-serialisers.ts';
import type { RequestVector, VectorFile } from './vector-file.ts';

const serialisers = await listSerialisers(process.argv[2]);
const names = serialisers.map(({ name }) => name).join(', ');
if (serialisers.length < 6) throw new Error(`Only ${names} can be run here; the file needs all six.`);

const token = await readToken();
const byHand = collectByHand(token);
const made: RequestVector[] = [];
for (const serialiser of serialisers) made.push(...(await collectFrom(serialiser)));
const file: VectorFile = {
  about:
    'Signature version 1: `sign` is the hex HMAC-SHA256, keyed with the token, of `data` as compact JSON. `accepted`: the ' +
    'signature verifies; `refused`: the body is not strict JSON, or the signature is of something else.',
  token,
  ...byHand,
  requests: [...made, ...byHand.requests],
};
const ascii = JSON.stringify(file, null, 2).replaceAll(
  /[^\n -~]/g,
  (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
);
await writeFile(new URL('../signatures.json', import.meta.url), `${ascii}\n`);
console.log(`signatures.json: ${file.requests.length} requests, made with ${names}`);
