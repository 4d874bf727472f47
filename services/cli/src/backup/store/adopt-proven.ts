import type { Db } from '@opentill/db/database';
import { sql } from 'kysely';
import { whyNotAdopted } from './adopt-attempt.ts';
import { adoptPayment } from './adopt-payment.ts';
import { matchTransactions } from '../match-transactions.ts';
import { readDoubtful, readOpenNonces, readPayments, type Hold } from './restored-rows.ts';
import { PROVEN } from '../wallet-state.ts';

/** A payout in flight at the backup that is verified needs no decision: it was signed only once. */
export async function markLanded(db: Db, { chain, wallet }: Hold): Promise<void> {
  await sql`
    update doubtful_payout d set decision = 'ADOPTED', decided_by = ${PROVEN.by}, decided_at = clock_timestamp()
    from payout p join payout_attempt a using (order_pk) join own_transaction_fate f on f.chain = a.chain and f.tx_hash = a.tx_hash
    where d.order_pk = p.order_pk and d.decision is null and p.chain = ${chain} and p.wallet = ${wallet} and p.state = 'SIGNED'
      and a.state <> 'DEAD' and f.state = 'VERIFIED'`.execute(db);
}

/** The payouts' attempts from before the backup are known to have landed nowhere. */
export async function adoptProven(db: Db, hold: Hold): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const payments = await readPayments(tx, { hold });
    const nonces = await readOpenNonces(tx, hold);
    let adopted = 0;
    for (const { txHash, orderPk } of matchTransactions(payments, nonces, await readDoubtful(tx, hold))) {
      const payment = payments.find((one) => one.txHash === txHash);
      if (payment === undefined) continue;
      if (payment.nonce === null && (orderPk === null || (await whyNotAdopted(tx, payment)) !== undefined))
        continue; // left to the operator
      await adoptPayment(tx, payment, orderPk, PROVEN);
      adopted += 1;
    }
    return adopted;
  });
}
