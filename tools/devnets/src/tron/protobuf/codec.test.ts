import { expect, test } from 'vitest';
import fc from 'fast-check';
import { utils } from 'tronweb';
import { accountKey, addressOfAccountKey, fromBase58, hex, toBase58 } from '../tron-address.ts';
import { readJson, writeJson } from './json-text.ts';
import { messageFromJson, messageToJson } from './json.ts';
import { rawDataBytes, transactionFromJson, transactionToJson } from './transaction-json.ts';
import { decodeMessage, encodeMessage } from './wire.ts';

const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((value) => hex(value));
const address = bytes(20).map((key) => `41${key}`);
const int = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

function rawData(type: string, value: object, feeLimit?: number) {
  return {
    ref_block_bytes: '1f40',
    ref_block_hash: '00112233445566aa',
    expiration: 1_795_229_361_000,
    timestamp: 1_795_229_301_000,
    ...(feeLimit === undefined ? {} : { fee_limit: feeLimit }),
    contract: [{ parameter: { value, type_url: `type.googleapis.com/protocol.${type}` }, type }],
  };
}

const contracts = fc.oneof(
  fc
    .record({ owner_address: address, to_address: address, amount: int })
    .map((v) => rawData('TransferContract', v)),
  fc
    .record({ owner_address: address, contract_address: address, data: bytes(68), call_value: int })
    .map((v) => rawData('TriggerSmartContract', v, 15_000_000_000)),
  fc
    .record({ owner_address: address, frozen_balance: int, resource: fc.constant('ENERGY') })
    .map((v) => rawData('FreezeBalanceV2Contract', v)),
  fc
    .record({
      owner_address: address,
      receiver_address: address,
      balance: int,
      resource: fc.constant('ENERGY'),
    })
    .map((v) => rawData('DelegateResourceContract', v)),
);

test('encodes like TronWeb and decodes its own output', () => {
  fc.assert(
    fc.property(contracts, (raw_data) => {
      const own = transactionFromJson({ raw_data }, false);
      const theirs = utils.transaction.txJsonToPb({ visible: false, raw_data } as never);
      expect(hex(rawDataBytes(own))).toBe(utils.transaction.txPbToRawDataHex(theirs).toLowerCase());
      const decoded = decodeMessage<typeof own>('Transaction', encodeMessage('Transaction', own));
      expect(JSON.parse(writeJson(transactionToJson(decoded, false)))['raw_data']).toEqual(raw_data);
    }),
    { numRuns: 200 },
  );
});

test('keeps every digit of an int64', () => {
  const amount = 9_223_372_036_854_775_807n;
  const message = { owner_address: new Uint8Array(21).fill(0x41), amount };
  const decoded = decodeMessage<{ amount: bigint }>(
    'TransferContract',
    encodeMessage('TransferContract', message),
  );
  expect(decoded.amount).toBe(amount);
  const text = writeJson(messageToJson('TransferContract', decoded, false));
  expect(text).toContain('"amount":9223372036854775807');
  const read = messageFromJson<{ amount: bigint }>('TransferContract', readJson(text) as never, false);
  expect(read.amount).toBe(amount);
  expect(writeJson({ amount }, { int64AsString: true })).toBe('{"amount":"9223372036854775807"}');
  const negative = decodeMessage<{ amount: bigint }>(
    'TransferContract',
    encodeMessage('TransferContract', { amount: -1n }),
  );
  expect(negative.amount).toBe(-1n);
});

test('rejects bytes that are not a valid message', () => {
  for (const broken of ['0a', '0a05ff', 'ffffffffffffffffffffff', '0f']) {
    expect(() => decodeMessage('Transaction', Buffer.from(broken, 'hex'))).toThrow();
  }
});

test('accepts only base58 addresses with a correct checksum', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (twenty) => {
      const whole = addressOfAccountKey(hex(twenty));
      const text = toBase58(whole);
      expect(text).toMatch(/^T[1-9A-Za-z]{33}$/);
      expect(hex(fromBase58(text))).toBe(hex(whole));
      expect(accountKey(whole)).toBe(hex(twenty));
    }),
  );
  expect(toBase58(Buffer.from('41a614f803b6fd780986a42c78ec9c7f77e6ded13c', 'hex'))).toBe(
    'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  );
  expect(() => fromBase58('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u')).toThrow('INVALID base58');
  expect(() => fromBase58('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj60')).toThrow('INVALID base58');
});
