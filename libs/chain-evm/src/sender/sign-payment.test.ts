import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { GatewayError } from '@opentill/domain/gateway-error';
import { baseUnits } from '@opentill/domain/money';
import { seededRandom } from '@opentill/testkit/seeded-random';
import {
  Signature,
  SigningKey,
  Transaction,
  computeAddress,
  decodeRlp,
  encodeRlp,
  getBytes,
  hexlify,
  toBeHex,
} from 'ethers';
import fc from 'fast-check';
import { readSignedTransaction } from './read-signed-transaction.ts';
import { differenceBetween, signNothing, signPayment } from './sign-payment.ts';

const KEY = `0x${'11'.repeat(32)}`;
const OTHER_KEY = `0x${'22'.repeat(32)}`;
const WALLET = computeAddress(KEY).toLowerCase() as Address;
const RECEIVER = `0x${'ab'.repeat(20)}` as Address;
const TOKEN = '0xdac17f958d2ee523a2206206994597c13d831ec7' as TokenContract;
const GWEI = 10n ** 9n;
const TERMS = { gasLimit: 80_000n, maxFeePerGas: 30n * GWEI, maxPriorityFeePerGas: GWEI };
const BOUNDS = { minPriorityFeePerGas: 0n, maxPriorityFeePerGas: 5n * GWEI, maxFeePerGas: 100n * GWEI };
const CHAIN_ID = 137;
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

function signatureBytes(key: string, digest: Uint8Array): Uint8Array {
  const { r, s, yParity } = new SigningKey(key).sign(digest);
  return getBytes(`${r}${s.slice(2)}0${yParity}`);
}

function backendOf(change: (signature: Uint8Array) => Uint8Array = (same) => same, key = KEY): SignerBackend {
  return { addresses: [WALLET], sign: async (_, digest) => change(signatureBytes(key, digest)) };
}

const depsOf = (backend = backendOf()): Parameters<typeof signPayment>[0] => ({
  chainId: CHAIN_ID,
  bounds: BOUNDS,
  backend,
});
const TOKEN_PAYMENT: PaymentIntent = {
  from: WALLET,
  contract: TOKEN,
  to: RECEIVER,
  amountBaseUnits: baseUnits(123_456_789n),
};
const COIN_PAYMENT: PaymentIntent = { ...TOKEN_PAYMENT, contract: null };

async function codeOf(signing: Promise<unknown>): Promise<unknown> {
  return signing.then(
    () => 'signed',
    (error: unknown) => (error instanceof GatewayError ? [error.code, error.context['field']] : error),
  );
}

describe('signPayment and signNothing', () => {
  test.each([
    ['a token', TOKEN_PAYMENT],
    ['the coin', COIN_PAYMENT],
  ])('signs a payment of %s that another library reads correctly', async (_, intent) => {
    const { raw, txHash, nonce, terms } = await signPayment(depsOf(), intent, 7, TERMS);
    const read = Transaction.from(hexlify(raw));
    expect(read.hash).toBe(txHash);
    expect([read.type, read.chainId, read.nonce]).toEqual([2, BigInt(CHAIN_ID), 7]);
    expect(read.from?.toLowerCase()).toBe(WALLET);
    expect([read.gasLimit, read.maxFeePerGas, read.maxPriorityFeePerGas]).toEqual(Object.values(TERMS));
    expect(read.to?.toLowerCase()).toBe(intent.contract ?? RECEIVER);
    expect(read.value).toBe(intent.contract === null ? 123_456_789n : 0n);
    expect(read.data).toBe(
      intent.contract === null
        ? '0x'
        : `0xa9059cbb${RECEIVER.slice(2).padStart(64, '0')}${123_456_789n.toString(16).padStart(64, '0')}`,
    );
    expect({ nonce, terms }).toEqual({ nonce: 7, terms: TERMS });
  });

  test('signs any amount, nonce and price unchanged', async () => {
    const price = fc.bigInt({ min: 1n, max: 5n * GWEI });
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }),
        fc.nat({ max: 2 ** 31 }),
        price,
        price,
        fc.bigInt({ min: 1n, max: 16_777_216n }),
        fc.boolean(),
        async (amount, nonce, a, b, gasLimit, coin) => {
          const [tip, fee] = a < b ? [a, b] : [b, a];
          const intent = { ...(coin ? COIN_PAYMENT : TOKEN_PAYMENT), amountBaseUnits: baseUnits(amount) };
          const terms = { gasLimit, maxFeePerGas: fee, maxPriorityFeePerGas: tip };
          const { raw } = await signPayment(depsOf(), intent, nonce, terms);
          expect(
            differenceBetween(
              { chainId: CHAIN_ID, from: WALLET, nonce, terms, intent },
              readSignedTransaction(raw),
            ),
          ).toBeUndefined();
        },
      ),
      { numRuns: 40 },
    );
  });

  test('signs a cancel of zero from the wallet to itself', async () => {
    const { raw } = await signNothing(depsOf(), WALLET, 3, TERMS);
    const read = Transaction.from(hexlify(raw));
    expect([read.to?.toLowerCase(), read.from?.toLowerCase(), read.value, read.data, read.nonce]).toEqual([
      WALLET,
      WALLET,
      0n,
      '0x',
      3,
    ]);
  });
});

