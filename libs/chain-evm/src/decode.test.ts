import { describe, expect, it } from 'vitest';
import { decodeHeader, decodeLog, decodeLogs, decodeReceipt, transferOf } from './decode.ts';

const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7';
const LOG = {
  address: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  blockHash: '0x8e38b4dbf6b11fcc3b9dee84fb7986e29ca0a02cecd8977c161ff7333329681e',
  blockNumber: '0x112a880',
  data: '0x000000000000000000000000000000000000000000000000000000000ee6b280',
  logIndex: '0x1f',
  removed: false,
  topics: [
    '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
    '0x00000000000000000000000028c6c06298d514db089934071355e5743bf21d60',
    '0x0000000000000000000000009696F59E4D72E237BE84FFD425DCAD154BF96976',
  ],
  transactionHash: '0x3dac2080b4c423029fcc9c916bc430cde441badfe736fc6d1fe9325348af80fd',
  transactionIndex: '0x2',
};
const RECEIPT = {
  blockHash: LOG.blockHash,
  blockNumber: LOG.blockNumber,
  contractAddress: null,
  cumulativeGasUsed: '0xa2b62',
  effectiveGasPrice: '0x3b9aca00',
  from: '0x28c6c06298d514db089934071355e5743bf21d60',
  gasUsed: '0xf6a5',
  logs: [LOG],
  logsBloom: `0x${'00'.repeat(256)}`,
  status: '0x1',
  to: USDT,
  transactionHash: LOG.transactionHash,
  transactionIndex: '0x2',
  type: '0x2',
};
const HEADER = {
  number: '0x112a880',
  hash: LOG.blockHash,
  parentHash: `0x${'aa'.repeat(32)}`,
  timestamp: '0x65156994',
  logsBloom: `0x${'00'.repeat(256)}`,
  transactions: [LOG.transactionHash],
};
const tokens = new Set([USDT]);
const INCONSISTENT = expect.objectContaining({ code: 'INCONSISTENT_ANSWER', retryable: true });

describe('decodeLog and transferOf', () => {
  it('decodes a transfer to canonical form without loss', () => {
    expect(transferOf(decodeLog(LOG), tokens)).toEqual({
      txHash: LOG.transactionHash,
      blockHash: LOG.blockHash,
      blockHeight: 18_000_000,
      indexInBlock: 31,
      contract: USDT,
      from: '0x28c6c06298d514db089934071355e5743bf21d60',
      to: '0x9696f59e4d72e237be84ffd425dcad154bf96976',
      amountBaseUnits: 250_000_000n,
    });
    const largest = { ...LOG, data: `0x${'f'.repeat(64)}` };
    expect(transferOf(decodeLog(largest), tokens)?.amountBaseUnits).toBe(2n ** 256n - 1n);
  });

  const [event, from, to] = LOG.topics;
  it.each<[string, object]>([
    ['of another contract', { address: `0x${'11'.repeat(20)}` }],
    ['of the coin itself (EIP-7708)', { address: '0xfffffffffffffffffffffffffffffffffffffffe' }],
    ['of another event', { topics: [`0x${'22'.repeat(32)}`, from, to] }],
    ['of an NFT', { topics: [event, from, to, LOG.data], data: '0x' }],
    ['without data', { data: '0x' }],
    ['with half a word', { data: LOG.data.slice(0, 34) }],
    ['with two words', { data: LOG.data + LOG.data.slice(2) }],
    ['of zero', { data: `0x${'0'.repeat(64)}` }],
    ['without a recipient', { topics: [event, from] }],
    ['without topics', { topics: [] }],
    ['to a word that is not an address', { topics: [event, from, `0x${'33'.repeat(32)}`] }],
  ])('ignores a log %s', (_, change) => {
    expect(transferOf(decodeLog({ ...LOG, ...change }), tokens)).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a string', 'log'],
    ['a list', []],
    ['removed', { ...LOG, removed: true }],
    ['pending', { ...LOG, blockHash: null, blockNumber: null }],
    ['with a number for a quantity', { ...LOG, logIndex: 31 }],
    ['with a short hash', { ...LOG, transactionHash: '0x12' }],
    ['with a short topic', { ...LOG, topics: ['0xddf252ad'] }],
    ['without data', { ...LOG, data: undefined }],
    ['with odd data', { ...LOG, data: '0x123' }],
    ['beyond safe integers', { ...LOG, blockNumber: '0xffffffffffffffff' }],
  ])('rejects a log that is %s', (_, raw) => {
    expect(() => decodeLog(raw)).toThrow(INCONSISTENT);
  });

  it('accepts only a list of logs', () => {
    expect(decodeLogs([])).toEqual([]);
    for (const raw of [null, undefined, {}, 'x', [null]]) expect(() => decodeLogs(raw)).toThrow(INCONSISTENT);
  });
});

describe('decodeHeader', () => {
  it('decodes a block', () => {
    expect(decodeHeader(HEADER)).toMatchObject({
      height: 18_000_000,
      hash: LOG.blockHash,
      timeSeconds: 1_695_902_100,
      transactions: [LOG.transactionHash],
    });
  });

  it.each(Object.keys(HEADER))('requires the header field %s', (field) => {
    expect(() => decodeHeader({ ...HEADER, [field]: null })).toThrow(INCONSISTENT);
  });
});

describe('decodeReceipt', () => {
  it('decodes the fee that was paid', () => {
    const receipt = decodeReceipt(RECEIPT, false);
    expect(receipt).toMatchObject({
      succeeded: true,
      feeWei: 63_141n * 10n ** 9n,
      isStateSync: false,
      txHash: LOG.transactionHash,
    });
    expect(receipt.logs).toEqual([decodeLog(LOG)]);
    const sender = '0xAb'.padEnd(42, '0');
    expect(decodeReceipt({ ...RECEIPT, from: sender }, false).from).toBe(sender.toLowerCase());
    for (const from of [undefined, null, '0x1'])
      expect(decodeReceipt({ ...RECEIPT, from }, false).from).toBeUndefined();
    expect(decodeReceipt({ ...RECEIPT, status: '0x0', logs: [] }, false).succeeded).toBe(false);
  });

  it.each<[string, object]>([
    ['that failed with logs', { status: '0x0' }],
    ['of an unknown status', { status: '0x2' }],
    ['without status', { status: undefined }],
    ['without the price of gas', { effectiveGasPrice: undefined }],
    ['with a gap between logs', { logs: [LOG, { ...LOG, logIndex: '0x21' }] }],
    ['with a log of another transaction', { logs: [{ ...LOG, transactionHash: LOG.blockHash }] }],
    ['with a log of another block', { logs: [{ ...LOG, blockHash: LOG.transactionHash }] }],
  ])('rejects a receipt %s', (_, change) => {
    expect(() => decodeReceipt({ ...RECEIPT, ...change }, false)).toThrow(INCONSISTENT);
  });
});
