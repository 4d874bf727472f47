import { classifyOutcome, type FateState } from '@opentill/domain/settle-payout';
import type { BaseUnits } from '@opentill/domain/money';
import type { TransferToFormat } from './format-order.ts';

/** A transaction of a payout that is or was in a block; addresses in canonical form. */
export interface PayoutTransaction {
  readonly txHash: string;
  readonly wallet: string;
  readonly receiver: string;
  readonly amount: BaseUnits;
  readonly state: FateState;
  readonly succeeded: boolean;
  readonly delivered: BaseUnits;
  /** Base units of the native coin. Negative when the storage rebate exceeded the cost (SUI); shown as 0. */
  readonly networkFee: bigint;
  readonly blockHeight: number;
  readonly blockTimeSeconds: number;
}

/** Shows the requested amount if none was delivered. SUCCESS and FAILED appear only at the crediting depth. */
export function toPayoutTransfer(transaction: PayoutTransaction): TransferToFormat {
  const { delivered, amount, state } = transaction;
  const verdict = classifyOutcome(transaction);
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
