import type { TokenContract } from '@opentill/chain/transfer';
import { PREPARE_MAX, type FeePrices, type PaymentIntent } from '@opentill/chain/wallet-sender';
import type { NonceGate } from './authorise.ts';
import { checkIntent } from './check-intent.ts';
import { chooseRefused, judgeAgain, type Hindered } from './judge-again.ts';
import type { PassContext } from './pass-deps.ts';
import type { SignedAttempt, SpentRow } from './payout-store.ts';
import { noncesToSign } from './plan-nonces.ts';
import { sendStored } from './send-stored.ts';
import { chooseUnpaid } from './settle-decisions.ts';
import { withoutForged } from './vouch-attempts.ts';
import { createBudget } from './wallet-budget.ts';
import { inFlight, type Obstacle, type UnsignedPayout, type WalletView } from './wallet-facts.ts';

interface Ready {
  readonly payout: UnsignedPayout;
  readonly intent: PaymentIntent;
  readonly gasLimit: bigint;
}

/** Payouts end while their transactions are being signed; then the rest is signed again without them, so often at most. */
const ROUNDS_MAX = 4;

/**
 * Signs payouts that are authorised, stores the bytes, and only then sends them. Those that can't be signed give their
 * nonces back and are tried again later. @returns how many were signed
 */
export async function signPayouts(
  context: PassContext,
  view: WalletView,
  gate: NonceGate,
  spent: () => Promise<readonly SpentRow[]>,
): Promise<number> {
  const { memory, monotonicMs, terms } = context;
  const capacity = terms.maxOpenNonces - inFlight(view.nonces).length;
  const stopped = stopsAll(context, view, gate);
  const due = view.unsigned
    .filter(({ orderPk }) => memory.pauses.isDue(orderPk, monotonicMs()))
    // It expires as soon as it is known that nothing unknown has paid it.
    .filter(({ isOverdue }) => !isOverdue || stopped === 'CHAIN_AHEAD')
    .slice(0, Math.max(0, Math.min(PREPARE_MAX, capacity)));
  if (due.length === 0) return 0;
  if (stopped !== undefined) {
    await hinder(
      context,
      due.map((payout) => ({ payout, obstacle: stopped })),
    );
    return 0;
  }
  const { allowed, refused } = await judgeUnpaid(context, view, due, spent);
  await hinder(context, refused);
  if (allowed.length === 0) return 0;
  const prices = await context.sender.currentPrices({ signal: context.signal });
  const { ready, hindered } = await prepare(context, view, allowed, prices);
  await hinder(context, hindered);
  const signed = await signAndSave(context, view, gate, ready, prices);
  await sendStored(
    context,
    view,
    signed.map(({ signed: { txHash, nonce }, orderPk }) => ({ txHash, nonce, orderPk })),
  );
  return signed.length;
}

function stopsAll({ rules, key }: PassContext, view: WalletView, gate: NonceGate): Obstacle | undefined {
  // The first of them keeps payouts from expiring.
  if (gate.pausedBy !== undefined) return gate.pausedBy;
  if (view.halted !== null) return 'HALTED';
  return rules.policy.allowsChain(key.chain) ? undefined : 'NO_POLICY';
}

/** As judgeAgain; and what was signed before must be proven unpaid. */
async function judgeUnpaid(
  context: PassContext,
  view: WalletView,
  due: readonly UnsignedPayout[],
  spent: () => Promise<readonly SpentRow[]>,
): Promise<ReturnType<typeof judgeAgain>> {
  const rows = await spent();
  const before = due.filter(({ isSignedBefore }) => isSignedBefore);
  const unpaid = await chooseUnpaid(context, view, before);
  const mayBePaid = new Set(before.flatMap(({ orderPk }) => (unpaid.has(orderPk) ? [] : [orderPk])));
  const { allowed, refused } = judgeAgain(
    due.filter(({ orderPk }) => !mayBePaid.has(orderPk)),
    rows,
    context.rules,
    view,
  );
  const doubtful = due.flatMap((payout): Hindered[] =>
    mayBePaid.has(payout.orderPk) ? [{ payout, obstacle: 'MAYBE_PAID' }] : [],
  );
  return { allowed, refused: [...doubtful, ...refused] };
}

