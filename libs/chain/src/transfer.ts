import type { TokenContract } from './token-contract.ts';
import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { Address } from './address-codec.ts';
import type { BlockHash } from './block.ts';

/** A transaction's hash as its chain writes it; EVM: `0x` and 64 lower-case hex digits. */
export type TxHash = string & { readonly __brand: 'TxHash' };

/**
 * Where in its transaction a transfer stands, by a string that no configuration can shift and that stays the same
 * when the transaction is mined again in another block: `log:<place of the log among the receipt's logs>` for tokens
 * (EVM, TRON), `value` for the native coin that the transaction itself carries. Not the node's logIndex, which counts
 * through the block and changes.
 */
export type TransferPosition = string & { readonly __brand: 'TransferPosition' };

/**
 * A transfer as a block's logs or transactions state it, before its receipt was read. Good for finding out whose
 * recipients they are; never to be shown, stored or credited: only a Transfer is.
 */
export interface CandidateTransfer {
  readonly txHash: TxHash;
  readonly blockHash: BlockHash;
  readonly blockHeight: number;
  /**
   * Place among everything the block records (EVM: logIndex; native transfers stand behind all logs, in the order of
   * their transactions). Unique in a block; meaningless in any other block.
   */
  readonly indexInBlock: number;
  /** Null for the chain's native coin. */
  readonly contract: TokenContract | null;
  /** The zero address for minted tokens. */
  readonly from: Address;
  readonly to: Address;
  /** Never zero: transfers of nothing are not transfers. */
  readonly amountBaseUnits: BaseUnits;
}

/** A transfer that the receipt of its transaction proves: the transaction succeeded and the log, if any, is in it. */
export interface Transfer extends CandidateTransfer {
  readonly chain: Chain;
  /** With `chain` and `txHash` the natural key. */
  readonly position: TransferPosition;
  /** What the sender paid for the whole transaction, in base units of the chain's native coin. */
  readonly feeBaseUnits: BaseUnits;
}

/** The natural key as one string, `chain:txHash:position`. */
export function transferKey(transfer: Pick<Transfer, 'chain' | 'txHash' | 'position'>): string {
  return `${transfer.chain}:${transfer.txHash}:${transfer.position}`;
}

export type { TokenContract };
