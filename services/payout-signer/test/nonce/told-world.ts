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
import { waitUntil } from '@opentill/testkit/wait-until';
import { checkChain } from './check-chain.ts';
import {
  createSignerWorld,
  type DriverOptions,
  type RunningDriver,
  type SignerWorld,
} from './signer-world.ts';

/** What a merchant was told of an order. */
export interface Told {
  readonly type: string;
  readonly status: string;
  readonly reason: string | null;
  readonly txid: string | null;
}

/** A payout whose bytes reach no node while it is cut off. */
export interface CutOff {
  readonly order: OrderRow;
  readonly nonce: number;
  connect(): void;
  cutOff(): void;
}

/** Signer, scanner and tracker together on a chain: what a merchant is told of payouts. */
export interface ToldWorld extends SignerWorld {
  /** Orders that ended well. */
  readonly paid: readonly OrderRow[];
  /** What the merchant was told, in its order. */
  told(order: OrderRow): Promise<readonly Told[]>;
  typesTold(order: OrderRow): Promise<readonly string[]>;
  /** `ORDER_PENDING PENDING Reorganised`, … */
  story(order: OrderRow): Promise<readonly string[]>;
  /** Mines a block at a time until the merchant was told of the order's end. @returns the last that was told */
  ends(order: OrderRow, type: 'ORDER_SUCCESS' | 'ORDER_FAILED'): Promise<Told>;
  /** Ends well, and the receiver has its amount. @returns the transaction that the merchant was told of */
  succeeds(order: OrderRow): Promise<string>;
  /** Ends unpaid for this reason. */
  fails(order: OrderRow, reason: string): Promise<void>;
  /** Hindered so. */
  hindered(order: OrderRow, obstacle: string): Promise<void>;
  isSent(order: OrderRow): Promise<void>;
  /** A driver, and a payout that it signed and sent in vain. */
  signedInVain(options?: DriverOptions): Promise<CutOff>;
  /** Starts the driver of a test. */
  drive(options?: DriverOptions): Promise<RunningDriver>;
  releaseHalts(): Promise<unknown>;
  /** Ends the driver of a test. */
  rest(): Promise<void>;
  /** What the chain and the ledger say of everything that was told. `besides`: payments of nobody's order. */
  agrees(besides?: readonly OrderRow[]): Promise<void>;
}

/** Blocks until an end comes. */
const ENDS_WITHIN_MS = 50_000;

export async function createToldWorld(): Promise<ToldWorld> {
  const world = await createSignerWorld();
  const trackerDatabase = world.database.open('tracker');
  const sweeps = await startTracker(world, trackerDatabase.kysely);
  const paid: OrderRow[] = [];
  let driver: RunningDriver | undefined;

  const told: ToldWorld = {
    ...world,
    paid,
    async told(order) {
      const { rows } = await sql<Told>`
        select notify_type as type, data::json->>'status' as status, data::json->>'reason' as reason,
          data::json->'transaction'->>'txid' as txid
        from notification where subject_id = ${order.order_pk} order by sequence`.execute(world.admin);
      return rows;
    },
    typesTold: async (order) => (await told.told(order)).map(({ type }) => type),
    story: async (order) =>
      (await told.told(order)).map(({ type, status, reason }) =>
        [type, status, reason ?? []].flat().join(' '),
      ),
    async ends(order, type) {
      await waitUntil(
        type,
        async () => {
          if ((await told.typesTold(order)).includes(type)) return true;
          await world.mine();
          await new Promise((resolve) => setTimeout(resolve, 30));
          return false;
        },
        ENDS_WITHIN_MS,
      );
      const ended = await told.told(order);
      const ends = ended.filter((one) => one.type === 'ORDER_SUCCESS' || one.type === 'ORDER_FAILED');
      expect(ends).toHaveLength(1);
      return ended.at(-1)!;
    },
    async succeeds(order) {
      const last = await told.ends(order, 'ORDER_SUCCESS');
      expect(last).toMatchObject({ type: 'ORDER_SUCCESS', status: 'SUCCESS', reason: null });
      expect(await world.received(order)).toBe(order.amount);
      paid.push(order);
      return last.txid ?? '';
    },
    async fails(order, reason) {
      const last = await told.ends(order, 'ORDER_FAILED');
      expect(last).toMatchObject({ type: 'ORDER_FAILED', status: 'FAILED', reason });
      expect(await world.received(order)).toBe(0n);
    },
    hindered: (order, obstacle) =>
      waitUntil(obstacle, async () => (await world.payoutOf(order)).obstacle === obstacle),
    isSent: (order) => waitUntil('sent', async () => (await world.payoutOf(order)).sent),
    async signedInVain(options = {}) {
      let isCutOff = true;
      await told.drive({
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
      await told.isSent(order);
      const [{ nonce } = { nonce: -1 }] = await world.noncesOf(order);
      return {
        order,
        nonce,
        connect: () => void (isCutOff = false),
        cutOff: () => void (isCutOff = true),
      };
    },
    drive: async (options = {}) => (driver = await world.start(options)),
    releaseHalts: () =>
      sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'it was us'
        where released_at is null`.execute(world.admin),
    async rest() {
      await driver?.stop();
      driver = undefined;
      await told.releaseHalts();
    },
    async agrees(besides = []) {
      const all = [...paid, ...besides];
      expect(await checkChain(world, all)).toEqual({ payouts: all.length, wrong: [] });
      const { rows } = await sql`
        select from ledger_account group by chain, symbol having sum(balance) <> 0`.execute(world.admin);
      expect(rows).toEqual([]);
    },
    async close() {
      await driver?.stop();
      await sweeps.stop();
      await trackerDatabase.close();
      await world.close();
    },
  };
  return told;
}

/** Without a broker: what events would tell is found by looking. */
async function startTracker({ network }: SignerWorld, db: SignerWorld['admin']) {
  const logger = createLogger({ service: 'confirmation-tracker', level: 'silent' });
  const deps = {
    db,
    newId,
    clock: systemClock,
    displayOf: await loadDisplayForms([network]),
    dustBelow: () => 0n,
    verifiedDepths: verifiedDepths([network]),
    nativeSymbolOf: nativeSymbols([network]),
    observe: createObserve({ logger, metrics: createMetrics('confirmation-tracker'), clock: systemClock }),
    wakeRelay: () => undefined,
  };
  const quick = { payoutSweepMs: 30, dueSweepMs: 100, transferSweepMs: 100, sweepGraceMs: 0 };
  return startSweeps(deps, { ...DEFAULT_TIMING, ...quick });
}
