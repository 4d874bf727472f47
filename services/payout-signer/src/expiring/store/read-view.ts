import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { ExpiringSendOutcome, Validity } from '@opentill/chain/expiring-sender';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Db } from '@opentill/db/database';
import type { MovementKind } from '@opentill/db/sweep-tables';
import { baseUnits } from '@opentill/domain/money';
import type { ViewOptions, WalletKey } from '../../payouts/payout-facts.ts';
import { readPaidBy, readRequested, readUnsigned } from '../../store/read-payouts.ts';
import { openHalts } from '../../store/rows.ts';
import { resourceOf } from '../../payouts/resource-of-movement.ts';
import type { OpenAttempt } from './attempt-facts.ts';
import type { ExpiringView } from './attempt-store.ts';
import { readElsewhere, type Sponsoring } from './read-other-wallets.ts';
import { newForeign, ofWallet, whyUnproven } from './rows.ts';

/** Each one needs requests to nodes; the rest waits for the next pass. */
const PAID_BY_MAX = 8;
const FOREIGN_MAX = 100;

/** Several statements, each bounded by an index, without locks. */
export async function readView(
  db: Db,
  key: WalletKey,
  options: ViewOptions,
  sponsoring: Sponsoring,
): Promise<ExpiringView> {
  // Reads payouts before attempts. So a payout seen as unsigned has its attempt, if it got one, in the later read.
  const [page, unsigned, paidBy] = await Promise.all([
    readRequested(db, key, options),
    readUnsigned(db, key, options),
    readPaidBy(db, key, PAID_BY_MAX),
  ]);
  const [state, attempts, elsewhere] = await Promise.all([
    readState(db, key),
    readOpenAttempts(db, key),
    readElsewhere(db, key, sponsoring),
  ]);
  return { ...state, ...page, unsigned, paidBy, attempts, ...elsewhere };
}

interface StateRow {
  readonly now: Date;
  readonly seen_height: number | null;
  readonly seen_hash: BlockHash | null;
  readonly seen_ms: number | null;
  readonly verified_height: number | null;
  readonly verified_hash: BlockHash | null;
  readonly verified_ms: number | null;
  readonly verified_epoch: number | null;
  readonly over_ms: number | null;
  readonly halted: string | null;
  readonly is_uncertain: boolean;
  readonly held: string[];
  readonly last_unique_ms: number | null;
  readonly released_mark: number | null;
  readonly foreign: TxHash[];
}

export async function readState(
  db: Db,
  key: WalletKey,
): Promise<
  Omit<
    ExpiringView,
    'requested' | 'pageEnd' | 'unsigned' | 'paidBy' | 'attempts' | 'otherFees' | 'haltedWallets'
  >
