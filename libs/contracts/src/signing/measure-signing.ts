/**
 * Worst-case cost of verifying one body: `node --conditions=source libs/contracts/src/signing/measure-signing.ts`. All
 * signatures are wrong, so that every form is tried. Prints median and 99th percentile in microseconds.
 */
import { createDataForms } from './data-forms.ts';
import { tokenizeJson } from './tokenize-json.ts';
import { verifyDataSignature } from './verify-signature.ts';

const BODY_BYTES = 65_536;
const ROUNDS = 400;
const TOKEN = 'dev-merchant-token';
const WRONG_SIGN = 'ab'.repeat(32);

function envelope(data: string): Buffer {
  return Buffer.from(`{"sign":"${WRONG_SIGN}","timestamp":1700000000,"nonce":"n-1","data":${data}}`, 'utf8');
}

function oneString(text: string, dataBytes = BODY_BYTES - 140): Buffer {
  const times = Math.floor((dataBytes - 10) / Buffer.byteLength(text));
  return envelope(`{"text":"${text.repeat(times)}"}`);
}

/** In reverse order, so that sorting has work. */
function members(count: number, member: (index: number) => string): Buffer {
  return envelope(`{${Array.from({ length: count }, (_, index) => member(count - 1 - index)).join(',')}}`);
}

const hex = (index: number): string => index.toString(16).padStart(4, '0');
const EVERY_CLASS = "/<='\u007f\\b\\u0001\\u001fé\u2028😀";

const BODIES: Record<string, Buffer> = {
  'a usual request': envelope(
    '{"amount":"250.00","symbol":"USDT","chain":"ETH_SEPOLIA","orderId":"A-1001","returnUrl":"https://shop.example/thanks?id=1&x=2","description":"Bücher für Zoë"}',
  ),
  '64 KiB, one plain string': oneString('x'),
  '64 KiB of \\/': oneString('\\/'),
  '64 KiB of \\u003c': oneString('\\u003c'),
  '64 KiB of é': oneString('é'),
  '64 KiB of 😀': oneString('😀'),
  '64 KiB of escaped 😀': oneString('\\ud83d\\ude00'),
  '64 KiB, 4,000 members in reverse order': members(4_000, (index) => `"k${hex(index)}":"${hex(index)}"`),
  '64 KiB, 4,000 members with escapes in the keys': members(4_000, (index) => `"\\u006b${hex(index)}":1`),
  '64 KiB, 4,000 members with white space everywhere': members(4_000, (index) => ` "k${hex(index)}" : 1 `),
  '64 KiB, 4,000 empty objects': envelope(`[${Array.from({ length: 4_000 }, () => '{ }').join(' , ')}]`),
  '64 KiB of white space': envelope(`{"a":${' '.repeat(BODY_BYTES - 160)}1}`),
  '64 KiB of digits': envelope(`{"a":${'1'.repeat(BODY_BYTES - 160)}}`),
  'one string at the limit of respelled bytes': oneString(`${'x'.repeat(128)}${EVERY_CLASS}`, 8_192),
  'one string at the limit of edits': oneString(EVERY_CLASS, 2_100),
  'a plain string at the limit of respelled bytes, one character of each class': envelope(
    `{"b":"${'x'.repeat(8_100)}${EVERY_CLASS}","a":1}`,
  ),
  '2 KiB, every class once, unsorted': envelope(`{"b":"${'x'.repeat(2_000)}${EVERY_CLASS}","a":1}`),
  '64 members in reverse order, every class': members(60, (index) => `"k${hex(index)}":"${EVERY_CLASS}"`),
  '64 members, three key orders': members(
    60,
    (index) => `"${index % 2 === 0 ? index : `😀${hex(index)}`}":"/é"`,
  ),
  'at all limits at once': members(
    60,
    (index) =>
      ` "${index % 3 === 0 ? index : `😀${hex(index)}`}" : [ "${EVERY_CLASS.slice(0, 5)}${'x'.repeat(80)}" , 1 , 2 ]`,
  ),
  '64 members, deep': envelope(
    Array.from({ length: 14 }, (_, depth) => `{"z":1,"y":"/${hex(depth)}","x":2,"a":`).join('') +
      '1' +
      '}'.repeat(14),
  ),
};

function measure(run: () => unknown): string {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    run();
    times.push((performance.now() - start) * 1_000);
  }
  const sorted = times.slice(ROUNDS / 4).sort((left, right) => left - right);
  const at = (share: number): string =>
    (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(0).padStart(7);
  return `${at(0.5)} ${at(0.99)}`;
}

console.log('tokenize: median, p99 | verify: median, p99 | forms | body (times in microseconds)');
for (let pass = 0; pass < 2; pass += 1) {
  for (const [name, body] of Object.entries(BODIES)) {
    const tokenizing = measure(() => tokenizeJson(body));
    const document = tokenizeJson(body);
    const verifying = measure(() =>
      verifyDataSignature({ forms: createDataForms(document), token: TOKEN, sign: WRONG_SIGN }),
    );
    const forms = createDataForms(document);
    const count = forms.literal().length + forms.respelled().length;
    // The first pass warms up the compiler for every kind of body.
    if (pass === 1) console.log(`${tokenizing} | ${verifying} | ${String(count).padStart(3)} | ${name}`);
  }
}
