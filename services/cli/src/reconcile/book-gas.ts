import type { Db, Tx } from '@opentill/db/database';
import { writeAuditOfDatabaseUser } from '@opentill/db/operators';
import { GatewayError } from '@opentill/domain/gateway-error';
import { sql } from 'kysely';
import type { CliErrorCode } from '../context.ts';
import { leftOver } from './compare-hot-wallets.ts';
import type { Reconciliation } from './reconciliation.ts';

/** Native coin in the hot wallets that nobody booked, at one block. */
export interface UnbookedGas {
  readonly chain: string;
  readonly symbol: string;
  readonly height: number;
  readonly amountBaseUnits: bigint;
}

/** What `--book-gas` may book: where the coin is no asset of orders, and the excess is beyond doubt. Pure. */
export function unbookedGasOf({ books, lines, differences }: Reconciliation): UnbookedGas | undefined {
  const difference = differences.find(({ kind }) => kind === 'GAS_NOT_BOOKED');
  const line = lines.find(({ symbol, what }) => symbol === difference?.symbol && what === 'hot wallets');
  if (difference === undefined || line === undefined) return undefined;
  const { chain, anchor } = books;
  return { chain, symbol: line.symbol, height: anchor.height, amountBaseUnits: leftOver(line) };
}

/** The sum of all that was ever booked as coin for fees, taken back or not. */
export async function gasBroughtSoFar(db: Db | Tx, chain: string, symbol: string): Promise<bigint> {
  const { rows } = await sql<{ brought: bigint }>`
    select coalesce(sum(p.amount), 0) as brought
    from ledger_posting p join ledger_account a using (account_id) join ledger_transaction t using (ledger_tx_id)
    where a.kind = 'HOT_GAS' and a.chain = ${chain} and a.symbol = ${symbol} and t.kind in ('GAS_TOP_UP', 'TOP_UP_REVERSED')`.execute(
    db,
  );
  return rows[0]?.brought ?? 0n;
}

/**
 * Books the excess as the operator's top-up. `broughtBefore` is what gasBroughtSoFar said before the excess was
 * measured: when somebody has booked since, nothing is booked, so that two who measured the same book it once. The
 * comparison comes after the booking, since that holds the lock under which all such bookings are made.
 * @throws GatewayError GAS_BOOKED_MEANWHILE
 */
export async function bookGas(db: Db, gas: UnbookedGas, broughtBefore: bigint): Promise<void> {
  const { chain, symbol, height, amountBaseUnits } = gas;
  const ref = `${chain}:gas-at-${height}-after-${broughtBefore}:${symbol}`;
  await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ booked: boolean }>`
      select book_gas_top_up(${ref}, ${chain}, ${symbol}, ${amountBaseUnits.toString()}::numeric) as booked`.execute(
      tx,
    );
    const brought = await gasBroughtSoFar(tx, chain, symbol);
    if (rows[0]?.booked === true && brought === broughtBefore + amountBaseUnits) {
      const details = { symbol, amountBaseUnits: amountBaseUnits.toString(), height };
      await writeAuditOfDatabaseUser(tx, { action: 'bookGas', subject: chain, details });
      return;
    }
    throw new GatewayError<CliErrorCode>(
      'GAS_BOOKED_MEANWHILE',
      `${symbol} on ${chain} was booked by somebody else meanwhile; nothing was booked now. Run it again.`,
      { retryable: true },
    );
  });
}
