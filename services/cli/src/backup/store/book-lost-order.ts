import { sql } from 'kysely';
import type { TransactionFate } from '@opentill/chain/own-transaction';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db, Tx } from '@opentill/db/database';
import { writeAudit } from '@opentill/db/operators';
import { backupError } from '@opentill/db/backup/backup-error';
import { findTokenOf } from '../../families.ts';
import type { Decided } from '../wallet-state.ts';
import type { StoredPayment } from './restored-rows.ts';

/**
 * Uses up the payment's nonce, and books a withdrawal by the owner, so that ledger and chain agree. With `guards`, a
 * later payout of the same amount to the same receiver waits for an operator. Two sources must report the outcome, at a
 * final block.
 */
export async function bookLostOrder(
  db: Db,
  payment: StoredPayment,
  fate: TransactionFate,
  network: NetworkConfig,
  decided: Decided & { readonly guards: boolean },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { chain, wallet, nonce, txHash, pays } = payment;
    const { rows } = await sql`
      update forgotten_payment set decision = 'ORDER_LOST', decided_by = ${decided.by}, decided_reason = ${decided.reason},
        decided_at = clock_timestamp(), guards = ${decided.guards}
      where chain = ${chain} and tx_hash = ${txHash} and decision is null returning tx_hash`.execute(tx);
    if (rows.length === 0) throw backupError('RESTORE_NOT_RECONCILED', `${txHash} is already decided`);
    if (nonce !== null)
      await sql`
      insert into wallet_nonce as n (chain, wallet, nonce, state) values (${chain}, ${wallet}, ${nonce}, 'TAKEN')
      on conflict (chain, wallet, nonce) do update set state = 'TAKEN', updated_at = clock_timestamp(),
          order_pk = case when n.state = 'SIGNED' then n.order_pk end
        where n.state in ('RESERVED', 'SIGNED')`.execute(tx);
    const symbol = symbolOf(network, pays?.contract);
    if (symbol !== undefined && fate.deliveredBaseUnits > 0n)
      await post(tx, `forgotten:${chain}:${txHash}`, 'TOP_UP_REVERSED', chain, symbol, [
        ['OWNER', fate.deliveredBaseUnits],
        ['HOT_AVAILABLE', -fate.deliveredBaseUnits],
      ]);
    // Not NETWORK_FEE: that account holds only the fees of known own transactions.
    if (fate.feeBaseUnits !== 0n)
      await post(tx, `forgotten-fee:${chain}:${txHash}`, 'TOP_UP_REVERSED', chain, network.nativeSymbol, [
        ['OWNER', fate.feeBaseUnits],
        ['HOT_GAS', -fate.feeBaseUnits],
      ]);
    await writeAudit(tx, {
      operator: decided.by,
      action: 'bookForgottenPayment',
      subject: null,
      outcome: 'DONE',
      details: { chain, txHash, nonce, reason: decided.reason, guards: decided.guards },
      requestId: null,
    });
  });
}

/** Reverses the booking of a payment that belongs to an order after all. */
export async function reverseLostOrder(tx: Tx, { chain, txHash }: StoredPayment): Promise<void> {
  const { rows } = await sql<{ ref: string; symbol: string; amount: bigint }>`
    select t.ref, a.symbol, p.amount from ledger_transaction t join ledger_posting p using (ledger_tx_id) join ledger_account a using (account_id)
    where t.ref in (${`forgotten:${chain}:${txHash}`}, ${`forgotten-fee:${chain}:${txHash}`}) and p.amount > 0`.execute(
    tx,
  );
  for (const { ref, symbol, amount } of rows) {
    const isFee = ref.startsWith('forgotten-fee:');
    const [kind, up, down] = isFee
      ? (['GAS_TOP_UP', 'HOT_GAS', 'OWNER'] as const)
      : (['TOP_UP', 'HOT_AVAILABLE', 'OWNER'] as const);
    await post(tx, `${ref}:adopted`, kind, chain, symbol, [
      [up, amount],
      [down, -amount],
    ]);
  }
}

function symbolOf(network: NetworkConfig, contract: string | null | undefined): string | undefined {
  if (contract === null) return network.nativeSymbol;
  return findTokenOf(network, contract)?.symbol;
}

async function post(
  tx: Tx,
  ref: string,
  kind: string,
  chain: string,
  symbol: string,
  lines: readonly (readonly [account: string, amount: bigint])[],
): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    insert into ledger_transaction (ref, kind) values (${ref}, ${kind}) returning ledger_tx_id as id`.execute(
    tx,
  );
  const id = rows[0]?.id ?? 0;
  await sql`
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select ${id}, ledger_account_for(l.kind, ${chain}, ${symbol}, null), l.amount
    from unnest(${lines.map(([account]) => account)}::text[], ${lines.map(([, amount]) => amount.toString())}::numeric[]) as l (kind, amount)`.execute(
    tx,
  );
}
