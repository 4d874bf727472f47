import { describe, expect, test } from '@jest/globals';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { createAttemptBudget } from './attempt-budget.ts';
import type { OpenAttempt } from './attempt-facts.ts';

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
});

describe('a wallet', () => {
  test('spends what it holds, each payment out of what the ones before left, and not a unit more', () => {
    const budget = createAttemptBudget(funds(30n, 10n), []);
    expect(budget.take(pay(6n), 10n)).toBe('TAKEN');
    expect(budget.take(pay(5n), 10n)).toBe('NO_TOKENS');
    expect(budget.take(pay(4n), 10n)).toBe('TAKEN');
    expect(budget.lacks(pay(1n))).toBe('NO_TOKENS');
    expect(budget.take(pay(6n, null), 5n)).toBe('NO_GAS');
    expect(budget.take(pay(5n, null), 5n)).toBe('TAKEN');
    expect(budget.take(pay(1n, null), 0n)).toBe('NO_GAS');
  });

  test('does not spend what is on its way, at its dearest, unless the balances know of its block', () => {
    const all = [attempt(6n, null), attempt(3n, 101), attempt(50n, 100)];
    const budget = createAttemptBudget(funds(100n, 10n), all);
    expect(budget.take(pay(2n), 1n)).toBe('NO_TOKENS');
    expect(budget.take(pay(1n), 74n)).toBe('TAKEN');
    expect(budget.take(pay(1n, null), 0n)).toBe('NO_GAS');
  });

  test('pays fees by what its stake allows, and coin by nothing but coin', () => {
    const budget = createAttemptBudget(funds(10n, 10n, 100n), []);
    expect(budget.take(pay(1n), 60n)).toBe('TAKEN');
    expect(budget.take(pay(10n, null), 40n)).toBe('TAKEN');
    expect(budget.take(pay(1n), 1n)).toBe('NO_GAS');
    expect(createAttemptBudget(funds(10n, 10n, 100n), []).take(pay(11n, null), 0n)).toBe('NO_TOKENS');
  });
});
