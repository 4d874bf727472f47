import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { createAttemptBudget } from './attempt-budget.ts';
import type { OpenAttempt } from './store/attempt-facts.ts';

const USDT = 'usdt' as TokenContract;
const to = 'receiver' as Address;
const pay = (amount: bigint, contract: TokenContract | null = USDT) => ({
  from: 'wallet' as Address,
  contract,
  to,
  amountBaseUnits: baseUnits(amount),
});
const funds = (trx: bigint, usdt: bigint, allowanceBaseUnits = 0n) => ({
  block: { height: 100 },
  amounts: new Map<TokenContract | null, bigint>([
    [null, trx],
    [USDT, usdt],
  ]),
  allowanceBaseUnits,
  scattered: new Map(),
});
const attempt = (
  amount: bigint,
  minedHeight: number | null,
  contract: TokenContract | null = USDT,
): OpenAttempt => ({
  txHash: 'tx' as TxHash,
  orderPk: 'order',
  contract,
  to,
  amountBaseUnits: baseUnits(amount),
  feeLimitBaseUnits: 10n,
  costBaseUnits: 13n,
  validity: { expiresMs: 1, uniqueMs: 1, reference: { height: 1, hash: 'b' as BlockHash } },
  hasBytes: true,
  signedAt: new Date(0),
  outcome: null,
  minedHeight,
  isVerified: false,
  hasLanded: false,
});

const elsewhere = (...fees: readonly bigint[]) =>
  fees.map((fee, place) => ({ txHash: `fee-${place}` as TxHash, baseUnits: fee }));

describe('attempt budget', () => {
  test('deducts each payment from what the earlier ones left', () => {
    const budget = createAttemptBudget(funds(30n, 10n), [], []);
    expect(budget.take(pay(6n), 10n)).toBe('TAKEN');
    expect(budget.take(pay(5n), 10n)).toBe('NO_TOKENS');
    expect(budget.take(pay(4n), 10n)).toBe('TAKEN');
    expect(budget.lacks(pay(1n))).toBe('NO_TOKENS');
    expect(budget.take(pay(6n, null), 5n)).toBe('NO_GAS');
    expect(budget.take(pay(5n, null), 5n)).toBe('TAKEN');
    expect(budget.take(pay(1n, null), 0n)).toBe('NO_GAS');
  });

  test('deducts open attempts at full cost unless the balances include their block', () => {
    const all = [attempt(6n, null), attempt(3n, 101), attempt(50n, 100)];
    const budget = createAttemptBudget(funds(100n, 10n), all, []);
    expect(budget.take(pay(2n), 1n)).toBe('NO_TOKENS');
    expect(budget.take(pay(1n), 74n)).toBe('TAKEN');
    expect(budget.take(pay(1n, null), 0n)).toBe('NO_GAS');
  });

  test('pays fees from the stake allowance, and transfers only from coin', () => {
    const budget = createAttemptBudget(funds(10n, 10n, 100n), [], []);
    expect(budget.take(pay(1n), 60n)).toBe('TAKEN');
    expect(budget.take(pay(10n, null), 40n)).toBe('TAKEN');
    expect(budget.take(pay(1n), 1n)).toBe('NO_GAS');
    expect(createAttemptBudget(funds(10n, 10n, 100n), [], []).take(pay(11n, null), 0n)).toBe('NO_TOKENS');
  });

  test('deducts fees of other transactions from coin and allowance', () => {
    const hot = createAttemptBudget(funds(30n, 10n), [attempt(1n, null)], elsewhere(4n, 3n));
    expect([hot.hasFee(11n), hot.hasFee(10n)]).toEqual([false, true]);
    expect(hot.take(pay(1n), 11n)).toBe('NO_GAS');
    expect(hot.take(pay(1n), 10n)).toBe('TAKEN');
    expect(hot.hasFee(1n)).toBe(false);
    const deposit = createAttemptBudget(funds(0n, 10n, 30n), [], elsewhere(20n));
    expect(deposit.take(pay(1n), 11n)).toBe('NO_GAS');
    expect(deposit.take(pay(1n), 10n)).toBe('TAKEN');
  });

  test('counts a transaction elsewhere once, however often it is listed', () => {
    const twice = [...elsewhere(4n, 3n), ...elsewhere(4n), { txHash: 'new' as TxHash, baseUnits: 3n }];
    const budget = createAttemptBudget(funds(20n, 10n), [], twice);
    expect([budget.hasFee(11n), budget.hasFee(10n)]).toEqual([false, true]);
  });

  test('lends stake without using coin, and then pays fees only in coin', () => {
    const lend = (amount: bigint) => ({ ...pay(amount, null), resource: 'LEND_ENERGY' as const });
    const budget = createAttemptBudget(funds(10n, 10n, 100n), [], []);
    expect(budget.lacks(lend(6_000n))).toBeUndefined();
    expect(budget.take(lend(6_000n), 11n)).toBe('NO_GAS');
    expect(budget.take(pay(1n), 60n)).toBe('TAKEN'); // paid by the allowance
    expect(budget.take(lend(6_000n), 1n)).toBe('NO_GAS');
    const other = createAttemptBudget(funds(10n, 10n, 100n), [], []);
    expect(other.take(lend(6_000n), 4n)).toBe('TAKEN');
    expect(other.take(pay(1n), 7n)).toBe('NO_GAS');
    expect(other.take(pay(6n, null), 0n)).toBe('TAKEN');
    const onItsWay = { ...attempt(6_000n, null, null), resource: 'LEND_ENERGY' as const };
    expect(createAttemptBudget(funds(20n, 10n, 100n), [onItsWay], []).take(pay(1n), 8n)).toBe('NO_GAS');
    const back = { ...onItsWay, resource: 'TAKE_ENERGY_BACK' as const };
    expect(createAttemptBudget(funds(20n, 10n, 100n), [back], []).take(pay(1n), 80n)).toBe('TAKEN');
  });
});
