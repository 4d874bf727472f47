import { GatewayError } from '@opentill/domain/gateway-error';
import type { Lease } from '@opentill/db/lease';
import { authorise, openGate, type NonceGate } from './authorise.ts';
import { chooseSends, createSendMemory, forgetSettled } from './next-sends.ts';
import { createObstaclePauses } from './obstacle-pauses.ts';
import type { PassContext, PassDeps, PassMemory } from './pass-deps.ts';
import { findGaps } from './plan-nonces.ts';
import { bumpFees, closeGaps } from './replace-transactions.ts';
import { sendStored } from './send-stored.ts';
import { signPayouts } from './sign-payouts.ts';
import { watchBalances } from './watch-balances.ts';
import { watchForeign } from './watch-foreign.ts';
import { inFlight, type WalletView } from './wallet-facts.ts';

/** Payouts looked at in one pass. */
const LIMITS = { requested: 200, unsigned: 200 } as const;
const SENDS_AT_ONCE = 256;

/** Drives one wallet one pass further; 'again' when there is more to do at once. */
export type Pass = (lease: Lease, signal: AbortSignal) => Promise<void | 'again'>;

/** Makes the pass of one driver, with the memory of what it did. A new holder of the lease needs a new one. */
export function createPass(deps: PassDeps): Pass {
  const memory: PassMemory = {
    sends: createSendMemory(),
    pauses: createObstaclePauses(),
    requestedAfter: undefined,
    suspicions: new Map(),
    gapsSinceMs: new Map(),
    balancesAtMs: Number.NEGATIVE_INFINITY,
    countAtMs: Number.NEGATIVE_INFINITY,
  };
  return (lease, signal) => runPass({ ...deps, lease, memory, signal });
}

/**
 * Each step is committed before the next one rests on it, and each may be the last that this process does. What others
 * wrote comes first, then what is already promised to the chain, then what is new. A node that fails ends its step alone.
 */
async function runPass(context: PassContext): Promise<void | 'again'> {
  const { memory, observe, key } = context;
  const view = await lookAndTakeIn(context);
  forgetSettled(memory.sends, view.nonces);
  observe.looked(key, view);

  await step(context, 'send', () => resend(context, view));
  const signed = await step(context, 'sign', () => admitAndSign(context, view));
  await step(context, 'replace', () => bumpFees(context, view));
  await step(context, 'balances', () => watchBalances(context, view.now.getTime()));
  return signed === 'more' ? 'again' : undefined;
}

async function lookAndTakeIn(context: PassContext): Promise<WalletView> {
  const { store, lease, observe, key } = context;
  const view = await look(context);
  const taken = await store.takeIn(lease, view);
  if (taken === undefined) return view;
  if (taken.vetoedOrderPks.length > 0) context.onCommitted();
  observe.takenIn(key, taken);
  return look(context);
}

function look({ store, memory }: PassContext): Promise<WalletView> {
  return store.look({ ...LIMITS, after: memory.requestedAfter });
}

function resend(context: PassContext, view: WalletView): Promise<void> {
  const { memory, timing } = context;
  return sendStored(
    context,
    view,
    chooseSends(view.nonces, memory.sends, view.now.getTime(), timing, SENDS_AT_ONCE),
  );
}

/** The steps that need to know how many transactions of the wallet the chain counts. */
async function admitAndSign(context: PassContext, before: WalletView): Promise<'more' | 'done'> {
  const { sender, key, memory, timing, signal } = context;
  const nowMs = before.now.getTime();
  const isBusy =
    before.requested.length + before.unsigned.length + inFlight(before.nonces).length > 0 ||
    findGaps(before.nonces).length > 0;
  if (!isBusy && nowMs - memory.countAtMs < timing.idleCountEveryMs) return 'done';
  const chainCount = await sender.latestCount(key.wallet, { signal });
  memory.countAtMs = nowMs;
  await watchForeign(context, before, chainCount);
  if (before.requested.length + before.unsigned.length === 0) {
    await closeGaps(context, before);
    return 'done';
  }
  const gate: NonceGate = await openGate(context, before, chainCount);
  const authorised = await authorise(context, before, gate);
  const turned = turnPage(memory, before.requested, authorised);
  const view = authorised === 'WRITTEN' ? await look(context) : before;
  const signed = await signPayouts(context, view, {
    ...gate,
    nextNonce: view.nextNonce ?? gate.nextNonce,
  });
  if (signed === 0) await closeGaps(context, view);
  return signed > 0 || turned ? 'more' : 'done';
}

/**
 * A page full of payouts of which none can be authorised now must not hide those behind it: the next pass looks there, and so
 * on to the end and round. While some wait for nothing but their turn, the oldest keep it.
 * @returns whether there is another page to look at
 */
function turnPage(
  memory: PassMemory,
  page: WalletView['requested'],
  authorised: Awaited<ReturnType<typeof authorise>>,
): boolean {
  const isStuck = authorised !== 'TURNS' && authorised !== 'WRITTEN' && page.length === LIMITS.requested;
  memory.requestedAfter = isStuck ? page.at(-1)?.orderPk : undefined;
  return isStuck;
}

/** Runs a step. What a node failed to do is told, and left to the next pass; everything else ends the pass. */
async function step<T>(context: PassContext, name: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isNodesFault(error)) throw error;
    context.observe.stepFailed(context.key, name, error);
    return undefined;
  }
}

/** Codes of a ReaderError: what nodes do or fail to do. */
const NODES_FAULT = /^(RPC_|BLOCK_NOT_FOUND$|INCONSISTENT_ANSWER$|READ_ABORTED$|FINALITY_UNAVAILABLE$)/;

function isNodesFault(error: unknown): boolean {
  return error instanceof GatewayError && NODES_FAULT.test(error.code);
}
