import { CHAINS, type Chain } from '@opentill/domain/chains';

/*
 * Windows and cooling times follow the database's clock. Moved ahead by a day it would empty the windows, so it is compared with the
 * signer's own clock, and both with the time of the chain.
 */

/** Between the clocks of the database and of this process. */
const APART_MAX_MS = 60_000;
/** A verified block is no later than this after the clocks. Chains let block times be some seconds ahead. */
const CHAIN_AHEAD_MAX_MS = 300_000;
/** The newest block is no earlier than this before the clocks. Below an hour, which is the shortest window of a policy. */
const CHAIN_BEHIND_MAX_MS = 2_700_000;

export interface ClockReading {
  readonly databaseMs: number;
  /** The time of this process before the database was asked and after. */
  readonly own: { readonly fromMs: number; readonly toMs: number };
  /** Times of the newest block that the scanner has seen and of the one that it has verified; null before its first commit. */
  readonly chain: { readonly seenMs: number; readonly verifiedMs: number } | null;
}

/**
 * Which clocks differ too much for anything new to be signed, in words; undefined: none. Test networks include local ones, whose time
 * is set by whoever runs them: there only the database's clock is compared.
 */
export function compareClocks(
  chain: Chain,
  { databaseMs, own, chain: times }: ClockReading,
): string | undefined {
  const aheadMs = Math.max(databaseMs - own.toMs, 0) - Math.max(own.fromMs - databaseMs, 0);
  if (!(Math.abs(aheadMs) <= APART_MAX_MS))
    return `the database's clock is ${seconds(aheadMs)} ahead of the signer's`;
  if (times === null || CHAINS[chain].network === 'test') return undefined;
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

/** Reads the clocks that a pass relies on. @returns which of them differ too much, in words; undefined: none */
export type ReadClocks = () => Promise<string | undefined>;
