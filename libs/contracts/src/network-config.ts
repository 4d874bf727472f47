import type { Chain, Family } from '@opentill/domain/chains';
import { parseAmount, type BaseUnits } from '@opentill/domain/money';

/** How deep a transfer must be: a number of confirmations (1 = in the head block), or the chain's finalized tag. */
export type Confirmations = number | 'finalized';

/** A token as the operator configures it (one entry of `tokens` in a network file). */
export interface TokenConfig {
  readonly symbol: string;
  /**
   * Contract address or coin type; null takes in the native coin. Of that only the `value` of a transaction itself is
   * seen, not what a contract sends on while it runs.
   */
  readonly contract: string | null;
  readonly decimals: number;
  /** Decimals shown at least (2 for USDT). */
  readonly displayDecimals: number;
  /** Smallest and largest order in display units; null: no limit. */
  readonly minAmount: string | null;
  readonly maxAmount: string | null;
  /**
   * Display units. A transfer of less is booked, and neither moves its order nor causes a callback, unless it covers the order.
   * @default every transfer does
   */
  readonly dustBelow?: string;
}

/** One endpoint of a node or a provider. A network file may name it by its URL alone. */
export interface RpcEndpoint {
  /** On TRON a user name in it (`https://<key>@host`) is the provider's key, sent as `TRON-PRO-API-KEY`. */
  readonly url: string;
  /** What the provider allows; absent: as much as it takes without complaint. */
  readonly requestsPerSecond?: number;
  /** Most blocks in one eth_getLogs at this provider, where that is less than the network's `maxBlockRange`. */
  readonly maxBlockRange?: number;
}

/** How a network deals with a finalized height that comes late; only where `confirmations` is 'finalized'. */
export interface FinalityConfig {
  /** Alarm when the finalized height has not moved for so long. */
  readonly staleSeconds: number;
  /** Crediting also needs a block so deep (the head block = 1), however early it is called finalized. */
  readonly minDepth?: number;
  /** Once stale, a block so deep counts as final (the head block = 1). Absent: crediting holds until it moves. */
  readonly fallbackDepth?: number;
}

/**
 * For networks that do not set `maxGas`. Transfers of the tokens in use take up to 65,000 gas today and may take about 160,000 at the
 * prices that Ethereum's next fork plans: this is six times as much, and a sixteenth of the most that a transaction may have (EIP-7825).
 */
export const MAX_PAYOUT_GAS = 1_000_000;

/** How payouts of a network are sent. Fees in its native coin's base units per unit of gas, decimal strings. */
export interface PayoutsConfig {
  /** Most transactions of a wallet that are signed and not final: nodes keep a few of an account for sure (geth: 16). */
  readonly maxOpenNonces: number;
  /** No less is offered, whatever the chain's history says. */
  readonly minPriorityFeePerGas: string;
  /** No more is offered, and no more paid: what would need more waits. */
  readonly maxPriorityFeePerGas: string;
  readonly maxFeePerGas: string;
  /**
   * A payment that takes more gas is not sent: what a receiver's contract does with it would be paid for by the wallet. The sealed
   * policy keeps it: payout-signer does not start with another one.
   * @default MAX_PAYOUT_GAS
   */
  readonly maxGas?: number;
  /** A transaction not mined for so long is sent again with higher fees. */
  readonly bumpAfterSeconds: number;
  /** Alarm when a hot wallet has less native coin for fees. */
  readonly lowGasBaseUnits?: string;
  /** Alarm when a hot wallet has less of a token: display units by symbol. */
  readonly lowBalance?: Readonly<Record<string, string>>;
  /** More than this of a token does not belong into a hot wallet: display units by symbol. */
  readonly float?: Readonly<Record<string, string>>;
}

/** How payouts of TRON are sent. There are no nonces: a transaction lands until it expires, or never. */
export interface TronPayoutsConfig {
  /** Most payouts of a wallet that are signed and neither solid nor proven dead. */
  readonly maxOpenPayouts: number;
  /** How long a signed transaction can land. Short: another attempt at the payout waits for the end of it. */
  readonly expirationSeconds: number;
  /** In sun, a decimal string. No transaction may burn more for the work of a contract: what would need more waits. */
  readonly maxFeeLimitSun: string;
  /** What is added to the energy that a trial of the payment took. */
  readonly energyMarginPercent: number;
  /** Alarm when a hot wallet has less TRX, in sun. */
  readonly lowGasBaseUnits?: string;
  /** Alarm when a hot wallet has less of a token: display units by symbol. */
  readonly lowBalance?: Readonly<Record<string, string>>;
  /** More than this of a token does not belong into a hot wallet: display units by symbol. */
  readonly float?: Readonly<Record<string, string>>;
}

/** How payouts of SUI are sent. There are no nonces: a transaction lands until its epochs are over, or never. */
export interface SuiPayoutsConfig {
  /** Most payouts of a wallet that are signed and neither in a checkpoint nor proven dead. */
  readonly maxOpenPayouts: number;
  /** In MIST, a decimal string. No transaction may cost more: what would need more waits. */
  readonly maxGasBudgetMist: string;
  /** In MIST a unit, a decimal string. While an epoch's price is higher, nothing is sent. */
  readonly maxGasPriceMist: string;
  /** Alarm when a hot wallet has less SUI, in MIST. */
  readonly lowGasBaseUnits?: string;
  /** Alarm when a hot wallet has less of a token: display units by symbol. */
  readonly lowBalance?: Readonly<Record<string, string>>;
  /** More than this of a token does not belong into a hot wallet: display units by symbol. */
  readonly float?: Readonly<Record<string, string>>;
}

