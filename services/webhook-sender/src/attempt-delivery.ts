import { buildCallbackBody, callbackHeaders } from '@opentill/contracts/signing/callback';
import type { Db } from '@opentill/db/database';
import { openSecret, webhookSecretAad } from '@opentill/db/sealed-secret';
import { GatewayError } from '@opentill/domain/gateway-error';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { backoffMs } from '@opentill/runtime/backoff';
import type { Clock } from '@opentill/runtime/clock';
import { inSpan, type OrderSpan } from '@opentill/runtime/tracing';
import { failureOfStatus, isOwnFault, type FailureCode } from './failure-codes.ts';
import type { Connections } from './keep-connections.ts';
import type { Observe } from './observe.ts';
import type { AttemptRecorder } from './record-attempts.ts';
import { failureOfResolving, resolveEndpoint, type AddressRules } from './resolve-endpoint.ts';
import { retryAfterMs } from './retry-after.ts';
import { nextAttemptDelayMs } from './retry-schedule.ts';
import { sendCallback, type AttemptResult, type CallbackRequest } from './send-callback.ts';
import { markResult, startAttemptSpan } from './trace-attempt.ts';
import type { ClaimedDelivery } from './store/claim-due.ts';
import { releaseClaim, type AttemptRecord, type DeliveryOutcome } from './store/finish-attempts.ts';

export interface AttemptDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observe: Observe;
  readonly secretsKey: Buffer;
  readonly instance: string;
  readonly rules: AddressRules;
  readonly recorder: AttemptRecorder;
  readonly send?: (request: CallbackRequest) => Promise<AttemptResult>;
  readonly connections: Connections;
  readonly retryScheduleSeconds: readonly number[];
  readonly attemptDeadlineMs: number;
}

export interface Lease {
  /** Later another process may hold the claim and have sent a newer callback. */
  readonly sendUntilMs: number;
  readonly endsAtMs: number;
}

/** After a fault of this process. */
const FAULT_PAUSE_MS = 30_000;
/** Longest delay by Retry-After. Twice the scheduled pause applies if that is longer. */
const RETRY_AFTER_CAP_MS = 3_600_000;

/**
 * Neither a late attempt nor one that `signal` or a fault of this process interrupts counts as the receiver's failure.
 * With tracing the request carries `traceparent`, and the receiver continues the order's trace.
 */
export function attemptDelivery(
  deps: AttemptDeps,
  claim: ClaimedDelivery,
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const span = startAttemptSpan(claim);
  return inSpan(span, () => attempt(deps, claim, lease, signal, span));
}

async function attempt(
  deps: AttemptDeps,
  claim: ClaimedDelivery,
  lease: Lease,
  signal: AbortSignal,
  span: OrderSpan | undefined,
): Promise<void> {
  const startedAt = deps.clock.now();
  const startedAtMs = performance.now();
  const result = await request(deps, claim, lease, startedAt, signal, span);
  if (span !== undefined) markResult(span, result);
  if (result.kind === 'ABANDONED') {
    deps.observe.claimLost(claim);
    return;
  }
  if (result.kind === 'INTERRUPTED') {
    await releaseClaim(deps.db, claim, deps.instance);
    deps.observe.claimReleased(claim);
    return;
  }
  if (result.kind === 'FAILED' && isOwnFault(result.code)) {
    await releaseClaim(deps.db, claim, deps.instance, Math.round(FAULT_PAUSE_MS * (1 + 0.2 * deps.random())));
    deps.observe.claimFaulted(claim, result.code, printable(result.error));
    return;
  }
  const record: AttemptRecord = {
    startedAt,
    durationMs: Math.round(performance.now() - startedAtMs),
    statusCode: result.kind === 'ANSWERED' ? result.statusCode : null,
    errorCode:
      result.kind === 'ANSWERED'
        ? (failureOfStatus(result.statusCode) ?? null)
        : (result.code as FailureCode),
    error: result.kind === 'FAILED' ? printable(result.error).slice(0, 500) : null,
    excerpt: result.kind === 'ANSWERED' ? printable(result.excerpt) : null,
  };
  const outcome = decideOutcome(deps, claim, result);
  if (await finish(deps, claim, lease, record, outcome, signal)) {
    deps.observe.attemptFinished(claim, record, outcome);
  } else {
    deps.observe.claimLost(claim);
  }
}

