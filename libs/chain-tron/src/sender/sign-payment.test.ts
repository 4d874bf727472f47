import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { TokenContract } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { pointFromScalar, signRecoverable } from 'tiny-secp256k1';
import { addressOfShortHex, tronAddressCodec } from '../address-codec.ts';
import { differenceOfStored, signPayment } from './sign-payment.ts';
import { decodeSigned, encodeRaw, encodeSigned } from './transaction.ts';

const KEY = Buffer.alloc(32, 7);
const OTHER_KEY = Buffer.alloc(32, 8);
const addressOf = (key: Uint8Array): Address => tronAddressCodec.fromPublicKey(pointFromScalar(key, true)!);
const WALLET = addressOf(KEY);
const to = addressOfShortHex('0eef60e8d8d92d7ff26594cc9453fd98d319055d')!;
const USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' as TokenContract;

/** Signs with `key` for the wallet's address, whichever key the wallet has. */
const backendOf = (
  key: Uint8Array,
  change: (signature: Uint8Array) => Uint8Array = (s) => s,
): SignerBackend => ({
  addresses: [WALLET],
  sign(_address, digest) {
    const { signature, recoveryId } = signRecoverable(digest, key);
    return Promise.resolve(change(Uint8Array.from([...signature, recoveryId])));
  },
});
const deps = { backend: backendOf(KEY), maxFeeLimitSun: 100_000_000n };
const token = { from: WALLET, contract: USDT, to, amountBaseUnits: baseUnits(5_000_000n) };
const native = { ...token, contract: null };
const validity = {
  expiresMs: 1_795_229_376_000,
  reference: {
    height: 65_570,
    hash: '0000000000010022e1b5775870853db9b1a22d122d28ea8b2351fcf69c1cebb0' as BlockHash,
  },
  uniqueMs: 1_795_229_316_123,
};

