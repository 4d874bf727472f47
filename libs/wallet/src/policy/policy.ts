import type { Address } from '@opentill/chain/address-codec';
import { familyOf, type Chain, type Family } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';

/** Parsed and checked policy of the signer. Amounts in base units. Everything that it does not name is refused. */
export interface Policy {
  readonly chains: ReadonlyMap<Chain, ChainPolicy>;
  /** If a family has an entry, its payouts go only to these addresses. */
  readonly allow: ReadonlyMap<Family, ReadonlyMap<Address, AllowedAddress>>;
  readonly deny: ReadonlyMap<Family, ReadonlySet<Address>>;
  /** Time from an allowed address's `since` until payouts to it start. */
  readonly coolingMs: number;
  readonly approvers: readonly Approver[];
  /** Different approvers required above `approvalAboveBaseUnits`. */
  readonly approvalsRequired: number;
  /** A payout that waits longer for approvals is refused. */
  readonly approvalWaitMs: number;
  /** Chains without nonces: signatures of one payout before each further one needs an operator's decision. */
  readonly maxAttemptsWithoutDecision: number;
}

export interface ChainPolicy {
  readonly enabled: boolean;
  /** Destination of sweeps above the float. */
  readonly coldAddress: Address | undefined;
  /** Undefined: no sweeps. */
  readonly sweep: SweepPolicy | undefined;
  /** By symbol as in the network file. */
  readonly assets: ReadonlyMap<string, AssetPolicy>;
}

/** Bounds of sweeps of a chain's deposit addresses. Native coin in base units. */
export interface SweepPolicy {
  /** `units` display units of a stablecoin per 10^`scale` native coins. */
  readonly nativePrice: { readonly units: bigint; readonly scale: number };
  readonly maxTopUpBaseUnits: BaseUnits;
  readonly maxNativePerDayBaseUnits: BaseUnits;
  /** Highest cost of a sweep as a share of the moved amount, in basis points. */
  readonly maxCostBps: number;
  /** Per unit of gas (EVM: wei; SUI: MIST) or energy (TRON: sun). Undefined: no limit. */
  readonly maxGasPriceBaseUnits: bigint | undefined;
  readonly minAgeMs: number;
  readonly maxAgeMs: number;
  /** Concurrent sweeps. */
  readonly batchSize: number;
  readonly stake: boolean;
  readonly rent: boolean;
  /** Limits of payments to an energy seller: per sweep, and in any 24 hours. */
  readonly maxRentPerOrderBaseUnits: BaseUnits;
  readonly maxRentPerDayBaseUnits: BaseUnits;
  /** SUI: move coins without a fee where the network offers it. False: the hot wallet pays. */
  readonly gasless: boolean;
}

/** Limits of one token on one chain, inclusive: one base unit more is refused. */
export interface AssetPolicy {
  /** Spelled as by `canonicalContract`. Null: native coin. */
  readonly contract: string | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly maxPerPayoutBaseUnits: BaseUnits;
  readonly maxPerHourBaseUnits: BaseUnits;
  readonly maxPerDayBaseUnits: BaseUnits;
  readonly maxPerMerchantPerDayBaseUnits: BaseUnits;
  /** Larger payouts need approvals. Zero: every payout; undefined: none. */
  readonly approvalAboveBaseUnits: BaseUnits | undefined;
  /** Target maximum of the hot wallet. Used by sweeps; does not limit payouts. */
  readonly floatBaseUnits: BaseUnits | undefined;
  /** Smaller amounts wait until `maxAgeMs`. Undefined: any amount that its cost allows. */
  readonly sweepMinBaseUnits: BaseUnits | undefined;
}

export interface AllowedAddress {
  readonly since: Date;
}

export interface Approver {
  readonly name: string;
  /** Ed25519, 64 lower-case hex digits. */
  readonly publicKey: string;
}

export interface PolicyPayout {
  readonly chain: Chain;
  readonly wallet: Address;
  /** Null: native coin. */
  readonly contract: string | null;
  readonly symbol: string;
  readonly decimals: number;
  readonly amountBaseUnits: bigint;
  readonly receiver: Address;
  readonly merchantId: string;
  readonly orderPk: string;
}

/** Lower-cases EVM contracts, which the network file may write with or without a checksum. */
export function canonicalContract(chain: Chain, contract: string | null): string | null {
  return contract !== null && familyOf(chain) === 'EVM' ? contract.toLowerCase() : contract;
}
