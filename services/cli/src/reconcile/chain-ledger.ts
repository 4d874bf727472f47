import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { Chain } from '@opentill/domain/chains';
import type { DepositAsset } from './store/unswept-balance.ts';

/** The contract is null for the native coin. Keyed by its symbol, like the ledger. */
export interface Asset {
  readonly symbol: string;
  readonly contract: TokenContract | null;
  readonly decimals: number;
  readonly displayDecimals: number;
  /** False for a native coin that is listed only because it pays fees. */
  readonly isConfigured: boolean;
}

export interface Anchor {
  readonly height: number;
  readonly hash: string;
  readonly time: Date;
}

export const HOT_ACCOUNTS = ['HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'HOT_GAS'] as const;

/** `rows`: the sum of the rows that the balance was booked from. Base units; a debit is positive. */
export interface Account {
  readonly kind: string;
  readonly symbol: string;
  readonly merchantId: string | null;
  readonly ledger: bigint;
  /** Null if no rows define it: the owner's account, and HOT_AVAILABLE. */
  readonly rows: bigint | null;
}

export type OpenItemKind =
  /** A verified transfer to a deposit address that is not booked, or is booked as another amount. */
  | 'DEPOSIT_NOT_BOOKED'
  | 'TOP_UP_NOT_BOOKED'
  /** Booked, but its transfer to a hot wallet is in no block up to this one. */
  | 'TOP_UP_AHEAD'
  /** In a block up to this one, but in flight in the ledger; or the reverse. */
  | 'PAYOUT_NOT_BOOKED'
  | 'FEE_NOT_BOOKED';

/** The services book it within seconds. */
export interface OpenItem {
  readonly kind: OpenItemKind;
  readonly symbol: string;
  readonly txHash: string;
  /** Deposit address, hot wallet, or the merchant's order id of a payout. */
  readonly subject: string;
  /** The chain's excess over the ledger because of it; negative: the ledger has more. */
  readonly amount: bigint;
  readonly ageSeconds: number;
}

export interface ChainLedger {
  readonly chain: Chain;
  readonly anchor: Anchor;
  readonly assets: readonly Asset[];
  readonly accounts: readonly Account[];
  readonly openItems: readonly OpenItem[];
  /** Unswept balance of all deposit addresses by the scanner's records, booked or not, by symbol. */
  readonly received: ReadonlyMap<string, bigint>;
  /** Part of SUSPENSE that no order could take, by symbol. */
  readonly unmatched: ReadonlyMap<string, bigint>;
  readonly hotWallets: readonly HotWallet[];
  /** They have orders or money on the chain, but payout-signer does not derive them from its seed. */
  readonly foreignAddresses: readonly ForeignAddress[];
}

export interface ForeignAddress {
  readonly address: Address;
  readonly orderPk: string;
}

export interface HotWallet {
  readonly address: Address;
  /** Counts blocks up to the anchor, own and foreign ones; null: the gateway made none from it. */
  readonly knownTransactions: number | null;
  /** Open halts because of transactions that this database does not know; oldest first. */
  readonly doubts: readonly Doubt[];
}

export interface Doubt {
  readonly kind: 'FOREIGN_NONCE' | 'RESTORED';
  readonly reason: string;
  readonly since: Date;
}

export type OnChain = bigint | undefined;

export interface HotOnChain {
  readonly balances: ReadonlyMap<string, OnChain>;
  readonly transactions: ReadonlyMap<string, OnChain>;
}

export interface AddressReading {
  readonly address: Address;
  readonly symbol: string;
  readonly recorded: DepositAsset;
  readonly onChain: OnChain;
  /** Native coin from third parties that is not an asset of orders: no scanner reads it. Part may have been spent. */
  readonly unasked: bigint;
  /** Later pages may be read at a newer block. */
  readonly height: number;
  readonly since: Date;
}

export interface FoundOnAddresses {
  readonly addresses: number;
  readonly heights: readonly number[];
  readonly named: readonly AddressReading[];
  readonly leftOff: number;
  /** Sum of all addresses by symbol, without `unasked`; undefined if two sources differ. */
  readonly more: ReadonlyMap<string, OnChain>;
  readonly unasked: ReadonlyMap<string, { readonly addresses: number; readonly amount: bigint }>;
}
