import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { addressOfHex, addressOfShortHex } from './address-codec.ts';
import { decodeHeader, decodeTransaction, decodeTransactions } from './decode-block.ts';
import { blockIdOf } from './protobuf/header.ts';
import { decodeInfo, decodeInfos, hasRun, transferIn, TRANSFER_TOPIC } from './decode-info.ts';
import { actsIn, blockCalls, indexOfLog, readBlock, readBlockOf, transfersOf } from './read-block.ts';
import { parseAnswer, parseRounding } from './parse-answer.ts';
import type { TronCall } from './tron-client.ts';

/** From java-tron 4.8.0; see tools/devnets/test/tron/recorded-scenario.ts. */
const RECORDED = JSON.parse(
  readFileSync(
    `${import.meta.dirname}/../../../tools/devnets/test/fixtures/java-tron-4.8.0-answers.json`,
    'utf8',
  ),
) as Readonly<Record<string, unknown>>;
const TOKEN_HEX = '499b6ecbd61fe1eea03e68261233aad66f383b82';
const TOKEN = addressOfShortHex(TOKEN_HEX) as string as TokenContract;
const TOKENS = new Map([[TOKEN_HEX, TOKEN]]);
const READING = {
  chain: 'TRON_TEST',
  tokens: TOKENS,
  native: true,
  onCompared: () => undefined,
  onSingleSource: () => undefined,
} as const;
const inconsistent = expect.objectContaining({ code: 'INCONSISTENT_ANSWER', retryable: true });
type Raw = Record<string, unknown>;
const copy = (name: string): Raw => structuredClone(RECORDED[name]) as Raw;

const sourceOf = (block: unknown, infos: unknown) => ({
  call: ({ method, decode }: TronCall) =>
    Promise.resolve(decode?.(method === 'getblockbynum' ? block : infos)),
});

