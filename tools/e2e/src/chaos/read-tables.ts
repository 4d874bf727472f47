import { connect } from 'amqplib';
import { sql } from 'kysely';
import { queues } from '@opentill/contracts/topology';
import type { Db } from '@opentill/db/database';
import { SERVICE_SCHEMAS } from '@opentill/db/service-schema';
import type {
  GatewayTables,
  LedgerAccountRow,
  LedgerTransactionRow,
  NonceRow,
  NotificationRow,
  OrderRow,
  PayoutRow,
  TransferRow,
} from './facts.ts';

/** The gateway's tables. SQL neither sums nor compares; the checker does. `db` has the rights of the owner. */
export async function readTables(db: Db, amqpUrl: string): Promise<GatewayTables> {
  const [orders, payouts, nonces, transfers, notifications, accounts, ledger, leftovers] = await Promise.all([
    readOrders(db),
    readPayouts(db),
    readNonces(db),
    readTransfers(db),
    readNotifications(db),
    readAccounts(db),
    readLedger(db),
    readLeftovers(db, amqpUrl),
  ]);
  return { orders, payouts, nonces, transfers, notifications, accounts, ledger, leftovers };
}

async function readOrders(db: Db): Promise<OrderRow[]> {
  const { rows } = await sql<Record<'amount' | 'actualAmount', string | bigint | null> & OrderRow>`
    select order_pk as "orderPk", order_id as "orderId", status, reason, lower(address) as address, amount,
      actual_amount as "actualAmount"
    from orders where order_type = 'COLLECTION'`.execute(db);
  return rows.map((row) => ({
    ...row,
    amount: BigInt(row.amount),
    actualAmount: row.actualAmount === null ? null : BigInt(row.actualAmount),
  }));
}

async function readPayouts(db: Db): Promise<PayoutRow[]> {
  const { rows } = await sql<PayoutRow>`
    select order_pk as "orderPk", order_id as "orderId", status, reason, actual_amount as "actualAmount"
    from orders where order_type = 'PAYOUT'`.execute(db);
  return rows;
}

async function readNonces(db: Db): Promise<NonceRow[]> {
  const { rows } = await sql<NonceRow>`select chain, nonce, state from wallet_nonce`.execute(db);
  return rows;
}

async function readTransfers(db: Db): Promise<TransferRow[]> {
  const { rows } = await sql<TransferRow>`
    select t.transfer_id as "transferId", t.chain, t.tx_hash as "txHash", lower(t.contract_address) as contract,
      lower(t.to_address) as "to", t.amount, t.block_height as "blockHeight", t.block_hash as "blockHash", t.state,
      coalesce(s.booked, false) as booked, coalesce(s.credited, false) as credited, s.order_pk as "settledOrderPk",
      u.reason as unmatched
    from transfer t left join transfer_settlement s using (transfer_id)
      left join unmatched_deposit u on u.transfer_id = t.transfer_id and not u.withdrawn`.execute(db);
  return rows.map((row) => ({
    ...row,
    transferId: Number(row.transferId),
    blockHeight: Number(row.blockHeight),
    amount: BigInt(row.amount),
  }));
}

async function readNotifications(db: Db): Promise<NotificationRow[]> {
  const { rows } = await sql<NotificationRow>`
    select n.event_id as "eventId", n.subject_id as "orderPk", n.sequence, n.notify_type as "notifyType",
      n.data as "dataText", d.state as "deliveryState", coalesce(d.attempts, 0) as attempts,
      (select count(*) from delivery_attempt a where a.event_id = n.event_id) as "attemptsRecorded"
    from notification n left join delivery d using (event_id)`.execute(db);
  return rows.map((row) => ({
    ...row,
    sequence: Number(row.sequence),
    attempts: Number(row.attempts),
    attemptsRecorded: Number(row.attemptsRecorded),
  }));
}

async function readAccounts(db: Db): Promise<LedgerAccountRow[]> {
  const { rows } = await sql<LedgerAccountRow>`
    select account_id as "accountId", kind, chain, symbol, balance from ledger_account`.execute(db);
  return rows.map((row) => ({ ...row, accountId: Number(row.accountId), balance: BigInt(row.balance) }));
}

async function readLedger(db: Db): Promise<LedgerTransactionRow[]> {
  const { rows: transactions } = await sql<Omit<LedgerTransactionRow, 'postings'>>`
    select ledger_tx_id as "ledgerTxId", ref, kind from ledger_transaction`.execute(db);
  const { rows: postings } = await sql<{ ledgerTxId: number; accountId: number; amount: bigint }>`
    select ledger_tx_id as "ledgerTxId", account_id as "accountId", amount from ledger_posting`.execute(db);
  return transactions.map((transaction) => ({
    ...transaction,
    ledgerTxId: Number(transaction.ledgerTxId),
    postings: postings
      .filter((posting) => posting.ledgerTxId === transaction.ledgerTxId)
      .map(({ accountId, amount }) => ({ accountId: Number(accountId), amount: BigInt(amount) })),
  }));
}

async function readLeftovers(db: Db, amqpUrl: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const count = async (name: string, query: ReturnType<typeof sql<{ count: number }>>): Promise<void> => {
    counts[name] = (await query.execute(db)).rows[0]?.count ?? -1;
  };
  for (const schema of SERVICE_SCHEMAS) {
    // Scanners announce heads continuously, so that the newest events are still being relayed.
    const outbox = sql.table(`${schema}.outbox`);
    await count(
      `events in the outbox of ${schema}`,
      sql`select count(*)::int as count from ${outbox} where created_at < now() - interval '2 seconds'`,
    );
  }
  await count('halts', sql`select count(*)::int as count from wallet_halt`);
  await count('incidents', sql`select count(*)::int as count from incident`);
  await count('holds', sql`select count(*)::int as count from asset_hold`);
  return { ...counts, ...(await countDeadLetters(amqpUrl)) };
}

/** Also counts missing queues. */
async function countDeadLetters(amqpUrl: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const connection = await connect(amqpUrl);
  try {
    for (const { name, deadLetterQueue } of queues()) {
      for (const queue of [name, deadLetterQueue]) {
        const channel = await connection.createChannel(); // checkQueue of a missing queue closes its channel
        channel.on('error', () => undefined);
        const answer = await channel.checkQueue(queue).catch(() => undefined);
        if (answer === undefined) counts[`missing: ${queue}`] = 1;
        else {
          if (queue === deadLetterQueue) counts[`messages in ${queue}`] = answer.messageCount;
          await channel.close();
        }
      }
    }
  } finally {
    await connection.close();
  }
  return counts;
}
