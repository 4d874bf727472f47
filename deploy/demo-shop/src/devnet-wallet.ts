import { evmAddressCodec } from '@opentill/chain-evm/address';
import { findToken, rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { parseAmount } from '@opentill/domain/money';

/**
 * The customer of the devnets: anvil's second default account. The mnemonic behind it is published with anvil, so
 * this key is worth nothing anywhere else.
 */
const EVM_CUSTOMER = {
  address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  privateKey: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
};
const TRANSFER_SELECTOR = 'a9059cbb';
const REQUEST_TIMEOUT_MS = 10_000;

export interface DevnetPayment {
  readonly chain: string;
  readonly symbol: string;
  readonly to: string;
  /** Decimal string in display units. */
  readonly amount: string;
}

export interface DevnetWallet {
  /** What a newcomer needs to pay by hand: per chain the RPC URL, the tokens and a funded key. */
  describe(): object;
  /** Pays as a customer and answers the transaction's hash as soon as the node has taken it. */
  pay(payment: DevnetPayment): Promise<string>;
}

/** The payment asked for is not possible; the message says what to mend. */
export class DevnetRefusal extends Error {}

/**
 * The devnets' customer wallet. The nodes hold its key and give out the nonces, one payment after the other: anvil
 * gives two that come at once the same nonce.
 */
export function createDevnetWallet(networks: readonly NetworkConfig[]): DevnetWallet {
  const lastSent = new Map<string, Promise<unknown>>();

  function inTurn(chain: string, send: () => Promise<string>): Promise<string> {
    const before = lastSent.get(chain) ?? Promise.resolve();
    const sent = before.then(send, send);
    lastSent.set(chain, sent);
    return sent;
  }

  return {
    describe: () => ({ networks: networks.map(describeNetwork) }),
    async pay(payment) {
      const network = networks.find((n) => n.chain === payment.chain);
      const token = network && findToken(network, payment.symbol);
      if (!network || !token || token.contract === null) {
        throw new DevnetRefusal(
          `${payment.symbol} on ${payment.chain} is not a token of the devnets; GET /devnet lists them.`,
        );
      }
      const to = evmAddressCodec.parse(payment.to);
      if (to === undefined) throw new DevnetRefusal(`${payment.to} is not an address of ${payment.chain}.`);
      const amount = parseAmount(payment.amount, token.decimals);
      if (!amount.ok)
        throw new DevnetRefusal(`${payment.amount} is not an amount of ${token.symbol}: ${amount.problem}.`);
      const data = `0x${TRANSFER_SELECTOR}${word(BigInt(to))}${word(amount.value)}`;
      const transaction = { from: EVM_CUSTOMER.address, to: token.contract, data };
      return inTurn(network.chain, () => sendTransaction(network, transaction));
    },
  };
}

function describeNetwork(network: NetworkConfig): object {
  return {
    chain: network.chain,
    family: network.family,
    chainId: network.chainId,
    rpcUrl: rpcEndpointsOf(network)[0]?.url,
    confirmations: network.confirmations,
    tokens: network.tokens.map(({ symbol, contract, decimals }) => ({ symbol, contract, decimals })),
    customer: EVM_CUSTOMER,
  };
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}

async function sendTransaction(
  network: NetworkConfig,
  transaction: { readonly from: string; readonly to: string; readonly data: string },
): Promise<string> {
  const rpcUrl = rpcEndpointsOf(network)[0]?.url ?? '';
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendTransaction', params: [transaction] }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  const answer = (await response.json()) as { result?: string; error?: { message: string } };
  if (answer.result === undefined) {
    throw new DevnetRefusal(
      `The node of ${network.chain} refused the payment: ${answer.error?.message ?? 'no answer'}.`,
    );
  }
  return answer.result;
}
