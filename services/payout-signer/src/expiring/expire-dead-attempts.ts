import { isReaderError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import { overdue, type OpenAttempt } from './store/attempt-facts.ts';
import type { ExpiringView } from './store/attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';

/** Attempts that expire within this time of the first are searched together, so each block is read once for all. */
const TOGETHER_MS = 60_000;
const TOGETHER_MAX = 200;

/** Per pass. A failed search is repeated in halves; each search reads blocks. */
const TRIES_MAX = 8;

/**
 * Marks attempts DEAD by the proof that attempt-facts.ts describes. Their payouts may then be signed again. An attempt
 * that a block holds waits for the scanner to record it. An attempt without proof does not delay the others.
 * @returns whether any attempt was marked DEAD
 */
export async function expireDeadAttempts(context: ExpiringContext, view: ExpiringView): Promise<boolean> {
  const { memory, monotonicMs, observe, key, signal } = context;
  const nowMs = monotonicMs();
  const over = await verifyStoredBytes(context, overdue(view));
  const first = together(over.filter(({ txHash }) => memory.deathProofPauses.isDue(txHash, nowMs)));
  // Backs off until it is proven, so that not every pass asks the nodes.
  for (const { txHash } of first) memory.deathProofPauses.put(txHash, nowMs);
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
  let isAnyDead = false;
  let failure: Error | undefined;
  for (let turn = 0; turn < TRIES_MAX; turn += 1) {
    const due = tries.shift();
    if (due === undefined || due.length === 0) break;
    try {
      if (await expireAbsent(context, due)) isAnyDead = true;
    } catch (error) {
      // An unavailable node would not answer for half of them. One that pruned the oldest blocks may have the others.
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
  if (failure !== undefined && !isAnyDead) throw failure;
  return isAnyDead;
}

function maySucceedInHalves(error: unknown): error is Error {
  return isReaderError(error, 'INCONSISTENT_ANSWER') || isReaderError(error, 'BLOCK_NOT_FOUND');
}

async function expireAbsent(
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
  const { dead: provenDead, waiting } =
    absent.length === 0
      ? { dead: [], waiting: [] }
      : await store.markDead(lease, absent, end[1], maxAttemptsWithoutDecision);
  for (const txHash of provenDead) memory.deathProofPauses.forget(txHash);
  observe.provenDead(
    key,
    due.filter(({ txHash }) => provenDead.includes(txHash)),
  );
  for (const orderPk of waiting) observe.blocked(key, orderPk, 'NEEDS_DECISION');
  return provenDead.length > 0;
}

function together(attempts: readonly OpenAttempt[]): readonly OpenAttempt[] {
  const sorted = attempts.toSorted((a, b) => a.validity.reference.height - b.validity.reference.height);
  const [first] = sorted;
  if (first === undefined) return [];
  return sorted
    .filter(({ validity }) => validity.expiresMs <= first.validity.expiresMs + TOGETHER_MS)
    .slice(0, TOGETHER_MAX);
}

/** Reports attempts whose stored bytes differ from their row, above all in the expiry, as forged. They never die. */
async function verifyStoredBytes(
  { store, sender, observe, key }: ExpiringContext,
  attempts: readonly OpenAttempt[],
): Promise<readonly OpenAttempt[]> {
  const known = attempts.filter(({ hasBytes }) => hasBytes);
  const bytes = known.length === 0 ? new Map() : await store.readRaw(known.map(({ txHash }) => txHash));
  const forged: string[] = [];
  const verified = known.filter((attempt) => {
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
  return verified;
}
