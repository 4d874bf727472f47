import { expect } from 'vitest';
import { sql } from 'kysely';
import { verifiedDepths } from '@opentill/confirmation-tracker/agreed-height';
import { loadDisplayForms } from '@opentill/confirmation-tracker/display-forms';
import { nativeSymbols } from '@opentill/confirmation-tracker/native-symbols';
import { createObserve } from '@opentill/confirmation-tracker/observe';
import { DEFAULT_TIMING, startSweeps } from '@opentill/confirmation-tracker/start-sweeps';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import type { OrderRow } from '@opentill/testkit/scenario';
import { checkChain } from './check-chain.ts';
import {
  createSignerWorld,
  type DriverOptions,
  type RunningDriver,
  type SignerWorld,
} from './signer-world.ts';

export interface CallbackSummary {
  readonly type: string;
  readonly status: string;
  readonly reason: string | null;
  readonly txid: string | null;
}

export type CallbackWorld = Awaited<ReturnType<typeof createCallbackWorld>>;

export async function createCallbackWorld() {
  const world = await createSignerWorld();
  const { admin } = world;
  const trackerDatabase = world.database.open('tracker');
  const sweeps = await startTracker(world, trackerDatabase.kysely);
  const paid: OrderRow[] = [];
  let driver: RunningDriver | undefined;

  async function callbacksOf(order: OrderRow): Promise<readonly CallbackSummary[]> {
    const { rows } = await sql<CallbackSummary>`
      select notify_type as type, data::json->>'status' as status, data::json->>'reason' as reason,
        data::json->'transaction'->>'txid' as txid
      from notification where subject_id = ${order.order_pk} order by sequence`.execute(admin);
    return rows;
  }
  const callbackTypes = async (order: OrderRow) => (await callbacksOf(order)).map(({ type }) => type);
  async function ends(order: OrderRow, end: 'ORDER_SUCCESS' | 'ORDER_FAILED'): Promise<CallbackSummary> {
    await world.mineUntil(end, async () => (await callbackTypes(order)).includes(end));
    const all = await callbacksOf(order);
    expect(all.filter(({ type }) => type === 'ORDER_SUCCESS' || type === 'ORDER_FAILED')).toHaveLength(1);
    return all.at(-1)!;
  }
  async function drive(options: DriverOptions = {}): Promise<RunningDriver> {
    return (driver = await world.start(options));
  }
  const releaseHalts = () =>
    sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'it was us'
      where released_at is null`.execute(admin);

  return {
    ...world,
    paid,
    callbacksOf,
    callbackTypes,
    ends,
    drive,
    releaseHalts,
    story: async (order: OrderRow) =>
      (await callbacksOf(order)).map(({ type, status, reason }) =>
        [type, status, reason ?? []].flat().join(' '),
      ),
    /** Requires the amount at the receiver. Returns the transaction that the callback names. */
    async succeeds(order: OrderRow): Promise<string> {
      const last = await ends(order, 'ORDER_SUCCESS');
      expect(last).toMatchObject({ type: 'ORDER_SUCCESS', status: 'SUCCESS', reason: null });
      expect(await world.received(order)).toBe(order.amount);
      paid.push(order);
      return last.txid ?? '';
    },
    async fails(order: OrderRow, reason: string): Promise<void> {
      const last = await ends(order, 'ORDER_FAILED');
      expect(last).toMatchObject({ type: 'ORDER_FAILED', status: 'FAILED', reason });
      expect(await world.received(order)).toBe(0n);
    },
    /** Ends these payouts' time now, by the database's clock. */
    endTimeOf: (...orders: readonly OrderRow[]) =>
      sql`update payout set expires_at = now() where order_pk = any(${orders.map((order) => order.order_pk)}::uuid[])`.execute(
        admin,
      ),
    async signedInVain(options: DriverOptions = {}) {
      let isCutOff = true;
      await drive({
        ...options,
        sender: (sender) => ({
          ...sender,
          broadcast: (signed, given) =>
            isCutOff
              ? Promise.resolve(signed.map(() => 'UNKNOWN' as const))
              : sender.broadcast(signed, given),
        }),
      });
      const order = await world.payout();
      await world.isSent(order);
      const [{ nonce } = { nonce: -1 }] = await world.noncesOf(order);
      return {
        order,
        nonce,
        connect: () => void (isCutOff = false),
        cutOff: () => void (isCutOff = true),
      };
    },
    async rest() {
      await driver?.stop();
      driver = undefined;
      await releaseHalts();
    },
    async agrees(besides: readonly OrderRow[] = []) {
      const all = [...paid, ...besides];
      expect(await checkChain(world, all)).toEqual({ payouts: all.length, wrong: [] });
      const { rows } = await sql`
        select from ledger_account group by chain, symbol having sum(balance) <> 0`.execute(admin);
      expect(rows).toEqual([]);
    },
    async close() {
      await driver?.stop();
      await sweeps.stop();
      await trackerDatabase.close();
      await world.close();
    },
  };
}

async function startTracker({ network }: SignerWorld, db: SignerWorld['admin']) {
  const logger = createLogger({ service: 'confirmation-tracker', level: 'silent' });
  const deps = {
    db,
    newId,
    clock: systemClock,
    displayOf: await loadDisplayForms([network]),
    tokens: [],
    dustBelow: () => 0n,
    verifiedDepths: verifiedDepths([network]),
    nativeSymbolOf: nativeSymbols([network]),
    observe: createObserve({ logger, metrics: createMetrics('confirmation-tracker'), clock: systemClock }),
    wakeRelay: () => undefined,
  };
  const quick = { payoutSweepMs: 30, dueSweepMs: 100, transferSweepMs: 100, sweepGraceMs: 0 };
  return startSweeps(deps, { ...DEFAULT_TIMING, ...quick });
}
