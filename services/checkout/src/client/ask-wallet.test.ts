import { expect, test } from 'vitest';
import { aStorage } from '../../test/support/a-storage.ts';
import { anOrder } from '../../test/support/an-order.ts';
import type { CheckoutOrder } from '../view/checkout-order.ts';
import { askWallet } from './ask-wallet.ts';
import { createSentPayments, type HeldPayment } from './sent-payments.ts';
import type { WalletOutcome } from './wallets/wallet.ts';

const NOW = 1_800_000_000;

/** A tab of the page, with a wallet that answers as the test decides. */
function aTab({
  storage = aStorage(),
  order = anOrder(),
  answer = async () => ({ outcome: 'SENT' }),
}: {
  storage?: ReturnType<typeof aStorage>;
  order?: CheckoutOrder | undefined;
  answer?: () => Promise<WalletOutcome>;
}) {
  const sent = createSentPayments('a', storage, () => 0);
  const paid: string[] = [];
  const heldWhenAsked: (HeldPayment | undefined)[] = [];
  const wallet = {
    id: 'w',
    name: 'Wallet',
    icon: null,
    async pay(asked: CheckoutOrder) {
      paid.push(asked.amount);
      heldWhenAsked.push(createSentPayments('a', storage, () => 0).find(asked, NOW));
      return answer();
    },
  };
  const deps = { sent, refresh: async () => order, nowSeconds: () => NOW };
  return { paid, heldWhenAsked, held: () => sent.find(anOrder(), NOW), ask: () => askWallet(deps, wallet) };
}

test.each([
  ['SENT', 'walletSent', 'SENT'],
  ['FAILED', 'walletFailed', 'UNSURE'],
  ['REFUSED', 'walletRefused', undefined],
  ['WRONG_NETWORK', 'walletWrongNetwork', undefined],
  ['UNABLE', 'walletUnable', undefined],
  ['NOT_READY', 'walletNotReady', undefined],
] as const)(
  '%s: it is remembered before the wallet is asked, and then %s, %s',
  async (outcome, text, state) => {
    const tab = aTab({ answer: async () => ({ outcome }) });
    expect(await tab.ask()).toEqual({ text, wallet: 'Wallet' });
    expect(tab.heldWhenAsked).toMatchObject([{ wallet: 'Wallet', walletId: 'w', state: 'UNSURE' }]);
    expect(tab.held()?.state).toBe(state);
  },
);

test('a wallet that throws may have sent', async () => {
  const tab = aTab({ answer: () => Promise.reject(new Error('gone')) });
  expect(await tab.ask()).toMatchObject({ text: 'walletFailed' });
  expect(tab.held()?.state).toBe('UNSURE');
});

test('no wallet is asked while another tab’s may have sent', async () => {
  const storage = aStorage();
  void aTab({ storage, answer: () => new Promise(() => undefined) }).ask();
  const other = aTab({ storage });
  await Promise.resolve();
  expect(await other.ask()).toBeNull();
  expect(other.paid).toEqual([]);
});

test('no wallet is asked by what is not the server’s newest word', async () => {
  const offline = aTab({});
  const deps = { refresh: async () => undefined, nowSeconds: () => NOW };
  const sent = createSentPayments('a', aStorage(), () => 0);
  const wallet = { id: 'w', name: 'Wallet', icon: null, pay: async () => ({ outcome: 'SENT' }) as const };
  expect(await askWallet({ ...deps, sent }, wallet)).toEqual({ text: 'walletNotAsked', wallet: 'Wallet' });
  expect([sent.find(anOrder(), NOW), offline.paid]).toEqual([undefined, []]);
});

test.each([
  { status: 'PENDING_CONFIRMATION' },
  { expiredTime: NOW + 44 },
  { reason: 'Reorganised' },
] as const)('no wallet is asked for an order that is not payable: %j', async (fields) => {
  const tab = aTab({ order: anOrder(fields) });
  expect(await tab.ask()).toBeNull();
  expect(tab.paid).toEqual([]);
});
