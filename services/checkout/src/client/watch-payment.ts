import type { HeldPayment } from './sent-payments.ts';
import type { PayingWallet, RemoteWallet } from './wallets/wallet.ts';

export interface WatchPaymentDeps {
  readonly held: () => HeldPayment | undefined;
  readonly wallets: () => readonly (PayingWallet | RemoteWallet)[];
  readonly onReverted: (transaction: string) => void;
}

/** The gateway cannot see a failed transaction, which moves no token. The wallet's answer only allows another try. */
export async function watchPayment({ held, wallets, onReverted }: WatchPaymentDeps): Promise<void> {
  const payment = held();
  if (payment?.state !== 'SENT' || payment.transaction === null) return;
  const { transaction, walletId } = payment;
  const wallet = wallets().find(({ id }) => id === walletId);
  if (wallet === undefined || 'connect' in wallet) return;
  if ((await wallet.hasFailed?.(transaction)) === true) onReverted(transaction);
}
