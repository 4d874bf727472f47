import { expect, test } from 'vitest';
import { aStorage } from '../../test/support/a-storage.ts';
import { anOpenOrder, anOrder } from '../../test/support/an-order.ts';
import { createSentPayments } from './sent-payments.ts';

const NOW = 1_800_000_000;
const METAMASK = { id: 'io.metamask', name: 'MetaMask' };
const HELD = {
  wallet: 'MetaMask',
  walletId: 'io.metamask',
  transaction: null,
  explorerTxUrl: 'https://explorer.example/tx/{txid}',
  overdue: false,
};
const UNSURE = { ...HELD, state: 'UNSURE' };
const partly = (receivedAmount: string) => anOrder({ status: 'PENDING', receivedAmount });

test('shares a requested payment with all tabs, even when its page closes', () => {
  const storage = aStorage();
  const open = (orderId: string) => createSentPayments(orderId, storage, () => 0);
  open('a').begin(anOrder(), METAMASK);
  expect(open('a').find(anOrder(), NOW)).toEqual(UNSURE);
  expect(open('b').find(anOrder(), NOW)).toBeUndefined();
  expect(open('a').find(anOrder({ address: '0x1' }), NOW)).toBeUndefined();
});

test("holds a payment until its amount arrived or the order's time is over", () => {
  const sent = createSentPayments('a', aStorage(), () => 0);
  sent.begin(partly('40.00'), METAMASK).sent('0xhash');
  const held = { ...HELD, state: 'SENT', transaction: '0xhash' };
  expect(sent.find(partly('40.00'), NOW + 1_799)).toEqual(held);
  // A third party's partial payment is not the wallet's payment.
  expect(sent.find(partly('249.99'), NOW)).toEqual(held);
  expect(sent.find(partly('250.00'), NOW)).toBeUndefined();
  expect(sent.find(partly('40.00'), NOW)).toEqual(held);
  expect(sent.find(partly('40.00'), NOW + 1_800)).toBeUndefined();
});

test('clears a payment that was not sent, unless another tab has asked since', () => {
  const storage = aStorage();
  let nowMs = 0;
  const sent = createSentPayments('a', storage, () => nowMs);
  const refused = sent.begin(anOrder(), METAMASK);
  refused.nothingSent();
  expect(sent.find(anOrder(), NOW)).toBeUndefined();
  const slow = sent.begin(anOrder(), { id: 'io.rabby', name: 'Rabby' });
  nowMs = 1;
  createSentPayments('a', storage, () => nowMs).begin(anOrder(), METAMASK);
  slow.nothingSent();
  expect(sent.find(anOrder(), NOW)).toEqual(UNSURE);
  sent.forget();
  expect(sent.find(anOrder(), NOW)).toBeUndefined();
});

test('marks a payment as overdue after minutes, also in other tabs', () => {
  const storage = aStorage();
  let nowMs = 1_000;
  const open = () => createSentPayments('a', storage, () => nowMs);
  open().begin(anOrder(), METAMASK).sent('0xhash');
  nowMs += 179_999;
  expect(open().find(anOrder(), NOW)?.overdue).toBe(false);
  nowMs += 1;
  expect(open().find(anOrder(), NOW)?.overdue).toBe(true);
});

test('marks a failed payment in every tab and keeps holding it', () => {
  const storage = aStorage();
  const sent = createSentPayments('a', storage, () => 0);
  sent.reverted('0xhash');
  expect(sent.find(anOrder(), NOW)).toBeUndefined();
  sent.begin(anOrder(), METAMASK).sent('0xhash');
  sent.reverted('0xother');
  expect(sent.find(anOrder(), NOW)?.state).toBe('SENT');
  createSentPayments('a', storage, () => 0).reverted('0xhash');
  expect(sent.find(anOrder(), NOW)).toEqual({ ...HELD, state: 'REVERTED', transaction: '0xhash' });
});

test('reads a payment that an earlier version of the page stored', () => {
  const before =
    '{"wallet":"MetaMask","state":"SENT","address":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","receivedThen":"250000000"}';
  const held = createSentPayments('a', aStorage(before), () => 200_000).find(anOrder(), NOW);
  expect(held).toEqual({ ...HELD, walletId: '', explorerTxUrl: null, state: 'SENT', overdue: true });
});

test('holds a payment after another choice until its part of the order arrived', () => {
  const storage = aStorage();
  const order = anOpenOrder({ address: '0x1', status: 'PENDING', receivedAmount: '27.10' });
  createSentPayments('a', storage, () => 0).begin({ ...order, address: '0x1' }, METAMASK);
  const held = (fields: Parameters<typeof anOpenOrder>[0]) =>
    createSentPayments('a', storage, () => 0).find(anOpenOrder({ status: 'PENDING', ...fields }), NOW);
  const onTron = {
    address: 'T1',
    chain: 'TRON_TEST',
    amount: '1084.20',
    explorerTxUrl: 'https://tron.example/{txid}',
  } as const;
  expect(held({ ...onTron, receivedAmount: '542.00' })).toEqual(UNSURE);
  expect(held({ ...onTron, receivedAmount: '1084.20' })).toBeUndefined();
  // An order of another shop has the same id but another end.
  expect(held({ ...onTron, expiredTime: 1_800_001_801, receivedAmount: '542.00' })).toBeUndefined();
});

test('works when storage is forbidden', () => {
  const forbid = () => {
    throw new Error('forbidden');
  };
  for (const storage of [undefined, { getItem: forbid, setItem: forbid, removeItem: forbid }]) {
    const sent = createSentPayments('a', storage, () => 0);
    expect(sent.find(anOrder(), NOW)).toBeUndefined();
    const asked = sent.begin(anOrder(), METAMASK);
    expect(sent.find(anOrder(), NOW)).toEqual(UNSURE);
    asked.nothingSent();
    expect(sent.find(anOrder(), NOW)).toBeUndefined();
  }
});

test.each([
  '{',
  'null',
  '{"wallet":"MetaMask","receivedThen":"1","amount":"much"}',
  '{"due":"250.00","wallet":"MetaMask","atMs":1}',
])('ignores the stored text %s', (text) => {
  expect(createSentPayments('a', aStorage(text), () => 0).find(anOrder(), NOW)).toBeUndefined();
});
