import { randomUUID } from 'node:crypto';
import type { TransactionFate } from '@opentill/chain/own-transaction';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { backupError } from '@opentill/db/backup/backup-error';
import type { Db, Tx } from '@opentill/db/database';
import { familyOf } from '@opentill/domain/chains';
import { sql } from 'kysely';
import { assetsOf } from '../../reconcile/store/read-chain-ledger.ts';
import { adoptPayment } from './adopt-payment.ts';
import type { OwnPlaces } from './deposits.ts';
import type { Payment } from '../match-transactions.ts';
import type { StoredPayment } from './restored-rows.ts';

const MOVED = { by: 'opentill restore', reason: 'moved by the gateway between its own places' };
/** Unused lifetime: these transactions were sent already. */
const SECONDS = 3_600;

export type Moved = StoredPayment & { readonly pays: Payment };

export type Work = 'SWEEP' | 'GAS_TOP_UP' | 'TO_COLD';

/** @throws GatewayError RESTORE_NOT_RECONCILED with the condition that the movement waits for */
export async function adoptMovement(
  db: Db,
  network: NetworkConfig,
  payment: Moved,
  work: Work,
  places: OwnPlaces,
  fate: TransactionFate,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { chain, wallet, pays, txHash } = payment;
    const asset = assetsOf(network).find(({ contract }) => contract === pays.contract);
    if (asset === undefined) throw waits(`the network file to name the token ${pays.contract} of ${txHash}`);
    const orderPk = randomUUID();
    const movement = {
      orderPk,
      kind: work,
      chain,
      symbol: asset.symbol,
      contract: pays.contract,
      decimals: asset.decimals,
      displayDecimals: asset.displayDecimals,
      amount: pays.amount.toString(),
      wallet,
      receiver: pays.to,
      seconds: SECONDS,
      plannedBy: MOVED.by,
    };
    const continued = work === 'SWEEP' ? await findOpenSweep(tx, payment, asset.symbol) : undefined;
    const opened =
      continued !== undefined || work === 'TO_COLD'
        ? undefined
        : await openSweep(tx, { ...payment, work }, asset.symbol, places);
    const sweepId = continued ?? opened?.sweepId ?? null;
    const { rows } = await sql<{ began: boolean }>`
      select plan_movement(${JSON.stringify({ ...movement, sweepId })}::jsonb) as began`.execute(tx);
    if (rows[0]?.began !== true)
      throw waits(
        `the ledger to contain what ${txHash} moved from ${wallet}: the scanner has to read its deposits and the tracker to book them`,
      );
    await adoptPayment(tx, payment, orderPk, MOVED);
    if (opened !== undefined) await endSweep(tx, opened, work, fate);
    await bookAsSweep(tx, payment);
    await orphanAsDeposit(tx, payment);
  });
}

function waits(what: string): Error {
  return backupError('RESTORE_NOT_RECONCILED', what, { retryable: true });
}

/** It stays open: the planner ends it after its remaining steps, such as reclaiming lent energy. */
async function findOpenSweep(
  tx: Tx,
  { chain, wallet, pays }: Moved,
  symbol: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ sweep_id: string }>`
    select s.sweep_id from sweep s where s.chain = ${chain} and s.address = ${wallet} and s.state = 'OPEN' and s.symbol = ${symbol}
      and s.amount = ${pays.amount} and s.destination = ${pays.to} and not exists (
        select from movement m where m.sweep_id = s.sweep_id and m.kind = 'SWEEP' and payout_may_move(m.order_pk))`.execute(
    tx,
  );
  return rows[0]?.sweep_id;
}

interface OpenedSweep {
  readonly sweepId: string;
  /** Open sweep of the backup that lent energy. It continues when this one has ended. */
  readonly resumes: string | null;
}

/**
 * Ends in the same transaction: an address has at most one open sweep. Abandons its open sweep of the backup, except
 * for reclaiming lent energy.
 */
async function openSweep(
  tx: Tx,
  { chain, wallet, pays, work }: Moved & { readonly work: 'SWEEP' | 'GAS_TOP_UP' },
  symbol: string,
  { hot }: OwnPlaces,
): Promise<OpenedSweep> {
  const sweepId = randomUUID();
  const address = work === 'SWEEP' ? wallet : pays.to;
  const { rows } = await sql<{ sweep_id: string; lends: boolean }>`
    update sweep s set state = 'ABANDONED', reason = 'restored', ended_at = clock_timestamp(), version = version + 1,
      updated_at = clock_timestamp() where chain = ${chain} and address = ${address} and state = 'OPEN'
    returning sweep_id, exists (select from movement m where m.sweep_id = s.sweep_id and m.kind = 'DELEGATE'
      and payout_may_move(m.order_pk)) as lends`.execute(tx);
  const [to, kind] = work === 'SWEEP' ? [pays.to, hot.has(pays.to) ? 'HOT' : 'COLD'] : [wallet, 'HOT'];
  await sql`
    insert into sweep (sweep_id, chain, family, address, symbol, contract_address, amount, destination, destination_kind, method,
      cost_estimate)
    values (${sweepId}, ${chain}, ${familyOf(chain)}, ${address}, ${symbol}, ${pays.contract}, ${pays.amount}, ${to}, ${kind},
      ${work === 'SWEEP' ? 'FREE' : 'TOP_UP'}, 0)`.execute(tx);
  return { sweepId, resumes: rows.find(({ lends }) => lends)?.sweep_id ?? null };
}

/** Money of a fee top-up stays at the address. The next plan of the address counts it. */
async function endSweep(
  tx: Tx,
  { sweepId, resumes }: OpenedSweep,
  work: Work,
  fate: TransactionFate,
): Promise<void> {
  const [state, reason] =
    work === 'GAS_TOP_UP'
      ? ['ABANDONED', 'restored: fee was topped up']
      : fate.succeeded && fate.deliveredBaseUnits > 0n
        ? ['DONE', null]
        : ['FAILED', 'SWEEP failed'];
  await sql`
    update sweep set state = ${state}, reason = ${reason}, ended_at = clock_timestamp(), version = version + 1,
      updated_at = clock_timestamp() where sweep_id = ${sweepId}`.execute(tx);
  if (resumes === null) return;
  await sql`
    update sweep set state = 'OPEN', ended_at = null, version = version + 1, updated_at = clock_timestamp()
    where sweep_id = ${resumes}`.execute(tx);
}

/** Until now the transfer was booked as the owner's top-up. */
async function bookAsSweep(tx: Tx, { chain, txHash }: Moved): Promise<void> {
  await sql`
    select settle_hot_wallet_deposits((
      select coalesce(jsonb_agg(jsonb_build_object('transferId', t.transfer_id, 'version', t.version)), '[]') from transfer t
      where t.chain = ${chain} and t.tx_hash = ${txHash} and exists (
        select from hot_wallet w where w.family = t.family and w.address = t.to_address)))`.execute(tx);
}

/** A fee top-up may have been recorded as a customer's deposit. As ORPHANED, the tracker reverses its booking. */
async function orphanAsDeposit(tx: Tx, { chain, txHash }: Moved): Promise<void> {
  await sql`
    update transfer t set state = 'ORPHANED', version = version + 1, updated_at = clock_timestamp()
    where t.chain = ${chain} and t.tx_hash = ${txHash} and t.state <> 'ORPHANED' and exists (
      select from deposit_address d where d.family = t.family and d.address = t.to_address)`.execute(tx);
}