describe('recorded blocks', () => {
  it('decodes a recorded block with its receipts and transfers', async () => {
    const account = await readBlock(sourceOf(RECORDED['block'], RECORDED['infos']), 'wallet', 37, {});
    expect(account.header).toMatchObject({
      height: 37,
      timeMs: 1_795_229_325_000,
      timeSeconds: 1_795_229_325,
    });
    expect(transfersOf(READING, account)).toEqual([
      {
        txHash: '778e9d0eac501873d3283b4d6a5f9eb49360754fd6cc43c27db9d8e849d7f142',
        blockHash: '00000000000000253c760fb546e03f9917aaf0d9b2bae9ea95f093fb7183d801',
        blockHeight: 37,
        indexInBlock: indexOfLog(0, 0),
        contract: TOKEN,
        fromHex: '410eef60e8d8d92d7ff26594cc9453fd98d319055d',
        from: addressOfHex('410eef60e8d8d92d7ff26594cc9453fd98d319055d'),
        to: addressOfHex('41437b7a07cb8aff68bf82161a9718aad6b8dbcb16'),
        amountBaseUnits: 1n,
        feeSun: 2_936_100n,
        agreement: { isByTwo: false },
      },
    ]);
  });

  it('lists what a wallet sent and what others moved out of it', async () => {
    const block = copy('block') as { transactions: { raw_data: { contract: { parameter: Raw }[] } }[] };
    const txHash = '778e9d0eac501873d3283b4d6a5f9eb49360754fd6cc43c27db9d8e849d7f142';
    const hot = addressOfHex('410eef60e8d8d92d7ff26594cc9453fd98d319055d')!;
    const spender = addressOfHex(`41${'5'.repeat(40)}`)!;
    const receiver = addressOfHex('41437b7a07cb8aff68bf82161a9718aad6b8dbcb16')!;
    Object.assign(block.transactions[0]!.raw_data.contract[0]!.parameter['value'] as Raw, {
      owner_address: `41${'5'.repeat(40)}`,
    });
    const read = readBlockOf(READING, await readBlock(sourceOf(block, RECORDED['infos']), 'wallet', 37, {}));
    for (const wallet of [hot, spender])
      expect(actsIn([read], new Set([wallet, receiver]))).toEqual([{ txHash, wallet, blockHeight: 37 }]);
    expect(actsIn([read], new Set([receiver]))).toEqual([]);
    expect(actsIn([read], new Set())).toEqual([]);
  });

  it('parses an answer again exactly if JavaScript would round an amount', () => {
    const block = JSON.stringify(RECORDED['block']);
    const contract = JSON.stringify({
      type: 'TransferContract',
      parameter: {
        value: { owner_address: `41${'5'.repeat(40)}`, to_address: `41${'6'.repeat(40)}`, amount: 'AMOUNT' },
      },
    });
    const body = Buffer.from(
      block
        .replace(/"contract":\[.*?\],"ref_block_bytes"/s, `"contract":[${contract}],"ref_block_bytes"`)
        .replace('"AMOUNT"', '9007199254740993'),
    );
    const { decode } = blockCalls('wallet', 37).ofBlock;
    expect(decode?.(parseRounding(body), () => parseAnswer(body))).toMatchObject({
      value: { transactions: [{ trx: { sun: 9_007_199_254_740_993n } }] },
    });
    expect(decode?.(parseRounding(body))).toMatchObject({ error: inconsistent });
  });

  it('throws BLOCK_NOT_FOUND for a missing block, INCONSISTENT_ANSWER without receipts', async () => {
    expect(() => decodeHeader(RECORDED['block.future'], 99)).toThrow(
      expect.objectContaining({ code: 'BLOCK_NOT_FOUND', retryable: true }),
    );
    await expect(
      readBlock(sourceOf(RECORDED['block.future'], RECORDED['infos.future']), 'wallet', 37, {}),
    ).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    // The most frequent wrong answer of hosted nodes: the block without its receipts.
    await expect(readBlock(sourceOf(RECORDED['block'], []), 'wallet', 37, {})).rejects.toEqual(inconsistent);
  });

  it('accepts a block without transactions only if the root in its header is empty', async () => {
    const { transactions: _, ...rest } = copy('block');
    await expect(readBlock(sourceOf(rest, []), 'wallet', 37, {})).rejects.toEqual(inconsistent);
    const header = rest['block_header'] as { raw_data: Raw };
    const withItsId = () => ({ ...rest, blockID: blockIdOf(header.raw_data, 37) });
    delete header.raw_data['txTrieRoot'];
    await expect(readBlock(sourceOf(withItsId(), []), 'wallet', 37, {})).rejects.toEqual(inconsistent);
    header.raw_data['txTrieRoot'] = '0'.repeat(64);
    // The id covers the root, so a node cannot omit transactions by changing the root.
    await expect(readBlock(sourceOf(rest, []), 'wallet', 37, {})).rejects.toEqual(inconsistent);
    expect((await readBlock(sourceOf(withItsId(), []), 'wallet', 37, {})).entries).toEqual([]);
  });

  const infos = (): readonly Raw[] => structuredClone(RECORDED['infos']) as readonly Raw[];
  it.each<[string, unknown]>([
    ['of another transaction', [{ ...infos()[0], id: 'ab'.repeat(32) }]],
    ['of another height', [{ ...infos()[0], blockNumber: 36 }]],
    ['of another time, and so of another fork', [{ ...infos()[0], blockTimeStamp: 1_795_229_328_000 }]],
    ['of more transactions than the block has', [...infos(), ...infos()]],
    ['that are not a list', {}],
    ['that contain null', [null]],
    ['with base58 addresses, as with `visible`', RECORDED['infos.visible']],
  ])('takes no transfer from receipts %s', async (_, wrong) => {
    const reading = readBlock(sourceOf(RECORDED['block'], wrong), 'wallet', 37, {});
    if (wrong === RECORDED['infos.visible']) expect(transfersOf(READING, await reading)).toEqual([]);
    else await expect(reading).rejects.toEqual(inconsistent);
  });

  it('rejects a block of another height, or with an id or parent of another height', () => {
    expect(() => decodeHeader(RECORDED['block'], 38)).toThrow(inconsistent);
    const block = copy('block') as { blockID: string; block_header: { raw_data: Raw } };
    expect(() => decodeHeader({ ...block, blockID: `0000000000000026${block.blockID.slice(16)}` })).toThrow(
      inconsistent,
    );
    const orphan = structuredClone(block);
    orphan.block_header.raw_data['parentHash'] = block.blockID;
    expect(() => decodeHeader(orphan)).toThrow(inconsistent);
  });

  it.each([
    ['timestamp', 1_795_229_328_000],
    ['parentHash', `0000000000000024${'a'.repeat(48)}`],
    ['txTrieRoot', 'a'.repeat(64)],
    ['witness_address', `41${'a'.repeat(40)}`],
    ['version', 1],
    ['version', undefined],
    ['witness_address', 'not hex'],
    ['accountStateRoot', 'a'.repeat(64)],
  ])('rejects a header with another %s because the block id covers it', (field, wrong) => {
    const block = copy('block') as { block_header: { raw_data: Raw } };
    expect(decodeHeader(block)).toMatchObject({ height: 37 });
    block.block_header.raw_data[field] = wrong;
    expect(() => decodeHeader(block)).toThrow(inconsistent);
  });

  it('rejects a block if it differs from the receipt on the outcome', async () => {
    const block = copy('block') as { transactions: { ret: Raw[] }[] };
    block.transactions[0]!.ret[0]!['contractRet'] = 'REVERT';
    const infos = structuredClone(RECORDED['infos']) as { receipt: Raw; log?: unknown; result?: string }[];
    infos[0]!.receipt['result'] = 'REVERT';
    infos[0]!.result = 'FAILED';
    delete infos[0]!.log;
    for (const [ofBlock, ofInfos] of [
      [block, RECORDED['infos']],
      [RECORDED['block'], infos],
    ])
      await expect(readBlock(sourceOf(ofBlock, ofInfos), 'wallet', 37, {})).rejects.toEqual(inconsistent);
    // If both report a failure, the transaction failed without a transfer.
    const account = await readBlock(sourceOf(block, infos), 'wallet', 37, {});
    expect(transfersOf(READING, account)).toEqual([]);
  });

  it('decodes a block without transactions and block 0 without a number', () => {
    const { transactions: _, ...empty } = copy('block');
    expect(decodeTransactions(empty)).toEqual([]);
    const {
      number: __,
      timestamp: ___,
      ...ofGenesis
    } = (copy('block') as { block_header: { raw_data: Raw } }).block_header.raw_data;
    const genesis = { blockID: `${'0'.repeat(16)}${'a'.repeat(48)}`, block_header: { raw_data: ofGenesis } };
    expect(decodeHeader(genesis, 0)).toMatchObject({ height: 0, timeMs: 0 });
  });
});

