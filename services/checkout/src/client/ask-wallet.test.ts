import { expect, test } from 'vitest';
import { aStorage } from '../../test/support/a-storage.ts';
import { anOpenOrder, anOrder, anUnmatched } from '../../test/support/an-order.ts';
import type { CheckoutOrder } from '../view/checkout-order.ts';
import { coinKey } from '../view/render-choice.ts';
import { askWallet } from './ask-wallet.ts';
import { createSentPayments, type HeldPayment } from './sent-payments.ts';
import type { ConnectedWallet, WalletOutcome } from './wallets/wallet.ts';

const NOW = 1_800_000_000;

function aTab({
  storage = aStorage(),
  order = anOrder(),
  paysAnyway = false,
  answer = async () => ({ outcome: 'SENT' }),
}: {
  storage?: ReturnType<typeof aStorage>;
  order?: CheckoutOrder | undefined;
  paysAnyway?: boolean;
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
  const deps = {
    sent,
    coin: coinKey(anOrder()),
    refresh: async () => order,
    nowSeconds: () => NOW,
    paysAnyway: () => paysAnyway,
  };
  const ended: string[] = [];
  const connected: ConnectedWallet = { ...wallet, name: 'Phone', disconnect: () => void ended.push('Phone') };
  /** `change` runs while the payer connects the wallet. */
  const askRemote = async (change: () => ConnectedWallet | WalletOutcome | null = () => connected) =>
    askWallet(
      { ...deps, refresh: async () => order },
      { id: 'r', name: 'Remote', icon: null, connect: async () => change() },
    );
  const change = (fields: Partial<CheckoutOrder>): ConnectedWallet => {
    order = { ...order, ...fields } as CheckoutOrder;
    return connected;
  };
  return {
    paid,
    ended,
    heldWhenAsked,
    askRemote,
    change,
    held: () => sent.find(anOrder(), NOW),
    ask: () => askWallet(deps, wallet),
  };
}

test.each([
  ['SENT', 'walletSent', 'SENT'],
  ['FAILED', 'walletFailed', 'UNSURE'],
  ['REFUSED', 'walletRefused', undefined],
  ['WRONG_NETWORK', 'walletWrongNetwork', undefined],
  ['UNABLE', 'walletUnable', undefined],
  ['NOT_READY', 'walletNotReady', undefined],
] as const)(
  'stores the payment before asking a wallet that answers %s, then shows %s, %s',
  async (outcome, text, state) => {
    const tab = aTab({ answer: async () => ({ outcome }) });
    expect(await tab.ask()).toEqual({ text, wallet: 'Wallet' });
    expect(tab.heldWhenAsked).toMatchObject([{ wallet: 'Wallet', walletId: 'w', state: 'UNSURE' }]);
    expect(tab.held()?.state).toBe(state);
  },
);

test('treats a wallet that throws as one that may have sent', async () => {
  const tab = aTab({ answer: () => Promise.reject(new Error('gone')) });
  expect(await tab.ask()).toMatchObject({ text: 'walletFailed' });
  expect(tab.held()?.state).toBe('UNSURE');
});

test("asks no wallet while another tab's wallet may have sent", async () => {
  const storage = aStorage();
  void aTab({ storage, answer: () => new Promise(() => undefined) }).ask();
  const other = aTab({ storage });
  await Promise.resolve();
  expect(await other.ask()).toBeNull();
  expect(other.paid).toEqual([]);
});

test("asks no wallet without the server's newest answer", async () => {
  const offline = aTab({});
  const deps = { coin: '', refresh: async () => undefined, nowSeconds: () => NOW, paysAnyway: () => true };
  const sent = createSentPayments('a', aStorage(), () => 0);
  const wallet = { id: 'w', name: 'Wallet', icon: null, pay: async () => ({ outcome: 'SENT' }) as const };
  expect(await askWallet({ ...deps, sent }, wallet)).toEqual({ text: 'walletNotAsked', wallet: 'Wallet' });
  expect([sent.find(anOrder(), NOW), offline.paid]).toEqual([undefined, []]);
});

test.each([
  { status: 'PENDING_CONFIRMATION' },
  { expiredTime: NOW + 44 },
  { reason: 'Reorganised' },
] as const)('asks no wallet for an order that is not payable: %j', async (fields) => {
  const tab = aTab({ order: anOrder(fields) });
  expect(await tab.ask()).toBeNull();
  expect(tab.paid).toEqual([]);
});

test.each([
  ['has chosen another coin', anOpenOrder({ address: '0x1', symbol: 'USDC' })],
  ['sees no choice yet', anOpenOrder()],
] as const)('asks no wallet for the coin of this page when the server %s', async (_, order) => {
  const tab = aTab({ order });
  expect(await tab.ask()).toBeNull();
  expect([tab.paid, tab.held()]).toEqual([[], undefined]);
});

test('asks no wallet after money that does not count, unless the payer insists', async () => {
  const order = anOrder({ unmatched: [anUnmatched()] });
  const surprised = aTab({ order });
  expect(await surprised.ask()).toBeNull();
  expect([surprised.paid, surprised.held()]).toEqual([[], undefined]);
  const insistent = aTab({ order, paysAnyway: true });
  expect(await insistent.ask()).toMatchObject({ text: 'walletSent' });
  expect(insistent.paid).toEqual(['250.00']);
});

test('connects a remote wallet, asks it once, and ends the connection', async () => {
  const tab = aTab({});
  expect(await tab.askRemote()).toEqual({ text: 'walletSent', wallet: 'Phone' });
  expect([tab.paid, tab.ended, tab.held()?.state]).toEqual([['250.00'], ['Phone'], 'SENT']);
  expect(await tab.askRemote()).toBeNull();
  expect(tab.paid).toEqual(['250.00']);
});

test.each([
  ['was paid', { status: 'SUCCESS' }],
  ['is running out', { expiredTime: NOW + 44 }],
  ['has another coin', { symbol: 'USDC' }],
] as const)('does not ask a remote wallet whose order %s while it connected', async (_, fields) => {
  const tab = aTab({});
  expect(await tab.askRemote(() => tab.change(fields))).toBeNull();
  expect([tab.paid, tab.ended, tab.held()]).toEqual([[], ['Phone'], undefined]);
});

test('asks a remote wallet for what is due when it has connected', async () => {
  const tab = aTab({});
  await tab.askRemote(() => tab.change({ amount: '100.00' }));
  expect(tab.paid).toEqual(['100.00']);
});

test.each([
  [null, null],
  [{ outcome: 'REFUSED' }, { text: 'walletRefused', wallet: 'Remote' }],
  [{ outcome: 'NOT_READY' }, { text: 'walletNotReady', wallet: 'Remote' }],
] as const)('shows why no remote wallet connected: %j', async (outcome, notice) => {
  const tab = aTab({});
  expect(await tab.askRemote(() => outcome)).toEqual(notice);
  expect([tab.paid, tab.held()]).toEqual([[], undefined]);
});
