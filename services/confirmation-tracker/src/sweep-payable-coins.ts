import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { PayableCoin } from './native-symbols.ts';
import type { Observe } from './observe.ts';

/**
 * Moves coin that was booked for fees to the asset that the coin has become since: see make_gas_payable(). Idempotent; a sweep
 * that finds nothing above zero changes nothing.
 */
export async function sweepPayableCoins(
  { db, observe }: { readonly db: Db; readonly observe: Pick<Observe, 'gasMadePayable'> },
  coins: readonly PayableCoin[],
): Promise<void> {
  for (const { chain, symbol } of coins) {
    const { rows } = await sql<{
      amount: bigint;
    }>`select make_gas_payable(${chain}, ${symbol}) as amount`.execute(db);
    const amount = rows[0]?.amount ?? 0n;
    if (amount > 0n) observe.gasMadePayable({ chain, symbol, amount });
  }
}
