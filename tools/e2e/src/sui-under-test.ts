import type { NetworkConfig } from '@opentill/contracts/network-config';
import {
  controlSuiDevnet,
  payOnSuiDevnet,
  suiBalance,
  waitForSuiCheckpoint,
} from '@opentill/devnets/sui/payments';
import type { BookedChain } from './check-books.ts';
import { tokensOf } from './tokens-of.ts';

export interface ReachableSui {
  readonly network: NetworkConfig;
  readonly node: { readonly url: string };
}

export interface SuiUnderTest extends BookedChain {
  readonly url: string;
  coinTypeOf(symbol: string): string;
  baseUnits(symbol: string, amount: string): bigint;
  /** Pays from the devnet's first account. Resolves with the digest before the transaction is in a checkpoint. */
  pay(payment: {
    readonly to: string;
    readonly amount: string;
    readonly symbol?: 'USDT' | 'USDC';
    readonly form?: 'coin' | 'address';
  }): Promise<string>;
  checkpointOf(digest: string): Promise<number>;
  control(name: string, body?: object): Promise<void>;
}

const SUI_TYPE = '0x2::sui::SUI';

export function createSuiUnderTest({ network, node }: ReachableSui): SuiUnderTest {
  const { url } = node;
  const { tokenOf, baseUnits } = tokensOf(network);
  return {
    chain: network.chain,
    url,
    coinTypeOf: (symbol) => tokenOf(symbol).contract,
    baseUnits,
    balance: async (symbol, holder) => suiBalance(url, tokenOf(symbol).contract, holder),
    coins: async (holder) => suiBalance(url, SUI_TYPE, holder),
    async pay({ to, amount, symbol = 'USDT', form = 'coin' }) {
      const amountBaseUnits = baseUnits(symbol, amount);
      const [digest = ''] = await payOnSuiDevnet({ url, to, symbol, form, amountBaseUnits });
      return digest;
    },
    checkpointOf: async (digest) => waitForSuiCheckpoint(url, digest),
    async control(name, body) {
      await controlSuiDevnet(url, name, body);
    },
  };
}
