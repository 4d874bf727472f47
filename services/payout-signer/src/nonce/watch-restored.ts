import type { NonceGate } from './open-gate.ts';
import type { ChainCounts, PassContext, PassMemory } from './pass-deps.ts';
import { lowestUnsigned } from './plan-nonces.ts';
import type { KnownNonces, WalletView } from './store/payout-store.ts';

/** A chain that is ahead in a single check may come from counts taken at two moments. */
const CHECKS_BEFORE_HALT = 2;

/**
 * A database that knows less than was sent signs no transaction until an operator releases the wallet. The mark of this
 * machine is proof at once. A chain that is ahead is proof if it stays so, by two sources or the only one.
 *
 * After the release no payout gets a nonce up to the mark: forgotten bytes may land there, and only there. The same
 * applies to nonces that a single source's pool keeps claiming (pool-claims.ts), which halts no wallet.
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

/** Highest nonce that no payout may get; -1: none. */
export function usedUpTo({ poolClaims }: Pick<PassMemory, 'poolClaims'>, view: WalletView): number {
  return Math.max(view.releasedMark ?? -1, poolClaims.leftTo());
}

/** A nonce up to `mark` is not used up permanently, by final bytes of ours or by an unknown transaction. */
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

function hasPayoutsUpTo({ nonces, nextNonce }: WalletView, mark: number): boolean {
  const isHeld = nonces.some((n) => n.nonce <= mark && n.state === 'RESERVED' && n.orderPk !== null);
  return isHeld || nextNonce === null || nextNonce <= mark;
}

/** Halts when a proof is new since the last release. Returns whether the mark proves that the database is older. */
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
  // A count that two passes use is one check.
  const before = memory.ahead;
  memory.ahead = { sinceMs: before?.sinceMs ?? counts.atMs, checks: (before?.checks ?? 0) + 1 };
  const { sinceMs, checks } = memory.ahead;
  const lasts = checks >= CHECKS_BEFORE_HALT && counts.atMs - sinceMs >= timing.aheadHaltAfterMs;
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
      `this machine sent nonces up to ${sent}, and the database knows none above ${highestUsed ?? 'any'}`,
    );
  return isOlder;
}

/**
 * Needs no node, so it also runs while the chain is halted. Returns whether forgotten transactions may pay or have
 * paid.
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
