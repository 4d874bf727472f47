import type { Chain, Family, NetworkKind } from '@opentill/domain/chains';
import { parseAmount, type BaseUnits } from '@opentill/domain/money';

/** Confirmations (1 = in the head block), or the chain's finalized tag. */
export type Confirmations = number | 'finalized';

export interface TokenConfig {
  readonly symbol: string;
  /** Contract address or coin type; null for the native coin, of which only a transaction's own `value` is detected. */
  readonly contract: string | null;
  readonly decimals: number;
  /** Minimum number of decimals (2 for USDT). */
  readonly displayDecimals: number;
  /** Smallest and largest order, in display units; null: no limit. */
  readonly minAmount: string | null;
  readonly maxAmount: string | null;
  /** Display units. A smaller transfer is booked, but moves an order only if it covers it. @default no limit */
  readonly dustBelow?: string;
}

export interface RpcEndpoint {
  /** On TRON a user name in the URL (`https://<key>@host`) is the provider's key, sent as `TRON-PRO-API-KEY`. */
  readonly url: string;
  /** Rate limit of the provider; absent: no limit until it refuses requests. */
  readonly requestsPerSecond?: number;
  /** Maximum blocks per eth_getLogs, if less than the network's `maxBlockRange`. */
  readonly maxBlockRange?: number;
}

export type FinalityTag = 'finalized' | 'safe';

export interface FinalityConfig {
  /**
   * `safe`: blocks whose data are on the base chain, which may still replace them with a reorganisation of its own. Only
   * EVM, and not with `payouts`. @default finalized
   */
  readonly tag?: FinalityTag;
  /** Seconds without progress of the finalized height that raise an alarm. */
  readonly staleSeconds: number;
  /** Crediting also needs this depth (the head block = 1), however early a block is finalized. */
  readonly minDepth?: number;
  /**
   * Once stale, a block of this depth counts as final (the head block = 1). Absent: crediting waits for progress. Not with
   * `safe`.
   */
  readonly fallbackDepth?: number;
}

/**
 * Transfers of the tokens in use take up to 65,000 gas, and about 160,000 at the prices planned for Ethereum's next
 * fork. A sixteenth of the limit per transaction (EIP-7825).
 */
export const MAX_PAYOUT_GAS = 1_000_000;

/** Fees in base units of the native coin per unit of gas, as decimal strings. */
export interface PayoutsConfig {
  /** Maximum transactions of a wallet that are signed and not final: nodes keep only some per account (geth: 16). */
  readonly maxOpenNonces: number;
  /** Applies even if recent blocks paid less. */
  readonly minPriorityFeePerGas: string;
  /** A payout that needs more waits. */
  readonly maxPriorityFeePerGas: string;
  readonly maxFeePerGas: string;
  /** The wallet pays for all that a receiver's contract does. Must equal the sealed policy. @default MAX_PAYOUT_GAS */
  readonly maxGas?: number;
  /** Seconds after which a transaction that is not mined is replaced with higher fees. */
  readonly bumpAfterSeconds: number;
  /** Alarm when a hot wallet has less native coin. */
  readonly lowGasBaseUnits?: string;
  /** Alarm when a hot wallet has less of a token: display units by symbol. */
  readonly lowBalance?: Readonly<Record<string, string>>;
  /** Upper limit of a hot wallet's balance of a token: display units by symbol. */
  readonly float?: Readonly<Record<string, string>>;
}

/** TRON has no nonces: a transaction can land until it expires. */
export interface TronPayoutsConfig {
  /** Maximum payouts of a wallet that are signed and neither solid nor proven dead. */
  readonly maxOpenPayouts: number;
  /** Validity of a signed transaction. Keep it short: another attempt at the payout waits for its end. */
  readonly expirationSeconds: number;
  /** Maximum fee of one contract call, in sun, a decimal string; a payout that needs more waits. */
  readonly maxFeeLimitSun: string;
  /** Percentage added to the energy that a simulation of the payment used. */
  readonly energyMarginPercent: number;
  /** Alarm when a hot wallet has less TRX, in sun. */
  readonly lowGasBaseUnits?: string;
  readonly lowBalance?: Readonly<Record<string, string>>;
  readonly float?: Readonly<Record<string, string>>;
}

/** SUI has no nonces: a transaction can land until its epochs end. */
export interface SuiPayoutsConfig {
  /** Maximum payouts of a wallet that are signed and neither in a checkpoint nor proven dead. */
  readonly maxOpenPayouts: number;
  /** Maximum cost of one transaction in MIST, a decimal string; a payout that needs more waits. */
  readonly maxGasBudgetMist: string;
  /** In MIST per unit, a decimal string. While the epoch's price is higher, no payout is sent. */
  readonly maxGasPriceMist: string;
  /** Alarm when a hot wallet has less SUI, in MIST. */
  readonly lowGasBaseUnits?: string;
  readonly lowBalance?: Readonly<Record<string, string>>;
  readonly float?: Readonly<Record<string, string>>;
}

export type AnyPayoutsConfig = PayoutsConfig | TronPayoutsConfig | SuiPayoutsConfig;

