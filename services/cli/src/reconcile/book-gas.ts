import type { Db } from '@opentill/db/database';
import { writeAuditOfDatabaseUser } from '@opentill/db/operators';
import { bookMeasuredTopUp } from '@opentill/db/top-ups';
import type { Chain } from '@opentill/domain/chains';
import { cliError } from '../context.ts';
import { leftOver } from './compare-hot-wallets.ts';
import type { Reconciliation } from './reconciliation.ts';

/** Native coin in the hot wallets that nobody booked, at one block. */
export interface UnbookedGas {
  readonly chain: Chain;
  readonly symbol: string;
  readonly height: number;
  readonly amountBaseUnits: bigint;
}

/**
 * What `--book-gas` may book: where the coin is no asset of orders, and the excess is beyond doubt. Nothing while a transfer of the
 * coin is on its way into the ledger: the booking stands for every transfer up to its block that is not booked. Pure.
 */
export function unbookedGasOf({ books, lines, differences }: Reconciliation): UnbookedGas | undefined {
  const difference = differences.find(({ kind }) => kind === 'GAS_NOT_BOOKED');
  const line = lines.find(({ symbol, what }) => symbol === difference?.symbol && what === 'hot wallets');
  if (difference === undefined || line === undefined) return undefined;
  const { chain, anchor, openItems } = books;
  const isMoving = openItems.some(({ kind, symbol }) => symbol === line.symbol && kind.startsWith('TOP_UP_'));
  return isMoving
    ? undefined
    : { chain, symbol: line.symbol, height: anchor.height, amountBaseUnits: leftOver(line) };
}

/**
 * Books the excess as the operator's top-up. `owner`: ownerBalance() before the excess was measured. When a top-up was booked or
 * reversed since, nothing is booked, so that two who measured the same book it once.
 * @returns the reference, by which it can be reversed
 * @throws GatewayError GAS_BOOKED_MEANWHILE
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
