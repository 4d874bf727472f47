import { expect, test } from 'vitest';
import type { HeldPayment } from './sent-payments.ts';
import { watchPayment } from './watch-payment.ts';

const SENT: HeldPayment = {
  wallet: 'Wallet',
  walletId: 'w',
  state: 'SENT',
  transaction: '0xhash',
  overdue: false,
};

async function reverted(
  held: HeldPayment | undefined,
  hasFailed?: (transaction: string) => Promise<boolean>,
) {
  const told: string[] = [];
  const pay = async () => ({ outcome: 'SENT' }) as const;
  await watchPayment({
    held: () => held,
    wallets: () => [{ id: 'w', name: 'Wallet', icon: null, pay, hasFailed }],
    onReverted: (transaction) => told.push(transaction),
  });
  return told;
}

test('what the wallet that sent it shows as failed is told', async () => {
  expect(await reverted(SENT, async (transaction) => transaction === '0xhash')).toEqual(['0xhash']);
});

test.each<[string, HeldPayment | undefined, ((transaction: string) => Promise<boolean>) | undefined]>([
  ['nothing held', undefined, async () => true],
  ['not known to be sent', { ...SENT, state: 'UNSURE' }, async () => true],
  ['without a hash', { ...SENT, transaction: null }, async () => true],
  ['of a wallet that is not here', { ...SENT, walletId: 'other' }, async () => true],
  ['of a wallet that does not tell', SENT, undefined],
  ['not failed', SENT, async () => false],
])('%s: nothing', async (_what, held, hasFailed) => {
  expect(await reverted(held, hasFailed)).toEqual([]);
});
