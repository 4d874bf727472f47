import type { Db } from '@opentill/db/database';
import type { PayableCoin } from './native-symbols.ts';
import type { Observe } from './observe.ts';
import { makeGasPayable } from './store/hot-wallets.ts';

/**
 * Moves native coin booked for fees to the payable account once orders may use the coin; see make_gas_payable().
 * Idempotent.
 */
export async function sweepPayableCoins(
  { db, observe }: { readonly db: Db; readonly observe: Pick<Observe, 'gasMadePayable'> },
  coins: readonly PayableCoin[],
): Promise<void> {
  for (const { chain, symbol } of coins) {
    const amount = await makeGasPayable(db, chain, symbol);
    if (amount > 0n) observe.gasMadePayable({ chain, symbol, amount });
  }
}
