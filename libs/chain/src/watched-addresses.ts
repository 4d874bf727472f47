import type { Address } from './address-codec.ts';

/** Addresses of one family, for readers that ask nodes for their logs only. */
export interface WatchedAddresses {
  /**
   * Deposit addresses and hot wallets; undefined if there are more than `max`. An address is stored before it is shown,
   * so a list that is read after a block exists contains every address that the block can pay.
   */
  recipients(max: number): Promise<readonly Address[] | undefined>;
  hotWallets(): Promise<ReadonlySet<Address>>;
}
