import type { TxHash } from '@opentill/chain/transfer';
import type { FeePrices, FeeTerms, SendOutcome } from '@opentill/chain/wallet-sender';
import { inFlight, isMined, type OpenNonce, type OwnAttempt } from './store/nonce-facts.ts';

/** What this process remembers of its own sends. Nothing rests on it: without it everything is sent at once. */
export interface SendMemory {
  /** Sends so far, when the first and the last were, and where the seen head stood when this process sent it first. */
  readonly sends: Map<
    TxHash,
    { readonly times: number; readonly firstMs: number; readonly atMs: number; readonly seenHeight: number }
  >;
}

export interface SendTiming {
  /** Pause before stored bytes are sent a second time; doubles with each time. */
  readonly resendMs: number;
  readonly resendMaxMs: number;
  /** How long a transaction waits for a block before it is replaced by a dearer one. */
  readonly bumpAfterMs: number;
}

export function createSendMemory(): SendMemory {
  return { sends: new Map() };
}

/** Forgets what is in a block or gone: should a reorganisation bring it back, it is sent at once. */
export function forgetSettled(memory: SendMemory, nonces: readonly OpenNonce[]): void {
  const waiting = new Set(inFlight(nonces).flatMap((nonce) => nonce.attempts.map((a) => a.txHash)));
  for (const txHash of memory.sends.keys()) if (!waiting.has(txHash)) memory.sends.delete(txHash);
}

export function rememberSent(
  memory: SendMemory,
  txHashes: readonly TxHash[],
  nowMs: number,
  seenHeight: number,
): void {
  for (const txHash of txHashes) {
    const before = memory.sends.get(txHash);
    memory.sends.set(txHash, {
      times: (before?.times ?? 0) + 1,
      firstMs: before?.firstMs ?? nowMs,
      atMs: nowMs,
      seenHeight: before?.seenHeight ?? seenHeight,
    });
  }
}

/** Outcomes after which a node may be without the newest transaction, and an older one of the nonce may be all it takes. */
const NOT_TAKEN: ReadonlySet<SendOutcome | null> = new Set<SendOutcome | null>([
  'NO_GAS_MONEY',
  'REFUSED',
  'UNDERPRICED',
]);

/**
 * Which stored transactions to send now, lowest nonce first: of each nonce that is on its way the newest one, and where that
 * was not taken the ones before as well. All that this process has not sent yet, so everything after a start; then again
 * after ever longer pauses, because a pool may forget, and nobody would tell.
 */
export function chooseSends(
  nonces: readonly OpenNonce[],
  memory: SendMemory,
  nowMs: number,
  timing: SendTiming,
  limit: number,
): readonly { readonly txHash: TxHash; readonly nonce: number; readonly orderPk: string | null }[] {
  const isDue = ({ txHash }: OwnAttempt): boolean => {
    const sent = memory.sends.get(txHash);
    if (sent === undefined) return true;
    const pauseMs = Math.min(timing.resendMaxMs, timing.resendMs * 2 ** Math.min(sent.times - 1, 20));
    return nowMs - sent.atMs >= pauseMs;
  };
  return inFlight(nonces)
    .flatMap(({ nonce, attempts, orderPk }) => {
      const newest = attempts.at(-1);
      if (newest === undefined || !isDue(newest)) return [];
      const all = NOT_TAKEN.has(newest.outcome) ? attempts.toReversed() : [newest];
      return all.map(({ txHash }) => ({ txHash, nonce, orderPk }));
    })
    .slice(0, limit);
}

/** A transaction to be replaced by a dearer one of the same nonce. */
export interface Bump {
  readonly nonce: OpenNonce;
  readonly attempt: OwnAttempt;
  readonly terms: FeeTerms;
}

/** So many blocks must have come since the transaction was sent: a chain that stands still is not hurried by fees. */
const BLOCKS_BEFORE_BUMP = 2;
/** The lowest nonces hold up all others; the rest is replaced when it is their turn. */
const BUMPS_AT_ONCE = 8;

/** What to replace, and whether the lowest one should be and can't: the cap of the fees is reached. */
export interface Bumps {
  readonly bumps: readonly Bump[];
  readonly atCap: OpenNonce | undefined;
}

/** Moments by which bumps are chosen. */
export interface BumpMoment {
  /** Of this process. */
  readonly ms: number;
  /** Of the database. It may step back; what this process sent is late by its own clock as well. */
  readonly databaseMs: number;
  readonly seenHeight: number;
  readonly prices: FeePrices;
}

/**
 * Which transactions to replace: the lowest one that waits too long, whatever it pays, and those next to it that wait too
 * long and pay less than is usual now. Those a node called too cheap need not wait.
 */
export function chooseBumps(
  nonces: readonly OpenNonce[],
  memory: SendMemory,
  now: BumpMoment,
  timing: SendTiming,
  raise: (old: FeeTerms, prices: FeePrices) => FeeTerms | undefined,
): Bumps {
  let atCap: OpenNonce | undefined;
  const bumps = inFlight(nonces)
    .slice(0, BUMPS_AT_ONCE)
    .flatMap((nonce, place): Bump[] => {
      const attempt = nonce.attempts.at(-1);
      const sent = attempt && memory.sends.get(attempt.txHash);
      if (attempt === undefined || sent === undefined) return [];
      const waitedMs = Math.max(now.ms - sent.firstMs, now.databaseMs - attempt.signedAt.getTime());
      const isLate = waitedMs >= timing.bumpAfterMs && now.seenHeight - sent.seenHeight >= BLOCKS_BEFORE_BUMP;
      const isCheap = attempt.terms.maxFeePerGas < now.prices.maxFeePerGas;
      const isRefused = attempt.outcome === 'UNDERPRICED' && nonce.attempts.length === 1;
      if (!(isRefused || (isLate && (place === 0 || isCheap)))) return [];
      const terms = raise(attempt.terms, now.prices);
      if (terms === undefined && place === 0) atCap = nonce;
      return terms === undefined ? [] : [{ nonce, attempt, terms }];
    });
  return { bumps, atCap };
}

/** Since when each open nonce has been looked for, for the foreign-nonce watch. */
export type Suspicions = Map<number, { readonly sinceMs: number; readonly seenHeight: number }>;

/**
 * Nonces below the chain's count of which no own transaction was seen in a block, and that were so already when the scanner
 * had yet to verify the block that it now has: a stranger may have used them. Keeps `suspicions` up to date.
 */
export function chooseSuspects(
  nonces: readonly OpenNonce[],
  chainCount: number,
  cursor: { readonly seenHeight: number; readonly verifiedHeight: number },
  suspicions: Suspicions,
  nowMs: number,
): readonly OpenNonce[] {
  const suspected = nonces.filter((nonce) => nonce.nonce < chainCount && !isMined(nonce));
  const numbers = new Set(suspected.map(({ nonce }) => nonce));
  for (const nonce of suspicions.keys()) if (!numbers.has(nonce)) suspicions.delete(nonce);
  for (const nonce of numbers)
    if (!suspicions.has(nonce)) suspicions.set(nonce, { sinceMs: nowMs, seenHeight: cursor.seenHeight });
  return suspected.filter(({ nonce }) => {
    const suspicion = suspicions.get(nonce);
    return suspicion !== undefined && cursor.verifiedHeight >= suspicion.seenHeight;
  });
}
