import type pg from 'pg';
import type { Table } from './report.ts';
import { quantile, round } from './statistics.ts';

/** Steps from block to callback. Each ends at a time that the database or the benchmark records. */
const STEPS = [
  'scanner: read block',
  'scanner: commit, publish; tracker: begin',
  'tracker: lock, load, decide',
  'tracker: save, commit, publish; webhook-sender: begin',
  'webhook-sender: commit, claim',
  'webhook-sender: sign, send; shop: receive',
] as const;

interface RecordedTimes {
  readonly order_id: string;
  readonly recorded: number;
  readonly tracker: number;
  readonly decided: number;
  readonly queued: number;
  readonly started: number;
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;

/** Ms since the epoch. `now()` of Postgres is the start of the writing transaction. */
const RECORDED = `
  with of_order as (
    select o.order_id, case $2 when 'ORDER_SUCCESS' then max(t.verified_at) else min(t.detected_at) end as recorded,
      o.order_pk
    from orders o join transfer t on t.family = o.family and t.to_address = o.address
    where o.order_id = any($1) group by o.order_pk
  )
  select o.order_id, ${ms('o.recorded')} as recorded, ${ms('n.created_at')} as tracker, ${ms('n.occurred_at')} as decided,
    ${ms('d.created_at')} as queued, ${ms('a.started_at')} as started
  from of_order o join notification n on n.subject_id = o.order_pk and n.notify_type = $2
    join delivery d using (event_id) join delivery_attempt a on a.event_id = n.event_id and a.attempt = 1`;

/** `visibleAtMs` and `receivedAtMs` by order id, in ms of `performance.now()`. */
export async function measureSteps(
  database: pg.Pool,
  notifyType: string,
  times: ReadonlyMap<string, { readonly visibleAtMs: number; readonly receivedAtMs: number }>,
): Promise<readonly (readonly number[])[]> {
  const { rows } = await database.query<RecordedTimes>(RECORDED, [[...times.keys()], notifyType]);
  const byOrder = rows.flatMap((row) => {
    const seen = times.get(row.order_id);
    if (seen === undefined) return [];
    const [visible, received] = [seen.visibleAtMs, seen.receivedAtMs].map(
      (ms) => ms + performance.timeOrigin,
    );
    const all = [visible, row.recorded, row.tracker, row.decided, row.queued, row.started, received];
    return [STEPS.map((_, step) => Number(all[step + 1]) - Number(all[step]))];
  });
  return STEPS.map((_, step) => byOrder.map((durations) => durations[step] ?? Number.NaN));
}

export function stepsTable(
  measured: readonly {
    readonly rate: number;
    readonly callback: string;
    readonly steps: readonly (readonly number[])[];
  }[],
): Table {
  const averageOf = (some: readonly number[]) =>
    round(some.reduce((sum, ms) => sum + ms, 0) / some.length, 1);
  return {
    title: 'Where the time goes, ms',
    columns: [
      'step',
      ...measured.flatMap(({ rate, callback }) => [`${callback} at ${rate}/s: average`, 'p50']),
    ],
    rows: STEPS.map((step, place) => [
      step,
      ...measured.flatMap(({ steps }) => [averageOf(steps[place] ?? []), quantile(steps[place] ?? [], 0.5)]),
    ]),
  };
}