export type AnyPayoutsConfig = PayoutsConfig | TronPayoutsConfig | SuiPayoutsConfig;

export interface NetworkConfig {
  readonly chain: Chain;
  readonly family: Family;
  readonly enabled: boolean;
  /** EIP-155 chain id; only the EVM family has one. */
  readonly chainId?: number;
  /**
   * By what a network is known that has no chain id. TRON: the last four bytes of the id of block 0, `0x` and hex; SUI: the
   * digest of checkpoint 0, base58.
   */
  readonly genesisId?: string;
  readonly name: string;
  /** In the order of preference; read them by rpcEndpointsOf. */
  readonly rpcUrls: readonly (string | RpcEndpoint)[];
  /**
   * Where the nodes of `rpcUrls` serve `/walletsolidity`, in the same order: java-tron does on a port of its own,
   * hosted providers under the same URL. Only TRON. @default rpcUrls
   */
  readonly solidityUrls?: readonly string[];
  /** WebSocket URL for head wake-ups; polling stays the truth. */
  readonly wsUrl?: string;
  readonly nativeSymbol: string;
  readonly nativeDecimals: number;
  readonly confirmations: Confirmations;
  /** Deeper confirmations from an amount (display units) on; sorted by amount. */
  readonly confirmationsByAmount?: readonly { readonly fromAmount: string; readonly confirmations: number }[];
  /** What 'finalized' does when it stalls. */
  readonly finality?: FinalityConfig;
  /** Usual time between blocks: a guide for alarms and batch sizes, never for correctness. */
  readonly blockTimeMs: number;
  /** Alarm when the newest block is older; read it by headStaleSecondsOf. */
  readonly headStaleSeconds?: number;
  /**
   * With several endpoints, what credits rests on the agreement of two. One alone is believed when all others have
   * given no usable answer for so many seconds on end; 'never': not even then. @default ALONE_AFTER_SECONDS
   */
  readonly aloneAfterSeconds?: number | 'never';
  readonly pollIntervalMs: number;
  /** Blocks kept below the verified cursor; a fork below it stops the scanner. */
  readonly reorgWindow: number;
  /** Most blocks asked of the node at once. */
  readonly maxBlockRange: number;
  /** Whether the header's bloom speaks of the same block (not on Avalanche, evm.md section 1). Only EVM, and there always. */
  readonly bloom?: boolean;
  /** Transaction page of an explorer, `{txid}` is replaced. */
  readonly explorerTxUrl?: string;
  readonly tokens: readonly TokenConfig[];
  /**
   * Absent: payouts of this network are accepted and never signed; each says so, and ends when its time is up. Read it by
   * payoutTermsOf (EVM), tronPayoutTermsOf or suiPayoutTermsOf.
   */
  readonly payouts?: AnyPayoutsConfig;
}

/** Whether payouts are priced by gas and ordered by nonces, as in the EVM family. */
export function arePaidByGas(payouts: AnyPayoutsConfig): payouts is PayoutsConfig {
  return 'maxOpenNonces' in payouts;
}

/** Whether payouts end by epochs, as in the SUI family. */
export function areEndedByEpochs(payouts: AnyPayoutsConfig): payouts is SuiPayoutsConfig {
  return 'maxGasBudgetMist' in payouts;
}

/** The endpoints of a network, in the order of preference. */
export function rpcEndpointsOf(network: Pick<NetworkConfig, 'rpcUrls'>): readonly RpcEndpoint[] {
  return network.rpcUrls.map((endpoint) => (typeof endpoint === 'string' ? { url: endpoint } : endpoint));
}

export const ALONE_AFTER_SECONDS = 60;

const HEAD_STALE_SECONDS_MIN = 30;
const HEAD_STALE_BLOCKS = 20;

/** How old the newest block may be before it is an alarm: as configured, or 20 block times but at least 30 s. */
export function headStaleSecondsOf(network: Pick<NetworkConfig, 'headStaleSeconds' | 'blockTimeMs'>): number {
  const usual = Math.ceil((HEAD_STALE_BLOCKS * network.blockTimeMs) / 1_000);
  return network.headStaleSeconds ?? Math.max(HEAD_STALE_SECONDS_MIN, usual);
}

/** The token of a network by symbol, without regard to case. */
export function findToken(network: NetworkConfig, symbol: string): TokenConfig | undefined {
  return network.tokens.find((t) => t.symbol.toUpperCase() === symbol.toUpperCase());
}

/** The confirmations that an amount needs on a network: null means the finalized tag. */
export function confirmationsFor(
  network: NetworkConfig,
  token: TokenConfig,
  amount: BaseUnits,
): number | null {
  if (network.confirmations === 'finalized') return null;
  let required = network.confirmations;
  for (const tier of network.confirmationsByAmount ?? []) {
    const from = parseAmount(tier.fromAmount, token.decimals);
    if (from.ok && amount >= from.value) required = Math.max(required, tier.confirmations);
  }
  return required;
}
