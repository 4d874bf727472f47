import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import fc from 'fast-check';
import { bodyOf, type VectorFile } from '../../test-vectors/make-vectors/vector-file.ts';
import { createDataForms } from './data-forms.ts';
import { asArray, asNumberLexeme, asObject, readMember, type JsonValue } from './json-value.ts';
import { tokenizeJson } from './tokenize-json.ts';
import { canonicalDataHash, verifyDataSignature } from './verify-signature.ts';

const MUTATIONS = 2_000;
const FILE = JSON.parse(
  readFileSync(new URL('../../test-vectors/signatures.json', import.meta.url), 'utf8'),
) as VectorFile;
const SIGNED = FILE.requests
  .filter((vector) => vector.expect === 'accepted' && vector.body !== undefined && vector.body.length < 3_000)
  .map((vector) => ({
    body: bodyOf(vector).toString('latin1'),
    sign: vector.sign,
    meaning: meaningOf(bodyOf(vector)),
    hash: canonicalDataHash(tokenizeJson(bodyOf(vector))),
  }));

/** Reads `data` with V8: numbers as literals, keys sorted; of equal keys the last one counts. */
function meaningOf(body: Buffer): string {
  const keepLiterals = (_: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value === 'number') return { literal: context?.source };
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return { members: Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)) };
  };
  const parsed = JSON.parse(
    body.toString('utf8'),
    keepLiterals as (key: string, value: unknown) => unknown,
  ) as {
    readonly members: readonly (readonly [string, unknown])[];
  };
  return JSON.stringify(parsed.members.find(([key]) => key === 'data')?.[1]);
}

function ownMeaning(value: JsonValue | undefined): unknown {
  const members = asObject(value);
  if (members !== undefined) {
    const entries = [...members].map(([key, member]) => [key, ownMeaning(member)] as const);
    return { members: entries.sort(([left], [right]) => (left < right ? -1 : 1)) };
  }
  const literal = asNumberLexeme(value);
  return literal === undefined ? (asArray(value)?.map(ownMeaning) ?? value) : { literal };
}

/** Compares before calling `expect`: 100,000 calls of `expect` would cost as much as the rest of the test. */
function expectSame(left: unknown, right: unknown): void {
  if (left !== right) expect(left).toBe(right);
}

/** The body has one byte per character. `at` and `to` are fractions of its length. */
type Mutation = (body: string, at: number, to: number, byte: number) => string;

const splice = (body: string, at: number, remove: number, insert: string): string =>
  body.slice(0, at) + insert + body.slice(at + remove);
