import type { Address } from './address-codec.ts';
import type { ReadOptions } from './chain-reader.ts';
import type { PaymentIntent } from './wallet-sender.ts';

/*
 * Chains where contract execution can be paid with a staked resource instead of coin (TRON: energy). Stake yields an
 * amount of it a day. Its owner, or a seller, may lend it to other addresses.
 */

/**
 * Current prices of execution and bytes, in base units of the native coin (TRON: sun). Governance changes them, so
 * they are never hard-coded.
 */
export interface WorkPrices {
  /** Per unit of execution (TRON: energy). */
  readonly perUnit: bigint;
  readonly perByte: bigint;
  /** Extra fee that the sender pays when an address receives its first coin. */
  readonly activation: bigint;
  /** Free bytes per day of a new account. */
  readonly freeBytesOfNew: bigint;
}

/**
 * Execution that stake yields: `units` a day for `stake` base units of the native coin, network totals. Zeros: unknown.
 */
export interface StakeYield {
  readonly units: bigint;
  readonly stake: bigint;
}

export interface EnergyMarket {
  readonly prices: WorkPrices;
  readonly stakeYield: StakeYield;
}

export interface AddressMeans {
  /** The chain knows the address as an account. Energy can be lent to active accounts only. */
  readonly isActive: boolean;
  readonly coinBaseUnits: bigint;
  /** Units of execution that its own stake and energy lent to it pay for now. */
  readonly workUnits: bigint;
  /**
   * Bytes of the next transaction that are free, from stake or the daily allowance; 0n where they cover no transaction.
   */
  readonly freeBytes: bigint;
}

/**
 * Reads how one network's transactions can be paid. It takes the conservative answer of two sources: the higher
 * price, the smaller means. Methods throw a GatewayError with a ReaderErrorCode, as ChainReader does.
 */
export interface EnergyAccounts {
  /** Asked for a wallet, because a node returns the network's totals with a known account. */
  market(wallet: Address, options?: ReadOptions): Promise<EnergyMarket>;
  /**
   * Two configured sources must agree, because transactions are signed on this answer. A single source is accepted
   * when the others have failed for `aloneAfterSeconds`.
   */
  means(address: Address, options?: ReadOptions): Promise<AddressMeans>;
  /** Stake that the wallet can lend now, in base units of the native coin. Excludes stake whose energy is in use. */
  lendable(wallet: Address, options?: ReadOptions): Promise<bigint>;
  /**
   * Stake that `from` lends to `to` now, in base units: the higher of two sources' answers; 0n only when both report
   * none.
   */
  lent(from: Address, to: Address, options?: ReadOptions): Promise<bigint>;
  /** Size in bytes of a transaction with this intent that calls no contract. Pure. */
  bytesOf(intent: PaymentIntent): bigint;
}
