import { randomUUID } from 'node:crypto';
import { evmFamily } from '@opentill/chain-evm/family';
import { suiFamily } from '@opentill/chain-sui/family';
import { tronFamily } from '@opentill/chain-tron/family';
import type { Address } from '@opentill/chain/address-codec';
import type { TransactionFate } from '@opentill/chain/own-transaction';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { backupError } from '@opentill/db/backup/backup-error';
import type { Db, Tx } from '@opentill/db/database';
import { familyOf, type Chain } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { baseUnits } from '@opentill/domain/money';
import { sql } from 'kysely';
import type { Anchor } from '../reconcile/books.ts';
import { assetsOf } from '../reconcile/read-books.ts';
import { adoptPayment } from './adopt-payment.ts';
import type { OwnPlaces } from './deposit-store.ts';
import type { Payment } from './match-forgotten.ts';
import { readPayments, type StoredPayment } from './restore-store.ts';

/** In whose name, and why. */
const MOVED = { by: 'opentill restore', reason: 'moved by the gateway between its own places' };
/** Not used: what is taken over was sent already. */
const SECONDS = 3_600;

/** A forgotten transaction that pays something. */
type Moved = StoredPayment & { readonly pays: Payment };

export interface AdoptedMovements {
  readonly adopted: number;
  readonly waitsFor: readonly string[];
}

/**
 * Takes over what the gateway moved between its own places since the backup: what deposit addresses paid to cold storage and to hot
 * wallets, the fees that were brought for it, and what hot wallets gave away above their floats. Each becomes the movement that
 * it was, with the rows that planner and signer had written, and goes the way of every payout from there: the scanner says what
 * became of it, the tracker books it once and tells of it once.
 */
export async function adoptMovements(
  db: Db,
  network: NetworkConfig,
  { chain, anchor }: { readonly chain: Chain; readonly anchor: Anchor },
  places: OwnPlaces,
): Promise<AdoptedMovements> {
  const forgotten = (await readPayments(db, { chain })).flatMap((payment): Moved[] => {
    const { pays } = payment;
    return pays === undefined || pays === null ? [] : [{ ...payment, pays }];
  });
  const deposits = await readDeposits(db, network, forgotten);
  const fates = await readFates(network, anchor, forgotten);
  const waitsFor: string[] = [];
  let adopted = 0;
  for (const payment of forgotten.toSorted((a, b) => a.blockHeight - b.blockHeight)) {
    const work = workOf(payment, places, deposits);
    if (work === undefined) continue;
    const fate = fates.get(payment.txHash);
    if (fate === undefined) {
      waitsFor.push(`two sources that say alike what became of ${payment.txHash}`);
      continue;
    }
    try {
      await db.transaction().execute((tx) => adopt(tx, network, payment, work, places, fate));
      adopted += 1;
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'RESTORE_NOT_RECONCILED') throw error;
      waitsFor.push(error.message);
    }
  }
  return { adopted, waitsFor };
}

type Work = 'SWEEP' | 'GAS_TOP_UP' | 'TO_COLD';

/** Undefined: nothing that the gateway does of its own accord. */
function workOf(
  { wallet, pays }: Moved,
  { hot, cold }: OwnPlaces,
  deposits: ReadonlySet<string>,
): Work | undefined {
  if (deposits.has(wallet)) return hot.has(pays.to) || cold.has(pays.to) ? 'SWEEP' : undefined;
  if (!hot.has(wallet)) return undefined;
  if (deposits.has(pays.to) && pays.contract === null) return 'GAS_TOP_UP';
  return cold.has(pays.to) ? 'TO_COLD' : undefined;
}

/** @throws GatewayError RESTORE_NOT_RECONCILED with what it waits for */
async function adopt(
  tx: Tx,
  network: NetworkConfig,
  payment: Moved,
  work: Work,
  places: OwnPlaces,
  fate: TransactionFate,
): Promise<void> {
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
  const begun = work === 'SWEEP' ? await findBegun(tx, payment, asset.symbol) : undefined;
  const opened =
    begun !== undefined || work === 'TO_COLD'
      ? undefined
      : await openSweep(tx, { ...payment, work }, asset.symbol, places);
  const sweepId = begun ?? opened?.sweepId ?? null;
  const { rows } = await sql<{ began: boolean }>`
    select plan_movement(${JSON.stringify({ ...movement, sweepId })}::jsonb) as began`.execute(tx);
  if (rows[0]?.began !== true)
    throw waits(
      `the books to have what ${txHash} moved from ${wallet}: its deposits are read by the scanner and booked by the tracker`,
    );
  await adoptPayment(tx, payment, orderPk, MOVED);
  if (opened !== undefined) await endSweep(tx, opened, work, fate);
  await bookAsSweep(tx, payment);
  await takeForNoDeposit(tx, payment);
}

