import type { Db, Tx } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';
import { updateBreaker, type EndpointRules, type Evidence } from './endpoint-health.ts';
import { outsideSpans } from '@opentill/runtime/tracing';
import type { Observe } from './observe.ts';
import type { ClaimedDelivery } from './store/claim-due.ts';
import { lockEndpoints, updateEndpoints, type EndpointChange } from './store/endpoints.ts';
import { finishAttempts, type AttemptRecord, type DeliveryOutcome } from './store/finish-attempts.ts';

export interface AttemptRecorder {
  /** @returns false when this process no longer held the claim. Throws if the attempt was not recorded. */
  record(claim: ClaimedDelivery, record: AttemptRecord, outcome: DeliveryOutcome): Promise<boolean>;
}

export interface RecorderDeps {
  readonly db: Db;
  readonly random: () => number;
  readonly observe: Observe;
  readonly instance: string;
  readonly endpointRules: EndpointRules;
}

interface Entry {
  readonly claim: ClaimedDelivery;
  readonly record: AttemptRecord;
  readonly outcome: DeliveryOutcome;
  readonly done: (held: boolean) => void;
  readonly failed: (error: unknown) => void;
}

const BATCH_MAX = 256;
/** The first of a batch waits this long for others. Only the order's next callback waits with it. */
const GATHER_MS = 4;

/**
 * A thousand attempts take a few statements, and so do the claims that follow.
 *
 * A failure updates its endpoint in the same transaction, so that no further delivery is claimed after a 410. A success
 * updates it in a separate transaction, and only if the endpoint has failures on record. If that update is lost, the
 * next success repeats it; a probe without a result is followed by another one after its lease.
 */
export function createAttemptRecorder(deps: RecorderDeps): AttemptRecorder {
  const waiting: Entry[] = [];
  let writing = false;

  async function writeAll(): Promise<void> {
    for (let batch = waiting.splice(0, BATCH_MAX); batch.length > 0; batch = waiting.splice(0, BATCH_MAX)) {
      await writeBatch(deps, batch);
    }
    writing = false;
  }

  return {
    record: (claim, record, outcome) =>
      new Promise((done, failed) => {
        waiting.push({ claim, record, outcome, done, failed });
        if (writing) return;
        writing = true;
        outsideSpans(() => setTimeout(() => void writeAll(), GATHER_MS));
      }),
  };
}

/** Never rejects: the entries receive the error. */
async function writeBatch(deps: RecorderDeps, batch: readonly Entry[]): Promise<void> {
  try {
    const held = batch.some((entry) => entry.record.errorCode !== null)
      ? await writeFailures(deps, batch)
      : await writeSuccesses(deps, batch);
    for (const entry of batch) entry.done(held.has(entry));
  } catch (error) {
    // One entry that the database rejects must not prevent the others from being recorded.
    if (batch.length > 1 && !(error instanceof GatewayError && error.code === 'DATABASE_UNAVAILABLE')) {
      for (const entry of batch) await writeBatch(deps, [entry]);
    } else {
      for (const entry of batch) entry.failed(error);
    }
  }
}

async function writeFailures(deps: RecorderDeps, batch: readonly Entry[]): Promise<ReadonlySet<Entry>> {
  const { held, changes } = await deps.db.transaction().execute(async (tx) => {
    // Serialises with a concurrent change of the endpoint: either this transaction sees it, or it comes later.
    if (batch.some(({ record }) => record.errorCode === 'GONE')) {
      await lockEndpoints(tx, [...new Set(batch.map(({ claim }) => claim.merchantId))]);
    }
    const finished = await finish(tx, deps, batch);
    return { held: finished.held, changes: await recordEvidence(tx, deps, finished) };
  });
  for (const change of changes) deps.observe.endpointChanged(change);
  return held;
}

async function writeSuccesses(deps: RecorderDeps, batch: readonly Entry[]): Promise<ReadonlySet<Entry>> {
  const finished = await finish(deps.db, deps, batch);
  if (finished.news.size === 0) return finished.held;
  try {
    const changes = await deps.db.transaction().execute((tx) => recordEvidence(tx, deps, finished));
    for (const change of changes) deps.observe.endpointChanged(change);
  } catch (error) {
    deps.observe.roundFailed('record endpoints', error, 1);
  }
  return finished.held;
}

interface Finished {
  readonly held: ReadonlySet<Entry>;
  readonly news: ReadonlySet<string>;
}

async function finish(db: Db, deps: RecorderDeps, batch: readonly Entry[]): Promise<Finished> {
  const rows = await finishAttempts(db, deps.instance, batch);
  const rowOf = new Map(rows.map((row) => [row.eventId, row]));
  const held = batch.filter((entry) => rowOf.get(entry.claim.eventId)?.held === true);
  const news = held.filter(
    ({ claim, record }) => record.errorCode !== null || rowOf.get(claim.eventId)?.watched === true,
  );
  return { held: new Set(held), news: new Set(news.map(({ claim }) => claim.merchantId)) };
}

function recordEvidence(tx: Tx, deps: RecorderDeps, { held, news }: Finished): Promise<EndpointChange[]> {
  const { random, endpointRules } = deps;
  if (news.size === 0) return Promise.resolve([]);
  return updateEndpoints(tx, [...news], ({ merchantId, generation, health }, now) => {
    const evidence = [...held]
      .filter(({ claim }) => claim.merchantId === merchantId && claim.generation === generation)
      .map(evidenceOf);
    return updateBreaker(health, evidence, now, endpointRules, random);
  });
}

function evidenceOf({ claim, record }: Entry): Evidence {
  const { errorCode: code, error, statusCode } = record;
  return {
    eventId: claim.eventId,
    attempt: claim.attempt,
    failure: code === null ? null : { code, error: error ?? `status ${statusCode}` },
  };
}
