import { findToken, rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Family } from '@opentill/domain/chains';
import { parseAmount } from '@opentill/domain/money';
import { DevnetRefusal } from './devnet-refusal.ts';
import { payOnEvm, EVM_CUSTOMER } from './pay-on-evm.ts';
import { payOnSui, SUI_CUSTOMER } from './pay-on-sui.ts';
import { payOnTron, TRON_CUSTOMER } from './pay-on-tron.ts';
import type { TokenPayment } from './token-payment.ts';

export interface DevnetPayment {
  readonly chain: string;
  readonly symbol: string;
  readonly to: string;
  /** Decimal string in display units. */
  readonly amount: string;
}

/** A local chain with its funded account, whose key is published. */
export interface DescribedNetwork {
  readonly chain: string;
  readonly name: string;
  readonly family: Family;
  readonly chainId?: number;
  readonly genesisId?: string;
  readonly rpcUrl: string;
  readonly confirmations: NetworkConfig['confirmations'];
  readonly tokens: readonly Pick<NetworkConfig['tokens'][number], 'symbol' | 'contract' | 'decimals'>[];
  readonly customer: { readonly address: string; readonly privateKey: string };
}

export interface DevnetWallet {
  /** RPC URL, tokens and a funded key of each chain, for payments by hand. */
  describe(): readonly DescribedNetwork[];
  /** Resolves with the transaction hash once the node accepted the payment. Throws DevnetRefusal. */
  pay(payment: DevnetPayment): Promise<string>;
}

interface Customer {
  /** A funded account with a published key. */
  readonly account: { readonly address: string; readonly privateKey: string };
  readonly pay: (payment: TokenPayment) => Promise<string>;
}

const CUSTOMERS: Readonly<Record<Family, Customer>> = {
  EVM: { account: EVM_CUSTOMER, pay: payOnEvm },
  TRON: { account: TRON_CUSTOMER, pay: payOnTron },
  SUI: { account: SUI_CUSTOMER, pay: payOnSui },
};

/** The devnets' customer wallet; the nodes sign. Serialises payments per chain: anvil reuses a nonce for parallel ones. */
export function createDevnetWallet(networks: readonly NetworkConfig[]): DevnetWallet {
  const lastSent = new Map<string, Promise<unknown>>();

  function inTurn(chain: string, send: () => Promise<string>): Promise<string> {
    const before = lastSent.get(chain) ?? Promise.resolve();
    const sent = before.then(send, send);
    lastSent.set(chain, sent);
    return sent;
  }

  return {
    describe: () => networks.map(describeNetwork),
    async pay(payment) {
      const network = networks.find((n) => n.chain === payment.chain);
      const token = network && findToken(network, payment.symbol);
      const customer = network && CUSTOMERS[network.family];
      if (!network || !customer || !token || token.contract === null) {
        throw new DevnetRefusal(
          `${payment.symbol} on ${payment.chain} is not a token of the devnets; GET /devnet.json lists them.`,
        );
      }
      const amount = parseAmount(payment.amount, token.decimals);
      if (!amount.ok)
        throw new DevnetRefusal(`${payment.amount} is not an amount of ${token.symbol}: ${amount.problem}.`);
      const rpcUrl = rpcEndpointsOf(network)[0]?.url ?? '';
      const payable = { ...token, contract: token.contract };
      const { to } = payment;
      return inTurn(network.chain, async () =>
        customer.pay({ network, rpcUrl, token: payable, to, amountBaseUnits: amount.value }),
      );
    },
  };
}

function describeNetwork(network: NetworkConfig): DescribedNetwork {
  return {
    chain: network.chain,
    name: network.name,
    family: network.family,
    ...(network.chainId === undefined ? {} : { chainId: network.chainId }),
    ...(network.genesisId === undefined ? {} : { genesisId: network.genesisId }),
    rpcUrl: rpcEndpointsOf(network)[0]?.url ?? '',
    confirmations: network.confirmations,
    tokens: network.tokens.map(({ symbol, contract, decimals }) => ({ symbol, contract, decimals })),
    customer: CUSTOMERS[network.family].account,
  };
}
