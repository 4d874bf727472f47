import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { suiFamily } from '@opentill/chain-sui/family';
import { readGathering } from '@opentill/chain-sui/sender/read-gathering';
import { readPaymentBytes, type ReadPayment } from '@opentill/chain-sui/sender/read-payment-bytes';
import {
  createSuiWalletHistoryReader,
  type SuiWalletHistoryReader,
} from '@opentill/chain-sui/sender/read-wallet-history';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { baseUnits } from '@opentill/domain/money';
import { sql } from 'kysely';
import type { Anchor } from '../reconcile/books.ts';
import { readAnchor } from '../reconcile/read-books.ts';
import { adoptProven, noteLanded } from './adopt-proven.ts';
import { bookLost } from './book-lost.ts';
import { refuseUnsigned } from './refuse-unsigned.ts';
import { readDoubtful, readPayments, type Hold } from './restore-store.ts';
import { PROVEN, type WalletState } from './wallet-state.ts';

/** By so much the database's clock at the restore may have been behind the chain's. */
const CLOCKS_DIFFER_MS = 300_000;
/** What a signer signs may land in the epoch that its scanner is in, and in the next one. */
const EPOCHS_TO_LAND = 2;

/**
 * Reads what a SUI wallet did since the backup, and writes down what it proves. The scanner says what that was: it has read every
 * checkpoint since the backup again, from two sources, and noted each transaction of a hot wallet that this database does not know.
 * What such a transaction says stands in its bytes, for which its digest vouches. The hold ends when the scanner has verified an
 * epoch in which nothing can land any more that the lost machine signed, whether it was ever sent or not. May be called any number of
 * times.
 * @throws GatewayError with a ReaderErrorCode or a DatabaseErrorCode
 */
export async function reconcileSuiWallet(db: Db, network: NetworkConfig, hold: Hold): Promise<WalletState> {
  const anchor = await readAnchor(db, hold.chain);
  const waitsFor: string[] = [];
  let adopted = 0;
  let waitsUntil: Date | undefined;
  if (anchor === undefined || anchor.height <= hold.fromHeight) {
    waitsFor.push(`the scanner, which has verified nothing behind checkpoint ${hold.fromHeight} yet`);
  } else {
    const history = createSuiWalletHistoryReader(network);
    const missing = await noteSent(db, history, hold, anchor);
    waitsFor.push(
      ...missing.map((txHash) => `a source that has transaction ${txHash}: an archive, if nodes forgot it`),
    );
    await noteLanded(db, hold);
    await bookGatherings(db, network, hold, anchor);
    adopted = await adoptProven(db, hold);
    const end = await readEnd(db, history, hold, anchor);
    if (end !== undefined) {
      waitsUntil = waitsFor.length === 0 ? end.at : undefined;
      waitsFor.push(
        `${end.what} to be verified, about ${end.at.toISOString()} (now: ${anchor.time.toISOString()}): until then what the lost machine signed may land`,
      );
    } else {
      waitsFor.push(...(await findUnsettled(db, hold)));
      if (waitsFor.length === 0) await refuseUnsigned(db, hold.chain, hold.wallet);
    }
  }
  const payments = await readPayments(db, { hold });
  const payouts = await readDoubtful(db, hold);
  return { hold, waitsFor, waitsUntil, payments, payouts, adopted, silent: [] };
}

interface SentRow {
  readonly txHash: TxHash;
  /** A hot wallet, or a deposit address of which it is noted as well: the scanner notes both. */
  readonly wallet: Address;
  readonly height: number;
  readonly hash: string;
  readonly time: Date;
}

/**
 * What the scanner has found since the backup and is not written down yet; first what it noted of deposit addresses, which says what a
 * hot wallet got that only paid for it.
 * @returns those whose bytes no source gives
 */
async function noteSent(
  db: Db,
  history: SuiWalletHistoryReader,
  hold: Hold,
  anchor: Anchor,
): Promise<readonly TxHash[]> {
  const { restoreId, chain, wallet, fromHeight } = hold;
  const { rows } = await sql<SentRow>`
    select x.tx_hash as "txHash", x.wallet, x.block_height as height, x.block_hash as hash, x.block_time as time
    from foreign_transaction x
    where x.chain = ${chain} and x.block_height > ${fromHeight} and x.block_height <= ${anchor.height}
      and (x.wallet = ${wallet} or exists (select from deposit_address d where d.family = 'SUI' and d.address = x.wallet))
      and not exists (select from own_transaction t where t.chain = x.chain and t.tx_hash = x.tx_hash)
      and not exists (select from forgotten_payment f where f.chain = x.chain and f.tx_hash = x.tx_hash)
    order by x.wallet = ${wallet}, x.block_height, x.tx_hash`.execute(db);
  const bytes = await history.readBytes([...new Set(rows.map(({ txHash }) => txHash))]);
  for (const row of rows) {
    const raw = bytes.get(row.txHash);
    if (raw !== undefined) await saveSent(db, hold, row, raw);
  }
  const missing = [...new Set(rows.map(({ txHash }) => txHash))].filter((txHash) => !bytes.has(txHash));
  if (missing.length === 0)
    await sql`
      update restore_hold set read_height = ${anchor.height}, read_hash = ${anchor.hash}
      where restore_id = ${restoreId} and chain = ${chain} and wallet = ${wallet}`.execute(db);
  return missing;
}

