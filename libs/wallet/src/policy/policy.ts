import type { Address } from '@opentill/chain/address-codec';
import { familyOf, type Chain, type Family } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';

/** Amounts in base units. Everything that the policy does not name is refused. */
export interface Policy {
  readonly chains: ReadonlyMap<Chain, ChainPolicy>;
  /** If a family has an entry, its payouts go only to these addresses. */
  readonly allow: ReadonlyMap<Family, ReadonlyMap<Address, AllowedAddress>>;
  readonly deny: ReadonlyMap<Family, ReadonlySet<Address>>;
  /** Counts from an allowed address's `since`. */
  readonly coolingMs: number;
  readonly approvers: readonly Approver[];
  /** Required above `approvalAboveBaseUnits`. */
  readonly approvalsRequired: number;
  /** Then the payout is refused. */
  readonly approvalWaitMs: number;
  /** Without nonces: signatures of one payout before each further one needs an operator's decision. */
  readonly maxAttemptsWithoutDecision: number;
}

export interface ChainPolicy {
  readonly enabled: boolean;
  readonly coldAddress: Address | undefined;
  /** Undefined: no sweeps. */
  readonly sweep: SweepPolicy | undefined;
  readonly assets: ReadonlyMap<string, AssetPolicy>;
}

export interface SweepPolicy {
  /** `units` display units of a stablecoin per 10^`scale` native coins. */
  readonly nativePrice: { readonly units: bigint; readonly scale: number };
  readonly maxTopUpBaseUnits: BaseUnits;
  readonly maxNativePerDayBaseUnits: BaseUnits;
  /** Share of the moved amount, in basis points. */
  readonly maxCostBps: number;
  /** Per unit of gas (EVM: wei; SUI: MIST) or energy (TRON: sun). Undefined: no limit. */
  readonly maxGasPriceBaseUnits: bigint | undefined;
  readonly minAgeMs: number;
  readonly maxAgeMs: number;
  readonly batchSize: number;
  readonly stake: boolean;
  readonly rent: boolean;
  /** Per sweep, and in any 24 hours. */
  readonly maxRentPerOrderBaseUnits: BaseUnits;
  readonly maxRentPerDayBaseUnits: BaseUnits;
  /** SUI: move coins without a fee where the network offers it. False: the hot wallet pays. */
  readonly gasless: boolean;
}

/** Inclusive: one base unit more is refused. */
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
  /** Sweeps respect it; payouts are not limited by it. */
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

/** The network file may write EVM contracts with or without a checksum. */
export function canonicalContract(chain: Chain, contract: string | null): string | null {
  return contract !== null && familyOf(chain) === 'EVM' ? contract.toLowerCase() : contract;
}
