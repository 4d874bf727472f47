import { randomUUID } from 'node:crypto';
import { sql, type Insertable } from 'kysely';
import type { EventData, EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { configuredTokens } from '@opentill/contracts/format-unmatched';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { NotifyOrder } from '@opentill/contracts/notify-order';
import type { Chain } from '@opentill/domain/chains';
import type { Db } from '@opentill/db/database';
import type { OrdersTable, TransferTable } from '@opentill/db/tables';
import { newId } from '@opentill/runtime/ids';
import {
  aChainCursor,
  aCollection,
  aHash,
  aMerchant,
  aTransfer,
  type OrderRow,
  type TransferRow,
} from '@opentill/testkit/scenario';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { verifiedDepths } from '../src/agreed-height.ts';
import { loadDisplayForms } from '../src/display-forms.ts';
import { dustBelowOf } from '../src/dust-below.ts';
import { onBlockVerified } from '../src/handlers/on-block-verified.ts';
import { onFateChanged } from '../src/handlers/on-fate-changed.ts';
import { onOrderDecided } from '../src/handlers/on-order-decided.ts';
import { onPayoutChanged } from '../src/handlers/on-payout-changed.ts';
import { onTransferDetected } from '../src/handlers/on-transfer-detected.ts';
import { onTransferOrphaned } from '../src/handlers/on-transfer-orphaned.ts';
import type { HandlerDeps } from '../src/handlers/settle-event.ts';
import { nativeSymbols } from '../src/native-symbols.ts';
import type { Observe } from '../src/observe.ts';
import { sweepDueOrders } from '../src/sweep-due-orders.ts';

export const CHAIN: Chain = 'ETH_SEPOLIA';
/** Time zero, since 1970; whole seconds like block times. */
export const T0 = 1_800_000_000;
/** Seconds after T0 at which the scenarios' orders expire. */
export const TTL = 1_800;

export function at(secondsAfterT0: number): Date {
  return new Date((T0 + secondsAfterT0) * 1_000);
}

/** The orders do not ask for it. */
export const OTHER_TOKEN = {
  symbol: 'OTHER',
  contract: '0x00000000000000000000000000000000000000ee',
  decimals: 18,
  displayDecimals: 2,
} as const;

function network(chain: Chain): NetworkConfig {
  return {
    chain,
    family: 'EVM',
    enabled: true,
    chainId: chain === 'ETH_SEPOLIA' ? 11_155_111 : 97,
    name: chain,
    rpcUrls: ['http://127.0.0.1:1'],
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations: 3,
    blockTimeMs: 1_000,
    pollIntervalMs: 1_000,
    reorgWindow: 64,
    maxBlockRange: 100,
    bloom: true,
    tokens: [{ ...OTHER_TOKEN, minAmount: null, maxAmount: null }],
  };
}
export const NETWORKS: readonly NetworkConfig[] = [network('ETH_SEPOLIA'), network('BSC_TEST')];

export function createRecordingObserver(): Observe & {
  readonly calls: { readonly what: string; readonly detail?: unknown }[];
} {
  const calls: { what: string; detail?: unknown }[] = [];
  const keep = (what: string) => (detail?: unknown) => void calls.push({ what, detail });
  return {
    calls,
    orderSettled: keep('orderSettled'),
    notSettled: keep('notSettled'),
    transfersSwept: keep('transfersSwept'),
    fatesSwept: keep('fatesSwept'),
    topUpBooked: keep('topUpBooked'),
    gasMadePayable: keep('gasMadePayable'),
    sweepFailed: keep('sweepFailed'),
    presenceFailed: keep('presenceFailed'),
    inboxRolled: keep('inboxRolled'),
  };
}

export type Event<T extends EventType> = EventEnvelope<T>;

export function envelope<T extends EventType>(
  type: T,
  data: EventData[T],
  id: string = randomUUID(),
): Event<T> {
  return { id, type, version: 1, occurredAt: new Date().toISOString(), data };
}

type NewTransfer = Partial<Insertable<TransferTable>> & {
  /** Block time in seconds after T0. */
  readonly atSecond?: number;
};

/**
 * Handlers on a new database, with methods that write like scanners. Amounts are base units of a token with 6 decimals.
 */
export async function createTrackerScenario() {
  const database = await createTestDatabase();
  const adminDatabase = database.open('admin');
  const trackerDatabase = database.open('tracker');
  const admin = adminDatabase.kysely;
  const displayOf = await loadDisplayForms(NETWORKS);
  const observe = createRecordingObserver();

  const depsOn = (db: Db): HandlerDeps => ({
    db,
    newId,
    clock: { now: () => new Date() },
    displayOf,
    verifiedDepths: verifiedDepths(NETWORKS),
    tokens: configuredTokens(NETWORKS),
    dustBelow: dustBelowOf(NETWORKS),
    nativeSymbolOf: nativeSymbols(NETWORKS),
    observe,
    wakeRelay: () => undefined,
  });
  const deps = depsOn(trackerDatabase.kysely);

  return {
    database,
    admin,
    deps,
    depsOn,
    observe,
    ...arrange(admin),
    ...look(admin),
    async deliver(event: EventEnvelope, on: HandlerDeps = deps): Promise<void> {
      await handle(event, on);
    },
    detected: (...transfers: readonly TransferRow[]) =>
      handle(envelope('transfer.detected', named(transfers)), deps),
    orphaned: (...transfers: readonly TransferRow[]) =>
      handle(envelope('transfer.orphaned', named(transfers)), deps),
    async verified(...transfers: readonly TransferRow[]): Promise<void> {
      await handle(verifiedEvent(transfers), deps);
      await sweepDue(deps);
    },
    sweepDue: () => sweepDue(deps),
    async close() {
      await trackerDatabase.close();
      await adminDatabase.close();
      await database.drop();
    },
  };
}
export type TrackerScenario = Awaited<ReturnType<typeof createTrackerScenario>>;

export function named(transfers: readonly TransferRow[]): EventData['transfer.detected'] {
  return { chain: transfers[0]?.chain ?? CHAIN, transferIds: transfers.map((t) => String(t.transfer_id)) };
}

export function verifiedEvent(transfers: readonly TransferRow[]): Event<'block.verified'> {
  return envelope('block.verified', { ...named(transfers), height: 100, blockTimeSeconds: T0 });
}

/** The caller runs the due sweep, which a verified block only wakes. */
export async function handle(event: EventEnvelope, deps: HandlerDeps): Promise<void> {
  switch (event.type) {
    case 'transfer.detected':
      return onTransferDetected(deps, event as Event<'transfer.detected'>);
    case 'transfer.orphaned':
      return onTransferOrphaned(deps, event as Event<'transfer.orphaned'>);
    case 'block.verified':
      return onBlockVerified({ ...deps, wakeDueSweep: () => undefined }, event as Event<'block.verified'>);
    case 'payout.changed':
      return onPayoutChanged(deps, event as Event<'payout.changed'>);
    case 'fate.changed':
      return onFateChanged(deps, event as Event<'fate.changed'>);
    case 'order.decided':
      return onOrderDecided(deps, event as Event<'order.decided'>);
    default:
      throw new Error(`the tracker does not consume ${event.type}`);
  }
}

export async function sweepDue(deps: HandlerDeps): Promise<void> {
  while ((await sweepDueOrders(deps)) === 'again');
}

function arrange(admin: Db) {
  return {
    merchant: (overrides: Parameters<typeof aMerchant>[1] = {}) => aMerchant(admin, overrides),
    /** 100 at T0 with its first notification, as the api creates it. */
    async order(overrides: Partial<Insertable<OrdersTable>> = {}): Promise<OrderRow> {
      const order = await aCollection(admin, {
        amount: 100n,
        created_at: at(0),
        expires_at: at(TTL),
        ...overrides,
      });
      await admin
        .insertInto('notification')
        .values({
          event_id: newId(),
          merchant_id: order.merchant_id,
          subject_id: order.order_pk,
          sequence: 1,
          notify_type: 'ORDER_PENDING',
          data: JSON.stringify({ orderId: order.order_id, status: 'INIT' }),
          occurred_at: at(0),
        })
        .execute();
      return order;
    },
    /** Detected, to the order's address, in the ordered token by default. */
    async transfer(order: OrderRow, amount: bigint, overrides: NewTransfer = {}): Promise<TransferRow> {
      const { atSecond = 60, ...columns } = overrides;
      const time = at(atSecond);
      return aTransfer(admin, order, { amount, block_time: time, first_block_time: time, ...columns });
    },
    verify: (transfer: TransferRow) =>
      change(admin, transfer, { state: 'VERIFIED', verified_at: new Date() }),
    orphan: (transfer: TransferRow) => change(admin, transfer, { state: 'ORPHANED' }),
    /** In another block, optionally with other contents. */
    mineAgain: (transfer: TransferRow, height: number, second: number, columns: ChangedColumns = {}) =>
      change(admin, transfer, {
        state: 'DETECTED',
        block_height: height,
        block_hash: aHash(),
        block_time: at(second),
        ...columns,
      }),
    /** Head and verified time, as a scanner writes them. */
    async chainAt(head: number, verifiedSecond: number, chain: Chain = CHAIN): Promise<void> {
      const verifiedHeight = Math.max(0, head - 2);
      await aChainCursor(admin, {
        chain,
        head_height: head,
        seen_height: head,
        verified_height: verifiedHeight,
        verified_time: at(verifiedSecond),
        head_time: at(verifiedSecond + 24),
      });
    },
  };
}

/** A scanner may change all but the natural key. */
type ChangedColumns = Partial<
  Pick<
    TransferRow,
    | 'state'
    | 'verified_at'
    | 'block_height'
    | 'block_hash'
    | 'block_time'
    | 'amount'
    | 'symbol'
    | 'contract_address'
    | 'to_address'
    | 'first_block_time'
  >
>;

function change(
  admin: Db,
  transfer: Pick<TransferRow, 'transfer_id'>,
  columns: ChangedColumns,
): Promise<TransferRow> {
  return admin
    .updateTable('transfer')
    .set({ ...columns, version: sql`version + 1`, updated_at: sql`now()` })
    .where('transfer_id', '=', transfer.transfer_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export interface Callback {
  readonly sequence: number;
  readonly type: string;
  readonly data: NotifyOrder;
}

function look(admin: Db) {
  const callbacks = async (order: Pick<OrderRow, 'order_pk'>): Promise<Callback[]> => {
    const rows = await admin
      .selectFrom('notification')
      .selectAll()
      .where('subject_id', '=', order.order_pk)
      .where('sequence', '>', 1)
      .orderBy('sequence')
      .execute();
    return rows.map((row) => ({
      sequence: row.sequence,
      type: row.notify_type,
      data: JSON.parse(row.data) as NotifyOrder,
    }));
  };
  return {
    async state(order: Pick<OrderRow, 'order_pk'>) {
      const row = await admin
        .selectFrom('orders')
        .selectAll()
        .where('order_pk', '=', order.order_pk)
        .executeTakeFirstOrThrow();
      return {
        status: row.status,
        reason: row.reason,
        detected: row.detected_amount,
        actual: row.actual_amount,
      };
    },
    callbacks,
    /** `TYPE status reason actualAmount` of each callback after the first. */
    async story(order: Pick<OrderRow, 'order_pk'>): Promise<string[]> {
      return (await callbacks(order)).map(({ type, data }) =>
        [type, data.status, data.reason, data.actualAmount].filter((part) => part !== null).join(' '),
      );
    },
    /** DEPOSIT covers all merchants, so use one merchant per database or asset. */
    async balances(merchantId: string, chain: Chain = CHAIN, symbol = 'USDT') {
      const rows = await admin
        .selectFrom('ledger_account')
        .select(['kind', 'balance'])
        .where('chain', '=', chain)
        .where('symbol', '=', symbol)
        .where((where) => where.or([where('merchant_id', '=', merchantId), where('merchant_id', 'is', null)]))
        .execute();
      return Object.fromEntries(rows.map((row) => [row.kind, row.balance]));
    },
    async refs(order: Pick<OrderRow, 'order_pk'>): Promise<string[]> {
      const rows = await admin
        .selectFrom('ledger_transaction')
        .select('ref')
        .where('order_pk', '=', order.order_pk)
        .orderBy('ledger_tx_id')
        .execute();
      return rows.map((row) => row.ref);
    },
    async settlement(transfer: Pick<TransferRow, 'transfer_id'>) {
      const row = await admin
        .selectFrom('transfer_settlement')
        .selectAll()
        .where('transfer_id', '=', transfer.transfer_id)
        .executeTakeFirst();
      return (
        row && {
          version: row.settled_version,
          booked: row.booked,
          bookings: row.bookings,
          credited: row.credited,
        }
      );
    },
    async unmatched(transfer: Pick<TransferRow, 'transfer_id'>): Promise<string | null> {
      const row = await admin
        .selectFrom('unmatched_deposit')
        .selectAll()
        .where('transfer_id', '=', transfer.transfer_id)
        .executeTakeFirst();
      return row === undefined ? null : row.withdrawn ? `${row.reason} withdrawn` : row.reason;
    },
    incidents: (order: Pick<OrderRow, 'order_pk'>) =>
      admin
        .selectFrom('incident')
        .selectAll()
        .where('order_pk', '=', order.order_pk)
        .orderBy('opened_at')
        .execute(),
    /** Event ids. */
    async outbox(order: Pick<OrderRow, 'order_pk'>): Promise<string[]> {
      const rows = await admin.selectFrom('tracker.outbox').select('payload').orderBy('id').execute();
      return rows
        .flatMap((row) => (JSON.parse(row.payload) as Event<'order.changed'>).data.moves)
        .filter((moved) => moved.orderPk === order.order_pk)
        .map((moved) => moved.eventId);
    },
  };
}
