import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildCallbackBody, serializeCallbackData } from '../src/signing/callback.ts';
import { createDataForms } from '../src/signing/data-forms.ts';
import { tokenizeJson } from '../src/signing/tokenize-json.ts';
import { verifyDataSignature } from '../src/signing/verify-signature.ts';
import { collectByHand, collectFrom } from '../test-vectors/make-vectors/collect-vectors.ts';
import { listSerialisers, type Serialiser } from '../test-vectors/make-vectors/run-serialisers.ts';
import { bodyOf, type VectorFile } from '../test-vectors/make-vectors/vector-file.ts';

/** Covers the installed languages. Prints a summary at the end. */
export function describeSerialisers(languages: readonly string[]): void {
  let file: VectorFile;
  let serialisers: readonly Serialiser[];
  const compared: string[] = [];

  beforeAll(async () => {
    const text = await readFile(new URL('../test-vectors/signatures.json', import.meta.url), 'utf8');
    file = JSON.parse(text) as VectorFile;
    serialisers = await listSerialisers(undefined, languages);
  }, 300_000);

  afterAll(() => {
    const absent = languages.filter((name) => !serialisers.some((found) => found.name === name));
    console.info(
      `Serialisers compared: ${compared.join('; ')}. Not installed here: ${absent.join(', ') || 'none'}.`,
    );
  });

  function named(name: string): Serialiser | undefined {
    return serialisers.find((found) => found.name === name);
  }

  test('Node.js is always compared', () => {
    expect(named('javascript')).toBeDefined();
  });

  test('the vectors made by hand are reproduced', () => {
    const byHand = collectByHand(file.token);
    expect(file.requests.filter(({ name }) => name.startsWith('by-hand/'))).toEqual(byHand.requests);
    const { version2, orderIds, callbacks } = file;
    expect({ version2, orderIds, callbacks }).toEqual({ ...byHand, requests: undefined });
  });

  describe.each(languages)('%s', (name) => {
    test('the serialiser reproduces its vectors, and they verify', async () => {
      const serialiser = named(name);
      if (serialiser === undefined) return;
      const made = await collectFrom(serialiser);
      const recorded = file.requests.filter((vector) => vector.name.startsWith(`${name}/`));
      expect(made.map((vector) => vector.name)).toEqual(recorded.map((vector) => vector.name));
      for (const vector of made) {
        const forms = createDataForms(tokenizeJson(bodyOf(vector)));
        const { ok } = verifyDataSignature({ forms, token: file.token, sign: vector.sign });
        expect([vector.name, ok]).toEqual([vector.name, vector.expect === 'accepted']);
      }
      // Another version may spell some text differently; then only its signatures must verify.
      const isSameVersion = made[0]?.serialiser === recorded[0]?.serialiser;
      if (isSameVersion) expect(made).toEqual(recorded);
      const [version] = (made[0]?.serialiser ?? name).split(':');
      compared.push(
        `${version} (${made.length} requests${isSameVersion ? ', all as recorded' : ', another version'})`,
      );
    }, 300_000);

    test('the serialiser reproduces the signed text of callback data', async () => {
      const serialiser = named(name);
      if (serialiser === undefined) return;
      const dataText = serializeCallbackData({
        orderId: 'P:2024~07@9',
        uid: null,
        orderType: 'COLLECTION',
        status: 'SUCCESS',
        reason: 'said "no" \\ twice (100%) #1; a|b {c} [d] !?*^$,._-~@:',
        amount: '250.00',
        actualAmount: '250.10',
        fee: '0',
        transaction: {
          txid: `0x${'5c'.repeat(32)}`,
          blockNum: 9_007_199_254_740_991,
          confirmedNum: 0,
          Zulu: true,
          _list: [1, -2, 'x', [null, false]],
          timestamp: 1_790_000_000,
        },
      });
      const body = buildCallbackBody({
        dataText,
        nonce: 'e-1',
        notifyType: 'ORDER_SUCCESS',
        timestampSeconds: 1,
        secret: 's',
      });
      expect(body).toContain(dataText);
      const texts = (await serialiser.run({ again: dataText })) as Record<string, string>;
      expect(Object.keys(texts).length).toBeGreaterThan(1);
      for (const [call, text] of Object.entries(texts)) expect([call, text]).toEqual([call, dataText]);
    }, 300_000);
  });
}
