import type { NetworkKind } from '@opentill/domain/chains';

// A database clock that is set ahead by a day would empty the policy's windows. So it is compared with the signer's own
// clock, and both with the chain's time.

const APART_MAX_MS = 60_000;
/** Largest lead of a verified block over the clocks. Chains permit block times some seconds ahead. */
const CHAIN_AHEAD_MAX_MS = 300_000;
/** Age of the newest block. Below an hour, the shortest window of a policy. */
const CHAIN_BEHIND_MAX_MS = 2_700_000;

export interface ClockReading {
  readonly databaseMs: number;
  readonly own: { readonly fromMs: number; readonly toMs: number };
  /** Times of the newest block that the scanner has seen and of the verified block; null before its first commit. */
  readonly chain: { readonly seenMs: number; readonly verifiedMs: number } | null;
}

/** Returns the difference that forbids new signatures. The time of local test chains is arbitrary. */
export function compareClocks(
  kind: NetworkKind,
  { databaseMs, own, chain: times }: ClockReading,
): string | undefined {
  const aheadMs = Math.max(databaseMs - own.toMs, 0) - Math.max(own.fromMs - databaseMs, 0);
  if (!(Math.abs(aheadMs) <= APART_MAX_MS))
    return `the database's clock is ${seconds(aheadMs)} ahead of the signer's`;
  if (times === null || kind === 'test') return undefined;
  const chainAheadMs = times.verifiedMs - own.toMs;
  if (!(chainAheadMs <= CHAIN_AHEAD_MAX_MS))
    return `the chain is ${seconds(chainAheadMs)} ahead of the clocks`;
  const behindMs = own.fromMs - Math.max(times.seenMs, times.verifiedMs);
  if (!(behindMs <= CHAIN_BEHIND_MAX_MS))
    return `the newest block is ${seconds(behindMs)} old: the scanner is behind, or the clocks are ahead`;
  return undefined;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}

export type ReadClocks = () => Promise<string | undefined>;
