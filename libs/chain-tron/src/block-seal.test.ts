import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sealOf, signerHexOf } from './block-seal.ts';

/** Recorded from java-tron 4.8.0. */
const RECORDED = JSON.parse(
  readFileSync(
    `${import.meta.dirname}/../../../tools/devnets/test/fixtures/java-tron-4.8.0-answers.json`,
    'utf8',
  ),
) as Readonly<Record<'now' | 'block', object>>;
const [now, block] = [sealOf(RECORDED.now, 29), sealOf(RECORDED.block, 37)];

test('recovers the witness of a recorded block from its signature', () => {
  expect(signerHexOf(now)).toBe('419e1ceb2bc42731294081f7d171b8a44f2146135e');
  expect([now, block].map((seal) => signerHexOf(seal))).toEqual([now.witnessHex, block.witnessHex]);
});

test('recovers no witness from a signature of another header or a malformed one', () => {
  expect(signerHexOf({ ...now, digestHex: block.digestHex })).not.toBe(now.witnessHex);
  const v = now.signatureHex.slice(0, -2);
  for (const signatureHex of ['', v, `${v}05`, `${v}ff`, '00'.repeat(65), 'xy'.repeat(65)])
    expect(signerHexOf({ ...now, signatureHex })).toBeUndefined();
  expect(signerHexOf({ ...now, signatureHex: `${v}1c` })).toBe(now.witnessHex);
});
