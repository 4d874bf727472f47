import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { rawDataBytes, transactionFromJson } from '@opentill/devnets/tron/protobuf/transaction-json';
import { bytesField, concat, varintField } from '../protobuf/wire.ts';
import {
  decodeRaw,
  decodeSigned,
  encodeRaw,
  encodeSigned,
  type PayingContract,
  type RawTransaction,
} from './transaction.ts';

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));

/** From java-tron 4.8.0: raw_data_hex, txID, and raw_data from its JSON. */
const RECORDED = [
  {
    rawHex:
      '0a02001e22087fd2ce47a4c905b340a0de88e09f345a67080112630a2d747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e5472616e73666572436f6e747261637412320a1541928c9af0651632157ef27a2cf17ca72c575a4d211215410eef60e8d8d92d7ff26594cc9453fd98d319055d18c0843d70c08985e09f34',
    txId: '2b48a0387b9dabdd36e1037118186fba1332df756a861dc7410b4eedbff71ce1',
    raw: {
      refBlockBytes: '001e',
      refBlockHash: '7fd2ce47a4c905b3',
      expirationMs: 1_795_229_364_000,
      timestampMs: 1_795_229_304_000,
      feeLimit: 0,
      contract: {
        type: 'TransferContract',
        value: {
          owner_address: '41928c9af0651632157ef27a2cf17ca72c575a4d21',
          to_address: '410eef60e8d8d92d7ff26594cc9453fd98d319055d',
          amount: 1_000_000,
        },
      },
    },
  },
  {
    rawHex:
      '0a0200222208e1b5775870853db94080bc89e09f345aae01081f12a9010a31747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e54726967676572536d617274436f6e747261637412740a1541928c9af0651632157ef27a2cf17ca72c575a4d21121541499b6ecbd61fe1eea03e68261233aad66f383b822244a9059cbb0000000000000000000000000eef60e8d8d92d7ff26594cc9453fd98d319055d000000000000000000000000000000000000000000000000000000001dcd650070a0e785e09f34900180c2d72f',
    txId: '9915aec842981ea465708e1ec750580b6fdba0e7c1d546aa9e51afe3de27cb51',
    raw: {
      refBlockBytes: '0022',
      refBlockHash: 'e1b5775870853db9',
      expirationMs: 1_795_229_376_000,
      timestampMs: 1_795_229_316_000,
      feeLimit: 100_000_000,
      contract: {
        type: 'TriggerSmartContract',
        value: {
          owner_address: '41928c9af0651632157ef27a2cf17ca72c575a4d21',
          contract_address: '41499b6ecbd61fe1eea03e68261233aad66f383b82',
          data: 'a9059cbb0000000000000000000000000eef60e8d8d92d7ff26594cc9453fd98d319055d000000000000000000000000000000000000000000000000000000001dcd6500',
        },
      },
    },
  },
  {
    rawHex:
      '0a02002f2208fc093ebc270f950440d8ec8be09f345a730839126f0a35747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e44656c65676174655265736f75726365436f6e747261637412360a1541928c9af0651632157ef27a2cf17ca72c575a4d211001188090dfc04a22154103ebaf34dbed9203dbce786de77a4ba43380bab870f89788e09f34',
    txId: '97e4bde41ac935a15a1a92aad956fd85d5c855937092f28a3e429ea30b7702a7',
    raw: {
      refBlockBytes: '002f',
      refBlockHash: 'fc093ebc270f9504',
      expirationMs: 1_795_229_415_000,
      timestampMs: 1_795_229_355_000,
      feeLimit: 0,
      contract: {
        type: 'DelegateResourceContract',
        value: {
          owner_address: '41928c9af0651632157ef27a2cf17ca72c575a4d21',
          balance: 20_000_000_000,
          receiver_address: '4103ebaf34dbed9203dbce786de77a4ba43380bab8',
          resource: 'ENERGY',
        },
      },
    },
  },
  {
    rawHex:
      '0a0200312208d8c8f375c293dfb240c89b8ce09f345a75083a12710a37747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e556e44656c65676174655265736f75726365436f6e747261637412360a1541928c9af0651632157ef27a2cf17ca72c575a4d211001188090dfc04a22154103ebaf34dbed9203dbce786de77a4ba43380bab870e8c688e09f34',
    txId: 'b4674b75228859501456e32ade3f7f03815dc336024cce8a309b18e140b1ab64',
    raw: {
      refBlockBytes: '0031',
      refBlockHash: 'd8c8f375c293dfb2',
      expirationMs: 1_795_229_421_000,
      timestampMs: 1_795_229_361_000,
      feeLimit: 0,
      contract: {
        type: 'UnDelegateResourceContract',
        value: {
          owner_address: '41928c9af0651632157ef27a2cf17ca72c575a4d21',
          balance: 20_000_000_000,
          receiver_address: '4103ebaf34dbed9203dbce786de77a4ba43380bab8',
          resource: 'ENERGY',
        },
      },
    },
  },
] as const satisfies readonly { rawHex: string; txId: string; raw: RawTransaction }[];
const MEMO =
  '0a02003422081a1471e2ecbced8640f0e18ce09f34520568656c6c6f5a68080112640a2d747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e5472616e73666572436f6e747261637412330a15410eef60e8d8d92d7ff26594cc9453fd98d319055d121541437b7a07cb8aff68bf82161a9718aad6b8dbcb1618c096b10270908d89e09f34';

