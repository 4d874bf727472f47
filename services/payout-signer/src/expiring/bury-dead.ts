import { isReaderError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import { overdue, type OpenAttempt } from './store/attempt-facts.ts';
import type { ExpiringView } from './store/attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';

/** What is looked for in one go lies so near together: each block is read once for all of them. */
const TOGETHER_MS = 60_000;
const TOGETHER_MAX = 200;

/** What can't be proven in one go is tried in halves, so often in a pass: each try reads blocks. */
const TRIES_MAX = 8;

/**
 * Buries attempts whose time is over and that landed nowhere, by the proof that attempt-facts.ts describes: their payouts may be
 * signed anew from then on. Those that a block turns out to hold wait for the scanner to say so; what can't be proven now waits,
 * and keeps no other one waiting. @returns whether any was buried
 */
export async function buryDead(context: ExpiringContext, view: ExpiringView): Promise<boolean> {
  const { memory, monotonicMs, observe, key, signal } = context;
  const nowMs = monotonicMs();
  const over = await chooseVouched(context, overdue(view));
  const first = together(over.filter(({ txHash }) => memory.burials.isDue(txHash, nowMs)));
  // Until it is proven it is not asked for with every pass.
  for (const { txHash } of first) memory.burials.put(txHash, nowMs);
  const landed = first.filter(({ hasLanded }) => hasLanded).map(({ txHash }) => txHash);
  if (landed.length > 0) observe.unrecorded(key, landed);
  for (const attempt of first) {
    const { hasLanded, unprovenBecause } = attempt;
    if (hasLanded || unprovenBecause === undefined) continue;
    observe.unproven(key, [attempt], new GatewayError('NOT_PROVEN', unprovenBecause, { retryable: true }));
  }
  const tries = [
    first.filter(({ hasLanded, unprovenBecause }) => !hasLanded && unprovenBecause === undefined),
  ];
  let isAnyBuried = false;
  let failure: Error | undefined;
  for (let turn = 0; turn < TRIES_MAX; turn += 1) {
    const due = tries.shift();
    if (due === undefined || due.length === 0) break;
    try {
      if (await buryTogether(context, due)) isAnyBuried = true;
    } catch (error) {
      // A node that does not answer answers no half either; one that has forgotten the oldest of them may have the others.
      if (signal.aborted) throw error;
      if (!maySucceedInHalves(error)) {
        observe.unproven(key, [due, ...tries].flat(), error);
        throw error;
      }
      if (due.length === 1) observe.unproven(key, due, error);
      failure ??= error;
      const half = Math.ceil(due.length / 2);
      if (due.length > 1) tries.push(due.slice(0, half), due.slice(half));
    }
  }
  if (failure !== undefined && tries.length > 0) observe.unproven(key, tries.flat(), failure);
  if (failure !== undefined && !isAnyBuried) throw failure;
  return isAnyBuried;
}

function maySucceedInHalves(error: unknown): error is Error {
  return isReaderError(error, 'INCONSISTENT_ANSWER') || isReaderError(error, 'BLOCK_NOT_FOUND');
}

/** Looks for all of them in the blocks between the lowest reference and the last end, and buries those that none holds. */
async function buryTogether(
  { sender, store, lease, memory, observe, key, rules, signal }: ExpiringContext,
  due: readonly OpenAttempt[],
): Promise<boolean> {
  const hashes = due.map(({ txHash }) => txHash);
  const untilMs = Math.max(...due.map(({ validity }) => validity.expiresMs));
  const [lowest] = due.toSorted((a, b) => a.validity.reference.height - b.validity.reference.height);
  if (lowest === undefined) return false;
  const epochs = due.flatMap(({ validity }) => validity.epochs?.last ?? []);
  const untilEpoch = epochs.length > 0 ? { untilEpoch: Math.max(...epochs) } : {};
  const stretch = { after: lowest.validity.reference, untilMs, ...untilEpoch };
  const { found, end } = await sender.findInBlocks(hashes, stretch, { signal });
  if (found.size > 0) observe.unrecorded(key, [...found]);
  const absent = hashes.filter((txHash) => !found.has(txHash));
  const { maxAttemptsWithoutDecision } = rules.policy;
  const { dead: buried, waiting } =
    absent.length === 0
      ? { dead: [], waiting: [] }
      : await store.bury(lease, absent, end[1], maxAttemptsWithoutDecision);
  for (const txHash of buried) memory.burials.forget(txHash);
  observe.buried(
    key,
    due.filter(({ txHash }) => buried.includes(txHash)),
  );
  for (const orderPk of waiting) observe.hindered(key, orderPk, 'NEEDS_DECISION');
  return buried.length > 0;
}

/** The one with the lowest reference, and those that lie in nearly the same blocks. */
function together(attempts: readonly OpenAttempt[]): readonly OpenAttempt[] {
  const sorted = attempts.toSorted((a, b) => a.validity.reference.height - b.validity.reference.height);
  const [first] = sorted;
  if (first === undefined) return [];
  return sorted
    .filter(({ validity }) => validity.expiresMs <= first.validity.expiresMs + TOGETHER_MS)
    .slice(0, TOGETHER_MAX);
}

/** Those whose stored bytes say what the database says of them, their end above all; the others are told of, and never buried. */
async function chooseVouched(
  { store, sender, observe, key }: ExpiringContext,
  attempts: readonly OpenAttempt[],
): Promise<readonly OpenAttempt[]> {
  const known = attempts.filter(({ hasBytes }) => hasBytes);
  const bytes = known.length === 0 ? new Map() : await store.readRaw(known.map(({ txHash }) => txHash));
  const forged: string[] = [];
  const vouched = known.filter((attempt) => {
    const { txHash, contract, to, amountBaseUnits, resource, validity, feeLimitBaseUnits } = attempt;
    const raw = bytes.get(txHash) as Uint8Array | undefined;
    const intent = {
      from: key.wallet,
      contract,
      to,
      amountBaseUnits,
      ...(resource === undefined ? {} : { resource }),
    };
    const difference =
      raw === undefined
        ? 'no bytes'
        : sender.differenceOf({ txHash, raw }, { intent, validity, feeLimitBaseUnits });
    if (difference !== undefined) forged.push(`${txHash}: ${difference}`);
    return difference === undefined;
  });
  observe.forged(key, forged);
  return vouched;
}