describe('differenceBetween and readSignedTransaction', () => {
  /** Every way in which bytes signed by a valid key can differ from TOKEN_PAYMENT. */
  const words = (to: string, amount: bigint): string =>
    `${to.slice(2).padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`;
  const base = {
    type: 2,
    chainId: CHAIN_ID,
    nonce: 7,
    to: TOKEN as string,
    value: 0n,
    data: `0xa9059cbb${words(RECEIVER, 123_456_789n)}`,
    ...TERMS,
  };
  const read = (change: Partial<typeof base>, key = KEY): ReturnType<typeof readSignedTransaction> => {
    const transaction = Transaction.from({ ...base, ...change });
    transaction.signature = Signature.from(new SigningKey(key).sign(transaction.unsignedHash));
    return readSignedTransaction(getBytes(transaction.serialized));
  };
  const asked = { chainId: CHAIN_ID, from: WALLET, nonce: 7, terms: TERMS, intent: TOKEN_PAYMENT };

  test('finds no difference in the requested bytes', () => {
    expect(differenceBetween(asked, read({}))).toBeUndefined();
  });

  test.each<[string, Partial<typeof base>]>([
    ['chainId', { chainId: 1 }],
    ['nonce', { nonce: 8 }],
    ['gasLimit', { gasLimit: 80_001n }],
    ['maxFeePerGas', { maxFeePerGas: TERMS.maxFeePerGas + 1n }],
    ['maxPriorityFeePerGas', { maxPriorityFeePerGas: GWEI - 1n }],
    ['contract', { to: RECEIVER }],
    ['value', { value: 1n }],
    ['selector', { data: `0x23b872dd${words(RECEIVER, 123_456_789n)}` }],
    ['to', { data: `0xa9059cbb${words(WALLET, 123_456_789n)}` }],
    ['to', { data: `0xa9059cbb${'1'.padEnd(24, '0')}${words(RECEIVER, 123_456_789n).slice(24)}` }],
    ['amount', { data: `0xa9059cbb${words(RECEIVER, 123_456_790n)}` }],
    ['data', { data: `0xa9059cbb${words(RECEIVER, 123_456_789n)}00` }],
    ['data', { data: '0x' }],
  ])('detects another %s', (field, change) => {
    expect(differenceBetween(asked, read(change))).toBe(field);
  });

  test('detects another signer', () => {
    expect(differenceBetween(asked, read({}, OTHER_KEY))).toBe('from');
  });

  test.each<[string, Partial<typeof base>]>([
    ['to', { to: WALLET }],
    ['amount', { to: RECEIVER, value: 2n, data: '0x' }],
    ['data', { to: RECEIVER, value: 123_456_789n, data: '0x00' }],
  ])('detects another %s in a coin payment', (field, change) => {
    expect(differenceBetween({ ...asked, intent: COIN_PAYMENT }, read({ data: '0x', ...change }))).toBe(
      field,
    );
  });

  test.each<[string, Partial<typeof base>]>([
    ['to', { to: RECEIVER, data: '0x' }],
    ['amount', { to: WALLET, value: 1n, data: '0x' }],
    ['data', { to: WALLET, data: '0x00' }],
  ])('detects another %s in a cancel', (field, change) => {
    expect(differenceBetween({ ...asked, intent: null }, read(change))).toBe(field);
  });

  test('detects every single changed byte', async () => {
    const { raw } = await signPayment(depsOf(), TOKEN_PAYMENT, 7, TERMS);
    const random = seededRandom(7);
    for (let place = 0; place < raw.length; place += 1) {
      const changed = Uint8Array.from(raw);
      changed[place] = ((changed[place] ?? 0) + 1 + Math.floor(random() * 255)) % 256;
      let difference: string | undefined;
      try {
        difference = differenceBetween(asked, readSignedTransaction(changed));
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
        continue;
      }
      expect([place, difference]).toEqual([place, expect.any(String)]);
    }
  });

  test.each([
    ['another type', (raw: Uint8Array) => Uint8Array.of(1, ...raw.subarray(1))],
    ['extra bytes', (raw: Uint8Array) => Uint8Array.of(...raw, 0)],
    ['missing bytes', (raw: Uint8Array) => raw.subarray(0, -1)],
    ['no bytes', () => new Uint8Array()],
  ])('rejects a transaction with %s', async (_, change) => {
    const { raw } = await signPayment(depsOf(), TOKEN_PAYMENT, 7, TERMS);
    expect(() => readSignedTransaction(change(raw))).toThrow(RangeError);
  });

  test('rejects a high-s signature and integers with leading zeros', async () => {
    const { raw } = await signPayment(depsOf(), TOKEN_PAYMENT, 7, TERMS);
    const fields = decodeRlp(raw.subarray(1)) as string[];
    const readWith = (changes: Readonly<Record<number, string>>): ReturnType<typeof readSignedTransaction> =>
      readSignedTransaction(
        getBytes(`0x02${encodeRlp(fields.map((field, place) => changes[place] ?? field)).slice(2)}`),
      );
    expect(readWith({}).from).toBe(WALLET);
    const highS = toBeHex(N - BigInt(fields[11] ?? ''), 32);
    expect(() => readWith({ 9: fields[9] === '0x' ? '0x01' : '0x', 11: highS })).toThrow(RangeError);
    expect(() => readWith({ 1: '0x0007' })).toThrow(RangeError);
    expect(() => readWith({ 9: '0x02' })).toThrow(RangeError);
  });

  test('rejects access lists, legacy transactions and contract creations', () => {
    const sign = (fields: object): Uint8Array => {
      const transaction = Transaction.from({ ...base, ...fields });
      transaction.signature = Signature.from(new SigningKey(KEY).sign(transaction.unsignedHash));
      return getBytes(transaction.serialized);
    };
    expect(() => readSignedTransaction(sign({ accessList: [{ address: TOKEN, storageKeys: [] }] }))).toThrow(
      RangeError,
    );
    expect(() => readSignedTransaction(sign({ to: null }))).toThrow(RangeError);
    const { maxFeePerGas: _fee, maxPriorityFeePerGas: _tip, ...legacy } = base;
    const transaction = Transaction.from({ ...legacy, type: 0, gasPrice: GWEI });
    transaction.signature = Signature.from(new SigningKey(KEY).sign(transaction.unsignedHash));
    expect(() => readSignedTransaction(getBytes(transaction.serialized))).toThrow(RangeError);
  });
});

