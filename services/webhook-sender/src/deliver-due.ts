import { buildCallbackBody, callbackHeaders } from '@opentill/contracts/signing/callback';
import type { Db } from '@opentill/db/database';
import type { Clock } from '@opentill/runtime/clock';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Observer } from './observe.ts';
import { resolveEndpoint, type EndpointRules } from './resolve-endpoint.ts';
import { nextAttemptDelayMs } from './retry-schedule.ts';
import { sendCallback, type AttemptResult, type CallbackRequest } from './send-callback.ts';
import {
  claimDue,
  finishAttempt,
  type AttemptRecord,
  type ClaimedDelivery,
  type DeliveryOutcome,
} from './store.ts';

export interface DelivererDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: Observer;
  readonly secretsKey: Buffer;
  /** Unique to this process; a claim belongs to it. */
  readonly instance: string;
  readonly rules: EndpointRules;
  /** @default sendCallback */
  readonly send?: (request: CallbackRequest) => Promise<AttemptResult>;
  readonly retryScheduleSeconds: readonly number[];
  readonly attemptDeadlineMs: number;
  readonly concurrency: number;
  readonly concurrencyPerEndpoint: number;
  readonly pollIntervalMs: number;
}

export interface Deliverer {
  /** New deliveries are due: claim at once. */
  wake(): void;
  /** Claims no more and waits for the attempts under way; those still open at the deadline are handed back. */
  stop(): Promise<void>;
}

/** A lease outlives the longest attempt (look-up, request, commit) by this. */
const LEASE_MARGIN_MS = 10_000;
const LOOKUP_DEADLINE_MS = 3_000;

/**
 * Claims what is due and attempts it, many side by side.
 *
 * An attempt: claimed (attempts + 1, leased) → resolved and sent → recorded with its outcome. A process that dies
 * after the receiver's 200 and before the record leaves a lease that runs out: the same nonce is sent again, which
 * receivers are told to expect. Nothing else can repeat.
 */
export function startDeliverer(deps: DelivererDeps): Deliverer {
  const underWay = new Set<Promise<void>>();
  const stopping = new AbortController();
  const loop: Loop = startLoop({
    name: 'deliver due callbacks',
    intervalMs: deps.pollIntervalMs,
    onError: (error, failuresInRow) => deps.observer.roundFailed('deliver', error, failuresInRow),
    run: async () => {
      const free = deps.concurrency - underWay.size;
      if (free <= 0) return; // the end of an attempt wakes
      const limits = {
        holder: deps.instance,
        limit: free,
        perEndpoint: deps.concurrencyPerEndpoint,
        leaseMs: LOOKUP_DEADLINE_MS + deps.attemptDeadlineMs + LEASE_MARGIN_MS,
      };
      for (const claim of await claimDue(deps.db, limits, deps.secretsKey)) start(claim);
    },
  });

  function start(claim: ClaimedDelivery): void {
    const attempt = attemptDelivery(deps, claim, stopping.signal)
      .catch((error: unknown) => deps.observer.roundFailed('attempt', error, 1))
      .finally(() => {
        underWay.delete(attempt);
        loop.wake();
      });
    underWay.add(attempt);
  }

  return {
    wake: () => loop.wake(),
    async stop() {
      await loop.stop();
      const deadline = setTimeout(() => stopping.abort(), deps.attemptDeadlineMs / 2);
      await Promise.all(underWay);
      clearTimeout(deadline);
    },
  };
}

async function attemptDelivery(
  deps: DelivererDeps,
  claim: ClaimedDelivery,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = deps.clock.now();
  const result = await request(deps, claim, startedAt, signal);
  const record: AttemptRecord = {
    startedAt,
    durationMs: Math.max(0, deps.clock.now().getTime() - startedAt.getTime()),
    statusCode: result.kind === 'ANSWERED' ? result.statusCode : null,
    error: result.kind === 'FAILED' ? result.error.slice(0, 500) : null,
    excerpt: result.kind === 'ANSWERED' ? printable(result.excerpt) : null,
  };
  const outcome = decideOutcome(deps, claim, result);
  const recorded = await finishAttempt(deps.db, claim, deps.instance, record, outcome);
  if (recorded) deps.observer.attemptFinished(claim, record, outcome);
  else deps.observer.claimLost(claim);
}

async function request(
  deps: DelivererDeps,
  claim: ClaimedDelivery,
  startedAt: Date,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const timestampSeconds = Math.floor(startedAt.getTime() / 1000);
  const { dataText, notifyType, eventId, webhookSecret: secret } = claim;
  try {
    const endpoint = await resolveEndpoint(claim.callbackUrl, deps.rules);
    const body = buildCallbackBody({ dataText, nonce: eventId, notifyType, timestampSeconds, secret });
    const headers = callbackHeaders({ body, dataText, eventId, timestampSeconds, secret });
    const send = deps.send ?? sendCallback;
    return await send({
      endpoint,
      body,
      headers: { ...headers },
      deadlineMs: deps.attemptDeadlineMs,
      signal,
    });
  } catch (error) {
    return { kind: 'FAILED', error: error instanceof Error ? error.message : String(error) };
  }
}

function decideOutcome(deps: DelivererDeps, claim: ClaimedDelivery, result: AttemptResult): DeliveryOutcome {
  if (result.kind === 'ANSWERED' && result.statusCode >= 200 && result.statusCode < 300)
    return { state: 'DELIVERED' };
  const retryDelayMs = nextAttemptDelayMs(deps.retryScheduleSeconds, claim.attempt, deps.random);
  return retryDelayMs === undefined ? { state: 'DEAD' } : { state: 'PENDING', retryDelayMs };
}

/** Postgres refuses NUL in text, and an operator's terminal should not obey what a receiver wrote. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e\n\t]/g, '?');
}