describe('recorded receipts', () => {
  it.each(['fail.balance.info', 'fail.feelimit.info'])('decodes a failed transaction: %s', (name) => {
    const info = decodeInfo(RECORDED[name])!;
    expect([info.failed, hasRun(info), info.logs]).toEqual([true, false, []]);
    expect(info.feeSun).toBeGreaterThan(0n);
  });

  it('finds no receipt for a pending transaction', () => {
    expect(decodeInfo(RECORDED['pending.info'])).toBeUndefined();
    // The transaction itself looks successful, so it is no evidence.
    expect(decodeTransaction(RECORDED['pending.byid'])).toMatchObject({ contractRet: 'SUCCESS' });
  });

  it('takes no transfer from the event of an unknown contract', () => {
    const info = decodeInfo(RECORDED['fake.info'])!;
    expect(hasRun(info)).toBe(true);
    expect(info.logs.map((log) => transferIn(log, TOKENS))).toEqual([undefined]);
  });

  it('decodes a TRX transfer from the transaction, whose receipt has no result', () => {
    const info = decodeInfo(RECORDED['trx.plain.info'])!;
    expect([info.contractResult, info.failed, hasRun(info)]).toEqual([undefined, false, false]);
    expect(decodeTransaction(RECORDED['trx.plain.tx'])).toMatchObject({
      ownerHex: '41928c9af0651632157ef27a2cf17ca72c575a4d21',
      trx: { toHex: '410eef60e8d8d92d7ff26594cc9453fd98d319055d', sun: 1_000_000n },
    });
  });

  it('decodes the delivered amount and the whole fee', () => {
    const info = decodeInfo(RECORDED['usdt.cold.info'])!;
    expect(info).toMatchObject({ feeSun: 3_281_100n, contractResult: 'SUCCESS', failed: false, height: 35 });
    expect(info.logs.map((log) => transferIn(log, TOKENS)?.amount)).toEqual([500_000_000n]);
  });
});

describe('transferIn', () => {
  const word = (hex: string): string => hex.padStart(64, '0');
  const [from, to] = ['11'.repeat(20), '22'.repeat(20)];
  const log = { address: TOKEN_HEX, topics: [TRANSFER_TOPIC, word(from), word(to)], data: word('7') };

  it('decodes a Transfer log, also with the address prefix of early compilers', () => {
    const transfer = {
      contract: TOKEN,
      fromHex: from,
      toHex: to,
      amount: 7n,
    };
    expect(transferIn(log, TOKENS)).toEqual(transfer);
    const early = [TRANSFER_TOPIC, word(`41${from}`), word(`41${to}`)];
    expect(transferIn({ ...log, topics: early }, TOKENS)).toEqual(transfer);
  });

  it.each<[string, Raw]>([
    ['four topics', { topics: [...log.topics, word('1')] }],
    ['two topics', { topics: log.topics.slice(0, 2) }],
    ['no topics', { topics: undefined }],
    ['another event', { topics: ['ab'.repeat(32), word(from), word(to)] }],
    ['a recipient that is not an address', { topics: [TRANSFER_TOPIC, word(from), 'ff'.repeat(32)] }],
    ['a truncated amount', { data: '07' }],
    ['no data', { data: undefined }],
    ['data after the amount', { data: word('7') + word('8') }],
    ['a zero amount', { data: word('0') }],
    ['another contract', { address: from }],
  ])('ignores a log with %s', (_, other) => {
    expect(transferIn({ ...log, ...other }, TOKENS)).toBeUndefined();
  });

  it('rejects malformed logs and receipts as a fault of the node', () => {
    for (const bad of [null, 7, [], { address: 7 }])
      expect(() => transferIn(bad, TOKENS)).toThrow(inconsistent);
    expect(() => decodeInfos([{ id: 'short' }])).toThrow(inconsistent);
    expect(() => decodeInfo({ id: 'ab'.repeat(32) as TxHash, fee: -1 })).toThrow(inconsistent);
  });
});
