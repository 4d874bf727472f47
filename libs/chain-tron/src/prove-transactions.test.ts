import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { requireProven, rootOf } from './prove-transactions.ts';
import { decodeTransactions } from './decode-block.ts';
import { readSignedContract } from './protobuf/signed-contract.ts';
import { encodeWhole } from './protobuf/whole-transaction.ts';
import { readBlock } from './read-block.ts';
import type { TronCall } from './tron-client.ts';

/** Recorded from java-tron 4.8.0. */
const RECORDED = JSON.parse(
  readFileSync(
    `${import.meta.dirname}/../../../tools/devnets/test/fixtures/java-tron-4.8.0-answers.json`,
    'utf8',
  ),
) as Readonly<Record<string, unknown>>;
const inconsistent = expect.objectContaining({ code: 'INCONSISTENT_ANSWER', retryable: true });
type Raw = Record<string, unknown>;
interface RawBlock {
  transactions: Raw[];
  block_header: { raw_data: Raw };
}
const block = (): RawBlock => structuredClone(RECORDED['block']) as RawBlock;
const prove = (answer: unknown): void => requireProven(answer, decodeTransactions(answer));
const valueOf = (transaction: Raw): Raw =>
  (transaction['raw_data'] as { contract: [{ parameter: { value: Raw } }] }).contract[0].parameter.value;
const sha = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

describe('requireProven with a recorded block', () => {
  it('accepts the transactions of the root in the header, and an empty block', () => {
    for (const answer of [block(), RECORDED['now']]) expect(() => prove(answer)).not.toThrow();
  });

  it.each<[string, (transactions: Raw[]) => Raw[]]>([
    ['is missing', () => []],
    ['is repeated', ([one]) => [one!, one!]],
    ['has another outcome', ([one]) => [{ ...one, ret: [{ contractRet: 'REVERT' }] }]],
    ['has no outcome', ([one]) => [{ ...one, ret: [{}] }]],
    ['has an additional result', ([one]) => [{ ...one, ret: [{ contractRet: 'SUCCESS' }, { fee: 1 }] }]],
    ['has another id', ([one]) => [{ ...one, txID: 'ab'.repeat(32) }]],
    ['has no id', ([one]) => [{ ...one, txID: undefined }]],
    ['has another signature', ([one]) => [{ ...one, signature: ['00'.repeat(65)] }]],
    ['has no signature', ([one]) => [{ ...one, signature: undefined }]],
    ['has other signed bytes', ([one]) => [{ ...one, raw_data_hex: `${String(one!['raw_data_hex'])}00` }]],
    ['has signed bytes that are not hex', ([one]) => [{ ...one, raw_data_hex: 'xy' }]],
    ['has an odd number of hex digits', ([one]) => [{ ...one, raw_data_hex: 'abc' }]],
    ['has an unknown field', ([one]) => [{ ...one, 9: [1] }]],
    [
      'has a result field without a number',
      ([one]) => [{ ...one, ret: [{ contractRet: 'SUCCESS', odd: 1 }] }],
    ],
    ['has an unknown result name', ([one]) => [{ ...one, ret: [{ contractRet: 'ODD' }] }]],
  ])('rejects a block whose transaction %s', (_, change) => {
    const answer = block();
    answer.transactions = change(answer.transactions);
    expect(() => prove(answer)).toThrow(inconsistent);
  });

  it.each([
    ['another owner', { owner_address: `41${'1'.repeat(40)}` }],
    ['no owner', { owner_address: undefined }],
    ['an invalid owner', { owner_address: 'hidden' }],
  ])('rejects a transaction returned with %s', (_, change) => {
    const answer = block();
    Object.assign(valueOf(answer.transactions[0]!), change);
    expect(() => prove(answer)).toThrow(inconsistent);
  });

  it('rejects a transaction returned with another contract type', () => {
    const answer = block();
    const [contract] = (answer.transactions[0]!['raw_data'] as { contract: Raw[] }).contract;
    Object.assign(valueOf(answer.transactions[0]!), { to_address: `41${'1'.repeat(40)}`, amount: 5 });
    contract!['type'] = 'TransferContract';
    expect(() => prove(answer)).toThrow(inconsistent);
  });

  it('rejects a result of an unknown kind only where a single source must be proven', async () => {
    const answer = block();
    const source = {
      call: ({ method, decode }: TronCall) =>
        Promise.resolve(decode?.(method === 'getblockbynum' ? answer : RECORDED['infos'])),
    };
    const read = (withProof: boolean) => readBlock(source, 'wallet', 37, { withProof });
    expect((await read(true)).entries).toHaveLength(1);
    answer.transactions[0]!['ret'] = [{ contractRet: 'SUCCESS', odd: 1 }];
    expect((await read(false)).entries).toHaveLength(1);
    await expect(read(true)).rejects.toEqual(inconsistent);
  });

  it('accepts unknown fields and results that a sender may have written', () => {
    const answer = block();
    const [one] = answer.transactions as [Raw];
    one['raw_data_hex'] = `${String(one['raw_data_hex'])}4b08054c`;
    one['txID'] = sha(Buffer.from(one['raw_data_hex'] as string, 'hex')).toString('hex');
    one['ret'] = [
      { contractRet: 'SUCCESS', cancel_unfreezeV2_amount: [{ key: 'ENERGY', value: 1 }] },
      { 9: [1] },
    ];
    expect(() => prove(answer)).toThrow(inconsistent);
    answer.block_header.raw_data['txTrieRoot'] = sha(encodeWhole(one)!.bytes).toString('hex');
    expect(() => prove(answer)).not.toThrow();
  });
});

