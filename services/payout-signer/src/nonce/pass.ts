import { createObstaclePauses } from '../wallet/obstacle-pauses.ts';
import type { Pass, PassOptions } from '../wallet/pass.ts';
import { readOnce, runStep } from '../wallet/run-step.ts';
import { settleDecisions } from '../wallet/settle-decisions.ts';
import { nextRequestPage } from '../wallet/next-page.ts';
import { watchBalances } from '../wallet/watch-balances.ts';
import { stopForClocks } from '../wallet/watch-clocks.ts';
import { authoriseRequested } from '../wallet/authorise-requested.ts';
import { chooseSends, createSendMemory, forgetSettled } from './next-sends.ts';
import { openGate } from './open-gate.ts';
import type { ChainCounts, PassContext, PassDeps, PassMemory } from './pass-deps.ts';
import { findGaps, freeSlots } from './plan-nonces.ts';
import { createPoolClaims } from './pool-claims.ts';
import { bumpFees, closeGaps } from './replace-transactions.ts';
import { sendStored } from './send-stored.ts';
import { signPayouts } from './sign-payouts.ts';
import { inFlight } from './store/nonce-facts.ts';
import type { WalletView } from './store/payout-store.ts';
import { verifySiblings, withoutForged, withVerifiedFates } from './verify-stored-signatures.ts';
import { watchForeign } from './watch-foreign.ts';
import { usedUpTo, watchRestored } from './watch-restored.ts';

const LIMITS = { requested: 200, unsigned: 200 } as const;
const SENDS_AT_ONCE = 256;

export function createPass(deps: PassDeps): Pass {
  const memory: PassMemory = {
    sends: createSendMemory(),
    verifications: new Map(),
    pauses: createObstaclePauses(),
    requestedAfter: undefined,
    suspicions: new Map(),
    gapsSinceMs: new Map(),
    isFirstRound: true,
    balancesAtMs: Number.NEGATIVE_INFINITY,
    counts: undefined,
    poolClaims: createPoolClaims(2 * deps.timing.idleCountEveryMs),
    ahead: undefined,
  };
  return (lease, signal, options) => runPass({ ...deps, lease, memory, signal }, options);
}

/**
 * Each step commits before the next one relies on it, and the process may stop after any step. Order: external
 * updates, what is already signed, new work. A failing node ends only its own step.
 */
async function runPass(
  context: PassContext,
  { sendsOnly = false }: PassOptions = {},
): Promise<void | 'again'> {
  const { memory, observe, key } = context;
  const view = await readAndApplyUpdates(context);
  forgetSettled(memory.sends, view.nonces);
  const unmined = inFlight(view.nonces);
  const oldestSignedAt = unmined[0]?.attempts[0]?.signedAt;
  observe.viewRead(key, view, { count: unmined.length, oldestSignedAt });

  await runStep(context, 'send', () => resend(context, view));
  if (sendsOnly) return undefined;
  await runStep(context, 'decisions', () => settleDecisions(context, view));
  const signed = await runStep(context, 'sign', () => admitAndSign(context, view));
  await runStep(context, 'replace', () => bumpFees(context, view));
  await runStep(context, 'balances', () => watchBalances(context));
  return signed === 'more' ? 'again' : undefined;
}

async function readAndApplyUpdates(context: PassContext): Promise<WalletView> {
  const { store, lease, observe, key } = context;
  const view = await readVerified(context);
  const taken = await store.applyExternalUpdates(lease, view);
  if (taken === undefined) return view;
  if (taken.vetoedOrderPks.length > 0) context.onCommitted();
  observe.externalUpdatesApplied(key, taken);
  return readVerified(context);
}

async function readVerified(context: PassContext): Promise<WalletView> {
  const view = await readView(context);
  await verifySiblings(context, view.nonces);
  return { ...view, nonces: withVerifiedFates(context.memory, view.nonces) };
}

function readView({ store, memory, rules }: PassContext): Promise<WalletView> {
  const { approvers, approvalWaitMs } = rules.policy;
  const paging = { after: memory.requestedAfter, everyWaiting: memory.isFirstRound };
  return store.readView({ ...LIMITS, ...paging, approvers, approvalWaitMs });
}

function resend(context: PassContext, view: WalletView): Promise<void> {
  const { memory, timing, monotonicMs } = context;
  return sendStored(
    context,
    view,
    chooseSends(withoutForged(memory, view.nonces), memory.sends, monotonicMs(), timing, SENDS_AT_ONCE),
  );
}

async function admitAndSign(context: PassContext, before: WalletView): Promise<'more' | 'done'> {
  const counts = await countIfDue(context, before);
  if (counts === undefined) {
    nextRequestPage(context.memory, before, 'NOTHING');
    return 'done';
  }
  await watchForeign(context, before, counts.latest);
  const open = await openGate(context, before, counts);
  const { gate: known, usedUp } = await watchRestored(context, before, open, counts);
  const gate = { ...known, pausedBy: await stopForClocks(context, known.pausedBy) };
  const gaps = { usedUp, isPaused: gate.pausedBy !== undefined };
  const spent = readOnce(() => context.store.spent());
  const authorised = await authoriseRequested(context, before, {
    slots: freeSlots(before.nonces, context.terms.maxOpenNonces),
    pausedBy: gate.pausedBy,
    spent: spent.read,
    save: (decide) => context.store.authorise(context.lease, gate.nextNonce, decide),
  });
  const turned = nextRequestPage(context.memory, before, authorised);
  if (authorised === 'WRITTEN') spent.forget();
  const view = authorised === 'WRITTEN' ? await readVerified(context) : before;
  const next = { ...gate, nextNonce: view.nextNonce ?? gate.nextNonce };
  const signed = view.unsigned.length === 0 ? 0 : await signPayouts(context, view, next, spent.read);
  if (signed === 0) await closeGaps(context, view, gaps);
  return signed > 0 || turned || authorised === 'WRITTEN' ? 'more' : 'done';
}

async function countIfDue(context: PassContext, view: WalletView): Promise<ChainCounts | undefined> {
  const { sender, key, memory, timing, monotonicMs, signal } = context;
  const atMs = monotonicMs();
  const ageMs = memory.counts === undefined ? Infinity : atMs - memory.counts.atMs;
  const isBusy =
    view.requested.length + view.unsigned.length + inFlight(view.nonces).length > 0 ||
    findGaps(view.nonces, usedUpTo(memory, view)).length > 0;
  if (!isBusy && ageMs < timing.idleCountEveryMs) return undefined;
  if (memory.counts !== undefined && ageMs < timing.countEveryMs) return memory.counts;
  const [latest, pending] = await Promise.all([
    sender.latestCount(key.wallet, { signal }),
    sender.pendingCount(key.wallet, { signal }),
  ]);
  memory.counts = { atMs, latest, pending };
  return memory.counts;
}
