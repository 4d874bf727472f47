import { callRpc, callRpcBatch } from '@opentill/devnets/evm/json-rpc';
import { contractInterface } from '@opentill/devnets/evm/contract-artifacts';
import type { ChainUnderTest } from '../chain-under-test.ts';
import type { ChainTransfer } from './facts.ts';

/** Facts of a devnet, read by plain JSON-RPC without the gateway's code. */
export interface ChainTruth {
  readonly transfers: readonly ChainTransfer[];
  /** By `chain symbol`. */
  readonly balances: ReadonlyMap<string, bigint>;
  readonly decidedUntilSeconds: number;
  readonly hotWallet: {
    readonly sent: readonly ChainTransfer[];
    readonly balances: ReadonlyMap<string, bigint>;
    readonly transactions: number;
  };
}

interface RpcLog {
  readonly address: string;
  readonly topics: readonly [string, string, string];
  readonly data: string;
  readonly transactionHash: string;
  readonly blockNumber: string;
  readonly blockHash: string;
}

const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SYMBOLS = ['USDT', 'USDC'] as const;
const BATCH = 500;

/** Addresses are lower case. `holders` are deposit addresses, `confirmations` is the crediting depth. */
export async function readChainTruth(
  chain: ChainUnderTest,
  holders: readonly string[],
  hotWallet: string,
  confirmations: number,
): Promise<ChainTruth> {
  const { rpcUrl } = chain;
  const head = await chain.head();
  const symbolOf = new Map(SYMBOLS.map((symbol) => [chain.contractOf(symbol).toLowerCase(), symbol]));
  const logs = await callRpc<RpcLog[]>(rpcUrl, 'eth_getLogs', [
    {
      fromBlock: '0x0',
      toBlock: `0x${head.toString(16)}`,
      address: [...symbolOf.keys()],
      topics: [TRANSFER_TOPIC],
    },
  ]);
  const ours = new Set(holders);
  const payments = logs.filter((log) => ours.has(`0x${log.topics[2].slice(-40)}`));
  const payouts = logs.filter((log) => `0x${log.topics[1].slice(-40)}` === hotWallet);
  const times = await readBlockTimes(rpcUrl, [
    ...[...payments, ...payouts].map((log) => Number(log.blockNumber)),
    head - confirmations + 1,
  ]);
  const toTransfer = (log: RpcLog): ChainTransfer => ({
    chain: chain.chain,
    txHash: log.transactionHash,
    contract: log.address.toLowerCase(),
    symbol: symbolOf.get(log.address.toLowerCase()) ?? '',
    to: `0x${log.topics[2].slice(-40)}`,
    amount: BigInt(log.data),
    blockHeight: Number(log.blockNumber),
    blockHash: log.blockHash,
    blockTimeSeconds: times.get(Number(log.blockNumber)) ?? 0,
  });
  const balances = new Map<string, bigint>();
  const held = new Map([[`${chain.chain} ${chain.nativeSymbol}`, await chain.coins(hotWallet)]]);
  for (const [contract, symbol] of symbolOf) {
    balances.set(`${chain.chain} ${symbol}`, await readBalances(rpcUrl, contract, holders));
    held.set(`${chain.chain} ${symbol}`, await chain.balance(symbol, hotWallet));
  }
  const count = await callRpc<string>(rpcUrl, 'eth_getTransactionCount', [hotWallet, 'latest']);
  return {
    transfers: payments.map(toTransfer),
    balances,
    decidedUntilSeconds: times.get(head - confirmations + 1) ?? 0,
    hotWallet: { sent: payouts.map(toTransfer), balances: held, transactions: Number(count) },
  };
}

async function readBlockTimes(rpcUrl: string, heights: readonly number[]): Promise<Map<number, number>> {
  const wanted = [...new Set(heights)];
  const blocks = await callInBatches<{ timestamp: string }>(
    rpcUrl,
    wanted.map((height) => ({
      method: 'eth_getBlockByNumber',
      params: [`0x${height.toString(16)}`, false],
    })),
  );
  return new Map(wanted.map((height, index) => [height, Number(blocks[index]?.timestamp)]));
}

async function readBalances(rpcUrl: string, contract: string, holders: readonly string[]): Promise<bigint> {
  const tokens = contractInterface('UsdcLike');
  const balances = await callInBatches<string>(
    rpcUrl,
    holders.map((holder) => ({
      method: 'eth_call',
      params: [{ to: contract, data: tokens.encodeFunctionData('balanceOf', [holder]) }, 'latest'],
    })),
  );
  return balances.reduce((total, balance) => total + BigInt(balance), 0n);
}

async function callInBatches<Result>(
  rpcUrl: string,
  calls: readonly { readonly method: string; readonly params: readonly unknown[] }[],
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < calls.length; start += BATCH)
    results.push(...((await callRpcBatch(rpcUrl, calls.slice(start, start + BATCH))) as Result[]));
  return results;
}
