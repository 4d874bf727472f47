import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { FreshAddress } from '../deposit-address-pool.ts';
import type { CoinName } from '../order-fields.ts';

/** See the function choose_option of the database. */
export type ChoiceOutcome = 'CHOSEN' | 'CLOSED' | 'NOT_OFFERED' | 'NEEDS_ADDRESS';

export function choices(db: Db) {
  return {
    /** @param fresh used only if the order has no address of the coin's family */
    async chooseOption(
      orderPk: string,
      { chain, symbol }: CoinName,
      fresh: FreshAddress | undefined,
    ): Promise<ChoiceOutcome> {
      const { rows } = await sql<{ outcome: ChoiceOutcome }>`
        select choose_option(${orderPk}, ${chain}, ${symbol}, ${fresh?.address ?? null}, ${fresh?.derivationIndex ?? null})
          as outcome`.execute(db);
      const [row] = rows;
      if (row === undefined) throw new Error('choose_option returned no row');
      return row.outcome;
    },
  };
}
