import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import type {
  NetworkConfig,
  PayoutsConfig,
  SuiPayoutsConfig,
  TronPayoutsConfig,
} from '@opentill/contracts/network-config';
import { MAX_PAYOUT_GAS } from '@opentill/contracts/network-config';
import { evmAddressCodec } from '../address.ts';
import type { SourceDefect } from '../check-network.ts';
import { checkNetwork } from '../check-network.ts';
import type { RpcExchange } from '../client.ts';
import type { SourceChange } from '../sources.ts';
import { sourcesOfNetwork } from '../sources-of-network.ts';
import type { SendAnswer } from './broadcast.ts';
import { broadcast } from './broadcast.ts';
import type { RefutedCount } from './count-claims.ts';
import { createCountClaims } from './count-claims.ts';
import { readCountAt, readLatestCount } from './count-transactions.ts';
import { estimateCancel } from './estimate-cancel.ts';
import { readDataFees } from './estimate-data-fee.ts';
import type { FeeBoundsText } from './fee-bounds.ts';
import { feeBoundsOf, raiseFees } from './fee-bounds.ts';
import { readPendingCount } from './pending-count.ts';
import { preparePayments } from './prepare-payments.ts';
import { readBalances } from './read-balances.ts';
import { readPayment } from './read-payment.ts';
import { readPrices } from './read-prices.ts';
import { differenceOfStored, signNothing, signPayment } from './sign-payment.ts';

export type EvmSenderNetwork = Pick<
  NetworkConfig,
  | 'chain'
  | 'chainId'
  | 'rpcUrls'
  | 'maxBlockRange'
  | 'blockTimeMs'
  | 'headStaleSeconds'
  | 'aloneAfterSeconds'
  | 'dataFee'
  | 'tokens'
> & {
  readonly payouts?: (FeeBoundsText & Pick<PayoutsConfig, 'maxGas'>) | TronPayoutsConfig | SuiPayoutsConfig;
};

export interface EvmSenderDeps {
  readonly backend: SignerBackend;
  /** @default 5000 */
  readonly requestTimeoutMs?: number;
  readonly onExchange?: (exchange: RpcExchange) => void;
  /** Raise an alarm for `wrongHash`. */
  readonly onSendAnswer?: (answer: SendAnswer) => void;
  /** Raise an alarm: a single source of several was accepted. */
  readonly onSingleSource?: (source: { readonly label: string }) => void;
  /** Raise an alarm. Called once per source. */
  readonly onCountRefuted?: (count: RefutedCount) => void;
  readonly onSourceChange?: (change: SourceChange) => void;
  readonly onFinding?: (finding: SourceDefect) => void;
  /** Monotonic. @default performance.now */
  readonly nowMs?: () => number;
  /** @default Date.now */
  readonly epochMs?: () => number;
}

const ignore = (): void => undefined;

export function createEvmSender(network: EvmSenderNetwork, deps: EvmSenderDeps): WalletSender {
  const { chain, chainId, payouts, dataFee } = network;
  if (chainId === undefined) throw new TypeError(`the network ${chain} has no chain id`);
  if (payouts === undefined || !('maxFeePerGas' in payouts))
    throw new TypeError(`the network ${chain} has no prices for payouts`);
  const bounds = feeBoundsOf(payouts);
  const maxGas = BigInt(payouts.maxGas ?? MAX_PAYOUT_GAS);
  const signing = { chainId, bounds, backend: deps.backend };
  const tokens = network.tokens.flatMap(({ contract, decimals }) => {
    if (contract === null) return [];
    const address = evmAddressCodec.parse(contract);
    if (address === undefined) throw new TypeError(`not the address of a token contract: ${contract}`);
    return [{ contract: address, decimals }];
  });
  const sources = sourcesOfNetwork(network, deps);
  const {
    onSendAnswer = ignore,
    onSingleSource = ignore,
    onFinding = ignore,
    onCountRefuted = ignore,
  } = deps;
  const claims = createCountClaims(onCountRefuted);
  const dataBounds = { ...bounds, chainId, maxGas };
  const dataFees: WalletSender['dataFees'] =
    dataFee && ((calls, options = {}) => readDataFees(sources, dataBounds, calls, options));

  return {
    chain,
    checkNetwork: (options: ReadOptions = {}) =>
      checkNetwork(sources, { tokens, onFinding, readsBlocks: false }, options),
    latestCount: (wallet, options = {}) => readLatestCount(sources, claims, wallet, options),
    countAt: (wallet, block, options = {}) =>
      readCountAt(sources, { claims, onSingleSource }, wallet, block, options),
    pendingCount: (wallet, options = {}) => readPendingCount(sources, claims, wallet, options),
    readPayment: (txHash, { height }, options = {}) =>
      readPayment(sources, { txHash, dataFee }, height, options),
    balances: (wallet, contracts, options = {}) => readBalances(sources, wallet, contracts, options),
    currentPrices: (options = {}) => readPrices(sources, bounds, options),
    prepare: (intents, options = {}) =>
      preparePayments(sources, { ...dataBounds, dataFee }, intents, options),
    ...(dataFees && { dataFees }),
    raise: (old, now) => raiseFees(old, now, bounds),
    sign: (intent, nonce, terms) => signPayment(signing, intent, nonce, terms),
    signCancel: async (wallet, nonce, { maxFeePerGas, maxPriorityFeePerGas }) => {
      const gasLimit = await estimateCancel(sources, wallet);
      const [dataFeeBaseUnits] = (await dataFees?.([{ wallet, intent: null, gasLimit }])) ?? [];
      const terms = { gasLimit, maxFeePerGas, maxPriorityFeePerGas };
      return signNothing(signing, wallet, nonce, {
        ...terms,
        ...(dataFeeBaseUnits !== undefined && { dataFeeBaseUnits }),
      });
    },
    differenceOf: (stored, claim) => differenceOfStored(chainId, stored, claim),
    broadcast: (signed, options = {}) => broadcast(sources, signed, onSendAnswer, options),
    sources: () => sources.health(),
  };
}
