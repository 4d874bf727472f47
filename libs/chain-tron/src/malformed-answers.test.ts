import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { GatewayError } from '@opentill/domain/gateway-error';
import { addressOfHex } from './address-codec.ts';
import { decodeHeader, decodeTransaction } from './decode-block.ts';
import { decodeInfo } from './decode-info.ts';
import { readTronAnswer } from './read-answer.ts';
import { readBlock, transfersOf } from './read-block.ts';
import { callConstant } from './sender/call-constant.ts';
import { readAccount } from './sender/read-balances.ts';
import { readPrices } from './sender/read-prices.ts';
import { readTransactionBytes } from './sender/read-transaction-bytes.ts';
import { sendOutcomeOf } from './sender/send-outcome.ts';
import type { TronCall } from './tron-client.ts';

// A node may return any value in any place. It must be decoded, or rejected so that another node is asked. A TypeError
// would stop the service.

const RECORDED = JSON.parse(
  readFileSync(
    `${import.meta.dirname}/../../../tools/devnets/test/fixtures/java-tron-4.8.0-answers.json`,
    'utf8',
  ),
) as Readonly<Record<string, unknown>>;
const ODD: readonly unknown[] = [
  undefined,
  null,
  true,
  -1,
  1.5,
  2n ** 70n,
  '',
  'abc',
  [],
  [null],
  {},
  { toString: 1, amount: 10n ** 20n },
];
const WALLET = addressOfHex(`41${'a'.repeat(40)}`) as Address;
const TOKEN = WALLET as string as TokenContract;
const HASH = (RECORDED['trx.plain.tx'] as { txID: TxHash }).txID;
const READING = {
  chain: 'TRON_TEST',
  tokens: new Map([['499b6ecbd61fe1eea03e68261233aad66f383b82', TOKEN]]),
  native: true,
  onCompared: () => undefined,
  onSingleSource: () => undefined,
} as const;

const says = (answer: unknown) => ({ call: () => Promise.resolve(answer) });
type Read = (answer: unknown) => unknown;
const READERS: readonly (readonly [of: string, read: Read])[] = [
  ['block', (answer) => decodeHeader(answer)],
  [
    'block',
    async (block) => {
      const call = ({ method, decode }: TronCall) =>
        Promise.resolve(decode?.(method === 'getblockbynum' ? block : RECORDED['infos']));
      return transfersOf(READING, await readBlock({ call }, 'wallet', 37, {}));
    },
  ],
  [
    'infos',
    async (infos) => {
      const call = ({ method, decode }: TronCall) =>
        Promise.resolve(decode?.(method === 'getblockbynum' ? RECORDED['block'] : infos));
      return transfersOf(READING, await readBlock({ call }, 'wallet', 37, {}));
    },
  ],
  ['trx.plain.tx', (answer) => decodeTransaction(answer)],
  ['trx.plain.tx', (answer) => readTransactionBytes(says(answer), HASH, {})],
  ['usdt.hot.info', (answer) => decodeInfo(answer)],
  ['usdt.hot.broadcast', (answer) => sendOutcomeOf(answer, HASH)],
  ['err.trxbalance', (answer) => sendOutcomeOf(answer, HASH)],
  ['params', (answer) => readPrices(says(answer), {})],
  ['hot.account', (answer) => readAccount(says(answer), WALLET, {})],
  ...['const.ok', 'const.revert', 'const.nocontract'].map(
    (of) =>
      [
        of,
        (answer: unknown) => callConstant(says(answer), { from: WALLET, contract: TOKEN, data: '' }, {}),
      ] as const,
  ),
];

/** One part replaced by an unexpected value, in every way. */
function* variantsOf(
  value: unknown,
  replace: (part: unknown) => unknown = (part) => part,
): Generator<unknown> {
  for (const odd of ODD) yield replace(odd);
  if (typeof value !== 'object' || value === null) return;
  // The first 12 elements of a long list are enough.
  for (const key of Object.keys(value).slice(0, 12)) {
    const inner = (value as Record<string, unknown>)[key];
    yield* variantsOf(inner, (part) => {
      const copy = structuredClone(value) as Record<string, unknown>;
      copy[key] = part;
      return replace(copy);
    });
  }
}

test.each(READERS)(
  '%s with an unexpected value in any place is decoded or rejected as malformed',
  async (of, read) => {
    let [variants, refused] = [0, 0];
    for (const variant of variantsOf(RECORDED[of])) {
      variants += 1;
      try {
        await read(variant);
      } catch (error) {
        refused += 1;
        if (!(error instanceof GatewayError))
          throw new Error(JSON.stringify({ of, variants }), { cause: error });
        expect(['INCONSISTENT_ANSWER', 'BLOCK_NOT_FOUND']).toContain(error.code);
      }
    }
    expect(variants).toBeGreaterThan(30);
    expect(refused).toBeGreaterThan(5);
  },
);

test('an error answer of any shape becomes a GatewayError', () => {
  for (const Error of [{ code: 1e30 }, [1], 'class x', { big: '12345678901234567890' }]) {
    const text = JSON.stringify({ Error }).replace('"12345678901234567890"', '12345678901234567890');
    const answer = { status: 200, body: Buffer.from(text), newConnection: false, retryAfterMs: undefined };
    expect(() => readTronAnswer(answer as never, { endpoint: 'e', method: 'm' })).toThrow(GatewayError);
  }
});
