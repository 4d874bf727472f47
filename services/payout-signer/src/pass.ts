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
  const { store, lease, memory, observe, key } = context;
  const taken = await store.takeIn(lease);
  if (taken.vetoedOrderPks.length > 0) context.onCommitted();
  observe.takenIn(key, taken);
  const view = await store.look(LIMITS);
  forgetSettled(memory.sends, view.nonces);
  observe.looked(key, view);

  await step(context, 'send', () => resend(context, view));
  const signed = await step(context, 'sign', () => admitAndSign(context, view));
  await step(context, 'replace', () => bumpFees(context, view));
  await step(context, 'balances', () => watchBalances(context, view.now.getTime()));
  return signed === 'more' ? 'again' : undefined;
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
  const { store, sender, key, memory, timing, signal } = context;
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
  const hasAuthorised = await authorise(context, before, gate);
  const view = hasAuthorised ? await store.look(LIMITS) : before;
  memory.pauses.keepOnly(new Set(view.unsigned.map(({ orderPk }) => orderPk)));
  const signed = await signPayouts(context, view, {
    ...gate,
    nextNonce: view.nextNonce ?? gate.nextNonce,
  });
  if (signed === 0) await closeGaps(context, view);
  return signed > 0 ? 'more' : 'done';
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
