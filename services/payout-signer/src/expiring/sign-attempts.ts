import type { Address } from '@opentill/chain/address-codec';
import type { Funding, Validity } from '@opentill/chain/expiring-sender';
import type { TokenContract } from '@opentill/chain/transfer';
import type { BlockedPayout, Obstacle, SpentRow, UnsignedPayout } from '../payouts/payout-facts.ts';
import { hasBoundedFee, isFeeWithinBounds } from '../policy/fee-bounds.ts';
import { chooseRefused, recheckPolicy, needsDecision } from '../policy/recheck-policy.ts';
import {
  chooseDue,
  blockPayouts,
  blockAllPayouts,
  intentsOf,
  saveInRounds,
  stopsAll,
  type DuePayment,
} from '../wallet/due-payouts.ts';
import { tracePayouts } from '../wallet/trace-payouts.ts';
import { tryRead } from '../wallet/try-read.ts';
import { createAttemptBudget, type AttemptFunds } from './attempt-budget.ts';
import { chooseExpiry, isBehind } from './choose-expiry.ts';
import type { ExpiringContext } from './pass-deps.ts';
import { sendStored } from './send-attempts.ts';
import { inFlight, type End } from './store/attempt-facts.ts';
import type { CommitFacts, ExpiringView, SignedPayment } from './store/attempt-store.ts';

interface Ready extends DuePayment {
  readonly feeLimitBaseUnits: bigint;
  readonly costBaseUnits: bigint;
  readonly funding?: Funding;
}

/** Stores the bytes before it sends them. Returns the number of payouts signed. */
export async function signAttempts(
  context: ExpiringContext,
  view: ExpiringView,
  pausedBy: Obstacle | undefined,
  spent: () => Promise<readonly SpentRow[]>,
): Promise<number> {
  const capacity = context.terms.maxOpenPayouts - inFlight(view.attempts).length;
  const stopped = stopsAll(context, view.halted, pausedBy);
  const due = chooseDue(context, view.unsigned, stopped, capacity);
  if (due.length === 0) return 0;
  if (stopped !== undefined) {
    const obstacleTo = (payout: UnsignedPayout): Obstacle =>
      needsDecision(payout, context.rules) ? 'NEEDS_DECISION' : stopped;
    await blockPayouts(
      context,
      due.map((payout) => ({ payout, obstacle: obstacleTo(payout) })),
    );
    return 0;
  }
  const { allowed, refused } = recheckPolicy(due, await spent(), context.rules, view);
  await blockPayouts(context, refused);
  if (allowed.length === 0) return 0;
  const { ready, blocked, funds } = await prepare(context, view, allowed);
  await blockPayouts(context, blocked);
  if (funds === undefined || ready.length === 0) return 0;
  const headMs = Math.max(funds.block.timeSeconds * 1_000, view.cursor?.seen.timeMs ?? 0);
  const end = isBehind(view, headMs) ? undefined : await chooseExpiry(context, view, headMs);
  if (end === undefined) {
    const payouts = ready.map(({ payout }) => payout);
    await blockAllPayouts(context, payouts, 'CHAIN_BEHIND');
    return 0;
  }
  const signed = await tracePayouts(
    context,
    'sign payout',
    ready.map(({ payout }) => payout.orderPk),
    () => signAndSave(context, view, { ready, funds }, end),
    (payments) => payments.map(({ orderPk }) => orderPk),
  );
  await sendStored(
    context,
    signed.map(({ orderPk, signed: { txHash, validity } }) => ({ orderPk, txHash, validity })),
  );
  return signed.length;
}

type Funds = AttemptFunds & { readonly block: { readonly height: number; readonly timeSeconds: number } };

async function prepare(
  context: ExpiringContext,
  view: ExpiringView,
  due: readonly UnsignedPayout[],
): Promise<{
  readonly ready: readonly Ready[];
  readonly blocked: readonly BlockedPayout[];
  readonly funds: Funds | undefined;
}> {
  const { sender, key, rules, signal, observe } = context;
  const { payments, blocked: mismatched } = intentsOf(due, rules);
  if (payments.length === 0) return { ready: [], blocked: mismatched, funds: undefined };
  const blocked = [...mismatched];
  const contracts = new Set<TokenContract | null>([null, ...payments.map(({ intent }) => intent.contract)]);
  const [funds, answers] = await Promise.all([
    sender.balances(key.wallet, [...contracts], { signal }),
    sender.prepare(
      payments.map(({ intent }) => intent),
      { signal },
    ),
  ]);
  const isWithin = await boundFees(
    context,
    payments.map(({ payout }) => payout),
    funds,
  );
  const isPayerHalted = findHaltedPayer(context, view.haltedWallets);
  const budget = createAttemptBudget(funds, view.attempts, view.otherFees);
  const ready = payments.flatMap(({ payout, intent }, place): Ready[] => {
    const answer = answers[place];
    if (answer === undefined) return [];
    if (answer.kind === 'READY' && isPayerHalted(answer)) {
      blocked.push({ payout, obstacle: 'HALTED' });
      return [];
    }
    // Missing money also makes the trial fail. It is the clearer obstacle, so it takes precedence.
    const isPayable = answer.kind === 'READY' && isWithin(payout, answer.costBaseUnits);
    const money = isPayable ? budget.take(intent, answer.costBaseUnits) : budget.lacks(intent);
    if (isPayable && money === 'TAKEN') return [{ payout, intent, ...answer }];
    if (answer.kind === 'OBSTACLE') observe.wouldFail(key, payout.orderPk, answer.detail);
    const why = money ?? (answer.kind === 'OBSTACLE' ? answer.obstacle : 'FEES_ABOVE_CAP');
    blocked.push({ payout, obstacle: why === 'TAKEN' ? 'UNCLEAR' : why });
    return [];
  });
  return { ready, blocked, funds };
}