describe('signPayment', () => {
  test('signs bytes that match the request and are reproducible', async () => {
    for (const [intent, feeLimit] of [
      [token, 30_000_000n],
      [native, 0n],
    ] as const) {
      const signed = await signPayment(deps, intent, validity, feeLimit);
      const { raw } = decodeSigned(signed.raw);
      expect(raw.refBlockBytes).toBe('0022');
      expect(raw.refBlockHash).toBe('e1b5775870853db9');
      expect(signed).toMatchObject({ validity, feeLimitBaseUnits: feeLimit });
      expect(differenceOfStored(signed, { intent, validity, feeLimitBaseUnits: feeLimit })).toBeUndefined();
      expect(await signPayment(deps, intent, validity, feeLimit)).toEqual(signed);
    }
  });

  test('signs a delegation and an undelegation of energy', async () => {
    const lend = { ...native, resource: 'LEND_ENERGY' as const };
    const back = { ...native, resource: 'TAKE_ENERGY_BACK' as const };
    for (const [intent, type] of [
      [lend, 'DelegateResourceContract'],
      [back, 'UnDelegateResourceContract'],
    ] as const) {
      const signed = await signPayment(deps, intent, validity, 0n);
      const { contract } = decodeSigned(signed.raw).raw;
      expect(contract).toMatchObject({ type, value: { balance: 5_000_000 } });
      expect(differenceOfStored(signed, { intent, validity, feeLimitBaseUnits: 0n })).toBeUndefined();
      for (const other of [native, type === 'DelegateResourceContract' ? back : lend])
        expect(differenceOfStored(signed, { intent: other, validity, feeLimitBaseUnits: 0n })).toBe(
          'resource',
        );
      const more = { ...intent, amountBaseUnits: baseUnits(5_000_001n) };
      expect(differenceOfStored(signed, { intent: more, validity, feeLimitBaseUnits: 0n })).toBe(
        'amountBaseUnits',
      );
    }
    await expect(signPayment(deps, { ...lend, contract: USDT }, validity, 1n)).rejects.toMatchObject({
      code: 'INTENT_INVALID',
    });
  });

  test('signs another transaction when only the unique time differs', async () => {
    const one = await signPayment(deps, token, validity, 1n);
    const other = await signPayment(deps, token, { ...validity, uniqueMs: validity.uniqueMs + 1 }, 1n);
    expect(other.txHash).not.toBe(one.txHash);
  });

  test('differenceOfStored names the field that differs', async () => {
    const signed = await signPayment(deps, token, validity, 30_000_000n);
    const claim = { intent: token, validity, feeLimitBaseUnits: 30_000_000n };
    const { reference } = validity;
    const intents: [string, object][] = [
      ['signer', { from: addressOf(OTHER_KEY) }],
      ['contract', { contract: null }],
      ['to', { to: WALLET }],
      ['amountBaseUnits', { amountBaseUnits: baseUnits(5_000_001n) }],
    ];
    for (const [field, change] of intents)
      expect(differenceOfStored(signed, { ...claim, intent: { ...token, ...change } })).toBe(field);
    const bounds: [string, object][] = [
      ['expiration', { expiresMs: validity.expiresMs - 1 }],
      ['timestamp', { uniqueMs: 1 }],
      ['reference', { reference: { ...reference, height: 65_571 } }],
      [
        'reference',
        { reference: { ...reference, hash: reference.hash.replace('e1b5', 'e1b6') as BlockHash } },
      ],
    ];
    for (const [field, change] of bounds)
      expect(differenceOfStored(signed, { ...claim, validity: { ...validity, ...change } })).toBe(field);
    expect(differenceOfStored(signed, { ...claim, feeLimitBaseUnits: 1n })).toBe('feeLimit');
    const other = await signPayment(deps, token, { ...validity, uniqueMs: 1 }, 30_000_000n);
    expect(differenceOfStored({ ...signed, txHash: other.txHash }, claim)).toBe('txHash');
    expect(differenceOfStored({ ...signed, raw: signed.raw.subarray(1) }, claim)).toBe('encoding');
  });

  test('differenceOfStored rejects extra call data and another selector', async () => {
    const signed = await signPayment(deps, token, validity, 30_000_000n);
    const { raw } = decodeSigned(signed.raw);
    const { contract } = raw;
    if (contract.type !== 'TriggerSmartContract') throw new Error('not a call');
    const { data } = contract.value;
    for (const other of [`${data}00`, data.replace('a9059cbb', '095ea7b3'), data.replace('bb00', 'bb01')]) {
      const changed = encodeRaw({
        ...raw,
        contract: { ...contract, value: { ...contract.value, data: other } },
      });
      const bytes = encodeSigned(changed, decodeSigned(signed.raw).signature);
      expect(
        differenceOfStored(
          { ...signed, raw: bytes },
          { intent: token, validity, feeLimitBaseUnits: 30_000_000n },
        ),
      ).toBe('encoding');
    }
  });

  test('rejects a signature of another key and a malformed one', async () => {
    const otherwise = { code: 'SIGNED_OTHERWISE' };
    for (const backend of [
      backendOf(OTHER_KEY),
      backendOf(KEY, (signature) => signature.subarray(1)),
      backendOf(KEY, (signature) => signature.with(64, 2)),
      backendOf(KEY, (signature) => signature.with(0, signature[0]! ^ 1)),
      backendOf(KEY, () => new Uint8Array(65)),
    ])
      await expect(signPayment({ ...deps, backend }, token, validity, 1n)).rejects.toMatchObject(otherwise);
  });

  test('rejects invalid amounts, addresses, fee limits, validity and wallets', async () => {
    const invalid = { code: 'INTENT_INVALID' };
    const zero = addressOfShortHex('0'.repeat(40))!;
    for (const intent of [
      { ...token, to: zero },
      { ...token, to: '41a614f803b6fd780986a42c78ec9c7f77e6ded13c' as Address },
      { ...token, contract: '0x00' as TokenContract },
      { ...token, amountBaseUnits: baseUnits(0n) },
      { ...token, amountBaseUnits: baseUnits(2n ** 256n) },
    ])
      await expect(signPayment(deps, intent, validity, 1n)).rejects.toMatchObject(invalid);
    for (const sun of [2n ** 53n + 1n, 2n ** 63n])
      await expect(
        signPayment(deps, { ...native, amountBaseUnits: baseUnits(sun) }, validity, 0n),
      ).rejects.toMatchObject(invalid);
    for (const feeLimit of [0n, 100_000_001n])
      await expect(signPayment(deps, token, validity, feeLimit)).rejects.toMatchObject(invalid);
    await expect(signPayment(deps, native, validity, 1n)).rejects.toMatchObject(invalid);
    const { reference } = validity;
    for (const change of [
      { expiresMs: 0 },
      { uniqueMs: 1.5 },
      { reference: { ...reference, height: reference.height + 1 } },
      { reference: { ...reference, hash: 'b1' as BlockHash } },
    ])
      await expect(signPayment(deps, token, { ...validity, ...change }, 1n)).rejects.toMatchObject(invalid);
    await expect(signPayment(deps, { ...token, from: to }, validity, 1n)).rejects.toMatchObject({
      code: 'WALLET_UNKNOWN',
    });
  });
});
