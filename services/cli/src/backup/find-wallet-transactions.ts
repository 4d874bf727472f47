import type { Address } from '@opentill/chain/address-codec';
import { readerError } from '@opentill/chain/reader-error';
import { blockRequest, hexQuantity } from '@opentill/chain-evm/block-requests';
import { recoverTransaction, type RecoveredTransaction } from '@opentill/chain-evm/recover-transaction';
import type { RpcRequest } from '@opentill/chain-evm/client';
import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';
import { createEvmStateReader } from '@opentill/chain-evm/read-balances';
import type { BlockHash } from '@opentill/chain/block';
import type { Anchor } from '../reconcile/chain-ledger.ts';
import { openEndpoints, type Endpoint } from '../doctor/endpoint.ts';

export interface MinedTransaction extends RecoveredTransaction {
  readonly blockHeight: number;
  readonly blockTime: Date;
}

/** Reads from one source at a time. Signatures prove each transaction, the agreed count that none is missing. */
export interface WalletHistory {
  /** Ascending. `counts`: at either block, if known. Throws a ReaderErrorCode when no source can be read. */
  find(
    wallet: Address,
    range: { readonly from: number; readonly to: number },
    counts: { readonly from: number | undefined; readonly to: number | undefined },
  ): Promise<readonly MinedTransaction[]>;
  /** Undefined if no source keeps the state of that block. */
  countAt(wallet: Address, height: number): Promise<number | undefined>;
  /** The highest count of any source, with its pool; `silent` sources did not answer. */
  newestCount(wallet: Address): Promise<{ readonly highest: number; readonly silent: readonly string[] }>;
}

const REQUEST_TIMEOUT_MS = 15_000;
/** Reading so few blocks is cheaper than asking for counts in between. */
const FEW_BLOCKS = 4;
/** Some megabytes, with their transactions. */
const BLOCKS_PER_CALL = 4;

/** Connects at the first call. Throws TypeError for a network without chain id. */
export function createWalletHistory(network: NetworkConfig): WalletHistory {
  const { chainId } = network;
  if (chainId === undefined) throw new TypeError(`the network ${network.chain} has no chain id`);
  const endpoints = openEndpoints(rpcEndpointsOf(network), chainId);

  async function readBlocks(wallet: Address, from: number, to: number): Promise<readonly MinedTransaction[]> {
    const found: MinedTransaction[] = [];
    for (let at = from; at <= to; at += BLOCKS_PER_CALL) {
      const heights = Array.from(
        { length: Math.min(BLOCKS_PER_CALL, to - at + 1) },
        (_, place) => at + place,
      );
      const blocks = await askAny(
        endpoints,
        heights.map((height) => blockRequest(height, true)),
      );
      for (const [place, block] of blocks.entries())
        found.push(...transactionsOf(block, heights[place] ?? at, wallet, chainId ?? 0));
    }
    return found;
  }

  const countAt = (wallet: Address, height: number): Promise<number | undefined> =>
    askAny(endpoints, [{ method: 'eth_getTransactionCount', params: [wallet, hexQuantity(height)] }]).then(
      ([count]) => numberOf(count),
      (error: unknown) => {
        if (!(error instanceof GatewayError)) throw error;
        return undefined; // most nodes prune the state of old blocks: then blocks are read
      },
    );

  async function collect(wallet: Address, low: Bound, high: Bound): Promise<readonly MinedTransaction[]> {
    if (high.height <= low.height || (low.count !== undefined && low.count === high.count)) return [];
    if (high.height - low.height <= FEW_BLOCKS) return readBlocks(wallet, low.height + 1, high.height);
    const height = Math.floor((low.height + high.height) / 2);
    const middle = { height, count: await countAt(wallet, height) };
    return [...(await collect(wallet, low, middle)), ...(await collect(wallet, middle, high))];
  }

  return {
    countAt,
    find: async (wallet, { from, to }, counts) => {
      const found = await collect(
        wallet,
        { height: from, count: counts.from },
        { height: to, count: counts.to },
      );
      return found.toSorted((a, b) => a.nonce - b.nonce);
    },
    async newestCount(wallet) {
      const requests = ['latest', 'pending'].map((tag) => ({
        method: 'eth_getTransactionCount',
        params: [wallet, tag],
      }));
      const answers = await Promise.allSettled(endpoints.map(({ client }) => client.batch(requests)));
      const counts = answers.flatMap((answer) =>
        answer.status === 'fulfilled' ? answer.value.map(numberOf) : [],
      );
      const silent = endpoints
        .filter((_, place) => answers[place]?.status === 'rejected')
        .map(({ label }) => label);
      if (counts.length === 0)
        throw readerError(
          'RPC_UNAVAILABLE',
          `no endpoint of ${network.chain} answers; check the endpoints in the network file`,
        );
      return { highest: Math.max(...counts), silent };
    },
  };
}

interface Bound {
  readonly height: number;
  readonly count: number | undefined;
}

async function askAny(
  endpoints: readonly Endpoint[],
  requests: readonly RpcRequest[],
): Promise<readonly unknown[]> {
  let last: unknown = readerError('RPC_UNAVAILABLE', 'no endpoint is configured');
  for (const { client } of endpoints) {
    try {
      const answers = await client.batch(requests);
      if (answers.some((answer) => answer === null))
        throw readerError('BLOCK_NOT_FOUND', 'the node does not have a block');
      return answers;
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

function transactionsOf(
  answer: unknown,
  height: number,
  wallet: Address,
  chainId: number,
): readonly MinedTransaction[] {
  const block = answer as {
    number?: string;
    timestamp?: string;
    transactions?: readonly { from?: string }[];
  };
  if (numberOf(block.number) !== height || !Array.isArray(block.transactions))
    throw readerError('INCONSISTENT_ANSWER', 'the node answered with another block than requested', {
      height,
    });
  const blockTime = new Date(numberOf(block.timestamp) * 1_000);
  return block.transactions
    .filter((transaction: { from?: string }) => transaction.from?.toLowerCase() === wallet)
    .map((transaction) => ({
      ...recoverTransaction(transaction, wallet, chainId),
      blockHeight: height,
      blockTime,
    }));
}

function numberOf(answer: unknown): number {
  const value =
    typeof answer === 'string' && /^0x[0-9a-f]{1,13}$/i.test(answer) ? Number(answer) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw readerError('INCONSISTENT_ANSWER', "the node's answer is malformed: not a number");
}

/** Asks two sources; undefined where they do not agree. */
export async function readAgreedCounts(
  network: NetworkConfig,
  wallets: readonly Address[],
  { height, hash }: Anchor,
): Promise<readonly (number | undefined)[]> {
  const state = createEvmStateReader(network, { requestTimeoutMs: REQUEST_TIMEOUT_MS });
  const counts = await state.transactionCounts(wallets, { height, hash: hash as BlockHash });
  return counts.map((count) => (count.kind === 'AGREED' ? Number(count.value) : undefined));
}
