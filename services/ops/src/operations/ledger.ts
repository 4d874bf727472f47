import { LEDGER_COLUMNS, ORDER_COLUMNS } from '@opentill/contracts/ops/ledger-routes';
import type { Db } from '@opentill/db/database';
import { inCoin } from '@opentill/domain/order-shares';
import { bookCoveredTopUp, readTopUp, reverseTopUp } from '@opentill/db/top-ups';
import type { CsvExport, Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf, requiredDate } from '../page.ts';
import { notFound, opsError } from '../ops-error.ts';
import { orderAmount, time } from '../format.ts';
import {
  findBalances,
  findTopUps,
  readOrders,
  readPostings,
  type ExportedOrder,
  type ExportedPosting,
  type Time,
} from '../store/ledger.ts';
import type { OpsDeps } from './ops-deps.ts';

type LedgerOperation =
  'listBalances' | 'bookTopUp' | 'listTopUps' | 'reverseTopUp' | 'exportOrders' | 'exportLedger';

export function ledgerHandlers(deps: OpsDeps): Pick<Handlers, LedgerOperation> {
  const { db, assets } = deps;
  return {
    async listBalances({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findBalances(db, filter, keyAfter(cursor, 'number'), limit + 1);
      return pageOf(
        rows,
        limit,
        (row) => row.accountId,
        ({ account, chain, symbol, merchantId, balance }) => ({
          account,
          chain,
          symbol,
          merchantId,
          balanceBaseUnits: balance.toString(),
          balance: assets.display(chain, symbol, balance),
        }),
      );
    },
    ...topUpHandlers(deps),
    exportOrders: ({ from, until }) =>
      csv(deps, ['orders', from, until], ORDER_COLUMNS, readOrders, (row) => orderCells(row)),
    exportLedger: ({ from, until }) =>
      csv(deps, ['ledger', from, until], LEDGER_COLUMNS, readPostings, (row) => [
        String(row.ledger_tx_id),
        time(row.created_at),
        row.kind,
        row.ref,
        row.order_pk,
        row.account,
        row.merchant_id,
        row.chain,
        row.symbol,
        row.amount.toString(),
        assets.display(row.chain, row.symbol, row.amount),
      ]),
  };
}

function topUpHandlers({ db, assets }: OpsDeps): Pick<Handlers, 'bookTopUp' | 'listTopUps' | 'reverseTopUp'> {
  return {
    async bookTopUp({ tx }, { chain, symbol, amount, txid }) {
      const topUp = readTopUp(assets.requireNetwork(chain), { symbol, amount, txid });
      const booked = await bookCoveredTopUp(tx, topUp);
      return { answer: { booked, ref: topUp.ref }, subject: topUp.ref, details: { booked } };
    },
    async listTopUps({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findTopUps(db, filter, keyAfter(cursor, 'number'), limit + 1);
      return pageOf(
        rows,
        limit,
        (row) => row.ledgerTxId,
        ({ ref, chain, symbol, amount, matched, asOfHeight, bookedAt, state }) => ({
          ref,
          chain,
          symbol,
          amountBaseUnits: amount.toString(),
          amount: assets.display(chain, symbol, amount),
          matchedBaseUnits: matched.toString(),
          asOfHeight,
          bookedAt: time(bookedAt),
          state,
        }),
      );
    },
    async reverseTopUp({ tx }, { ref }) {
      const { outcome, chain, symbol, amount } = await reverseTopUp(tx, ref);
      if (outcome === 'NOT_FOUND' || chain === null || symbol === null)
        throw notFound(`top-up by hand ${ref}`);
      if (outcome === 'SEEN')
        throw opsError(
          'STATE_CONFLICT',
          'The scanner found its transfers on the chain, which replaced the booking. There is no amount left to reverse.',
        );
      if (outcome === 'UNCOVERED')
        throw opsError(
          'STATE_CONFLICT',
          'Payouts have reserved this money, and the signer last saw it on the chain. Veto those payouts first, or wait until the balance shows that it is missing.',
        );
      const reversed = outcome === 'REVERSED';
      const amountBaseUnits = (reversed ? (amount ?? 0n) : 0n).toString();
      const answer = { reversed, ref, chain, symbol, amountBaseUnits };
      return { answer, subject: ref, details: { reversed, amountBaseUnits } };
    },
  };
}

function csv<Row extends ExportedOrder | ExportedPosting>(
  { exportDb }: OpsDeps,
  [what, from, until]: readonly [string, string, string],
  columns: readonly string[],
  read: (db: Db, time: Time, signal: AbortSignal) => AsyncIterable<readonly Row[]>,
  cellsOf: (row: Row) => readonly (string | null)[],
): CsvExport {
  const [begin, end] = [requiredDate(from), requiredDate(until)];
  if (end <= begin) throw opsError('UNPROCESSABLE', 'until must be later than from.');
  const day = (at: Date) => time(at).slice(0, 19).replaceAll(':', '');
  return {
    fileName: `${what}-${day(begin)}-${day(end)}.csv`,
    columns,
    async *rows(signal) {
      for await (const batch of read(exportDb, { from: begin, until: end }, signal)) yield batch.map(cellsOf);
    },
  };
}

function orderCells(row: ExportedOrder): readonly (string | null)[] {
  const order = { decimals: row.decimals, displayDecimals: row.display_decimals };
  const cells: { readonly [C in (typeof ORDER_COLUMNS)[number]]: string | null } = {
    ...row,
    amount: orderAmount(row.amount, order),
    detected_amount: orderAmount(inCoin(row.detected_amount, row), order),
    actual_amount: row.actual_amount === null ? null : orderAmount(inCoin(row.actual_amount, row), order),
    created_at: time(row.created_at),
    expires_at: time(row.expires_at),
    updated_at: time(row.updated_at),
  };
  return ORDER_COLUMNS.map((column) => cells[column]);
}