it('rootOf hashes pairs and takes the last of an odd number unchanged', () => {
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((letter) => sha(Buffer.from(letter))) as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ];
  const pair = (left: Buffer, right: Buffer): Buffer => sha(Buffer.concat([left, right]));
  const roots: readonly (readonly [Buffer[], Buffer])[] = [
    [[], Buffer.alloc(32)],
    [[a], a],
    [[a, b], pair(a, b)],
    [[a, b, c], pair(pair(a, b), c)],
    [[a, b, c, d], pair(pair(a, b), pair(c, d))],
    [[a, b, c, d, e], pair(pair(pair(a, b), pair(c, d)), e)],
  ];
  for (const [hashes, root] of roots) expect(rootOf(Buffer.concat(hashes))).toBe(root.toString('hex'));
});

// A sender may write unknown fields into a transaction: nodes keep, hash and show them (java-tron,
// JsonFormat.printUnknownFields). The expected bytes are written by hand from java-tron's Tron.proto.
it.each<[string, Raw, string]>([
  ['a transaction without other fields', {}, '0a01aa'],
  ['two signatures', { signature: ['bb', 'cc'] }, '0a01aa 1201bb 1201cc'],
  ['an outcome', { ret: [{ contractRet: 'OUT_OF_ENERGY' }] }, '0a01aa 2a02180a'],
  [
    'a result with fields in any order',
    { ret: [{ contractRet: 'SUCCESS', fee: 300, ret: 'FAILED' }] },
    '0a01aa 2a07 08ac02 1001 1801',
  ],
  ['a negative fee', { ret: [{ fee: -1 }] }, `0a01aa 2a0b 08 ${'ff'.repeat(9)}01`],
  ['the largest number', { ret: [{ exchange_id: 2n ** 63n - 1n }] }, `0a01aa 2a0b a801 ${'ff'.repeat(8)}7f`],
  ['text', { ret: [{ assetIssueID: 'é' }] }, '0a01aa 2a04 7202 c3a9'],
  [
    'a map of amounts',
    {
      ret: [
        {
          cancel_unfreezeV2_amount: [
            { key: 'ENERGY', value: 300 },
            { key: '', value: 0 },
          ],
        },
      ],
    },
    '0a01aa 2a15 e2010b 0a06454e45524759 10ac02 e20104 0a00 1000',
  ],
  [
    'an order',
    { ret: [{ orderId: '01', orderDetails: [{ fillBuyQuantity: 5, makerOrderId: '02' }] }] },
    '0a01aa 2a0c ca010101 d201050a01022005',
  ],
  [
    'an unnamed outcome',
    { ret: [{ contractRet: 'UNKNOWN_ENUM_VALUE_contractResult_16' }] },
    '0a01aa 2a021810',
  ],
  ['an unknown varint', { 7: [1, 300] }, '0a01aa 3801 38ac02'],
  ['an unknown 64-bit varint', { 7: [2n ** 64n - 1n] }, `0a01aa 38 ${'ff'.repeat(9)}01`],
  [
    'unknown fixed-length numbers',
    { 3: ['0x00000001', '0x0000000000000002'] },
    '0a01aa 1d01000000 190200000000000000',
  ],
  ['unknown bytes', { 9: ['', 'abcd'] }, '0a01aa 4a00 4a02abcd'],
  ['an unknown group', { 9: [{ 1: [5] }] }, '0a01aa 4b 0805 4c'],
  ['a field with a high number', { 536870911: [1] }, '0a01aa f8ffffff0f01'],
  ['a field in a result', { ret: [{ contractRet: 'SUCCESS', 30: ['01'] }] }, '0a01aa 2a06 1801 f2010101'],
])('encodeWhole encodes %s as it was sent', (_, fields, hex) => {
  const whole = encodeWhole({ txID: 'ff', raw_data_hex: 'aa', raw_data: {}, ...fields });
  expect(Buffer.from(whole!.bytes).toString('hex')).toBe(hex.replaceAll(' ', ''));
  expect(Buffer.from(whole!.rawBytes).toString('hex')).toBe('aa');
});