describe('signPayment with a faulty signer', () => {
  const highS = (signature: Uint8Array): Uint8Array => {
    const s = N - BigInt(hexlify(signature.subarray(32, 64)));
    return getBytes(
      `${hexlify(signature.subarray(0, 32))}${s.toString(16).padStart(64, '0')}0${signature[64] === 0 ? 1 : 0}`,
    );
  };
  test.each<[string, SignerBackend, string]>([
    ['with another key', backendOf(undefined, OTHER_KEY), 'from'],
    [
      'with the other recovery bit',
      backendOf((sig) => Uint8Array.of(...sig.subarray(0, 64), sig[64] === 0 ? 1 : 0)),
      'from',
    ],
    ['with the higher s', backendOf(highS), 'signature'],
    ['with a v of Bitcoin', backendOf((sig) => Uint8Array.of(...sig.subarray(0, 64), 27)), 'signature'],
    ['with half a signature', backendOf((sig) => sig.subarray(0, 64)), 'signature'],
    ['with zeros', backendOf(() => new Uint8Array(65)), 'encoding'],
    [
      'of another digest',
      { addresses: [WALLET], sign: async () => signatureBytes(KEY, new Uint8Array(32).fill(9)) },
      'from',
    ],
  ])('rejects a signer %s', async (_, backend, field) => {
    expect(await codeOf(signPayment(depsOf(backend), TOKEN_PAYMENT, 7, TERMS))).toEqual([
      'SIGNED_OTHERWISE',
      field,
    ]);
  });

  test('passes on the signer’s own error', async () => {
    const failing: SignerBackend = {
      addresses: [WALLET],
      sign: () => Promise.reject(new TypeError('locked')),
    };
    await expect(signPayment(depsOf(failing), TOKEN_PAYMENT, 7, TERMS)).rejects.toThrow('locked');
  });
});

