import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { Chain } from '@opentill/domain/chains';
import type { DepositAsset } from './store/unswept-balance.ts';

/** A token of a chain, or its native coin (contract null). Keyed by its symbol, like the ledger. */
export interface Asset {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  /** False for a native coin that is listed only because it pays fees. */
  readonly isConfigured: boolean;
}

/** The block at which ledger and chain are compared. */
export interface Anchor {
  readonly height: number;
  readonly hash: string;
  readonly time: Date;
}

export const HOT_ACCOUNTS = ['HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'HOT_GAS'] as const;

/** A ledger account, and the sum of the rows that it was booked from. Base units; a debit is positive. */
export interface Account {
  readonly kind: string;
  readonly symbol: string;
  readonly merchantId: string | null;
  readonly ledger: bigint;
  /** Null if no rows define it: the owner's account, and what is available in the hot wallet. */
  readonly rows: bigint | null;
}

export type OpenItemKind =
  /** A verified transfer to a deposit address that is not booked, or is booked as another amount. */
  | 'DEPOSIT_NOT_BOOKED'
  | 'TOP_UP_NOT_BOOKED'
  /** Booked, but its transfer to a hot wallet is in no block up to this one. */
  | 'TOP_UP_AHEAD'
  /** A payout in a block up to this one that the ledger still has in flight, or the reverse. */
  | 'PAYOUT_NOT_BOOKED'
  /** The network fee of an own transaction in a block up to this one. */
  | 'FEE_NOT_BOOKED';

/** A movement that the services have not booked yet. They book it within seconds. */
export interface OpenItem {
  readonly kind: OpenItemKind;
  readonly symbol: string;
  readonly txHash: string;
  /** Deposit address, hot wallet, or the merchant's order id of a payout. */
  readonly subject: string;
  /** Excess of the chain over the ledger because of it; negative: the ledger has more. */
  readonly amount: bigint;
  readonly ageSeconds: number;
}

/** The ledger of a chain and related rows, read in one snapshot. */
export interface Books {
  readonly chain: Chain;
  readonly anchor: Anchor;
  readonly assets: readonly Asset[];
  readonly accounts: readonly Account[];
  readonly openItems: readonly OpenItem[];
  /** Unswept balance of all deposit addresses by the scanner's records, by symbol, booked or not. */
  readonly received: ReadonlyMap<string, bigint>;
  /** Part of SUSPENSE that no order could take, by symbol. */
  readonly unmatched: ReadonlyMap<string, bigint>;
  readonly hotWallets: readonly HotWallet[];
  /** Deposit addresses with orders or money on the chain that payout-signer does not derive from its seed. */
  readonly foreignAddresses: readonly ForeignAddress[];
}

export interface ForeignAddress {
  readonly address: Address;
  readonly orderPk: string;
}

export interface HotWallet {
  readonly address: Address;
  /** Its known transactions in blocks up to the anchor, own and foreign ones; null: the gateway made none from it. */
  readonly knownTransactions: number | null;
  /** Open halts because of transactions that this database does not know; oldest first. */
  readonly doubts: readonly Doubt[];
}

export interface Doubt {
  readonly kind: 'FOREIGN_NONCE' | 'RESTORED';
  readonly reason: string;
  readonly since: Date;
}

/** A number on the chain; undefined if two sources differ. */
export type OnChain = bigint | undefined;

/** Facts of the chain about the hot wallets at the anchor. */
export interface HotOnChain {
  /** By symbol: the sum over all hot wallets. */
  readonly balances: ReadonlyMap<string, OnChain>;
  /** By address. */
  readonly transactions: ReadonlyMap<string, OnChain>;
}

/** An asset of a deposit address: balance on the chain, and recorded movements. */
export interface AddressReading {
  readonly address: Address;
  readonly symbol: string;
  readonly recorded: DepositAsset;
  readonly onChain: OnChain;
  /**
   * Native coin from third parties that is not an asset of orders. No scanner reads such transfers, and the coin pays
   * for sweeps. The true amount may be higher: part of it may have been spent unseen.
   */
  readonly unasked: bigint;
  /** Height of this reading. Later pages may be read at a newer block. */
  readonly height: number;
  readonly since: Date;
}

export interface FoundOnAddresses {
  readonly addresses: number;
  readonly heights: readonly number[];
  readonly named: readonly AddressReading[];
  readonly leftOff: number;
  /** Excess of all addresses by symbol, without `unasked`; undefined if two sources differ. */
  readonly more: ReadonlyMap<string, OnChain>;
  readonly unasked: ReadonlyMap<string, { readonly addresses: number; readonly amount: bigint }>;
}
