import { expect, test } from 'vitest';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { createBudget } from './wallet-budget.ts';
import type { OpenNonce, OwnAttempt } from './store/nonce-facts.ts';

const USDT = '0xusdt' as TokenContract;
const prices = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
const amounts = new Map<TokenContract | null, bigint>([
  [USDT, 100n],
  [null, 1_000n],
]);
const pay = (amount: bigint, contract: TokenContract | null = USDT) =>
  ({ contract, amountBaseUnits: amount }) as PaymentIntent;
const unmined = (nonce: number, amount: bigint): OpenNonce => {
  const terms = { gasLimit: 10n, ...prices };
  const attempt = { contract: USDT, amountBaseUnits: amount, terms, isMined: false } as OwnAttempt;
  return { nonce, state: 'SIGNED', orderPk: 'p', purpose: 'PAYOUT', attempts: [attempt] };
};

test('deducts amount and fees down to the last unit', () => {
  const budget = createBudget({ amounts, count: 0 }, [], prices);
  expect(budget.take(pay(100n), 10n)).toBe('TAKEN');
  expect(budget.take(pay(1n), 10n)).toBe('NO_TOKENS');
  expect(budget.take(pay(960n, null), 10n)).toBe('TAKEN');
  expect(budget.take(pay(1n, null), 0n)).toBe('NO_TOKENS');
});

test('distinguishes missing fees from missing tokens', () => {
  const budget = createBudget({ amounts, count: 0 }, [], prices);
  expect(budget.take(pay(1n), 501n)).toBe('NO_GAS');
  expect(budget.take(pay(990n, null), 10n)).toBe('NO_GAS');
  expect(budget.take(pay(100n), 500n)).toBe('TAKEN');
});

test('keeps the funds for smaller payments when one does not fit', () => {
  const budget = createBudget({ amounts, count: 0 }, [], prices);
  expect(budget.take(pay(101n), 1n)).toBe('NO_TOKENS');
  expect(budget.lacks(pay(101n))).toBe('NO_TOKENS');
  expect(budget.take(pay(100n), 1n)).toBe('TAKEN');
});

test('deducts what is in flight, unless the balances already include it', () => {
  const nonces = [unmined(4, 60n), unmined(5, 60n)];
  expect(createBudget({ amounts, count: 5 }, nonces, prices).take(pay(40n), 1n)).toBe('TAKEN');
  expect(createBudget({ amounts, count: 5 }, nonces, prices).take(pay(41n), 1n)).toBe('NO_TOKENS');
  expect(createBudget({ amounts, count: 6 }, nonces, prices).take(pay(100n), 1n)).toBe('TAKEN');
  expect(createBudget({ amounts, count: 4 }, nonces, prices).lacks(pay(1n))).toBe('NO_TOKENS');
});
