import type { TokenContract } from './token-contract.ts';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { Address } from './address-codec.ts';
import type { BlockHash } from './block.ts';

/** Written as its chain does; EVM: `0x` and 64 lower-case hex digits. */
export type TxHash = string & { readonly __brand: 'TxHash' };

/**
 * Position of a transfer in its transaction. Stays the same when the transaction is mined again in another block, and
 * does not depend on configuration: `log:<place of the log among the receipt's logs>` for tokens (EVM, TRON), `value`
 * for the native coin of the transaction itself. Not the node's logIndex, which counts through the block and changes.
 */
export type TransferPosition = string & { readonly __brand: 'TransferPosition' };

/** A transfer before its receipt is read: only for finding recipients, never shown, stored or credited. */
export interface CandidateTransfer {
  readonly txHash: TxHash;
  readonly blockHash: BlockHash;
  readonly blockHeight: number;
  /** EVM: logIndex; native transfers follow all logs, in the order of their transactions. Unique in its block only. */
  readonly indexInBlock: number;
  /** Null for the chain's native coin. */
  readonly contract: TokenContract | null;
  /** The zero address for minted tokens. */
  readonly from: Address;
  readonly to: Address;
  /** Never zero: transfers of zero are dropped. */
  readonly amountBaseUnits: BaseUnits;
}

/** Proven by the receipt: the transaction succeeded and its receipt contains the log, if any. */
export interface Transfer extends CandidateTransfer {
  readonly chain: Chain;
  readonly position: TransferPosition;
  /** Fee of the whole transaction, in base units of the chain's native coin. */
  readonly feeBaseUnits: BaseUnits;
}

export function transferKey(transfer: Pick<Transfer, 'chain' | 'txHash' | 'position'>): string {
  return `${transfer.chain}:${transfer.txHash}:${transfer.position}`;
}

export type { TokenContract };
