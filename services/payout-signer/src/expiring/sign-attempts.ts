import type { TokenContract } from '@opentill/chain/transfer';
import { SIGNED_AHEAD_MAX_MS } from '@opentill/contracts/payout-terms';
import { PREPARE_MAX, type PaymentIntent } from '@opentill/chain/wallet-sender';
import { checkIntent } from '../check-intent.ts';
import { chooseRefused, judgeAgain, type Hindered } from '../judge-again.ts';
import type { SpentRow } from '../payout-store.ts';
import type { Obstacle, UnsignedPayout } from '../wallet-facts.ts';
import { createAttemptBudget, type AttemptFunds } from './attempt-budget.ts';
import { inFlight, type ExpiringView } from './attempt-facts.ts';
import type { SignedPayment } from './attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';
import { sendStored } from './send-attempts.ts';

interface Ready {
  readonly payout: UnsignedPayout;
  readonly intent: PaymentIntent;
  readonly feeLimitBaseUnits: bigint;
  readonly costBaseUnits: bigint;
}

/**
 * A head that is so far ahead of what the own scan has seen is no measure of an expiry: the scanner is behind, or one node says
 * what it likes, and what is signed by it could not be proven dead for as long.
 */
const BEHIND_MS = 60_000;
/** Payouts end while their transactions are being signed; then the rest is signed again without them, so often at most. */
const ROUNDS_MAX = 4;

/**
 * Signs payouts that are authorised, each as a transaction of its own that ends by time; stores the bytes, and only then sends
 * them. Those that can't be signed are tried again later. @returns how many were signed
 */
export async function signAttempts(
  context: ExpiringContext,
  view: ExpiringView,
  pausedBy: Obstacle | undefined,
  spent: () => Promise<readonly SpentRow[]>,
): Promise<number> {
  const { memory, monotonicMs, terms, rules } = context;
  const capacity = terms.maxOpenPayouts - inFlight(view.attempts).length;
  const stopped = stopsAll(context, view, pausedBy);
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
  const { allowed, refused } = judgeAgain(due, await spent(), rules, view);
  await hinder(context, refused);
  if (allowed.length === 0) return 0;
  const { ready, hindered, funds } = await prepare(context, view, allowed);
  await hinder(context, hindered);
  if (funds === undefined || ready.length === 0) return 0;
  const seenMs = view.cursor?.seen.timeMs ?? 0;
  const verifiedMs = view.cursor?.verified.timeMs ?? 0;
  const headMs = Math.max(funds.block.timeSeconds * 1_000, seenMs);
  // What the own scan has seen may itself be one node's word: a time that it made up would keep a payout waiting for its end.
  if (headMs - seenMs > BEHIND_MS || headMs - verifiedMs > SIGNED_AHEAD_MAX_MS) {
    await hinder(
      context,
      ready.map(({ payout }) => ({ payout, obstacle: 'CHAIN_BEHIND' })),
    );
    return 0;
  }
  const signed = await signAndSave(context, view, ready, headMs);
  await sendStored(
    context,
    signed.map(({ orderPk, signed: { txHash, validity } }) => ({ orderPk, txHash, validity })),
  );
  return signed.length;
}

function stopsAll(
  { rules, key }: ExpiringContext,
  view: ExpiringView,
  pausedBy: Obstacle | undefined,
): Obstacle | undefined {
  // The first of them keeps payouts from expiring.
  if (pausedBy !== undefined) return pausedBy;
  if (view.halted !== null) return 'HALTED';
  return rules.policy.allowsChain(key.chain) ? undefined : 'NO_POLICY';
}

type Funds = AttemptFunds & { readonly block: { readonly height: number; readonly timeSeconds: number } };

