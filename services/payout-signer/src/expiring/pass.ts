import { authoriseRequested } from '../wallet/authorise-requested.ts';
import type { Pass, PassOptions } from '../wallet/pass.ts';
import { createObstaclePauses } from '../wallet/obstacle-pauses.ts';
import { readOnce, runStep } from '../wallet/run-step.ts';
import { settleDecisions } from '../wallet/settle-decisions.ts';
import { nextRequestPage } from '../wallet/next-page.ts';
import { watchBalances } from '../wallet/watch-balances.ts';
import { stopForClocks } from '../wallet/watch-clocks.ts';
import type { Obstacle } from '../payouts/payout-facts.ts';
import { inFlight } from './store/attempt-facts.ts';
import type { ExpiringView } from './store/attempt-store.ts';
import { expireDeadAttempts } from './expire-dead-attempts.ts';
import { gatherCoins } from './gather-coins.ts';
import type { ExpiringContext, ExpiringMemory, ExpiringPassDeps } from './pass-deps.ts';
import { chooseSends, forgetSettled, sendStored } from './send-attempts.ts';
import { signAttempts } from './sign-attempts.ts';
import { watchForeign } from './watch-foreign.ts';
import { checkSendMark } from './check-send-mark.ts';

const LIMITS = { requested: 200, unsigned: 200 } as const;
const SENDS_AT_ONCE = 256;

export function createExpiringPass(deps: ExpiringPassDeps): Pass {
  const memory: ExpiringMemory = {
    sends: new Map(),
    pauses: createObstaclePauses(),
    deathProofPauses: createObstaclePauses(),
    requestedAfter: undefined,
    isFirstRound: true,
    balancesAtMs: Number.NEGATIVE_INFINITY,
    gatheredAtMs: Number.NEGATIVE_INFINITY,
  };
  return (lease, signal, options) => runPass({ ...deps, lease, memory, signal }, options);
}

/**
 * Each step commits before the next one relies on it, and the process may stop after any step. Order: external
 * updates, what is already signed, new work. A failing node ends only its own step.
 */
async function runPass(
  context: ExpiringContext,
  { sendsOnly = false }: PassOptions = {},
): Promise<void | 'again'> {
  const { memory, observe, key } = context;
  const view = await haltForForeign(context, await readAndApplyUpdates(context));
  forgetSettled(memory, view.attempts);
  const unmined = inFlight(view.attempts);
  observe.viewRead(key, view, { count: unmined.length, oldestSignedAt: unmined[0]?.signedAt });
  observe.stillInFlight(
    key,
    unmined.map(({ txHash }) => txHash),
  );

  await runStep(context, 'send', () => resend(context, view));
  if (sendsOnly) return undefined;
  // Before a payout becomes unsigned and may expire: checks that the database knows everything that was sent.
  const pausedBy = await stopForClocks(context, await checkSendMark(context, view));
  const provenDead = await runStep(context, 'expire dead attempts', () => expireDeadAttempts(context, view));
  // Payouts of dead attempts are unsigned again.
  const after = provenDead === true ? await readView(context) : view;
  await runStep(context, 'decisions', () => settleDecisions(context, after));
  const signed = await runStep(context, 'sign', () => admitAndSign(context, after, pausedBy));
  await runStep(context, 'balances', () => watchBalances(context));
  await runStep(context, 'block keys', () => watchBlockKeys(context));
  await runStep(context, 'gather', () => gatherCoins(context, () => readView(context), pausedBy));
  return signed === 'more' || provenDead === true ? 'again' : undefined;
}

async function watchBlockKeys({ sender, observe, key, signal }: ExpiringContext): Promise<void> {
  const { blockKeys } = sender;
  if (blockKeys !== undefined) observe.newBlockKeys(key, await blockKeys.newBlockKeys({ signal }));
}

async function haltForForeign(context: ExpiringContext, view: ExpiringView): Promise<ExpiringView> {
  return (await watchForeign(context, view)) ? readView(context) : view;
}

async function readAndApplyUpdates(context: ExpiringContext): Promise<ExpiringView> {
  const { store, lease, observe, key } = context;
  const view = await readView(context);
  const taken = await store.applyExternalUpdates(lease, view);
  if (taken === undefined) return view;
  if (taken.vetoedOrderPks.length > 0) context.onCommitted();
  observe.attemptUpdatesApplied(key, taken);
  return readView(context);
}

function readView({ store, memory, rules }: ExpiringContext): Promise<ExpiringView> {
  const { approvers, approvalWaitMs } = rules.policy;
  const paging = { after: memory.requestedAfter, everyWaiting: memory.isFirstRound };
  return store.readView({ ...LIMITS, ...paging, approvers, approvalWaitMs });
}

function resend(context: ExpiringContext, view: ExpiringView): Promise<void> {
  const { memory, timing, monotonicMs } = context;
  return sendStored(context, chooseSends(view, memory, monotonicMs(), timing, SENDS_AT_ONCE));
}

function countReady(unsigned: ExpiringView['unsigned']): number {
  return unsigned.filter(({ obstacle }) => obstacle !== 'NEEDS_DECISION').length;
}

async function admitAndSign(
  context: ExpiringContext,
  before: ExpiringView,
  pausedBy: Obstacle | undefined,
): Promise<'more' | 'done'> {
  const { store, lease, memory, terms } = context;
  const spent = readOnce(() => store.spent());
  const authorised = await authoriseRequested(context, before, {
    slots: terms.maxOpenPayouts - inFlight(before.attempts).length - countReady(before.unsigned),
    pausedBy,
    spent: spent.read,
    save: (decide) => store.authorise(lease, decide),
  });
  const turned = nextRequestPage(memory, before, authorised);
  if (authorised === 'WRITTEN') spent.forget();
  const view = authorised === 'WRITTEN' ? await readView(context) : before;
  const signed = view.unsigned.length === 0 ? 0 : await signAttempts(context, view, pausedBy, spent.read);
  return signed > 0 || turned || authorised === 'WRITTEN' ? 'more' : 'done';
}
