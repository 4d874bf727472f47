import { expect, test } from '@jest/globals';
import { aStorage } from '../../test/support/a-storage.ts';
import { anOrder } from '../../test/support/an-order.ts';
import { createSentPayments } from './sent-payments.ts';

const NOW = 1_800_000_000;
const UNSURE = { wallet: 'MetaMask', state: 'UNSURE' };
const partly = (receivedAmount: string) => anOrder({ status: 'PENDING', receivedAmount });

test('what a wallet is asked for is known in every tab, also when the page goes before the wallet answers', () => {
  const storage = aStorage();
  const open = (orderId: string) => createSentPayments(orderId, storage, () => 0);
  open('a').begin(anOrder(), 'MetaMask');
  expect(open('a').find(anOrder(), NOW)).toEqual(UNSURE);
  expect(open('b').find(anOrder(), NOW)).toBeUndefined();
  expect(open('a').find(anOrder({ address: '0x1' }), NOW)).toBeUndefined();
});

test('what was sent is held until the order has received that much more, or its time is over', () => {
  const sent = createSentPayments('a', aStorage(), () => 0);
  sent.begin(partly('40.00'), 'MetaMask').sent();
  const held = { wallet: 'MetaMask', state: 'SENT' };
  expect(sent.find(partly('40.00'), NOW + 1_799)).toEqual(held);
  // Somebody else's part is not the wallet's payment.
  expect(sent.find(partly('249.99'), NOW)).toEqual(held);
  expect(sent.find(partly('250.00'), NOW)).toBeUndefined();
  // It fell out of its block.
  expect(sent.find(partly('40.00'), NOW)).toEqual(held);
  expect(sent.find(partly('40.00'), NOW + 1_800)).toBeUndefined();
});

test('is cleared by a wallet that has sent nothing, unless another tab has asked since', () => {
  const storage = aStorage();
  let nowMs = 0;
  const sent = createSentPayments('a', storage, () => nowMs);
  const refused = sent.begin(anOrder(), 'MetaMask');
  refused.nothingSent();
  expect(sent.find(anOrder(), NOW)).toBeUndefined();
  const slow = sent.begin(anOrder(), 'Rabby');
  nowMs = 1;
  createSentPayments('a', storage, () => nowMs).begin(anOrder(), 'MetaMask');
  slow.nothingSent();
  expect(sent.find(anOrder(), NOW)).toEqual(UNSURE);
  sent.forget();
  expect(sent.find(anOrder(), NOW)).toBeUndefined();
});

test('works where nothing may be stored', () => {
  const forbid = () => {
    throw new Error('forbidden');
  };
  for (const storage of [undefined, { getItem: forbid, setItem: forbid, removeItem: forbid }]) {
    const sent = createSentPayments('a', storage, () => 0);
    expect(sent.find(anOrder(), NOW)).toBeUndefined();
    const asked = sent.begin(anOrder(), 'MetaMask');
    expect(sent.find(anOrder(), NOW)).toEqual(UNSURE);
    asked.nothingSent();
    expect(sent.find(anOrder(), NOW)).toBeUndefined();
  }
});

test.each(['{', 'null', '{"due":"250.00","wallet":"MetaMask","atMs":1}'])('holds nothing by %s', (text) => {
  expect(createSentPayments('a', aStorage(text), () => 0).find(anOrder(), NOW)).toBeUndefined();
});
