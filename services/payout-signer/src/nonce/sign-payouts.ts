import { dataFeeCapOf } from '@opentill/contracts/payout-terms';
import type { TokenContract } from '@opentill/chain/transfer';
import { highestCost, type FeePrices, type FeeTerms } from '@opentill/chain/wallet-sender';
import {
  chooseDue,
  blockPayouts,
  blockAllPayouts,
  intentsOf,
  saveInRounds,
  stopsAll,
  type DuePayment,
} from '../wallet/due-payouts.ts';
import type { BlockedPayout, SpentRow, UnsignedPayout } from '../payouts/payout-facts.ts';
import { chooseRefused, recheckPolicy } from '../policy/recheck-policy.ts';
import { isFeeWithinBounds } from '../policy/fee-bounds.ts';
import { tracePayouts } from '../wallet/trace-payouts.ts';
import type { NonceGate } from './open-gate.ts';
import type { PassContext } from './pass-deps.ts';
import type { SignedAttempt, WalletView } from './store/payout-store.ts';
import { noncesToSign } from './plan-nonces.ts';
import { sendStored } from './send-stored.ts';
import { chooseUnpaid } from './choose-unpaid.ts';
import { withoutForged } from './verify-stored-signatures.ts';
import { withMissingDataFees } from './data-fees.ts';
import { createBudget } from './wallet-budget.ts';
import { inFlight } from './store/nonce-facts.ts';

interface Ready extends DuePayment {
  readonly terms: FeeTerms;
}

/**
 * Stores the bytes before it sends them. Payouts that cannot be signed give their nonces back. Returns how many were
 * signed.
 */
export async function signPayouts(
  context: PassContext,
  view: WalletView,
  gate: NonceGate,
  spent: () => Promise<readonly SpentRow[]>,
): Promise<number> {
  const capacity = context.terms.maxOpenNonces - inFlight(view.nonces).length;
  const stopped = stopsAll(context, view.halted, gate.pausedBy);
  const due = chooseDue(context, view.unsigned, stopped, capacity);
  if (due.length === 0) return 0;
  if (stopped !== undefined) {
    await blockAllPayouts(context, due, stopped);
    return 0;
  }
  const { allowed, refused } = await judgeUnpaid(context, view, due, spent);
  await blockPayouts(context, refused);
  if (allowed.length === 0) return 0;
  const prices = await context.sender.currentPrices({ signal: context.signal });
  const { ready, blocked } = await prepare(context, view, allowed, prices);
  await blockPayouts(context, blocked);
  const signed = await tracePayouts(
    context,
    'sign payout',
    ready.map(({ payout }) => payout.orderPk),
    () => signAndSave(context, view, gate, ready),
    (attempts) => attempts.flatMap(({ orderPk }) => orderPk ?? []),
  );
  await sendStored(
    context,
    view,
    signed.map(({ signed: { txHash, nonce }, orderPk }) => ({ txHash, nonce, orderPk })),
  );
  return signed.length;
}

/** Like recheckPolicy. In addition, payouts that were signed before must be proven unpaid. */
async function judgeUnpaid(
  context: PassContext,
  view: WalletView,
  due: readonly UnsignedPayout[],
  spent: () => Promise<readonly SpentRow[]>,
): Promise<ReturnType<typeof recheckPolicy>> {
  const rows = await spent();
  const before = due.filter(({ isSignedBefore }) => isSignedBefore);
  const unpaid = await chooseUnpaid(context, view, before);
  const mayBePaid = new Set(before.flatMap(({ orderPk }) => (unpaid.has(orderPk) ? [] : [orderPk])));
  const { allowed, refused } = recheckPolicy(
    due.filter(({ orderPk }) => !mayBePaid.has(orderPk)),
    rows,
    context.rules,
    view,
  );
  const doubtful = due.flatMap((payout): BlockedPayout[] =>
    mayBePaid.has(payout.orderPk) ? [{ payout, obstacle: 'MAYBE_PAID' }] : [],
  );
  return { allowed, refused: [...doubtful, ...refused] };
}

async function prepare(
  context: PassContext,
  view: WalletView,
  due: readonly UnsignedPayout[],
  prices: FeePrices,
): Promise<{ readonly ready: readonly Ready[]; readonly blocked: readonly BlockedPayout[] }> {
  const { sender, key, rules, signal } = context;
  const { payments, blocked: mismatched } = intentsOf(due, rules);
  if (payments.length === 0) return { ready: [], blocked: mismatched };
  const blocked = [...mismatched];
  const contracts = new Set<TokenContract | null>([null, ...payments.map(({ intent }) => intent.contract)]);
  const [balances, answers, nonces] = await Promise.all([
    sender.balances(key.wallet, [...contracts], { signal }),
    sender.prepare(
      payments.map(({ intent }) => intent),
      { signal },
    ),
    withMissingDataFees(context, withoutForged(context.memory, view.nonces)),
  ]);
  const budget = createBudget(balances, nonces);
  const dataFeeCap = dataFeeCapOf(rules.network);
  const ready = payments.flatMap(({ payout, intent }, place): Ready[] => {
    const answer = answers[place];
    if (answer === undefined) return [];
    // Missing money also makes the trial fail. It is the clearer obstacle, so it takes precedence.
    const { kind, ...needs } = answer.kind === 'READY' ? answer : { kind: answer.kind, gasLimit: 0n };
    const terms: FeeTerms = { ...prices, ...needs };
    const fee = { workPrice: prices.maxFeePerGas, feeBaseUnits: highestCost(terms) };
    const isWithin =
      (terms.dataFeeBaseUnits ?? 0n) <= dataFeeCap &&
      isFeeWithinBounds(rules.policy.sweepsOf(key.chain)?.sweep, rules.network, payout, fee);
    const money = kind === 'READY' && isWithin ? budget.take(intent, terms) : budget.lacks(intent);
    const why = answer.kind === 'OBSTACLE' ? answer.obstacle : 'FEES_ABOVE_CAP';
    const obstacle = money === 'TAKEN' ? undefined : (money ?? why);
    if (obstacle === undefined) return [{ payout, intent, terms }];
    if (answer.kind === 'OBSTACLE') context.observe.wouldFail(key, payout.orderPk, answer.detail);
    blocked.push({ payout, obstacle });
    return [];
  });
  return { ready, blocked };
}

async function signAndSave(
  context: PassContext,
  view: WalletView,
  gate: NonceGate,
  ready: readonly Ready[],
): Promise<readonly SignedAttempt[]> {
  const { store, lease, observe, key, memory, rules } = context;
  const attempts = await saveInRounds(
    memory,
    ready,
    (left) => signAll(context, view, gate, left),
    (signed, left) => {
      const payouts = left.map(({ payout }) => payout);
      return store.saveSigned(lease, signed, (besides) => chooseRefused(payouts, besides, rules, view.now));
    },
  );
  if (attempts.length > 0) observe.signed(key, attempts);
  return attempts;
}

async function signAll(
  { sender }: PassContext,
  view: WalletView,
  gate: NonceGate,
  ready: readonly Ready[],
): Promise<readonly SignedAttempt[]> {
  const nonces = noncesToSign(view.nonces, gate.nextNonce, ready.length);
  const attempts: SignedAttempt[] = [];
  for (const [place, { payout, intent, terms }] of ready.entries()) {
    const signed = await sender.sign(intent, nonces[place] ?? gate.nextNonce + place, terms);
    const { contract, to, amountBaseUnits } = intent;
    attempts.push({ purpose: 'PAYOUT', orderPk: payout.orderPk, contract, to, amountBaseUnits, signed });
  }
  return attempts;
}