/** A sweep that the wallet only paid the gas of is its deposit address's. */
async function saveSent(
  db: Db,
  { restoreId, chain }: Hold,
  { txHash, wallet, height, hash, time }: SentRow,
  raw: Uint8Array,
): Promise<void> {
  const read = soundly(raw);
  const pays = read === undefined ? undefined : read.intent;
  // Whole coins: the bytes don't say what they held, and two sources said what came of it.
  await sql`
    insert into forgotten_payment (chain, tx_hash, restore_id, wallet, nonce, raw, contract_address, to_address, amount,
      block_height, block_hash, block_time)
    select ${chain}, ${txHash}, ${restoreId}, coalesce(d.address, ${wallet}), null, ${Buffer.from(raw)}, ${pays?.contract ?? null}::text,
      p.to_address, p.amount, ${height}, ${hash}, ${time}
    from (select) one
      left join deposit_address d on d.family = 'SUI' and d.address = ${pays?.from ?? null}::text
      left join lateral (
        select ${pays?.to ?? null}::text as to_address, coalesce(${pays?.amountBaseUnits?.toString() ?? null}::numeric, (
          select sum(y.amount) from foreign_transfer y where y.chain = ${chain} and y.tx_hash = ${txHash} and y.wallet = ${wallet}
            and y.to_address = ${pays?.to ?? null}::text and y.contract_address is not distinct from ${pays?.contract ?? null}::text)) as amount
      ) p on ${pays?.from ?? null}::text in (d.address, ${wallet}) and ${pays?.to ?? null}::text <> ${pays?.from ?? null}::text and p.amount is not null
    on conflict do nothing`.execute(db);
}

function soundly(raw: Uint8Array): ReadPayment | undefined {
  try {
    return readPaymentBytes(raw);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A wallet that gathered its own coins has paid nobody: what it cost is booked, and nobody has to decide about it. */
async function bookGatherings(db: Db, network: NetworkConfig, hold: Hold, anchor: Anchor): Promise<void> {
  const gatherings: { readonly txHash: string; readonly contract: TokenContract | null }[] = [];
  const payments = (await readPayments(db, { hold })).filter(({ pays }) => pays === undefined);
  for (const { txHash } of payments) {
    const { rows } = await sql<{ raw: Buffer }>`
      select raw from forgotten_payment where chain = ${hold.chain} and tx_hash = ${txHash}`.execute(db);
    const read = readGathering(rows[0]?.raw ?? Buffer.alloc(0), hold.wallet);
    if (read !== undefined) gatherings.push({ txHash, contract: read.contract });
  }
  if (gatherings.length === 0) return;
  const own = gatherings.map(({ txHash, contract }) => ({
    txHash: txHash as TxHash,
    from: hold.wallet,
    to: hold.wallet as Address,
    contract,
    amountBaseUnits: baseUnits(0n),
  }));
  const reader = suiFamily.createReader(network, {});
  const { fates } = await reader.readFates(own, { atHeight: anchor.height, neverAlone: true });
  for (const fate of fates) {
    const payment = payments.find(({ txHash }) => txHash === fate.txHash);
    if (payment === undefined) continue;
    const decided = { by: PROVEN.by, reason: 'gathered coins of its own', guards: false };
    await db
      .transaction()
      .execute(async (tx) =>
        bookLost(tx, payment, { ...fate, deliveredBaseUnits: baseUnits(0n) }, network, decided),
      );
  }
}

/** What has to be verified before nothing of the lost machine can land any more, and when about; undefined: it is. */
async function readEnd(
  db: Db,
  history: SuiWalletHistoryReader,
  { chain, restoredAt }: Hold,
  anchor: Anchor,
): Promise<{ readonly what: string; readonly at: Date } | undefined> {
  const { rows } = await sql<{ epoch: number | null }>`
    select verified_epoch as epoch from chain_cursor where chain = ${chain}`.execute(db);
  const verified = rows[0]?.epoch ?? undefined;
  const signedUntilMs = restoredAt.getTime() + CLOCKS_DIFFER_MS;
  if (verified === undefined || anchor.time.getTime() < signedUntilMs)
    return { what: `checkpoints of ${new Date(signedUntilMs).toISOString()}`, at: new Date(signedUntilMs) };
  const { epoch, startMs, durationMs } = await history.epochAt(signedUntilMs, verified);
  const end = epoch + EPOCHS_TO_LAND;
  if (verified >= end) return undefined;
  return { what: `a checkpoint of epoch ${end}`, at: new Date(startMs + EPOCHS_TO_LAND * durationMs) };
}

/** What was on its way at the backup and stands in a checkpoint is to be verified before the wallet goes on. */
async function findUnsettled(db: Db, { chain, wallet }: Hold): Promise<readonly string[]> {
  const { rows } = await sql<{ tx_hash: string }>`
    select a.tx_hash from payout_attempt a
      left join own_transaction_fate f on f.chain = a.chain and f.tx_hash = a.tx_hash
      left join own_transaction_landed l on l.chain = a.chain and l.tx_hash = a.tx_hash
    where a.chain = ${chain} and a.wallet = ${wallet} and a.state = 'OPEN' and f.state is distinct from 'VERIFIED'
      and (f.state = 'MINED' or l.tx_hash is not null or not attempt_is_over(a.chain, a.expires_ms, a.last_epoch))`.execute(
    db,
  );
  return rows.map(
    (row) => `transaction ${row.tx_hash}, which this database knows, to be verified by the scanner`,
  );
}
