import { expect, test } from 'vitest';
import type { HeldPayment } from './sent-payments.ts';
import { watchPayment } from './watch-payment.ts';

const SENT: HeldPayment = {
  wallet: 'Wallet',
  walletId: 'w',
  state: 'SENT',
  transaction: '0xhash',
  explorerTxUrl: null,
  overdue: false,
};

async function reverted(
  held: HeldPayment | undefined,
  hasFailed?: (transaction: string) => Promise<boolean>,
) {
  const reverts: string[] = [];
  const pay = async () => ({ outcome: 'SENT' }) as const;
  await watchPayment({
    held: () => held,
    wallets: () => [{ id: 'w', name: 'Wallet', icon: null, pay, hasFailed }],
    onReverted: (transaction) => reverts.push(transaction),
  });
  return reverts;
}

test('reports a payment that its wallet shows as failed', async () => {
  expect(await reverted(SENT, async (transaction) => transaction === '0xhash')).toEqual(['0xhash']);
});

test.each<[string, HeldPayment | undefined, ((transaction: string) => Promise<boolean>) | undefined]>([
  ['no payment', undefined, async () => true],
  ['a payment that may be unsent', { ...SENT, state: 'UNSURE' }, async () => true],
  ['a payment without a hash', { ...SENT, transaction: null }, async () => true],
  ['a wallet that is missing', { ...SENT, walletId: 'other' }, async () => true],
  ['a wallet without receipts', SENT, undefined],
  ['not failed', SENT, async () => false],
])('reports no failure for %s', async (_what, held, hasFailed) => {
  expect(await reverted(held, hasFailed)).toEqual([]);
});