/** Tries each payment on the chain, and takes it out of what the wallet can still spend. */
async function prepare(
  context: ExpiringContext,
  view: ExpiringView,
  due: readonly UnsignedPayout[],
): Promise<{
  readonly ready: readonly Ready[];
  readonly hindered: readonly Hindered[];
  readonly funds: Funds | undefined;
}> {
  const { sender, key, rules, signal, observe } = context;
  const hindered: Hindered[] = [];
  const intents = due.flatMap((payout) => {
    const checked = checkIntent(payout, rules);
    if (checked.kind === 'INTENT') return [{ payout, intent: checked.intent }];
    // What was right when it was authorised and is refused now has met another configuration.
    const obstacle = checked.kind === 'OBSTACLE' ? checked.obstacle : 'CONFIG_MISMATCH';
    hindered.push({ payout, obstacle });
    return [];
  });
  if (intents.length === 0) return { ready: [], hindered, funds: undefined };
  const contracts = new Set<TokenContract | null>([null, ...intents.map(({ intent }) => intent.contract)]);
  const [funds, answers] = await Promise.all([
    sender.balances(key.wallet, [...contracts], { signal }),
    sender.prepare(
      intents.map(({ intent }) => intent),
      { signal },
    ),
  ]);
  const budget = createAttemptBudget(funds, view.attempts);
  const ready = intents.flatMap(({ payout, intent }, place): Ready[] => {
    const answer = answers[place];
    if (answer === undefined) return [];
    // A payment without the money for it fails on the chain as well: the plainer word is told.
    const money = answer.kind === 'READY' ? budget.take(intent, answer.costBaseUnits) : budget.lacks(intent);
    if (answer.kind === 'READY' && money === 'TAKEN') return [{ payout, intent, ...answer }];
    if (answer.kind === 'OBSTACLE') observe.wouldFail(key, payout.orderPk, answer.detail);
    const why = money === undefined && answer.kind === 'OBSTACLE' ? answer.obstacle : money;
    hindered.push({ payout, obstacle: why === 'TAKEN' || why === undefined ? 'UNCLEAR' : why });
    return [];
  });
  return { ready, hindered, funds };
}

/** Signs each with a unique time of its own, and stores all bytes in one commit, or none. */
async function signAndSave(
  context: ExpiringContext,
  view: ExpiringView,
  ready: readonly Ready[],
  headMs: number,
): Promise<readonly SignedPayment[]> {
  const { store, lease, observe, key, memory, rules, mark } = context;
  if (view.cursor === null) return [];
  const sent = await mark.read();
  const firstMs = Math.max(view.now.getTime(), (view.lastUniqueMs ?? 0) + 1, (sent?.uniqueMs ?? 0) + 1);
  let left = ready;
  for (let round = 1; left.length > 0 && round <= ROUNDS_MAX; round += 1) {
    const payments = await signAll(context, left, { reference: view.cursor.verified, headMs, firstMs });
    const payouts = left.map(({ payout }) => payout);
    const outcome = await store.saveSigned(lease, payments, (besides) =>
      chooseRefused(payouts, besides, rules, view.now),
    );
    if (outcome.kind === 'SAVED') {
      for (const { orderPk } of payouts) memory.pauses.forget(orderPk);
      observe.attemptsSigned(key, payments);
      return payments;
    }
    if (outcome.kind === 'STALE') return [];
    // Signed, never stored, never sent: as if it had not been.
    left = left.filter(({ payout }) => !outcome.orderPks.includes(payout.orderPk));
  }
  return [];
}

async function signAll(
  { sender }: ExpiringContext,
  ready: readonly Ready[],
  { reference, headMs, firstMs }: Bounds,
): Promise<readonly SignedPayment[]> {
  const payments: SignedPayment[] = [];
  for (const [place, { payout, intent, feeLimitBaseUnits, costBaseUnits }] of ready.entries()) {
    const { height, hash } = reference;
    const validity = {
      expiresMs: headMs + sender.validForMs,
      reference: { height, hash },
      uniqueMs: firstMs + place,
    };
    const signed = await sender.sign(intent, validity, feeLimitBaseUnits);
    const { contract, to, amountBaseUnits } = intent;
    payments.push({ orderPk: payout.orderPk, contract, to, amountBaseUnits, costBaseUnits, signed });
  }
  return payments;
}

interface Bounds {
  /** Verified by the gateway's own scan, so final. */
  readonly reference: NonNullable<ExpiringView['cursor']>['verified'];
  /** The chain's time now. */
  readonly headMs: number;
  /** No attempt of the wallet has this unique time, or a later one. */
  readonly firstMs: number;
}

async function hinder(context: ExpiringContext, hindered: readonly Hindered[]): Promise<void> {
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
