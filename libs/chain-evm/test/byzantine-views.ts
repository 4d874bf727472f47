import { createHash } from 'node:crypto';
import { afterEach, expect } from 'vitest';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { bloomBits } from '../src/bloom.ts';
import { TRANSFER_TOPIC } from '../src/decode.ts';
import type { EvmNetwork, EvmReaderDeps } from '../src/reader.ts';
import { createPatientReader } from './patient-reader.ts';
import type { Call, ScriptedNode } from './scripted-node.ts';
import { answering, scriptedNode } from './scripted-node.ts';

/*
 * A chain without a node, and views of it that one of two sources shows: consistent ones, whose headers, blooms, logs
 * and receipts match each other, or single answers that are twisted.
 */

const TOKEN = `0x${'11'.repeat(20)}`;
const PAYEE = `0x${'aa'.repeat(20)}`;
const PAYER = `0x${'bb'.repeat(20)}`;
const LENGTH = 100;
const BLOCK_SECONDS = 12;
export const LOOT = 1_000_000n;

interface Tx {
  readonly hash: string;
  readonly amounts: readonly bigint[];
}
export interface Block {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeSeconds: number;
  readonly txs: readonly Tx[];
  /** Where it differs from the transactions. */
  readonly bloomOf?: readonly Tx[];
}
type Chain = readonly Block[];

export const hashOf = (text: string): string => `0x${createHash('sha256').update(text).digest('hex')}`;
export const word = (hex: string): string => `0x${hex.slice(2).padStart(64, '0')}`;
export const quantity = (value: number): string => `0x${value.toString(16)}`;
export const STARTED_AT_MS = Date.now();

function childOf(
  parent: Block | undefined,
  tag: string,
  amounts: readonly bigint[],
  seconds = BLOCK_SECONDS,
): Block {
  const height = (parent?.height ?? -1) + 1;
  return {
    height,
    hash: hashOf(`${tag}${height}`),
    parentHash: parent?.hash ?? hashOf('none'),
    timeSeconds:
      parent === undefined
        ? Math.floor(STARTED_AT_MS / 1_000) - LENGTH * BLOCK_SECONDS
        : parent.timeSeconds + seconds,
    txs: amounts.map((amount, place) => ({ hash: hashOf(`${tag}${height}/${place}`), amounts: [amount] })),
  };
}

export function chainOf(
  blocks = LENGTH,
  base: Chain = [],
  tag = 'honest',
  amounts = [1n, 2n],
  seconds?: number,
): Chain {
  const chain = [...base];
  for (let count = 0; count < blocks; count += 1) chain.push(childOf(chain.at(-1), tag, amounts, seconds));
  return chain;
}

export const HONEST = chainOf();
export const HEAD = HONEST.at(-1)!;
export const EMPTY_BLOOM = `0x${'00'.repeat(256)}`;
export const changed = (
  height: number,
  change: (block: Block) => Partial<Block>,
  chain: Chain = HONEST,
): Chain => chain.map((block) => (block.height === height ? { ...block, ...change(block) } : block));

/** The second transaction of the block has an additional log. */
export const withLoot = (block: Block): Partial<Block> => ({
  txs: block.txs.map((tx, place) => (place === 1 ? { ...tx, amounts: [...tx.amounts, LOOT] } : tx)),
});

function bloomOf(txs: readonly Tx[]): string {
  const bytes = Buffer.alloc(256);
  if (txs.some(({ amounts }) => amounts.length > 0))
    for (const value of [TOKEN, TRANSFER_TOPIC, word(PAYER), word(PAYEE)])
      for (const bit of bloomBits(value)) bytes[255 - (bit >> 3)]! |= 1 << (bit & 7);
  return `0x${bytes.toString('hex')}`;
}

function logsOf({ txs, hash, height }: Block): readonly (readonly object[])[] {
  let index = 0;
  return txs.map((tx, place) =>
    tx.amounts.map((amount) => ({
      address: TOKEN,
      topics: [TRANSFER_TOPIC, word(PAYER), word(PAYEE)],
      data: word(quantity(Number(amount))),
      blockHash: hash,
      blockNumber: quantity(height),
      transactionHash: tx.hash,
      transactionIndex: quantity(place),
      logIndex: quantity(index++),
      removed: false,
    })),
  );
}

