import type { TxHash } from '@opentill/chain/transfer';
import type { FeePrices, FeeTerms, SendOutcome } from '@opentill/chain/wallet-sender';
import { inFlight, isMined, type OpenNonce, type OwnAttempt } from './store/nonce-facts.ts';

/** No decision depends on it: without it, everything is sent at once. */
export interface SendMemory {
  readonly sends: Map<
    TxHash,
    { readonly times: number; readonly firstMs: number; readonly atMs: number; readonly seenHeight: number }
  >;
}

export interface SendTiming {
  readonly resendMs: number;
  readonly resendMaxMs: number;
  /** A transaction in no block for this long is replaced by one with a higher fee. */
  readonly bumpAfterMs: number;
}

export function createSendMemory(): SendMemory {
  return { sends: new Map() };
}

/** If a reorganisation brings a transaction back, it is sent at once. */
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

/** After these outcomes a node may lack the newest transaction, and accept only an older one of the nonce. */
const NOT_TAKEN: ReadonlySet<SendOutcome | null> = new Set<SendOutcome | null>([
  'NO_GAS_MONEY',
  'REFUSED',
  'UNDERPRICED',
]);

/**
 * Lowest nonce first: the newest transaction of each nonce in flight, and its predecessors if nodes did not accept it.
 * Others are due again after growing pauses, because pools forget without notice.
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

export interface Bump {
  readonly nonce: OpenNonce;
  readonly attempt: OwnAttempt;
  readonly terms: FeeTerms;
}

/** Higher fees do not speed up a stalled chain. */
const BLOCKS_BEFORE_BUMP = 2;
/** The lowest nonces block all others. */
const BUMPS_AT_ONCE = 8;

/** `atCap`: the lowest nonce, if it needs a bump that the fee cap forbids. */
export interface Bumps {
  readonly bumps: readonly Bump[];
  readonly atCap: OpenNonce | undefined;
}

export interface BumpMoment {
  readonly ms: number;
  /** If the database's clock steps back, the process clock still detects a late transaction. */
  readonly databaseMs: number;
  readonly seenHeight: number;
  readonly prices: FeePrices;
}

/**
 * The lowest transaction that waited too long, at any fee, and later ones that also pay less than the current price.
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

export type Suspicions = Map<number, { readonly sinceMs: number; readonly seenHeight: number }>;

/** The chain counts these nonces, but no own transaction of them is in a block. A third party may have used them. */
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