> {
  const { rows } = await sql<StateRow>`
    select clock_timestamp() as now, c.seen_height, c.seen_hash, c.verified_height, c.verified_hash,
      (select (extract(epoch from b.block_time) * 1000)::int8 from block b where b.chain = c.chain and b.height = c.seen_height)
        as seen_ms,
      (extract(epoch from c.verified_time) * 1000)::int8 as verified_ms, c.verified_epoch, chain_over_ms(c.chain) as over_ms,
      (select h.reason ${openHalts(key)} order by h.set_at limit 1) as halted,
      exists (select ${openHalts(key)} and h.kind in ('FOREIGN_NONCE', 'RESTORED')) as is_uncertain,
      array(select distinct s.symbol from asset_hold s where s.chain = ${key.chain} and s.released_at is null) as held,
      (select max(a.unique_ms) from payout_attempt a where ${ofWallet(key)}) as last_unique_ms,
      (select max(h.mark) from wallet_halt h where h.chain = ${key.chain} and h.wallet = ${key.wallet}
        and h.mark is not null and h.released_at is not null) as released_mark,
      array(select x.tx_hash ${newForeign(key)} order by x.block_height limit ${FOREIGN_MAX}) as foreign
    from (select) one left join chain_cursor c on c.chain = ${key.chain}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new Error('the wallet state query returned no row');
  return {
    now: row.now,
    cursor: cursorIn(row),
    halted: row.halted,
    isUncertain: row.is_uncertain,
    heldSymbols: new Set(row.held),
    lastUniqueMs: row.last_unique_ms,
    releasedMark: row.released_mark,
    foreign: row.foreign,
  };
}

function cursorIn(row: StateRow): ExpiringView['cursor'] {
  const { seen_height, seen_hash, verified_height, verified_hash, verified_ms } = row;
  if (seen_height === null || seen_hash === null) return null;
  if (verified_height === null || verified_hash === null || verified_ms === null) return null;
  return {
    seen: { height: seen_height, hash: seen_hash, timeMs: row.seen_ms ?? verified_ms },
    verified: { height: verified_height, hash: verified_hash, timeMs: verified_ms },
    overMs: row.over_ms,
    epoch: row.verified_epoch,
  };
}

interface AttemptRow {
  readonly tx_hash: TxHash;
  readonly order_pk: string;
  readonly contract_address: TokenContract | null;
  readonly to_address: Address;
  readonly amount: bigint;
  readonly fee_terms: { readonly feeLimit: string; readonly cost: string };
  readonly has_bytes: boolean;
  readonly unique_ms: number;
  readonly expires_ms: number;
  readonly reference_height: number;
  readonly reference_hash: BlockHash;
  readonly first_epoch: number | null;
  readonly last_epoch: number | null;
  readonly signed_at: Date;
  readonly send_outcome: ExpiringSendOutcome | null;
  readonly fate: 'MINED' | 'VERIFIED' | 'ORPHANED' | null;
  readonly block_height: number | null;
  readonly movement: MovementKind | null;
  readonly has_landed: boolean;
  readonly unproven: string | null;
}

async function readOpenAttempts(db: Db, key: WalletKey): Promise<readonly OpenAttempt[]> {
  const { rows } = await sql<AttemptRow>`
    select a.tx_hash, a.order_pk, t.contract_address, t.to_address, t.amount, t.fee_terms, length(t.raw) > 0 as has_bytes,
      a.unique_ms, a.expires_ms, a.reference_height, a.reference_hash, a.first_epoch, a.last_epoch, t.signed_at, t.send_outcome, f.state as fate, f.block_height,
      m.kind as movement, l.tx_hash is not null as has_landed,
      ${whyUnproven} as unproven
    from payout_attempt a join own_transaction t using (chain, tx_hash)
      left join own_transaction_fate f using (chain, tx_hash) left join movement m on m.order_pk = a.order_pk
      left join own_transaction_landed l on l.chain = a.chain and l.tx_hash = a.tx_hash
    where ${ofWallet(key)} and a.state = 'OPEN' order by a.unique_ms`.execute(db);
  return rows.map((row) => ({
    txHash: row.tx_hash,
    orderPk: row.order_pk,
    contract: row.contract_address,
    to: row.to_address,
    amountBaseUnits: baseUnits(row.amount),
    ...resourceOf(row.movement),
    feeLimitBaseUnits: BigInt(row.fee_terms.feeLimit),
    costBaseUnits: BigInt(row.fee_terms.cost),
    validity: {
      expiresMs: row.expires_ms,
      reference: { height: row.reference_height, hash: row.reference_hash },
      uniqueMs: row.unique_ms,
      ...epochsIn(row),
    },
    hasBytes: row.has_bytes,
    signedAt: row.signed_at,
    outcome: row.send_outcome,
    minedHeight: row.fate === 'MINED' || row.fate === 'VERIFIED' ? row.block_height : null,
    isVerified: row.fate === 'VERIFIED',
    hasLanded: row.has_landed,
    ...(row.unproven === null ? {} : { unprovenBecause: row.unproven }),
  }));
}

function epochsIn({ first_epoch: first, last_epoch: last }: AttemptRow): Pick<Validity, 'epochs'> {
  return first === null || last === null ? {} : { epochs: { first, last } };
}