export const receiptOf = (block: Block, place: number): object => ({
  transactionHash: block.txs[place]!.hash,
  blockHash: block.hash,
  blockNumber: quantity(block.height),
  status: '0x1',
  type: '0x2',
  gasUsed: '0x1',
  effectiveGasPrice: '0x1',
  from: PAYER,
  to: TOKEN,
  logs: logsOf(block)[place],
});

export interface View {
  readonly chain: Chain;
  readonly finalized?: Block;
  readonly twist?: (call: Call, result: unknown, calls: readonly Call[]) => unknown;
}

function resultOf({ chain, finalized }: View, { method, params }: Call): unknown {
  const answerBlock = (block: Block | undefined): object | null =>
    block === undefined
      ? null
      : {
          number: quantity(block.height),
          hash: block.hash,
          parentHash: block.parentHash,
          timestamp: quantity(block.timeSeconds),
          logsBloom: bloomOf(block.bloomOf ?? block.txs),
          transactions: block.txs.map(({ hash }) => hash),
        };
  const [first] = params;
  const byHash = chain.find(({ hash }) => hash === first);
  switch (method) {
    case 'eth_getBlockByNumber':
      if (first === 'latest') return answerBlock(chain.at(-1));
      return answerBlock(first === 'finalized' ? (finalized ?? chain.at(-20)) : chain[Number(first)]);
    case 'eth_getBlockByHash':
      return answerBlock(byHash);
    case 'eth_getLogs': {
      const filter = first as { fromBlock?: string; toBlock?: string; blockHash?: string };
      const isAsked = ({ height, hash }: Block): boolean =>
        filter.blockHash === undefined
          ? height >= Number(filter.fromBlock) && height <= Number(filter.toBlock)
          : hash === filter.blockHash;
      return chain.filter(isAsked).flatMap((block) => logsOf(block).flat());
    }
    case 'eth_getBlockReceipts':
      return byHash === undefined ? null : byHash.txs.map((_, place) => receiptOf(byHash, place));
    case 'eth_getTransactionReceipt':
      for (const block of chain) {
        const place = block.txs.findIndex(({ hash }) => hash === first);
        if (place >= 0) return receiptOf(block, place);
      }
      return null;
    default:
      throw new Error(`no answer is scripted for ${method}`);
  }
}

const NETWORK: Omit<EvmNetwork, 'rpcUrls'> = {
  chain: 'ETH',
  chainId: 1,
  bloom: true,
  maxBlockRange: 50,
  blockTimeMs: BLOCK_SECONDS * 1_000,
  tokens: [
    { symbol: 'USDT', contract: TOKEN, decimals: 6, displayDecimals: 2, minAmount: null, maxAmount: null },
  ],
};

export const REJECTED = { code: 'INCONSISTENT_ANSWER', retryable: true };
export const expectRejected =
  (from: number, to: number, error: object = REJECTED) =>
  async (reader: ChainReader) => {
    for (let round = 0; round < 3; round += 1)
      await expect(reader.readVerified(from, to, [])).rejects.toMatchObject(error);
  };

/** Nodes of views, closed after each test, and readers of them. */
export function useByzantineViews() {
  let nodes: ScriptedNode[] = [];
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.close()));
    nodes = [];
  });

  async function nodeOf(view: View): Promise<ScriptedNode> {
    const node = await scriptedNode((calls, isBatch) =>
      answering((call) => {
        const result = resultOf(view, call);
        return view.twist === undefined ? result : view.twist(call, result, calls);
      }, '0x1')(calls, isBatch),
    );
    nodes.push(node);
    return node;
  }

  const readerOf = (
    sources: readonly ScriptedNode[],
    change: Partial<EvmNetwork> = {},
    deps: EvmReaderDeps = {},
  ): ChainReader =>
    createPatientReader(
      { ...NETWORK, rpcUrls: sources.map(({ url }) => url), ...change },
      { epochMs: () => STARTED_AT_MS, ...deps },
    );

  /** Runs `work` with the Byzantine source first, then with the honest one first. */
  async function withHonest(
    byzantineNode: View,
    work: (reader: ChainReader) => Promise<void>,
    change: Partial<EvmNetwork> = {},
    honest: View = { chain: HONEST },
  ): Promise<void> {
    const pair = [await nodeOf(byzantineNode), await nodeOf(honest)];
    await work(readerOf(pair, change));
    await work(readerOf(pair.toReversed(), change));
  }

  return { nodeOf, readerOf, withHonest };
}