it('encodeWhole writes lengths above 127', () => {
  const [raw, signature] = [Buffer.alloc(300, 7), Buffer.alloc(65, 8)];
  const whole = encodeWhole({ raw_data_hex: raw.toString('hex'), signature: [signature.toString('hex')] });
  const bytes = Buffer.concat([Buffer.from('0aac02', 'hex'), raw, Buffer.from('1241', 'hex'), signature]);
  expect(Buffer.from(whole!.bytes).equals(bytes)).toBe(true);
});

it('encodeWhole rejects rounded numbers so that the answer is parsed exactly', () => {
  expect(() => encodeWhole({ raw_data_hex: 'aa', ret: [{ fee: 2 ** 60 }] })).toThrow(inconsistent);
  expect(() => encodeWhole({ raw_data_hex: 'aa', 7: [2 ** 60] })).toThrow(inconsistent);
});

describe('readSignedContract', () => {
  const transactions = Object.entries(RECORDED).filter(
    (one): one is [string, { raw_data_hex: string; raw_data: { contract: [Raw] } }] =>
      typeof one[1] === 'object' && one[1] !== null && 'raw_data_hex' in one[1],
  );

  it.each(transactions)('reads %s of a real node like the node', (_, answer) => {
    const { type, parameter } = answer.raw_data.contract[0] as { type: string; parameter: { value: Raw } };
    const { owner_address: ownerHex, to_address: toHex, amount } = parameter.value;
    const trx = type === 'TransferContract' ? { toHex, sun: BigInt(amount as number) } : undefined;
    expect(readSignedContract(Buffer.from(answer.raw_data_hex, 'hex'))).toMatchObject({
      hasOwner: true,
      ownerHex,
      ...(trx && { type: 1, trx }),
    });
  });

  it('takes the last value of a field and skips unknown fields, like java-tron', () => {
    const [one, two] = ['1', '2'].map((digit) => `41${digit.repeat(40)}`) as [string, string];
    // Owner, receiver and amount; unknown varint, fixed-length and bytes fields; then all of it again.
    const value = `0a15${one}1215${two}1805 3001 3d00000000 390000000000000000 4a0100 0a15${two}1215${one}18ffffffffffffffffff01`;
    const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
    const wrap = (tag: string, hex: string): string => {
      const { length } = bytes(hex);
      return (
        tag +
        (length < 128 ? length.toString(16).padStart(2, '0') : `${(0x80 | (length & 0x7f)).toString(16)}01`) +
        hex
      );
    };
    const raw = (inner: string): Buffer => bytes(wrap('5a', `0801${wrap('12', wrap('12', inner))}`));
    expect(readSignedContract(raw(value))).toEqual({
      type: 1,
      hasOwner: true,
      ownerHex: two,
      trx: { toHex: one, sun: -1n },
    });
    expect(readSignedContract(raw('0a0100'))).toEqual({
      type: 1,
      hasOwner: true,
      ownerHex: undefined,
      trx: { toHex: undefined, sun: 0n },
    });
    // Unknown fields may be groups, have any number, or use a known number with another wire type.
    const odd = '4b 0805 4b 4a0100 4c 1500000000 4c f8ffffff0f01';
    const any = (inner: string): string => wrap('12', `${wrap('12', `${odd}${inner}`)}${odd}1001`);
    const [contract, plain] = [any(`${odd}${value}0805 1001 1a0100`), any(value)];
    for (const whole of [
      `${odd}${wrap('5a', `${odd}0801${contract}0a0100`)}5801${odd}`,
      wrap('5a', `0801${any(`8a00 95808000${one} 9280808080808080800015${one} 9880808000 05`)}`),
      wrap('5a', `88808080800081808000${plain}`),
    ])
      expect(readSignedContract(bytes(whole))?.trx).toMatchObject({ toHex: one });
    for (const broken of [
      '',
      '5a00',
      '5aff',
      '0b0c',
      `5a04 0801 1200 5a04 0801 1200`,
      '18',
      '5a0208ff',
      '0b14',
      '0b',
    ])
      expect(readSignedContract(bytes(broken))).toBeUndefined();
  });
});