function waits(what: string): Error {
  return backupError('RESTORE_NOT_RECONCILED', what, { retryable: true });
}

/**
 * The sweep of the backup that it was for: it stays open, and the planner ends it, with what is still to be done for it, as taking
 * back what was lent.
 */
async function findBegun(
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
  /** What the backup had open there and something was lent for: it goes on when this one has ended. */
  readonly goesOn: string | null;
}

/**
 * One address has one open sweep; it is ended in the same transaction. What the backup had open there goes no further, but for
 * taking back what was lent.
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
  return { sweepId, goesOn: rows.find(({ lends }) => lends)?.sweep_id ?? null };
}

/** What was brought lies there, and the next plan of the address counts it. */
async function endSweep(
  tx: Tx,
  { sweepId, goesOn }: OpenedSweep,
  work: Work,
  fate: TransactionFate,
): Promise<void> {
  const [state, reason] =
    work === 'GAS_TOP_UP'
      ? ['ABANDONED', 'restored: its fee was brought']
      : fate.succeeded && fate.deliveredBaseUnits > 0n
        ? ['DONE', null]
        : ['FAILED', 'SWEEP failed'];
  await sql`
    update sweep set state = ${state}, reason = ${reason}, ended_at = clock_timestamp(), version = version + 1,
      updated_at = clock_timestamp() where sweep_id = ${sweepId}`.execute(tx);
  if (goesOn === null) return;
  await sql`
    update sweep set state = 'OPEN', ended_at = null, version = version + 1, updated_at = clock_timestamp()
    where sweep_id = ${goesOn}`.execute(tx);
}

/** What came into a hot wallet was taken for somebody's top-up as long as nobody knew of the sweep. */
async function bookAsSweep(tx: Tx, { chain, txHash }: Moved): Promise<void> {
  await sql`
    select settle_hot_wallet_deposits((
      select coalesce(jsonb_agg(jsonb_build_object('transferId', t.transfer_id, 'version', t.version)), '[]') from transfer t
      where t.chain = ${chain} and t.tx_hash = ${txHash} and exists (
        select from hot_wallet w where w.family = t.family and w.address = t.to_address)))`.execute(tx);
}

/**
 * A fee that was brought was read as a customer's deposit, where the native coin is taken for payments, as long as nobody knew of it:
 * what the gateway itself sends is none. The tracker takes it out of the books.
 */
async function takeForNoDeposit(tx: Tx, { chain, txHash }: Moved): Promise<void> {
  await sql`
    update transfer t set state = 'ORPHANED', version = version + 1, updated_at = clock_timestamp()
    where t.chain = ${chain} and t.tx_hash = ${txHash} and t.state <> 'ORPHANED' and exists (
      select from deposit_address d where d.family = t.family and d.address = t.to_address)`.execute(tx);
}

async function readDeposits(
  db: Db,
  { family }: NetworkConfig,
  payments: readonly Moved[],
): Promise<ReadonlySet<string>> {
  const addresses = payments.flatMap(({ wallet, pays }) => [wallet, pays.to]);
  const { rows } = await sql<{ address: string }>`
    select address from deposit_address where family = ${family} and address = any(${addresses}::text[])`.execute(
    db,
  );
  return new Set(rows.map(({ address }) => address));
}

const READERS = { EVM: evmFamily, TRON: tronFamily, SUI: suiFamily } as const;
const FATES_AT_ONCE = 100;

/** By two sources, at the verified block. */
async function readFates(
  network: NetworkConfig,
  anchor: Anchor,
  payments: readonly Moved[],
): Promise<ReadonlyMap<string, TransactionFate>> {
  const all = new Map<string, TransactionFate>();
  const reader = READERS[network.family].createReader(network, {});
  for (let from = 0; from < payments.length; from += FATES_AT_ONCE) {
    const own = payments.slice(from, from + FATES_AT_ONCE).map(({ txHash, wallet, pays }) => ({
      txHash: txHash as TxHash,
      from: wallet,
      contract: pays.contract as TokenContract | null,
      to: pays.to as Address,
      amountBaseUnits: baseUnits(pays.amount),
    }));
    const { fates } = await reader.readFates(own, { atHeight: anchor.height, neverAlone: true });
    for (const fate of fates) all.set(fate.txHash, fate);
  }
  return all;
}
