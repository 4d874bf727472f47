import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import { attemptDelivery, type AttemptDeps, type Lease } from './attempt-delivery.ts';
import { createAttemptSlots } from './attempt-slots.ts';
import { DEFAULT_ENDPOINT_RULES, type EndpointRules } from './endpoint-health.ts';
import { keepConnections } from './keep-connections.ts';
import { createAttemptRecorder } from './record-attempts.ts';
import { claimDue, type ClaimedDelivery } from './store/claim-due.ts';

export interface DelivererDeps extends Omit<AttemptDeps, 'connections' | 'recorder'> {
  /** Attempts younger than `slowAfterMs`. Older ones are counted separately (attempt-slots.ts). */
  readonly concurrency: number;
  readonly concurrencyPerEndpoint: number;
  readonly pollIntervalMs: number;
  readonly endpointRules?: EndpointRules;
  /** From this age an attempt counts as waiting only. @default 50 */
  readonly slowAfterMs?: number;
  /** Must be longer than lookup, request and recording. @default the attempt's deadline plus 13 s */
  readonly leaseMs?: number;
  readonly stopGraceMs?: number;
}

export interface Deliverer {
  wake(): void;
  /** Waits for running attempts. Attempts still open at the deadline are released. */
  stop(): Promise<void>;
}

const LOOKUP_DEADLINE_MS = 3_000;
const RECORD_MARGIN_MS = 10_000;
/** At the end of a lease, in which no request starts. */
const LEASE_MARGIN_SHARE = 0.2;
const SLOW_AFTER_MS = 50;
/** For releasing claims before stop() returns; the remaining leases then expire. */
const HAND_BACK_MS = 2_000;

/**
 * An attempt is claimed (attempts + 1, leased), resolved and sent, then recorded with its outcome. A process that dies
 * between the receiver's 200 and the record leaves a lease that expires. The same nonce is then sent again, which
 * receivers must expect. A stopping process releases its claims. No other case repeats a callback.
 */
export function startDeliverer(deps: DelivererDeps): Deliverer {
  const stopping = new AbortController();
  const connections = keepConnections(deps.concurrencyPerEndpoint);
  const endpointRules = deps.endpointRules ?? DEFAULT_ENDPOINT_RULES;
  const recorder = createAttemptRecorder({ ...deps, endpointRules });
  const attemptDeps: AttemptDeps = { ...deps, connections, recorder };
  const leaseMs = deps.leaseMs ?? LOOKUP_DEADLINE_MS + deps.attemptDeadlineMs + RECORD_MARGIN_MS;
  const slots = createAttemptSlots({
    concurrency: deps.concurrency,
    slowAfterMs: deps.slowAfterMs ?? SLOW_AFTER_MS,
    onRoom: () => loop.wake(),
  });
  const loop: Loop = startLoop({
    name: 'deliver due callbacks',
    intervalMs: deps.pollIntervalMs,
    maxBackoffMs: 5_000,
    onError: (error, failuresInRow) => deps.observe.roundFailed('deliver', error, failuresInRow),
    run: async () => {
      const free = slots.free();
      if (free.limit === 0) return; // a free slot wakes the loop
      const startedAtMs = performance.now(); // taken before the database's time, so that this lease ends earlier than the stored one
      const claims = await claimDue(deps.db, {
        ...free,
        holder: deps.instance,
        perEndpoint: deps.concurrencyPerEndpoint,
        leaseMs,
      });
      const lease = {
        sendUntilMs: startedAtMs + leaseMs * (1 - LEASE_MARGIN_SHARE),
        endsAtMs: startedAtMs + leaseMs,
      };
      for (const claim of claims) start(claim, lease);
    },
  });

  function start(claim: ClaimedDelivery, lease: Lease): void {
    if (claim.wasLost) deps.observe.lostClaimTaken(claim);
    const attempt = attemptDelivery(attemptDeps, claim, lease, stopping.signal).catch((error: unknown) =>
      deps.observe.roundFailed('attempt', error, 1),
    );
    slots.take(attempt, claim);
  }

  return {
    wake: () => loop.wake(),
    async stop() {
      const graceMs = deps.stopGraceMs ?? 4_000;
      const ended = new AbortController();
      const grace = setTimeout(() => stopping.abort(), graceMs);
      const allEnded = loop.stop().then(() => slots.ended());
      await Promise.race([allEnded, abortableDelay(graceMs + HAND_BACK_MS, ended.signal)]);
      ended.abort();
      clearTimeout(grace);
      connections.close();
    },
  };
}
