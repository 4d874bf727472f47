import type { HeldPayment } from './sent-payments.ts';
import type { PayingWallet } from './wallets/wallet.ts';

export interface WatchPaymentDeps {
  /** What is held now. */
  readonly held: () => HeldPayment | undefined;
  readonly wallets: () => readonly PayingWallet[];
  readonly onReverted: (transaction: string) => void;
}

/**
 * Looks once whether what a wallet has sent failed in a block. The gateway does not see that: a transaction that failed
 * moves no token. So the wallet that sent it is asked, of which nobody believes more than that another try may be offered.
 */
export async function watchPayment({ held, wallets, onReverted }: WatchPaymentDeps): Promise<void> {
  const payment = held();
  if (payment?.state !== 'SENT' || payment.transaction === null) return;
  const { transaction, walletId } = payment;
  const wallet = wallets().find(({ id }) => id === walletId);
  if ((await wallet?.hasFailed?.(transaction)) === true) onReverted(transaction);
}
