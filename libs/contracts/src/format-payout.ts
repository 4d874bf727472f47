import { verdictOf, type FateState } from '@opentill/domain/settle-payout';
import type { BaseUnits } from '@opentill/domain/money';
import type { TransferToFormat } from './format-order.ts';

/** A transaction of a payout that is in a block, or was; addresses in canonical form. */
export interface PayoutTransaction {
  readonly txHash: string;
  /** The hot wallet. */
  readonly wallet: string;
  readonly receiver: string;
  /** What the payout asks for. */
  readonly amount: BaseUnits;
  readonly state: FateState;
  readonly succeeded: boolean;
  readonly delivered: BaseUnits;
  /** In the native coin's base units. Below zero where more was given back than its work cost (SUI); shown as nothing. */
  readonly networkFee: bigint;
  readonly blockHeight: number;
  readonly blockTimeSeconds: number;
}

/**
 * How a payout's transaction is shown, in callbacks and in GET status alike. It shows what was delivered; where that is
 * nothing (a failed one), what was asked for. SUCCESS and FAILED are said at the crediting depth alone, as the order is.
 */
export function toPayoutTransfer(transaction: PayoutTransaction): TransferToFormat {
  const { delivered, amount, state } = transaction;
  const verdict = verdictOf(transaction);
  return {
    txHash: transaction.txHash,
    fromAddress: transaction.wallet,
    toAddress: transaction.receiver,
    amount: delivered > 0n ? delivered : amount,
    networkFee: transaction.networkFee > 0n ? transaction.networkFee : 0n,
    blockHeight: transaction.blockHeight,
    blockTimeSeconds: transaction.blockTimeSeconds,
    state: state === 'MINED' ? 'DETECTED' : state,
    status: verdict === 'LANDED' ? 'SUCCESS' : verdict === 'IN_BLOCK' ? 'PENDING' : 'FAILED',
  };
}
