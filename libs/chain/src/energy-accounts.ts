import type { Address } from './address-codec.ts';
import type { ReadOptions } from './chain-reader.ts';
import type { PaymentIntent } from './wallet-sender.ts';

/*
 * Where the work of contracts can be paid for otherwise than in coin (TRON: energy): stake gives so much of it a day, and may be
 * lent to other addresses, by its owner or by somebody who sells that.
 */

/** What work and bytes cost now, base units of the native coin (TRON: sun). Governance changes it: never written down. */
export interface WorkPrices {
  /** Of a unit of work (TRON: energy). */
  readonly perUnit: bigint;
  /** Of a byte of a transaction. */
  readonly perByte: bigint;
  /** What the first coin that comes to an address costs whoever sends it, besides. */
  readonly activation: bigint;
  /** Bytes of a day that cost a new account nothing. */
  readonly freeBytesOfNew: bigint;
}

/** How much work stake buys: `units` a day for `stake` base units of the native coin, of everybody. Zeros: nobody knows. */
export interface StakeYield {
  readonly units: bigint;
  readonly stake: bigint;
}

export interface EnergyMarket {
  readonly prices: WorkPrices;
  readonly stakeYield: StakeYield;
}

/** What an address can pay with. */
export interface AddressMeans {
  /** Whether the chain knows the address as an account: only to such a one anything can be lent. */
  readonly isActive: boolean;
  readonly coinBaseUnits: bigint;
  /** Units of work that its own stake, or what is lent to it, pays for now. */
  readonly workUnits: bigint;
  /** Bytes of the next transaction that cost nothing, of stake or of the day's free ones; 0n where they are too few for any. */
  readonly freeBytes: bigint;
}

/**
 * Reads of one network how work is paid for. Of two sources what is worse to rest on: the dearer price, the smaller means. Every
 * method throws a GatewayError with a ReaderErrorCode, as ChainReader does.
 */
export interface EnergyAccounts {
  /** As it is told to whoever asks of this wallet: a node names the totals beside an account that it knows. */
  market(wallet: Address, options?: ReadOptions): Promise<EnergyMarket>;
  /**
   * Agreed by two sources where two are configured, as whatever is signed on its strength: what is lent is there when both say
   * so. One alone is believed when the others have given no answer for so long that it may stand alone.
   */
  means(address: Address, options?: ReadOptions): Promise<AddressMeans>;
  /** How much stake the wallet can lend now, base units of the native coin: what stands behind used work cannot be. */
  lendable(wallet: Address, options?: ReadOptions): Promise<bigint>;
  /** How much stake `from` lends to `to` now, base units: the more that one of two sources names; 0n only when both say nothing. */
  lent(from: Address, to: Address, options?: ReadOptions): Promise<bigint>;
  /** How many bytes a transaction takes that does this and calls no contract. Pure. */
  bytesOf(intent: PaymentIntent): bigint;
}
