import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import { attemptDelivery, type AttemptDeps, type Lease } from './attempt-delivery.ts';
import { createAttemptSlots } from './attempt-slots.ts';
import { DEFAULT_ENDPOINT_RULES, type EndpointRules } from './endpoint-health.ts';
import { keepConnections } from './keep-connections.ts';
import { createAttemptRecorder } from './record-attempts.ts';
import { claimDue, type ClaimedDelivery } from './store/claim-due.ts';

export interface DelivererDeps extends Omit<AttemptDeps, 'connections' | 'recorder'> {
  /** Attempts younger than `slowAfterMs` at once; those that wait for slow receivers come on top (attempt-slots.ts). */
  readonly concurrency: number;
  readonly concurrencyPerEndpoint: number;
  readonly pollIntervalMs: number;
  /** When endpoints are given a rest. @default DEFAULT_ENDPOINT_RULES */
  readonly endpointRules?: EndpointRules;
  /** How long an attempt takes up one of the slots before it counts as one that merely waits. @default 50 */
  readonly slowAfterMs?: number;
  /** Longer than an attempt: look-up, request, record. @default the attempt's deadline and 13 s */
  readonly leaseMs?: number;
  /** How long attempts under way may go on when stopping. @default 4 000 */
  readonly stopGraceMs?: number;
}

export interface Deliverer {
  /** New deliveries are due: claim at once. */
  wake(): void;
  /** Claims no more and waits for the attempts under way; those still open at the deadline are handed back. */
  stop(): Promise<void>;
}

const LOOKUP_DEADLINE_MS = 3_000;
const RECORD_MARGIN_MS = 10_000;
/** Of a lease, the share before its end in which nothing is sent any more. */
const LEASE_MARGIN_SHARE = 0.2;
const SLOW_AFTER_MS = 50;
/** How long handing back may take before stop() returns all the same; the leases then run out. */
const HAND_BACK_MS = 2_000;

/**
 * Claims what is due and attempts it, many side by side.
 *
 * An attempt: claimed (attempts + 1, leased) → resolved and sent → recorded with its outcome. A process that dies
 * after the receiver's 200 and before the record leaves a lease that runs out: the same nonce is sent again, which
 * receivers are told to expect. One that stops hands what it holds back. Nothing else can repeat.
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
      if (free.limit === 0) return; // room wakes
      const startedAtMs = performance.now(); // before the database's, so that our lease ends before its own
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
