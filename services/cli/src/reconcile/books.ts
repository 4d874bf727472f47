import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { Chain } from '@opentill/domain/chains';
import type { Lying } from './store/unswept-balance.ts';

/** What can be had of a chain: a token, or its native coin (contract null). Keyed by its symbol, as the ledger is. */
export interface Asset {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  /** Whether the networks file takes it in. The native coin stands here also where it only pays fees. */
  readonly isConfigured: boolean;
}

/** The block at which books and chain are compared. */
export interface Anchor {
  readonly height: number;
  readonly hash: string;
  readonly time: Date;
}

/** The accounts that a hot wallet's balance is made of. */
export const HOT_ACCOUNTS = ['HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'HOT_GAS'] as const;

/** An account of the ledger, and what the rows it was booked from add up to. Base units; a debit is positive. */
export interface Account {
  readonly kind: string;
  readonly symbol: string;
  readonly merchantId: string | null;
  readonly ledger: bigint;
  /** Null where no rows say it: what the operator brought, and what is free in the hot wallet. */
  readonly rows: bigint | null;
}

/** Which books the chain is ahead of, or behind. */
export type OpenItemKind =
  /** A verified transfer to a deposit address that is not booked, or is booked as another amount. */
  | 'DEPOSIT_NOT_BOOKED'
  /** A verified transfer to a hot wallet that is not booked. */
  | 'TOP_UP_NOT_BOOKED'
  /** Booked, but its transfer to a hot wallet stands in no block up to this one. */
  | 'TOP_UP_AHEAD'
  /** A payout in a block up to this one that the ledger still has in flight, or the reverse. */
  | 'PAYOUT_NOT_BOOKED'
  /** The network fee of an own transaction in a block up to this one. */
  | 'FEE_NOT_BOOKED';

/** Something on its way between the chain and the ledger: the services book it within seconds. */
export interface OpenItem {
  readonly kind: OpenItemKind;
  readonly symbol: string;
  readonly txHash: string;
  /** Deposit address, hot wallet, or the merchant's order id of a payout. */
  readonly subject: string;
  /** What the chain has more than the ledger because of it; negative: less. */
  readonly amount: bigint;
  /** How long it has been waiting. */
  readonly ageSeconds: number;
}

/** What the books of a chain say, read at one moment. */
export interface Books {
  readonly chain: Chain;
  readonly anchor: Anchor;
  readonly assets: readonly Asset[];
  readonly accounts: readonly Account[];
  readonly openItems: readonly OpenItem[];
  /** On deposit addresses by what the scanner saw, by symbol, whether booked or not. */
  readonly received: ReadonlyMap<string, bigint>;
  /** Of SUSPENSE, by symbol: what no order could take. */
  readonly unmatched: ReadonlyMap<string, bigint>;
  readonly hotWallets: readonly HotWallet[];
  /** Deposit addresses with orders or money of the chain that payout-signer does not derive from its seed. */
  readonly foreignAddresses: readonly ForeignAddress[];
}

export interface ForeignAddress {
  readonly address: Address;
  readonly orderPk: string;
}

/** A hot wallet as the books know it. */
export interface HotWallet {
  readonly address: Address;
  /** Transactions of it that are known to stand in blocks up to the anchor, ours and foreign ones; null: it made none for us. */
  readonly knownTransactions: number | null;
  /** Open halts that say it sent what this database does not know, of the wallet or of its whole chain; oldest first. */
  readonly doubts: readonly Doubt[];
}

/** A halt that operators have to look into. */
export interface Doubt {
  readonly kind: 'FOREIGN_NONCE' | 'RESTORED';
  readonly reason: string;
  readonly since: Date;
}

/** A number of the chain; undefined where two sources say different things. */
export type OnChain = bigint | undefined;

/** What the chain says of the hot wallets at the anchor. */
export interface HotOnChain {
  /** By symbol: the sum over all hot wallets. */
  readonly balances: ReadonlyMap<string, OnChain>;
  /** By address. */
  readonly transactions: ReadonlyMap<string, OnChain>;
}

/** What a deposit address holds of an asset, and why. */
export interface AddressReading {
  readonly address: Address;
  readonly symbol: string;
  readonly lying: Lying;
  readonly onChain: OnChain;
  /**
   * Native coin that is no asset of orders and that somebody else sent, before now or ever: no scanner reads such, and it pays for
   * sweeps. As much may have been taken away again unseen.
   */
  readonly unasked: bigint;
  /** The block of this reading: later addresses of many may be read at a newer one. */
  readonly height: number;
  /** When the address was given out. */
  readonly since: Date;
}

/** What was found on deposit addresses. */
export interface FoundOnAddresses {
  readonly addresses: number;
  readonly heights: readonly number[];
  readonly named: readonly AddressReading[];
  readonly leftOff: number;
  /** By symbol: what all addresses together have more than they should, but what was unasked; undefined where two sources differ. */
  readonly more: ReadonlyMap<string, OnChain>;
  /** By symbol: see AddressReading. */
  readonly unasked: ReadonlyMap<string, { readonly addresses: number; readonly amount: bigint }>;
}
