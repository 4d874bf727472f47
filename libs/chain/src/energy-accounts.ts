import type { Address } from './address-codec.ts';
import type { ReadOptions } from './chain-reader.ts';
import type { PaymentIntent } from './wallet-sender.ts';

/*
 * Chains where contract execution can be paid with a staked resource instead of coin (TRON: energy). Stake yields an
 * amount of it a day. Its owner, or a seller, may lend it to other addresses.
 */

/** Base units of the native coin (TRON: sun). Governance changes these prices, so they are never hard-coded. */
export interface WorkPrices {
  /** Per unit of execution (TRON: energy). */
  readonly perUnit: bigint;
  readonly perByte: bigint;
  /** Extra fee for sending an address its first coin. */
  readonly activation: bigint;
  readonly freeBytesOfNew: bigint;
}

/** Network totals: `units` of execution a day for `stake` base units of the native coin. Zeros: unknown. */
export interface StakeYield {
  readonly units: bigint;
  readonly stake: bigint;
}

export interface EnergyMarket {
  readonly prices: WorkPrices;
  readonly stakeYield: StakeYield;
}

export interface AddressMeans {
  /** Energy can be lent to active accounts only. */
  readonly isActive: boolean;
  readonly coinBaseUnits: bigint;
  /** Execution units from own stake and from energy lent to the address. */
  readonly workUnits: bigint;
  /** Bytes of the next transaction that are free; 0n where they cover no transaction. */
  readonly freeBytes: bigint;
}

/**
 * Reads how one network's transactions can be paid. From two sources' answers it takes the higher price and the smaller
 * means. Methods throw a GatewayError with a ReaderErrorCode.
 */
export interface EnergyAccounts {
  /** Asked for a wallet, because a node returns the network's totals with a known account. */
  market(wallet: Address, options?: ReadOptions): Promise<EnergyMarket>;
  /** Two sources must agree, because transactions are signed on this answer. See `aloneAfterSeconds`. */
  means(address: Address, options?: ReadOptions): Promise<AddressMeans>;
  /** Base units of the native coin. Excludes stake whose energy is in use. */
  delegable(wallet: Address, options?: ReadOptions): Promise<bigint>;
  /** Stake that `from` lends to `to`, in base units: the higher of two sources' answers. */
  lent(from: Address, to: Address, options?: ReadOptions): Promise<bigint>;
  /** Size of a transaction with this intent that calls no contract. Pure. */
  bytesOf(intent: PaymentIntent): bigint;
}
