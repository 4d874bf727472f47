import type { Db } from '@opentill/db/database';
import type { PayableCoin } from './native-symbols.ts';
import type { Observe } from './observe.ts';
import { makeGasPayable } from './store/hot-wallets.ts';

/** Idempotent; see make_gas_payable(). */
export async function sweepPayableCoins(
  { db, observe }: { readonly db: Db; readonly observe: Pick<Observe, 'gasMadePayable'> },
  coins: readonly PayableCoin[],
): Promise<void> {
  for (const { chain, symbol } of coins) {
    const amount = await makeGasPayable(db, chain, symbol);
    if (amount > 0n) observe.gasMadePayable({ chain, symbol, amount });
  }
}