describe('signPayment with an invalid request', () => {
  const never: SignerBackend = {
    addresses: [WALLET],
    sign: () => Promise.reject(new Error('asked to sign')),
  };
  const deps = depsOf(never);
  test.each<[string, Partial<PaymentIntent>]>([
    ['an amount of zero', { amountBaseUnits: baseUnits(0n) }],
    ['an amount above uint256', { amountBaseUnits: (2n ** 256n) as PaymentIntent['amountBaseUnits'] }],
    ['a negative amount', { amountBaseUnits: -1n as PaymentIntent['amountBaseUnits'] }],
    ['the zero address as receiver', { to: `0x${'0'.repeat(40)}` as Address }],
    ['a mixed-case receiver', { to: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' as Address }],
    ['a receiver that is not an address', { to: 'alice' as Address }],
    ['a contract that is not an address', { contract: '0x12' as TokenContract }],
  ])('rejects %s', async (_, change) => {
    expect(await codeOf(signPayment(deps, { ...TOKEN_PAYMENT, ...change }, 7, TERMS))).toEqual([
      'INTENT_INVALID',
      undefined,
    ]);
  });

  test.each<[string, Partial<typeof TERMS>]>([
    ['a fee above the cap', { maxFeePerGas: 101n * GWEI }],
    ['a tip above its cap', { maxPriorityFeePerGas: 6n * GWEI }],
    ['a tip above the fee', { maxFeePerGas: GWEI - 1n }],
    ['zero gas', { gasLimit: 0n }],
    ['more gas than a transaction may use', { gasLimit: 16_777_217n }],
    ['a negative tip', { maxPriorityFeePerGas: -1n }],
  ])('rejects %s', async (_, change) => {
    expect(await codeOf(signPayment(deps, TOKEN_PAYMENT, 7, { ...TERMS, ...change }))).toEqual([
      'INTENT_INVALID',
      undefined,
    ]);
  });

  test.each([-1, 1.5, Number.NaN, 2 ** 53])('rejects the nonce %d', async (nonce) => {
    expect(await codeOf(signPayment(deps, TOKEN_PAYMENT, nonce, TERMS))).toEqual([
      'INTENT_INVALID',
      undefined,
    ]);
  });

  test('rejects a wallet without a key', async () => {
    const intent = { ...TOKEN_PAYMENT, from: RECEIVER };
    expect(await codeOf(signPayment(deps, intent, 7, TERMS))).toEqual(['WALLET_UNKNOWN', undefined]);
  });
});
