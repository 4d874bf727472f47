import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { TokenContract } from '@opentill/chain/transfer';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import type { Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import { createLogger, type LogFields, type Logger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createObserve } from '../src/observe.ts';
import type { ScanNetwork } from '../src/scan-network.ts';
import { createScanTick } from '../src/scan-tick.ts';
import { createScanStore, type ScanStore } from '../src/store/scan-store.ts';
import { anOwnTransaction } from '@opentill/testkit/payout-scenario';
import { aPayout } from '@opentill/testkit/scenario';
import { aTx, MOCK_TOKEN, type MockTx } from './mock-node.ts';

export const CHAIN = 'ETH_SEPOLIA';

/** Three confirmations and small limits, for in-memory chains. */
export const MOCK_NETWORK: ScanNetwork = {
  chain: CHAIN,
  family: 'EVM',
  chainId: 11_155_111,
  confirmations: 3,
  blockTimeMs: 12_000,
  headStaleSeconds: 10 ** 10, // block times differ from the clock
  symbols: new Map<TokenContract | null, string>([
    [MOCK_TOKEN, 'USDT'],
    [null, 'ETH'],
  ]),
  pollIntervalMs: 10,
  restIntervalMs: 10, // never rests
  reorgWindow: 10,
  maxBlockRange: 4,
};

function createTestClock() {
  let ms = Date.UTC(2026, 0, 1);
  return {
    now: () => new Date(ms),
    pass(byMs: number): void {
      ms += byMs;
    },
  };
}

export type TestScan = Awaited<ReturnType<typeof openScan>>;

export interface TestScanOptions {
  readonly db: Db;
  readonly reader: ChainReader;
  readonly network?: ScanNetwork;
  readonly holder?: string;
  readonly ttlMs?: number;
  readonly wrapStore?: (store: ScanStore) => ScanStore;
  readonly onCommitted?: () => void;
  readonly log?: LogLine[];
}

export interface LogLine {
  readonly message: string;
  readonly fields: LogFields;
}

export function createTestLogger(lines: LogLine[] | undefined): Logger {
  const silent = createLogger({ service: 'test', level: 'silent' });
  if (lines === undefined) return silent;
  const write = (message: string, fields: LogFields = {}): unknown => lines.push({ message, fields });
  return { ...silent, error: write, warn: write, info: write, debug: write };
}

export async function openScan(options: TestScanOptions) {
  const { db, reader, network = MOCK_NETWORK } = options;
  const clock = createTestClock();
  const metrics = createMetrics('test');
  const observe = createObserve({
    metrics,
    logger: createTestLogger(options.log),
    clock,
  });
  const lease = keepLease({
    db,
    schema: 'scanner_evm',
    name: `chain:${network.chain}`,
    holder: options.holder ?? 'replica-1',
    ttlMs: options.ttlMs ?? 60_000,
  });
  await lease.acquire();
  const store = createScanStore({ db, schema: 'scanner_evm', clock: systemClock, newId });
  const tick = createScanTick({
    network,
    reader,
    store: options.wrapStore?.(store) ?? store,
    observe,
    lease,
    clock,
    onCommitted: options.onCommitted ?? (() => undefined),
  });
  return {
    lease,
    clock,
    metrics,
    observe,
    async tick(signal: AbortSignal = new AbortController().signal) {
      const outcome = await tick(signal);
      observe.ticked(network.chain);
      return outcome;
    },
    /** Runs rounds until none is left to do, including retries. Throws after 500 rounds. */
    async settle(): Promise<void> {
      let quietRounds = 0;
      for (let round = 0; round < 500; round += 1) {
        clock.pass(20_000);
        quietRounds = (await tick(new AbortController().signal)) === 'again' ? 0 : quietRounds + 1;
        if (quietRounds === 2) return; // the second round follows a shorter branch
      }
      throw new Error('the scan still has work after 500 rounds');
    },
  };
}

/** A new order for each address. `db` is connected as the owner. */
export async function giveOut(db: Db, addresses: readonly string[], family = 'EVM'): Promise<void> {
  await sql`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed)
    values ('m', 'm', 'V3', '', '') on conflict do nothing`.execute(db);
  for (const address of addresses) {
    const orderPk = randomUUID();
    await sql`
      with o as (
        insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, decimals, display_decimals,
          amount, accepted_amount, address, created_at, expires_at)
        values (${orderPk}, 'm', ${orderPk}, 'COLLECTION', ${CHAIN}, ${family}, 'USDT', 6, 2, 1, 1, ${address}, now(), now())
      )
      insert into deposit_address (family, address, derivation_index, order_pk)
      values (${family}, ${address}, nextval('deposit_index_evm'), ${orderPk})`.execute(db);
  }
}

export const address = (name: string): Address => `0x${name}` as Address;

export interface RecordedTransfer {
  readonly tx: string;
  readonly position: string;
  readonly to: string;
  readonly amount: bigint;
  readonly height: number;
  readonly block: string;
  readonly state: string;
}

export async function recordedTransfers(db: Db): Promise<readonly RecordedTransfer[]> {
  const { rows } = await sql<RecordedTransfer>`
    select tx_hash as tx, position, to_address as to, amount, block_height as height, block_hash as block, state
    from transfer order by tx_hash, position`.execute(db);
  return rows;
}

export async function transferVersions(db: Db) {
  const { rows } = await sql<{ id: string; tx: string; state: string; version: number }>`
    select transfer_id::text as id, tx_hash as tx, state, version from transfer order by transfer_id`.execute(
    db,
  );
  return rows;
}

export async function outboxEvents(db: Db): Promise<readonly EventEnvelope[]> {
  const { rows } = await sql<{ payload: string }>`select payload from scanner_evm.outbox order by id`.execute(
    db,
  );
  return rows.map((row) => JSON.parse(row.payload) as EventEnvelope);
}

export async function storedCursor(db: Db) {
  const { rows } = await sql<{
    head: number;
    seen: number;
    seenHash: string;
    verified: number;
    token: number;
    blocks: string[];
  }>`
    select head_height as head, seen_height as seen, seen_hash as "seenHash", verified_height as verified,
      fencing_token as token,
      (select array_agg(hash order by height) from block b where b.chain = c.chain) as blocks
    from chain_cursor c where chain = ${CHAIN}`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new Error('no cursor');
  return row;
}

/** Deletes all rows of the scanner and ends its lease. Signed transactions are permanent; their nonces become FINAL. */
export async function forgetScans(db: Db): Promise<void> {
  // Truncating small tables takes ten times as long.
  await sql`
    with b as (delete from block), c as (delete from chain_cursor), t as (delete from transfer),
      r as (delete from rescan_request), o as (delete from scanner_evm.outbox), f as (delete from own_transaction_fate),
      n as (update wallet_nonce set state = 'FINAL' where state = 'SIGNED')
    update scanner_evm.lease set expires_at = now()`.execute(db);
}

/**
 * Signs a payment like the signer and returns the transaction for a mock chain. With `replaces` it has the same nonce
 * as that one, so that only one can be mined.
 */
export async function signPayout(
  { signer, admin }: { readonly signer: Db; readonly admin: Db },
  options: {
    readonly to?: Address;
    readonly amount?: bigint;
    readonly isNative?: boolean;
    readonly replaces?: MockTx;
    readonly signedAt?: Date;
  } = {},
): Promise<MockTx> {
  const { to = address('payee'), amount = 100n, isNative = false, replaces, signedAt = new Date() } = options;
  const contract_address = isNative ? null : MOCK_TOKEN;
  const tx = aTx({ to, amount, isNative });
  const before =
    replaces &&
    (await signer
      .selectFrom('own_transaction')
      .select(['order_pk', 'nonce'])
      .where('tx_hash', '=', replaces.hash)
      .executeTakeFirstOrThrow());
  const order = before?.order_pk
    ? await admin
        .selectFrom('orders')
        .selectAll()
        .$narrowType<{ address: string }>()
        .where('order_pk', '=', before.order_pk)
        .executeTakeFirstOrThrow()
    : await aPayout(admin, { chain: CHAIN, address: to, contract_address, amount, source_address: '0xhot' });
  const nonce = before?.nonce === undefined ? {} : { nonce: before.nonce };
  await anOwnTransaction(signer, order, { tx_hash: tx.hash, signed_at: signedAt, ...nonce });
  return tx;
}

/** After `forgetScans`; cheaper than signing new transactions. */
export async function openAgain(signer: Db, txs: readonly MockTx[]): Promise<void> {
  await sql`update wallet_nonce n set state = 'SIGNED' from own_transaction o
    where o.tx_hash = any(${txs.map(({ hash }) => hash)}) and (n.chain, n.wallet, n.nonce) = (o.chain, o.wallet, o.nonce)`.execute(
    signer,
  );
}

/** FINAL after a VERIFIED outcome, TAKEN when a foreign transaction used it. */
export async function closeNonceOf(
  signer: Db,
  { hash }: MockTx,
  state: 'FINAL' | 'TAKEN' = 'FINAL',
): Promise<void> {
  await sql`update wallet_nonce n set state = ${state} from own_transaction o
    where o.tx_hash = ${hash} and (n.chain, n.wallet, n.nonce) = (o.chain, o.wallet, o.nonce)`.execute(
    signer,
  );
}

/** As `<tx> MINED 21`, with failures and differing amounts appended. */
export async function recordedFates(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ fate: string }>`
    select concat_ws(' ', tx_hash, state, block_height, case when not succeeded then 'failed' end,
      case when succeeded and delivered <> amount then 'delivered ' || delivered end) as fate
    from own_transaction_fate join own_transaction using (chain, tx_hash) order by tx_hash`.execute(db);
  return rows.map(({ fate }) => fate);
}

export async function fateVersions(db: Db): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ tx: string; version: number }>`
    select tx_hash as tx, version from own_transaction_fate order by tx_hash`.execute(db);
  return Object.fromEntries(rows.map(({ tx, version }) => [tx, version]));
}

export async function fateEvents(db: Db): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const event of await outboxEvents(db)) {
    if (event.type !== 'fate.changed') continue;
    for (const hash of (event.data as { txHashes: string[] }).txHashes)
      counts[hash] = (counts[hash] ?? 0) + 1;
  }
  return counts;
}
