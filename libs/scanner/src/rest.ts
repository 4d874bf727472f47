import type { SourceHealth } from '@opentill/chain/source-health';
import type { Scanning } from './scanning.ts';

/**
 * After a source began to fail, the chain rests again after this time, or `aloneAfterSeconds` if that is longer. Alarms
 * and the acceptance of a single source measure how long a failure lasts, so sources must be asked meanwhile.
 */
const FAILURE_SETTLED_SECONDS = 300;

/**
 * - rest: no round now.
 * - look: a round of a resting chain, for payments that no open work awaits.
 * - after-rest: the first round since the nodes were last left unasked.
 */
export type Pace = 'rest' | 'look' | 'after-rest' | 'follow';

/**
 * A chain rests while it has no open work: only the database is asked at each poll, and the nodes every
 * `restIntervalMs`.
 *
 * | begins when all hold                            | ends when one holds                            |
 * |-------------------------------------------------|------------------------------------------------|
 * | the last round left no work and no open outcome | `restIntervalMs` passed since that round       |
 * | the chain is RUNNING and its sources answer     | an order, payout, transaction or rescan opened |
 * | the database has no open work for the chain     | pause, failure, loss of the lease              |
 *
 * After its interval the chain rests again, unless the round found work.
 */
export function createRest(
  { network, reader, store, observe, clock }: Scanning,
  /** Whether heads must be followed as they come; false also while another replica scans the chain. */
  onFollowing: (isFollowing: boolean) => void,
) {
  const { chain, pollIntervalMs, restIntervalMs } = network;
  const aloneAfterSeconds = network.aloneAfterSeconds === 'never' ? 0 : (network.aloneAfterSeconds ?? 0);
  const settledSeconds = Math.max(FAILURE_SETTLED_SECONDS, aloneAfterSeconds);
  const nowMs = (): number => clock.now().getTime();
  let quietSinceMs: number | undefined;
  let askedAtMs = -Infinity;
  let isResting = false;

  /** A timer may fire early. */
  const hasPassed = (sinceMs: number, intervalMs: number): boolean =>
    nowMs() - sinceMs >= intervalMs - pollIntervalMs / 2;
  const isSettled = ({ failingSinceSeconds }: SourceHealth): boolean =>
    failingSinceSeconds === null || nowMs() / 1_000 - failingSinceSeconds > settledSeconds;

  async function isAwaited(): Promise<boolean> {
    // A subscription starts rounds more often than the poll; these ask the database no more often.
    if (!isResting && !hasPassed(askedAtMs, pollIntervalMs)) return true;
    const isWell = observe.status(chain).state === 'RUNNING' && (reader.sources?.() ?? []).every(isSettled);
    if (!isResting && !isWell) return true;
    askedAtMs = nowMs();
    return store.isAwaited(chain);
  }

  function change(to: boolean): void {
    if (isResting !== to) observe.resting(chain, to);
    isResting = to;
  }
  function end(): void {
    quietSinceMs = undefined;
    change(false);
  }

  return {
    async next(): Promise<Pace> {
      const hasRested = isResting;
      const mayRest = quietSinceMs !== undefined && restIntervalMs > pollIntervalMs;
      const isDue = quietSinceMs !== undefined && hasPassed(quietSinceMs, restIntervalMs);
      const rests = mayRest && !(await isAwaited());
      change(rests);
      onFollowing(!rests);
      if (rests && !isDue) return 'rest';
      quietSinceMs = undefined;
      if (rests) {
        change(false); // its alarms count while the nodes are asked
        return 'look';
      }
      return hasRested ? 'after-rest' : 'follow';
    },
    /** A round ended and left no work. */
    quiet(): void {
      quietSinceMs = nowMs();
    },
    /** A failure, or a state that must be loaded again. */
    end,
    /** Paused, or another replica scans the chain. */
    stop(): void {
      end();
      onFollowing(false);
    },
  };
}
