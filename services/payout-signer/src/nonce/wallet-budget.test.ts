import { expect, test } from 'vitest';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { createBudget } from './wallet-budget.ts';
import type { OpenNonce, OwnAttempt } from './store/nonce-facts.ts';

const USDT = '0xusdt' as TokenContract;
const prices = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
const terms = (gasLimit: bigint, dataFeeBaseUnits = 0n) => ({ ...prices, gasLimit, dataFeeBaseUnits });
const amounts = new Map<TokenContract | null, bigint>([
  [USDT, 100n],
  [null, 1_000n],
]);
const pay = (amount: bigint, contract: TokenContract | null = USDT) =>
  ({ contract, amountBaseUnits: amount }) as PaymentIntent;
const unmined = (nonce: number, amount: bigint): OpenNonce => {
  const attempt = {
    contract: USDT,
    amountBaseUnits: amount,
    terms: terms(10n),
    isMined: false,
  } as OwnAttempt;
  return { nonce, state: 'SIGNED', orderPk: 'p', purpose: 'PAYOUT', attempts: [attempt] };
};

test('deducts amount and fees down to the last unit', () => {
  const budget = createBudget({ amounts, count: 0 }, []);
  expect(budget.take(pay(100n), terms(10n))).toBe('TAKEN');
  expect(budget.take(pay(1n), terms(10n))).toBe('NO_TOKENS');
  expect(budget.take(pay(960n, null), terms(10n))).toBe('TAKEN');
  expect(budget.take(pay(1n, null), terms(0n))).toBe('NO_TOKENS');
});

test('distinguishes missing fees from missing tokens', () => {
  const budget = createBudget({ amounts, count: 0 }, []);
  expect(budget.take(pay(1n), terms(501n))).toBe('NO_GAS');
  expect(budget.take(pay(990n, null), terms(10n))).toBe('NO_GAS');
  expect(budget.take(pay(100n), terms(499n, 3n))).toBe('NO_GAS');
  expect(budget.take(pay(100n), terms(499n, 2n))).toBe('TAKEN');
});

test('keeps the funds for smaller payments when one does not fit', () => {
  const budget = createBudget({ amounts, count: 0 }, []);
  expect(budget.take(pay(101n), terms(1n))).toBe('NO_TOKENS');
  expect(budget.lacks(pay(101n))).toBe('NO_TOKENS');
  expect(budget.take(pay(100n), terms(1n))).toBe('TAKEN');
});

test('deducts what is in flight, unless the balances already include it', () => {
  const nonces = [unmined(4, 60n), unmined(5, 60n)];
  expect(createBudget({ amounts, count: 5 }, nonces).take(pay(40n), terms(1n))).toBe('TAKEN');
  expect(createBudget({ amounts, count: 5 }, nonces).take(pay(41n), terms(1n))).toBe('NO_TOKENS');
  expect(createBudget({ amounts, count: 6 }, nonces).take(pay(100n), terms(1n))).toBe('TAKEN');
  expect(createBudget({ amounts, count: 4 }, nonces).lacks(pay(1n))).toBe('NO_TOKENS');
});
