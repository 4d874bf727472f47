import type { Db } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';
import { judgeEndpoint, type EndpointRules, type Evidence } from './endpoint-health.ts';
import type { Observer } from './observe.ts';
import type { ClaimedDelivery } from './store/claim-due.ts';
import { updateEndpoints } from './store/endpoints.ts';
import { finishAttempts, type AttemptRecord, type DeliveryOutcome } from './store/finish-attempts.ts';

export interface AttemptRecorder {
  /**
   * Records an attempt with what it makes of its delivery and of its endpoint.
   * @returns false when the claim was not this process's any more
   * @throws GatewayError of the database; nothing of it is recorded then
   */
  record(claim: ClaimedDelivery, record: AttemptRecord, outcome: DeliveryOutcome): Promise<boolean>;
}

export interface RecorderDeps {
  readonly db: Db;
  readonly random: () => number;
  readonly observer: Observer;
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

/** Attempts recorded by one statement, at most. */
const BATCH_MAX = 256;

/**
 * Records attempts together: while one batch is being written, those that end meanwhile make the next. So one that ends
 * alone waits for nobody, and a thousand take a few statements.
 *
 * What a batch shows of endpoints is recorded after it, apart: were it lost, the next failure would tell it again, and
 * a probe without a verdict is followed by another once its lease ran out.
 */
export function createAttemptRecorder(deps: RecorderDeps): AttemptRecorder {
  const waiting: Entry[] = [];
  let writing = false;

  async function writeAll(): Promise<void> {
    writing = true;
    for (let batch = waiting.splice(0, BATCH_MAX); batch.length > 0; batch = waiting.splice(0, BATCH_MAX)) {
      await writeBatch(deps, batch);
    }
    writing = false;
  }

  return {
    record: (claim, record, outcome) =>
      new Promise((done, failed) => {
        waiting.push({ claim, record, outcome, done, failed });
        if (!writing) void writeAll();
      }),
  };
}

/** Never rejects: the entries hear of it. */
async function writeBatch(deps: RecorderDeps, batch: readonly Entry[]): Promise<void> {
  try {
    const rows = await finishAttempts(deps.db, deps.instance, batch);
    const rowOf = new Map(rows.map((row) => [row.eventId, row]));
    const held = (entry: Entry): boolean => rowOf.get(entry.claim.eventId)?.held === true;
    const news = batch.filter(
      (entry) => held(entry) && (entry.record.errorCode !== null || rowOf.get(entry.claim.eventId)?.watched),
    );
    if (news.length > 0) await recordEvidence(deps, batch.filter(held), news);
    for (const entry of batch) entry.done(held(entry));
  } catch (error) {
    // What the database refuses of one is not to keep the others from being recorded.
    if (batch.length > 1 && !(error instanceof GatewayError && error.code === 'DATABASE_UNAVAILABLE')) {
      for (const entry of batch) await writeBatch(deps, [entry]);
    } else {
      for (const entry of batch) entry.failed(error);
    }
  }
}

async function recordEvidence(
  deps: RecorderDeps,
  held: readonly Entry[],
  news: readonly Entry[],
): Promise<void> {
  const { random, endpointRules: rules, observer } = deps;
  const merchantIds = new Set(news.map(({ claim }) => claim.merchantId));
  try {
    const changes = await updateEndpoints(deps.db, [...merchantIds], (endpoint, now) => {
      const evidence = held
        .filter(
          ({ claim }) => claim.merchantId === endpoint.merchantId && claim.generation === endpoint.generation,
        )
        .map(evidenceOf);
      return judgeEndpoint(endpoint.health, evidence, now, rules, random);
    });
    for (const change of changes) observer.endpointChanged(change);
  } catch (error) {
    observer.roundFailed('record endpoints', error, 1);
  }
}

function evidenceOf({ claim, record }: Entry): Evidence {
  const { errorCode: code, error, statusCode } = record;
  return {
    eventId: claim.eventId,
    attempt: claim.attempt,
    failure: code === null ? null : { code, error: error ?? `status ${statusCode}` },
  };
}