/** Counts fees that a sponsoring hot wallet pays (SUI), but not fees that the address's own allowance covers. */
async function boundFees(
  { sender, key, rules, signal }: ExpiringContext,
  payouts: readonly UnsignedPayout[],
  { allowanceBaseUnits }: Funds,
): Promise<(payout: UnsignedPayout, costBaseUnits: bigint) => boolean> {
  const sweep = rules.policy.sweepsOf(key.chain)?.sweep;
  const asksPrice = sweep?.maxGasPriceBaseUnits !== undefined && payouts.some(hasBoundedFee);
  const workPrice = asksPrice ? await tryRead(sender.workPrice({ signal }), signal) : undefined;
  const allowance = sender.sponsorship === undefined ? allowanceBaseUnits : 0n;
  return (payout, costBaseUnits) => {
    const feeBaseUnits = costBaseUnits > allowance ? costBaseUnits - allowance : 0n;
    return isFeeWithinBounds(sweep, rules.network, payout, { workPrice, feeBaseUnits });
  };
}

/** Each payout gets its own unique time. Stores all bytes in one commit, or none. */
async function signAndSave(
  context: ExpiringContext,
  view: ExpiringView,
  { ready, funds }: { readonly ready: readonly Ready[]; readonly funds: Funds },
  end: End,
): Promise<readonly SignedPayment[]> {
  const { store, lease, observe, key, memory, rules, mark } = context;
  if (view.cursor === null) return [];
  const sent = await mark.read();
  const firstMs = Math.max(view.now.getTime(), (view.lastUniqueMs ?? 0) + 1, (sent?.uniqueMs ?? 0) + 1);
  const bounds = { reference: view.cursor.verified, end, firstMs };
  const payments = await saveInRounds(
    memory,
    ready,
    (left) => signAll(context, left, bounds),
    (signed, left) => {
      const payouts = left.map(({ payout }) => payout);
      return store.saveSigned(lease, signed, (besides) => [
        ...chooseRefused(payouts, besides.spent, rules, view.now),
        ...chooseUnpaid(context, view, { ready: left, funds }, besides),
      ]);
    },
  );
  if (payments.length > 0) observe.attemptsSigned(key, payments);
  return payments;
}

/**
 * At the commit: since the view, another wallet with the same fee payer may have taken the coin, or the payer was
 * halted.
 */
function chooseUnpaid(
  context: ExpiringContext,
  { attempts, otherFees }: ExpiringView,
  { ready, funds }: { readonly ready: readonly Ready[]; readonly funds: Funds },
  now: Pick<CommitFacts, 'otherFees' | 'haltedWallets'>,
): readonly string[] {
  const budget = createAttemptBudget(funds, attempts, [...otherFees, ...now.otherFees]);
  const isPayerHalted = findHaltedPayer(context, now.haltedWallets);
  return ready.flatMap(({ payout, intent, costBaseUnits }) => {
    const isPaid = !isPayerHalted({ costBaseUnits }) && budget.take(intent, costBaseUnits) === 'TAKEN';
    return isPaid ? [] : [payout.orderPk];
  });
}

/** True when another wallet pays the fee, and that wallet is halted. The signer must not spend from it. */
function findHaltedPayer(
  { sender, key }: Pick<ExpiringContext, 'sender' | 'key'>,
  haltedWallets: ReadonlySet<Address>,
): (priced: { readonly costBaseUnits: bigint }) => boolean {
  const payer = sender.sponsorship?.sponsorOf(key.wallet);
  const isHalted = payer !== undefined && haltedWallets.has(payer);
  return ({ costBaseUnits }) => isHalted && costBaseUnits > 0n;
}

async function signAll(
  { sender }: ExpiringContext,
  ready: readonly Ready[],
  { reference, end, firstMs }: Bounds,
): Promise<readonly SignedPayment[]> {
  const payments: SignedPayment[] = [];
  for (const [place, { payout, intent, feeLimitBaseUnits, costBaseUnits, funding }] of ready.entries()) {
    const { height, hash } = reference;
    const validity: Validity = { ...end, reference: { height, hash }, uniqueMs: firstMs + place };
    const signed = await sender.sign(intent, validity, feeLimitBaseUnits, funding);
    const { contract, to, amountBaseUnits } = intent;
    payments.push({ orderPk: payout.orderPk, contract, to, amountBaseUnits, costBaseUnits, signed });
  }
  return payments;
}

interface Bounds {
  readonly reference: NonNullable<ExpiringView['cursor']>['verified'];
  readonly end: End;
  /** Higher than the unique time of every attempt of the wallet. */
  readonly firstMs: number;
}
