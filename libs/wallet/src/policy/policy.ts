import type { Address } from '@opentill/chain/address-codec';
import { familyOf, type Chain, type Family } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';

/** What the signer may pay, as parsed and checked; amounts in base units. Whatever a policy lacks is refused. */
export interface Policy {
  readonly chains: ReadonlyMap<Chain, ChainPolicy>;
  /** For a family that stands here, payouts go to these addresses alone. */
  readonly allow: ReadonlyMap<Family, ReadonlyMap<Address, AllowedAddress>>;
  readonly deny: ReadonlyMap<Family, ReadonlySet<Address>>;
  /** How long an allowed address waits from its `since` on before it is paid. */
  readonly coolingMs: number;
  readonly approvers: readonly Approver[];
  /** How many different approvers a payout above `approvalAboveBaseUnits` needs. */
  readonly approvalsRequired: number;
  /** A payout that has been waiting for its approvals for so long is refused. */
  readonly approvalWaitMs: number;
  /** A payout that was signed so often gets each further attempt only by an operator's decision; for chains without nonces. */
  readonly maxAttemptsWithoutDecision: number;
}

export interface ChainPolicy {
  readonly enabled: boolean;
  /** Where what exceeds the float is swept to. */
  readonly coldAddress: Address | undefined;
  /** Undefined: nothing is swept. */
  readonly sweep: SweepPolicy | undefined;
  /** By symbol as the network file spells it. */
  readonly assets: ReadonlyMap<string, AssetPolicy>;
}

/** The bounds within which deposit addresses of a chain are emptied. Native coin in base units. */
export interface SweepPolicy {
  /** `units` display units of a stablecoin for 10^`scale` native coins. */
  readonly nativePrice: { readonly units: bigint; readonly scale: number };
  readonly maxTopUpBaseUnits: BaseUnits;
  readonly maxNativePerDayBaseUnits: BaseUnits;
  /** The most that a sweep may cost of what it moves, in hundredths of a percent. */
  readonly maxCostBps: number;
  /** Of a unit of gas (EVM: wei; SUI: MIST) or energy (TRON: sun); undefined: any. */
  readonly maxGasPriceBaseUnits: bigint | undefined;
  readonly minAgeMs: number;
  readonly maxAgeMs: number;
  /** Sweeps under way at once. */
  readonly batchSize: number;
  readonly stake: boolean;
  readonly rent: boolean;
  /** What a seller of energy may be paid for one sweep, and in any 24 hours. */
  readonly maxRentPerOrderBaseUnits: BaseUnits;
  readonly maxRentPerDayBaseUnits: BaseUnits;
  /** Whether coins are moved without a fee where the network offers that (SUI). Off: the hot wallet pays. */
  readonly gasless: boolean;
}

/** Limits of one token on one chain. A payout that reaches a limit passes; one base unit more is refused. */
export interface AssetPolicy {
  /** As `canonicalContract` spells it; null is the native coin. */
  readonly contract: string | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  readonly maxPerPayoutBaseUnits: BaseUnits;
  readonly maxPerHourBaseUnits: BaseUnits;
  readonly maxPerDayBaseUnits: BaseUnits;
  readonly maxPerMerchantPerDayBaseUnits: BaseUnits;
  /** A payout of more than this needs approvals; zero: every payout; undefined: none. */
  readonly approvalAboveBaseUnits: BaseUnits | undefined;
  /** What the hot wallet is meant to hold at most. Read by sweeps; no limit of payouts. */
  readonly floatBaseUnits: BaseUnits | undefined;
  /** Less than this is not swept before it is old; undefined: any amount is worth it that its cost allows. */
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

/** A payout as the policy and its approvers see it. */
export interface PolicyPayout {
  readonly chain: Chain;
  /** The hot wallet that pays. */
  readonly wallet: Address;
  /** Null for the native coin. */
  readonly contract: string | null;
  /** As the network file spells it. */
  readonly symbol: string;
  readonly decimals: number;
  readonly amountBaseUnits: bigint;
  readonly receiver: Address;
  readonly merchantId: string;
  readonly orderPk: string;
}

/** One spelling for a contract: EVM networks may write it with a checksum or without. */
export function canonicalContract(chain: Chain, contract: string | null): string | null {
  return contract !== null && familyOf(chain) === 'EVM' ? contract.toLowerCase() : contract;
}