describe('transaction codec', () => {
  test.each(RECORDED)('encodes and decodes like a real node: $txId', ({ rawHex, txId, raw }) => {
    expect(Buffer.from(encodeRaw(raw)).toString('hex')).toBe(rawHex);
    expect(decodeRaw(hex(rawHex))).toEqual(raw);
    expect(hash('sha256', hex(rawHex), 'hex')).toBe(txId);
  });

  test('encodes any fields like the devnet and decodes its own bytes', () => {
    const digits = (bytes: number) =>
      fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((some) => Buffer.from(some).toString('hex'));
    const address = digits(20).map((some) => `41${some}`);
    const number = fc.oneof(
      fc.maxSafeNat(),
      fc.maxSafeNat().map((some) => Math.min(some * 1_023, 2 ** 63 - 1_024)),
    );
    const contract: fc.Arbitrary<PayingContract> = fc.oneof(
      fc.record({
        type: fc.constant('TransferContract' as const),
        value: fc.record({ owner_address: address, to_address: address, amount: number }),
      }),
      fc.record({
        type: fc.constant('TriggerSmartContract' as const),
        value: fc.record({ owner_address: address, contract_address: address, data: digits(68) }),
      }),
      fc.record({
        type: fc.constantFrom('DelegateResourceContract' as const, 'UnDelegateResourceContract' as const),
        value: fc.record({
          owner_address: address,
          balance: number,
          receiver_address: address,
          resource: fc.constant('ENERGY' as const),
        }),
      }),
    );
    const raw = fc.record({
      refBlockBytes: digits(2),
      refBlockHash: digits(8),
      expirationMs: number,
      contract,
      timestampMs: number,
      feeLimit: number,
    });
    fc.assert(
      fc.property(raw, digits(65), (given, signature) => {
        const rawBytes = encodeRaw(given);
        expect(Buffer.from(rawBytes).toString('hex')).toBe(devnetHexOf(given));
        const read = decodeSigned(encodeSigned(rawBytes, hex(signature)));
        expect(read.raw).toEqual(given);
        expect(Buffer.from(read.signature).toString('hex')).toBe(signature);
      }),
    );
  });

  test('rejects a transaction that contains more than a payment', () => {
    const [transfer, trigger] = RECORDED.map(({ rawHex }) => hex(rawHex)) as [Uint8Array, Uint8Array];
    const contract = transfer.subarray(22, 22 + 0x67);
    const { rawHex } = RECORDED[2];
    const isLonger = (by: number) =>
      rawHex
        .replace('5a730839126f', `5a${(0x73 + by).toString(16)}083912${(0x6f + by).toString(16)}`)
        .replace('12360a15', `12${(0x36 + by).toString(16)}0a15`);
    const receiver = '22154103ebaf34dbed9203dbce786de77a4ba43380bab8';
    const { rawHex: triggerHex } = RECORDED[1];
    const withCall = (more: string) =>
      triggerHex
        .replace(
          '5aae01081f12a901',
          `5a${(0xae + more.length / 2).toString(16)}01081f12${(0xa9 + more.length / 2).toString(16)}01`,
        )
        .replace('12740a15', `12${(0x74 + more.length / 2).toString(16)}0a15`)
        .replace('70a0e785e09f34', `${more}70a0e785e09f34`);
    const others: readonly [string, Uint8Array][] = [
      ['a memo', hex(MEMO)],
      ['a lock of the delegation', hex(isLonger(2).replace(receiver, `${receiver}2801`))],
      ['bandwidth instead of energy (code 0, omitted)', hex(isLonger(-2).replace('100118', '18'))],
      ['coin sent with a call', hex(withCall('2801'))],
      [
        'a permission',
        concat([
          transfer.subarray(0, 20),
          hex('5a69'),
          contract.subarray(2),
          hex('2802'),
          transfer.subarray(22 + 0x67),
        ]),
      ],
      ['scripts', concat([transfer, bytesField(12, hex('01'))])],
      ['a second contract', concat([transfer, bytesField(11, contract)])],
      ['a repeated field', concat([trigger, varintField(18, 1n)])],
      ['fields in another order', concat([varintField(14, 5n), transfer])],
      ['an overlong varint', concat([transfer.subarray(0, -1), hex('b400')])],
      ['a number that would be rounded', concat([transfer, varintField(18, 2n ** 53n + 1n)])],
      ['a negative number', concat([transfer, hex(`9001${'ff'.repeat(9)}01`)])],
    ];
    for (const [what, bytes] of others)
      expect({ what, read: tryRead(bytes) }).toEqual({ what, read: undefined });
    const signed = encodeSigned(transfer, hex('aa'));
    for (const bytes of [
      concat([signed, bytesField(2, hex('bb'))]),
      concat([signed, bytesField(5, hex(''))]),
      transfer,
    ])
      expect(() => decodeSigned(bytes)).toThrow(RangeError);
  });

  test('does not decode changed or truncated bytes to the same transaction', () => {
    for (const { rawHex, raw } of RECORDED)
      for (let place = 0; place < rawHex.length / 2; place += 1) {
        const changed = hex(rawHex);
        changed[place] = (changed[place] ?? 0) ^ 1;
        for (const bytes of [changed, hex(rawHex).subarray(0, place)])
          expect(tryRead(bytes)).not.toEqual(raw);
      }
  });

  test('rejects numbers that are not valid int64 values', () => {
    const { raw } = RECORDED[0];
    const { contract } = raw;
    for (const number of [-1, 1.5, 2 ** 63, Number.NaN]) {
      expect(() => encodeRaw({ ...raw, feeLimit: number })).toThrow(RangeError);
      const value = { ...contract.value, amount: number };
      expect(() => encodeRaw({ ...raw, contract: { ...contract, value } })).toThrow(RangeError);
    }
  });
});

function devnetHexOf({ contract: { type, value }, ...raw }: RawTransaction): string {
  const transaction = transactionFromJson(
    {
      raw_data: {
        ref_block_bytes: raw.refBlockBytes,
        ref_block_hash: raw.refBlockHash,
        expiration: raw.expirationMs,
        contract: [
          { type, parameter: { type_url: `type.googleapis.com/protocol.${type}`, value: { ...value } } },
        ],
        timestamp: raw.timestampMs,
        fee_limit: raw.feeLimit,
      },
    },
    false,
  );
  return Buffer.from(rawDataBytes(transaction)).toString('hex');
}

function tryRead(bytes: Uint8Array): RawTransaction | undefined {
  try {
    return decodeRaw(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    return undefined;
  }
}
