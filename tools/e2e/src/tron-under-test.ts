import type { NetworkConfig } from '@opentill/contracts/network-config';
import {
  controlTronDevnet,
  payOnTronDevnet,
  tronBalance,
  tronTokenBalance,
  waitForTronReceipt,
} from '@opentill/devnets/tron/payments';
import type { BookedChain } from './check-books.ts';
import { tokensOf } from './tokens-of.ts';

export interface MinedTronTransaction {
  readonly blockNum: number;
  /** Unix seconds. */
  readonly timestamp: number;
  /** In sun. */
  readonly fee: bigint;
}

export interface ReachableTron {
  readonly network: NetworkConfig;
  readonly node: { readonly url: string };
}

export interface TronUnderTest extends BookedChain {
  readonly url: string;
  contractOf(symbol: string): string;
  baseUnits(symbol: string, amount: string): bigint;
  /** Pays from the devnet's first account. Resolves with the transaction id before it is in a block. */
  pay(payment: {
    readonly to: string;
    readonly amount: string;
    readonly symbol?: 'USDT' | 'USDC';
  }): Promise<string>;
  mined(txid: string): Promise<MinedTronTransaction>;
  control(name: string, body?: object): Promise<void>;
}

export function createTronUnderTest({ network, node }: ReachableTron): TronUnderTest {
  const { url } = node;
  const { tokenOf, baseUnits } = tokensOf(network);
  return {
    chain: network.chain,
    url,
    contractOf: (symbol) => tokenOf(symbol).contract,
    baseUnits,
    balance: async (symbol, holder) => tronTokenBalance(url, tokenOf(symbol).contract, holder),
    coins: async (holder) => tronBalance(url, holder),
    async pay({ to, amount, symbol = 'USDT' }) {
      const [txid = ''] = await payOnTronDevnet({
        url,
        to,
        symbol,
        amountBaseUnits: baseUnits(symbol, amount),
      });
      return txid;
    },
    async mined(txid) {
      const receipt = (await waitForTronReceipt(url, txid)) as {
        readonly blockNumber: number;
        readonly blockTimeStamp: number;
        readonly fee?: number;
      };
      return {
        blockNum: receipt.blockNumber,
        timestamp: Math.floor(receipt.blockTimeStamp / 1_000),
        fee: BigInt(receipt.fee ?? 0),
      };
    },
    async control(name, body) {
      await controlTronDevnet(url, name, body);
    },
  };
}
