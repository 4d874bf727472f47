import type { NonceGate } from './open-gate.ts';
import type { ChainCounts, PassContext, PassMemory } from './pass-deps.ts';
import { lowestUnsigned } from './plan-nonces.ts';
import type { KnownNonces, WalletView } from './store/payout-store.ts';

/** A chain that was ahead in one look alone may have been a look at two moments. */
const LOOKS_BEFORE_HALT = 2;

/**
 * Holds what the database knows against what was sent: a database that knows less was restored, or lost commits, and signs
 * nothing until an operator has seen to it. The mark of this machine is proof at once; a chain that is ahead is, by two
 * sources (or the only one), when it stays so. Also when it is released, the nonces up to there are of no payout: whatever
 * forgotten bytes are still about may land there, and nowhere else. So is what the pool of one source goes on claiming alone
 * (pool-claims.ts), which halts nothing.
 *
 * @returns the gate, closed where payouts have to wait; and the highest nonce that none may get
 */
export async function watchRestored(
  context: PassContext,
  view: WalletView,
  gate: NonceGate,
  counts: ChainCounts,
): Promise<{ readonly gate: NonceGate; readonly usedUp: number }> {
  const released = view.releasedMark ?? -1;
  const isHalted = await haltIfOlder(context, view, gate, counts, released);
  const usedUp = usedUpTo(context.memory, view);
  const waits = gate.pausedBy !== 'CHAIN_BEHIND' && (isHalted || isBelow(view, usedUp));
  if (waits && !isHalted && view.halted === null && hasPayoutsUpTo(view, usedUp))
    await context.store.keepFromPayouts(context.lease, usedUp, gate.nextNonce);
  return { gate: waits ? { ...gate, pausedBy: 'CHAIN_AHEAD' } : gate, usedUp };
}

/** The highest nonce that no payout may get; -1 where there is none. */
export function usedUpTo({ poolClaims }: Pick<PassMemory, 'poolClaims'>, view: WalletView): number {
  return Math.max(view.releasedMark ?? -1, poolClaims.leftTo());
}

/** Whether a nonce up to there is not used up for good: by bytes of ours that are final, or by something unknown. */
function isBelow({ nonces, highestUsed, nextNonce }: WalletView, mark: number): boolean {
  const open = nonces.some(
    ({ nonce, state, purpose }) => nonce <= mark && (state === 'RESERVED' || purpose === 'CANCEL'),
  );
  return open || isAbove(mark, { highestUsed, nextNonce });
}

function isAbove(
  mark: number,
  { highestUsed, nextNonce }: Pick<WalletView, 'highestUsed' | 'nextNonce'>,
): boolean {
  return mark > Math.max(highestUsed ?? -1, (nextNonce ?? 0) - 1);
}

/** Whether a payout has, or would get, a nonce up to there that nothing was signed with. */
function hasPayoutsUpTo({ nonces, nextNonce }: WalletView, mark: number): boolean {
  const isHeld = nonces.some((n) => n.nonce <= mark && n.state === 'RESERVED' && n.orderPk !== null);
  return isHeld || nextNonce === null || nextNonce <= mark;
}

/** Halts the wallet when something is proven that is not settled. @returns whether it is proven */
async function haltIfOlder(
  context: PassContext,
  view: WalletView,
  gate: NonceGate,
  counts: ChainCounts,
  released: number,
): Promise<boolean> {
  const { memory, timing, key, observe } = context;
  const isOlder = await haltBelowMark(context, view.highestUsed, released);
  const { latest, pending } = counts;
  const next = lowestUnsigned(view.nonces, gate.nextNonce);
  const isAhead = gate.pausedBy === 'CHAIN_AHEAD';
  observe.chainAhead(key, isAhead ? Math.max(latest, pending.highest) - next : 0);
  if (!isAhead) {
    memory.ahead = undefined;
    return isOlder;
  }
  // A count that is taken once and looked at twice is one look.
  const before = memory.ahead;
  memory.ahead = { sinceMs: before?.sinceMs ?? counts.atMs, looks: (before?.looks ?? 0) + 1 };
  const { sinceMs, looks } = memory.ahead;
  const lasts = looks >= LOOKS_BEFORE_HALT && counts.atMs - sinceMs >= timing.aheadHaltAfterMs;
  const known = pending.agreed - 1;
  if (lasts && pending.agreed > next && known > released)
    await halt(
      context,
      known,
      `nonces ${next} to ${known} are used by transactions that this database does not know`,
    );
  return isOlder;
}

type MarkContext = Pick<PassContext, 'mark' | 'store' | 'lease' | 'observe' | 'key'>;

/** Halts the wallet when the mark of this machine is above what the database knows. @returns whether it is */
async function haltBelowMark(
  context: MarkContext,
  highestUsed: number | null,
  released: number,
): Promise<boolean> {
  const sent = (await context.mark.read()) ?? -1;
  const isOlder = sent > Math.max(highestUsed ?? -1, released);
  if (isOlder)
    await halt(
      context,
      sent,
      `nonces up to ${sent} were sent from here, and this database knows of none above ${highestUsed ?? 'any'}`,
    );
  return isOlder;
}

/**
 * What watchRestored finds without a node: it also holds while the chain is halted or left out.
 * @returns whether forgotten transactions may have paid, or may still pay
 */
export async function watchMark(context: MarkContext, known: KnownNonces): Promise<boolean> {
  const released = known.releasedMark ?? -1;
  const isOlder = await haltBelowMark(context, known.highestUsed, released);
  return isOlder || known.isReleasedOpen || isAbove(released, known);
}

async function halt(
  { store, lease, observe, key }: Omit<MarkContext, 'mark'>,
  mark: number,
  reason: string,
): Promise<void> {
  if (await store.haltRestored(lease, mark, reason)) observe.restored(key, reason);
}