const latin = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
function nextMatch(body: string, pattern: RegExp, at: number): RegExpExecArray | null {
  const matches = [...body.matchAll(pattern)];
  return matches.find((match) => match.index >= at) ?? matches[0] ?? null;
}
const rewrite = (pattern: RegExp, change: (text: string, byte: number) => string): Mutation => {
  return (body, at, _, byte) => {
    const match = nextMatch(body, pattern, at);
    return match === null ? body : splice(body, match.index, match[0].length, change(match[0], byte));
  };
};
const oneOf = (byte: number, ...texts: readonly string[]): string => texts[byte % texts.length] ?? '';
const unicodeEscape = (character: string, byte: number): string => {
  const hex = character.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${byte % 2 === 0 ? hex : hex.toUpperCase()}`;
};

const NUMBER = /(?<=[[:,]\s*)-?\d[\d.eE+-]*/g;
const MEMBER = /"[^"\\]*"\s*:\s*("[^"\\]*"|-?\d[\d.eE+-]*|null|true|false)/g;
const MUTATIONS_BY_NAME: Readonly<Record<string, Mutation>> = {
  flip: (body, at, _, byte) =>
    splice(body, at, 1, String.fromCharCode((body.charCodeAt(at) ^ (1 << (byte & 7))) & 255)),
  replace: (body, at, _, byte) => splice(body, at, 1, String.fromCharCode(byte)),
  insert: (body, at, _, byte) => splice(body, at, 0, String.fromCharCode(byte)),
  remove: (body, at, _, byte) => splice(body, at, 1 + (byte % 4), ''),
  move: (body, at, to, byte) =>
    splice(splice(body, at, byte % 40, ''), to, 0, body.slice(at, at + (byte % 40))),
  repeat: (body, at, to, byte) => splice(body, to, 0, body.slice(at, at + (byte % 60))),
  fragment: (body, at, _, byte) =>
    splice(
      body,
      at,
      0,
      latin(
        oneOf(
          byte,
          '"data":{},',
          ',"data":{}',
          '"d\\u0061ta":1,',
          '"__proto__":1,',
          '\\',
          '\\u0000',
          '\ufeff',
          '\u2028',
          '{',
          '}',
          '"',
          ',',
          'null',
          '1e2',
          '.0',
          '\xc0\xaf',
        ),
      ),
    ),
  whiteSpace: rewrite(/[{}[\]:,]/g, (text, byte) =>
    oneOf(byte, ` ${text}`, `${text}\n`, `\t${text} `, `${text}\r\n\t`),
  ),
  noWhiteSpace: rewrite(/\s+/g, () => ''),
  number: rewrite(NUMBER, (text, byte) =>
    oneOf(
      byte,
      `${text}0`,
      `${text}.0`,
      `${text}e0`,
      `-${text}`,
      `0${text}`,
      `${text}E+1`,
      `${Number(text)}`,
      `"${text}"`,
    ),
  ),
  letter: rewrite(/(?<![\\])[A-Za-z0-9]/g, (_, byte) => String.fromCharCode(0x21 + (byte % 94))),
  member: (body, at) => {
    const match = nextMatch(body, MEMBER, at);
    return match === null
      ? body
      : splice(body, match.index, match[0].length, '').replace(/,\s*,|(?<=\{)\s*,|,\s*(?=\})/, (text) =>
          text.replaceAll(/[^,]/g, '').slice(1),
        );
  },
  key: (body, at, to) => {
    const match = nextMatch(body, MEMBER, at);
    return match === null ? body : splice(body, nextMatch(body, MEMBER, to)?.index ?? to, 0, `${match[0]},`);
  },
  escape: rewrite(/(?<=")[A-Za-z0-9 _.:-]/g, unicodeEscape),
  escapeSpecial: rewrite(/(?<!\\)[/<>&'=\x7f]/g, (text, byte) =>
    byte % 3 === 0 ? `\\${text}` : unicodeEscape(text, byte),
  ),
  unescape: rewrite(/\\(?:u00[0-9a-f]{2}|\/)/gi, (text) =>
    text === '\\/' ? '/' : String.fromCharCode(Number.parseInt(text.slice(2), 16)),
  ),
  respell: (body, _, __, byte) => {
    const text = Buffer.from(body, 'latin1').toString('utf8');
    if (byte % 2 === 1)
      return latin(text.replaceAll(/[\u0080-\uffff]/g, (unit) => unicodeEscape(unit, byte >> 1)));
    return latin(text.replaceAll(/(?<!\\)\//g, '\\/'));
  },
};

test('no mutation of a signed body is accepted with another meaning', () => {
  const mutation = fc.record({
    kind: fc.constantFrom(...Object.keys(MUTATIONS_BY_NAME)),
    place: fc.nat(5),
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    to: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    byte: fc.integer({ min: 0, max: 255 }),
  });
  const counts = { notJson: 0, refused: 0, accepted: 0, acceptedChanged: 0 };
  fc.assert(
    fc.property(
      fc.nat(SIGNED.length - 1),
      fc.array(mutation, { minLength: 1, maxLength: 2 }),
      (index, mutations) => {
        const signed = SIGNED[index]!;
        let text = signed.body;
        for (const { kind, place, at, to, byte } of mutations) {
          // Most mutations are inside `data`, which is the last member.
          const from = place === 0 ? 0 : text.indexOf('"data"') + 7;
          const offset = (share: number): number => from + Math.floor(share * (text.length - from));
          text = MUTATIONS_BY_NAME[kind]!(text, offset(at), offset(to), byte);
        }
        const body = Buffer.from(text, 'latin1');
        let document;
        try {
          document = tokenizeJson(body);
        } catch {
          counts.notJson += 1;
          return;
        }
        // V8 must read every accepted body the same way.
        expectSame(JSON.stringify(ownMeaning(readMember(document, 'data'))), meaningOf(body));
        if (
          !verifyDataSignature({ forms: createDataForms(document), token: FILE.token, sign: signed.sign }).ok
        ) {
          counts.refused += 1;
          return;
        }
        counts.accepted += 1;
        if (text !== signed.body) counts.acceptedChanged += 1;
        expectSame(meaningOf(body), signed.meaning);
        expectSame(canonicalDataHash(document), signed.hash);
      },
    ),
    { numRuns: MUTATIONS },
  );
  console.info(`${MUTATIONS} mutated bodies: ${JSON.stringify(counts)}`);
  expect(counts.notJson).toBeGreaterThan(MUTATIONS / 10);
  expect(counts.refused).toBeGreaterThan(MUTATIONS / 20);
  expect(counts.acceptedChanged).toBeGreaterThan(MUTATIONS / 50);
});
