import type { Db } from '@opentill/db/database';
import { writeAuditOfDatabaseUser } from '@opentill/db/operators';
import { bookMeasuredTopUp } from '@opentill/db/top-ups';
import type { Chain } from '@opentill/domain/chains';
import { cliError } from '../context.ts';
import { unexplainedRest } from './compare-hot-wallets.ts';
import type { Reconciliation } from './reconciliation.ts';

export interface UnbookedGas {
  readonly chain: Chain;
  readonly symbol: string;
  readonly height: number;
  readonly amountBaseUnits: bigint;
}

/**
 * Defined only if the coin is not an asset of orders and the excess is certain. Undefined while a transfer of the coin
 * is on its way into the ledger: the booking covers every unbooked transfer up to its block. Pure.
 */
export function findUnbookedGas({ books, lines, differences }: Reconciliation): UnbookedGas | undefined {
  const difference = differences.find(({ kind }) => kind === 'GAS_NOT_BOOKED');
  const line = lines.find(({ symbol, what }) => symbol === difference?.symbol && what === 'hot wallets');
  if (difference === undefined || line === undefined) return undefined;
  const { chain, anchor, openItems } = books;
  const isMoving = openItems.some(({ kind, symbol }) => symbol === line.symbol && kind.startsWith('TOP_UP_'));
  return isMoving
    ? undefined
    : { chain, symbol: line.symbol, height: anchor.height, amountBaseUnits: unexplainedRest(line) };
}

/**
 * `owner`: ownerBalance() before the measurement. If it changed since, throws GAS_BOOKED_MEANWHILE, so that two
 * concurrent runs book once. @returns the reference, which can reverse it
 */
export async function bookGas(db: Db, gas: UnbookedGas, owner: bigint): Promise<string> {
  const { chain, symbol, height, amountBaseUnits } = gas;
  const ref = `${chain}:gas-at-${height}-after-${-owner}:${symbol}`;
  await db.transaction().execute(async (tx) => {
    const topUp = { ref, chain, symbol, amountBaseUnits, isCoinForFees: true };
    const outcome = await bookMeasuredTopUp(tx, topUp, { asOfHeight: height, owner });
    if (outcome !== 'BOOKED')
      throw cliError(
        'GAS_BOOKED_MEANWHILE',
        `${symbol} on ${chain} was booked concurrently; nothing was booked now. Run it again.`,
        { retryable: true },
      );
    const details = { symbol, amountBaseUnits: amountBaseUnits.toString(), height, ref };
    await writeAuditOfDatabaseUser(tx, { action: 'bookGas', subject: chain, details });
  });
  return ref;
}
