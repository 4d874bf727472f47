import { getAddress } from 'ethers';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  headHeight,
  mine,
  payToken,
  reorg,
  setBlockTime,
  tokenBalance,
} from '@opentill/devnets/evm/start-evm-devnet';
import { waitForReceipt } from '@opentill/devnets/evm/transactions';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { RunningEvmChain } from '@opentill/local/start-chains';
import { tokensOf } from './tokens-of.ts';

export interface Payment {
  readonly to: string;
  /** Decimal string in display units. */
  readonly amount: string;
  readonly symbol?: string;
  /** Index of the paying customer account: 2, 3 or 4. @default 2 */
  readonly account?: number;
}

export interface MinedTransaction {
  readonly blockNum: number;
  readonly blockHash: string;
  readonly timestamp: number;
  readonly from: string;
  readonly fee: bigint;
}

export interface ReachableChain {
  readonly network: NetworkConfig;
  readonly node: Pick<RunningEvmChain['node'], 'rpcUrl'>;
}

export interface ChainUnderTest {
  readonly chain: string;
  readonly rpcUrl: string;
  readonly nativeSymbol: string;
  readonly nativeDecimals: number;
  contractOf(symbol: string): string;
  decimalsOf(symbol: string): number;
  baseUnits(symbol: string, amount: string): bigint;
  /** Resolves with the hash before the transaction is mined. */
  pay(payment: Payment): Promise<string>;
  mineByHand(): Promise<void>;
  mineByTime(): Promise<void>;
  mine(blocks?: number): Promise<void>;
  head(): Promise<number>;
  mined(txid: string): Promise<MinedTransaction>;
  rawTransaction(txid: string): Promise<string>;
  /** Replaces the last `depth` blocks. Each replacement goes into the block at its offset; 0 is the oldest. */
  reorg(depth: number, replacements?: Parameters<typeof reorg>[0]['replacements']): Promise<void>;
  coins(holder: string): Promise<bigint>;
  balance(symbol: string, holder: string): Promise<bigint>;
  /** Seconds by which the chain's time is ahead of the clock. */
  secondsAhead(): Promise<number>;
  /** Advances the chain's time from the next block on. */
  jump(seconds: number): Promise<void>;
}

interface RpcBlock {
  readonly timestamp: string;
}
interface RpcReceipt {
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly from: string;
  readonly gasUsed: string;
  readonly effectiveGasPrice: string;
}

export function createChainUnderTest({ network, node }: ReachableChain): ChainUnderTest {
  const { rpcUrl } = node;
  const { chain } = network;
  const { tokenOf, baseUnits } = tokensOf(network);
  const rpc = async <Result>(method: string, ...params: unknown[]) => callRpc<Result>(rpcUrl, method, params);

  return {
    chain,
    rpcUrl,
    nativeSymbol: network.nativeSymbol,
    nativeDecimals: network.nativeDecimals,
    contractOf: (symbol) => getAddress(tokenOf(symbol).contract),
    decimalsOf: (symbol) => tokenOf(symbol).decimals,
    baseUnits,
    pay: async ({ to, amount, symbol = 'USDT', account = 2 }) =>
      payToken({
        rpcUrl,
        token: tokenOf(symbol).contract,
        fromKey: devAccount(account).privateKey,
        to,
        amountBaseUnits: baseUnits(symbol, amount),
      }),
    mineByHand: async () => setBlockTime(rpcUrl, 0),
    mineByTime: async () => setBlockTime(rpcUrl, 1),
    mine: async (blocks = 1) => mine({ rpcUrl, blocks }),
    head: async () => headHeight(rpcUrl),
    async mined(txid) {
      await waitForReceipt(rpcUrl, txid);
      const receipt = await rpc<RpcReceipt>('eth_getTransactionReceipt', txid);
      const block = await rpc<RpcBlock>('eth_getBlockByHash', receipt.blockHash, false);
      return {
        blockNum: Number(receipt.blockNumber),
        blockHash: receipt.blockHash,
        timestamp: Number(block.timestamp),
        from: getAddress(receipt.from),
        fee: BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice),
      };
    },
    rawTransaction: async (txid) => rpc<string>('eth_getRawTransactionByHash', txid),
    reorg: async (depth, replacements = []) => reorg({ rpcUrl, depth, replacements }),
    coins: async (holder) => BigInt(await rpc<string>('eth_getBalance', holder, 'latest')),
    balance: async (symbol, holder) => tokenBalance(rpcUrl, tokenOf(symbol).contract, holder),
    async secondsAhead() {
      const block = await rpc<RpcBlock>('eth_getBlockByNumber', 'latest', false);
      return Number(block.timestamp) - Math.floor(Date.now() / 1000);
    },
    jump: async (seconds) => void (await rpc('evm_increaseTime', seconds)),
  };
}