export interface NetworkConfig {
  readonly chain: Chain;
  readonly family: Family;
  readonly enabled: boolean;
  /** Required unless the chain is a preset; read with kindOf. */
  readonly kind?: NetworkKind;
  /** EIP-155 chain id; only EVM. */
  readonly chainId?: number;
  /** TRON: last four bytes of block 0's id, `0x` and hex. SUI: digest of checkpoint 0 in base58. EVM: absent. */
  readonly genesisId?: string;
  readonly name: string;
  /** In order of preference; read with rpcEndpointsOf. */
  readonly rpcUrls: readonly (string | RpcEndpoint)[];
  /** TRON: URLs of `/walletsolidity` in the order of `rpcUrls`; java-tron uses a separate port. @default rpcUrls */
  readonly solidityUrls?: readonly string[];
  /** WebSocket URL for new-head notifications. They only trigger a poll earlier. */
  readonly wsUrl?: string;
  readonly nativeSymbol: string;
  readonly nativeDecimals: number;
  readonly confirmations: Confirmations;
  /** More confirmations from an amount (display units) on; sorted by amount. */
  readonly confirmationsByAmount?: readonly { readonly fromAmount: string; readonly confirmations: number }[];
  /** Only if `confirmations` is 'finalized'. */
  readonly finality?: FinalityConfig;
  /** Usual time between blocks: used for alarms and batch sizes, never for correctness. */
  readonly blockTimeMs: number;
  /** Alarm when the newest block is older; read with headStaleSecondsOf. */
  readonly headStaleSeconds?: number;
  /**
   * Seconds without usable answers of all other endpoints until a single one may credit. @default ALONE_AFTER_SECONDS
   */
  readonly aloneAfterSeconds?: number | 'never';
  readonly pollIntervalMs: number;
  /** Between polls while the chain has no open work; read with restIntervalMsOf. */
  readonly restIntervalMs?: number;
  /** Blocks kept below the verified cursor; a fork below them stops the scanner. */
  readonly reorgWindow: number;
  readonly maxBlockRange: number;
  /** Whether the header's bloom covers the same block (not on Avalanche). Required for EVM, not allowed elsewhere. */
  readonly bloom?: boolean;
  /** `op-stack`: transactions also pay for their data, which receipts list separately. Only EVM. @default in the gas */
  readonly dataFee?: 'op-stack';
  /** Transaction page of an explorer; `{txid}` is replaced. */
  readonly explorerTxUrl?: string;
  readonly tokens: readonly TokenConfig[];
  /** Absent: payouts are accepted but never signed, and expire. payoutTermsOf and its siblings read it. */
  readonly payouts?: AnyPayoutsConfig;
}

export function arePaidByGas(payouts: AnyPayoutsConfig): payouts is PayoutsConfig {
  return 'maxOpenNonces' in payouts;
}

export function areEndedByEpochs(payouts: AnyPayoutsConfig): payouts is SuiPayoutsConfig {
  return 'maxGasBudgetMist' in payouts;
}

export function rpcEndpointsOf(network: Pick<NetworkConfig, 'rpcUrls'>): readonly RpcEndpoint[] {
  return network.rpcUrls.map((endpoint) => (typeof endpoint === 'string' ? { url: endpoint } : endpoint));
}

export const ALONE_AFTER_SECONDS = 60;

const HEAD_STALE_SECONDS_MIN = 30;
const HEAD_STALE_BLOCKS = 20;

/** The configured value, or 20 block times but at least 30 s. */
export function headStaleSecondsOf(network: Pick<NetworkConfig, 'headStaleSeconds' | 'blockTimeMs'>): number {
  const usual = Math.ceil((HEAD_STALE_BLOCKS * network.blockTimeMs) / 1_000);
  return network.headStaleSeconds ?? Math.max(HEAD_STALE_SECONDS_MIN, usual);
}

const REST_INTERVAL_MS = 30_000;

/** The configured value, or 30 s, but at least the poll interval. Equal to it, the scanner never rests. */
export function restIntervalMsOf(network: Pick<NetworkConfig, 'restIntervalMs' | 'pollIntervalMs'>): number {
  return Math.max(network.restIntervalMs ?? REST_INTERVAL_MS, network.pollIntervalMs);
}

/** True if blocks at the tag never change. With a number of confirmations, and with `safe`, they may. */
export function hasFinalBlocks({
  confirmations,
  finality,
}: Pick<NetworkConfig, 'confirmations' | 'finality'>): boolean {
  return confirmations === 'finalized' && finality?.tag !== 'safe';
}

/** Ethereum finalises within about 15 minutes, so a replaced safe block is rarely older than twice that. */
const SAFE_REORG_MS = 30 * 60 * 1_000;

/** Smallest `reorgWindow` with the tag `safe`, in blocks: a reorganisation below it would stop the scanner. */
export function safeReorgWindow(blockTimeMs: number): number {
  return Math.ceil(SAFE_REORG_MS / blockTimeMs);
}

export function findToken(network: NetworkConfig, symbol: string): TokenConfig | undefined {
  return network.tokens.find((t) => t.symbol.toUpperCase() === symbol.toUpperCase());
}

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