async function request(
  deps: AttemptDeps,
  claim: ClaimedDelivery,
  lease: Lease,
  startedAt: Date,
  signal: AbortSignal,
  span: OrderSpan | undefined,
): Promise<AttemptResult> {
  const timestampSeconds = Math.floor(startedAt.getTime() / 1000);
  const remainingMs = (): number => lease.sendUntilMs - performance.now();
  const signed = signClaim(deps, claim, timestampSeconds);
  if (signed.kind === 'FAILED') return signed;
  const endpoint = await resolveEndpoint(claim.callbackUrl, deps.rules).catch(failureOfResolving);
  if ('kind' in endpoint) return endpoint;
  if (signal.aborted) return { kind: 'INTERRUPTED' };
  const deadlineMs = Math.min(deps.attemptDeadlineMs, Math.floor(remainingMs()));
  if (deadlineMs <= 0) return { kind: 'ABANDONED' };
  return (deps.send ?? sendCallback)({
    endpoint,
    body: signed.body,
    headers: span === undefined ? signed.headers : { ...signed.headers, traceparent: span.traceparent },
    deadlineMs,
    maySend: () => remainingMs() > 0,
    signal,
    keep: { connections: deps.connections, owner: claim.merchantId },
  });
}

type SignedCallback =
  | { readonly kind: 'SIGNED'; readonly body: string; readonly headers: Readonly<Record<string, string>> }
  | (AttemptResult & { readonly kind: 'FAILED' });

function signClaim(deps: AttemptDeps, claim: ClaimedDelivery, timestampSeconds: number): SignedCallback {
  const { dataText, notifyType, eventId, merchantId, nextWebhookSecretSealed } = claim;
  const open = (sealed: Buffer) => openSecret(deps.secretsKey, sealed, webhookSecretAad(merchantId));
  try {
    const secret = open(claim.webhookSecretSealed);
    const body = buildCallbackBody({ dataText, nonce: eventId, notifyType, timestampSeconds, secret });
    const headers = callbackHeaders({
      body,
      dataText,
      eventId,
      timestampSeconds,
      secret,
      ...(nextWebhookSecretSealed === null ? {} : { nextSecret: open(nextWebhookSecretSealed) }),
    });
    return { kind: 'SIGNED', body, headers: { ...headers } };
  } catch (error) {
    return {
      kind: 'FAILED',
      code: 'NOT_BUILT',
      error: error instanceof Error ? error.message : String(error),
    };
  }
}

function decideOutcome(deps: AttemptDeps, claim: ClaimedDelivery, result: AttemptResult): DeliveryOutcome {
  const failure = result.kind === 'ANSWERED' ? failureOfStatus(result.statusCode) : undefined;
  if (result.kind === 'ANSWERED' && failure === undefined) return { state: 'DELIVERED' };
  if (failure === 'GONE') return { state: 'DEAD' };
  const failures = claim.attempt - claim.scheduleBase;
  const scheduledMs = nextAttemptDelayMs(deps.retryScheduleSeconds, failures, deps.random);
  if (scheduledMs === undefined) return { state: 'DEAD' };
  const askedMs =
    result.kind === 'ANSWERED' ? retryAfterMs(result.statusCode, result.retryAfter, deps.clock.now()) : 0;
  const mostMs = Math.max(RETRY_AFTER_CAP_MS, 2 * scheduledMs);
  return { state: 'PENDING', retryDelayMs: Math.max(scheduledMs, Math.min(askedMs, mostMs)) };
}

/** Retries while the claim is valid: an unrecorded outcome makes the receiver get the callback again. */
async function finish(
  deps: AttemptDeps,
  claim: ClaimedDelivery,
  lease: Lease,
  record: AttemptRecord,
  outcome: DeliveryOutcome,
  signal: AbortSignal,
): Promise<boolean> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await deps.recorder.record(claim, record, outcome);
    } catch (error) {
      const retryable = error instanceof GatewayError && error.retryable;
      const pauseMs = backoffMs(failures, { firstMs: 50, maxMs: 2_000, random: deps.random });
      if (!retryable || signal.aborted || performance.now() + pauseMs > lease.endsAtMs) throw error;
      deps.observe.roundFailed('record', error, failures);
      await abortableDelay(pauseMs, signal);
    }
  }
}

/** Postgres rejects NUL in text, and an operator's terminal must not interpret a receiver's control characters. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e\n\t]/g, '?');
}