/** Tries each payment on the chain, and takes it out of what the wallet can still spend. */
async function prepare(
  context: PassContext,
  view: WalletView,
  due: readonly UnsignedPayout[],
  prices: FeePrices,
): Promise<{ readonly ready: readonly Ready[]; readonly hindered: readonly Hindered[] }> {
  const { sender, key, rules, signal } = context;
  const hindered: Hindered[] = [];
  const intents = due.flatMap((payout) => {
    const checked = checkIntent(payout, rules);
    if (checked.kind === 'INTENT') return [{ payout, intent: checked.intent }];
    // What was right when it was authorised and is refused now has met another configuration.
    const obstacle = checked.kind === 'OBSTACLE' ? checked.obstacle : 'CONFIG_MISMATCH';
    hindered.push({ payout, obstacle });
    return [];
  });
  if (intents.length === 0) return { ready: [], hindered };
  const contracts = new Set<TokenContract | null>([null, ...intents.map(({ intent }) => intent.contract)]);
  const [balances, answers] = await Promise.all([
    sender.balances(key.wallet, [...contracts], { signal }),
    sender.prepare(
      intents.map(({ intent }) => intent),
      { signal },
    ),
  ]);
  const budget = createBudget(balances, withoutForged(context.memory, view.nonces), prices);
  const ready = intents.flatMap(({ payout, intent }, place): Ready[] => {
    const answer = answers[place];
    if (answer === undefined) return [];
    // A payment without the money for it fails on the chain as well: the plainer word is told.
    const gasLimit = answer.kind === 'READY' ? answer.gasLimit : 0n;
    const money = answer.kind === 'READY' ? budget.take(intent, gasLimit) : budget.lacks(intent);
    const obstacle =
      money === 'TAKEN' ? undefined : (money ?? (answer.kind === 'OBSTACLE' ? answer.obstacle : undefined));
    if (obstacle === undefined) return [{ payout, intent, gasLimit }];
    if (answer.kind === 'OBSTACLE') context.observe.wouldFail(key, payout.orderPk, answer.detail);
    hindered.push({ payout, obstacle });
    return [];
  });
  return { ready, hindered };
}

/** Signs with the lowest nonces there are, and stores all bytes in one commit, or none. */
async function signAndSave(
  context: PassContext,
  view: WalletView,
  gate: NonceGate,
  ready: readonly Ready[],
  prices: FeePrices,
): Promise<readonly SignedAttempt[]> {
  const { store, lease, observe, key, memory } = context;
  let left = ready;
  for (let round = 1; left.length > 0 && round <= ROUNDS_MAX; round += 1) {
    const attempts = await signAll(context, view, gate, left, prices);
    const payouts = left.map(({ payout }) => payout);
    const outcome = await store.saveSigned(lease, attempts, (besides) =>
      chooseRefused(payouts, besides, context.rules, view.now),
    );
    if (outcome.kind === 'SAVED') {
      for (const { orderPk } of payouts) memory.pauses.forget(orderPk);
      observe.signed(key, attempts);
      return attempts;
    }
    if (outcome.kind === 'STALE') return [];
    // Signed, never stored, never sent: as if it had not been.
    left = left.filter(({ payout }) => !outcome.orderPks.includes(payout.orderPk));
  }
  return [];
}

async function signAll(
  { sender }: PassContext,
  view: WalletView,
  gate: NonceGate,
  ready: readonly Ready[],
  prices: FeePrices,
): Promise<readonly SignedAttempt[]> {
  const nonces = noncesToSign(view.nonces, gate.nextNonce, ready.length);
  const attempts: SignedAttempt[] = [];
  for (const [place, { payout, intent, gasLimit }] of ready.entries()) {
    const signed = await sender.sign(intent, nonces[place] ?? gate.nextNonce + place, {
      ...prices,
      gasLimit,
    });
    const { contract, to, amountBaseUnits } = intent;
    attempts.push({ purpose: 'PAYOUT', orderPk: payout.orderPk, contract, to, amountBaseUnits, signed });
  }
  return attempts;
}

async function hinder(context: PassContext, hindered: readonly Hindered[]): Promise<void> {
  const { memory, monotonicMs, store, lease, observe, key } = context;
  for (const { payout } of hindered) memory.pauses.put(payout.orderPk, monotonicMs());
  if (hindered.length === 0) return;
  await store.saveObstacles(
    lease,
    hindered.map(({ payout: { orderPk }, obstacle }) => ({ orderPk, obstacle })),
  );
  for (const { payout, obstacle } of hindered)
    if (payout.obstacle !== obstacle) observe.hindered(key, payout.orderPk, obstacle);
}
