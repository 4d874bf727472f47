import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openDatabase, type Database } from '@opentill/db/database';
import { migrate } from '@opentill/db/migrate';
import { roleUrl, setRolePasswords } from '@opentill/db/roles';
import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import type { CannedBlockFacts } from './canned-chain.ts';
import { cannedTronDepositHex } from './canned-tron-chain.ts';
import { SCANNERS, type ScannedFamily } from './scanners.ts';

/** The database of a scanner that is measured: our own server's, since what is filled in is legal for nobody else. */
export interface ScanDatabase {
  readonly admin: pg.Client;
  /** As whom and where the scanner of the family connects, its password included. */
  scannerUrl(family: ScannedFamily): string;
  /** Opens a pool as the scanner of the family does. */
  openAsScanner(family: ScannedFamily): Database;
  /** Sees to so many deposit addresses of the family; cannedDepositAddress, cannedTronDepositHex and cannedSuiDeposit say which. */
  fillDepositAddresses(count: number, family: ScannedFamily): Promise<void>;
  /** Forgets what was scanned. */
  forgetChains(): Promise<void>;
  /** A cursor as if the chain had been scanned up to this block, and verified. */
  placeCursor(
    network: { readonly chain: string; readonly family: ScannedFamily },
    block: CannedBlockFacts,
  ): Promise<void>;
  /** Where the verified cursor of a chain is; 0 without one. */
  verifiedHeight(chain: string): Promise<number>;
  /** How many transfers are verified, of all chains. */
  verifiedTransfers(): Promise<number>;
  close(): Promise<void>;
}

export async function openScanDatabase(adminUrl: string): Promise<ScanDatabase> {
  await migrate(adminUrl);
  const password = randomBytes(16).toString('hex');
  await setRolePasswords(adminUrl, {
    scanner_evm: password,
    scanner_tron: password,
    scanner_sui: password,
  });
  const admin = new pg.Client({ connectionString: adminUrl, application_name: 'bench' });
  await admin.connect();
  const scannerUrl = (family: ScannedFamily): string => roleUrl(adminUrl, SCANNERS[family].role, password);
  return {
    admin,
    scannerUrl,
    openAsScanner: (family) => openDatabase({ url: scannerUrl(family), applicationName: 'bench scanner' }),
    fillDepositAddresses: (count, family) => fillDepositAddresses(admin, count, family),
    async forgetChains() {
      await admin.query(
        'truncate transfer, block, chain_cursor, scanner_evm.outbox, scanner_tron.outbox, scanner_sui.outbox cascade',
      );
    },
    async placeCursor({ chain, family }, { height, hash, parentHash, timeSeconds }) {
      await admin.query(
        'insert into block (chain, height, hash, parent_hash, block_time) values ($1, $2, $3, $4, to_timestamp($5))',
        [chain, height, hash, parentHash, timeSeconds],
      );
      await admin.query(
        `insert into chain_cursor (chain, family, head_height, head_hash, head_time, seen_height, seen_hash,
           verified_height, verified_hash, verified_time, fencing_token)
         values ($1, $5, $2, $3, to_timestamp($4), $2, $3, $2, $3, to_timestamp($4), 0)`,
        [chain, height, hash, timeSeconds, family],
      );
    },
    async verifiedHeight(chain) {
      const { rows } = await admin.query<{ height: string }>(
        'select verified_height as height from chain_cursor where chain = $1',
        [chain],
      );
      return Number(rows[0]?.height ?? 0);
    },
    async verifiedTransfers() {
      const { rows } = await admin.query<{ n: number }>(
        `select count(*)::int as n from transfer where state = 'VERIFIED'`,
      );
      return rows[0]?.n ?? 0;
    },
    close: () => admin.end(),
  };
}

/**
 * Addresses without the orders they belong to: foreign keys are not enforced for a session that plays a replica. The
 * scanner looks at no order. Unique constraints are taken away and made again, which sorts instead of seeking.
 */
async function fillDepositAddresses(admin: pg.Client, count: number, family: ScannedFamily): Promise<void> {
  const { rows } = await admin.query<{ have: string }>(
    'select count(*) as have from deposit_address where family = $1',
    [family],
  );
  const have = Number(rows[0]?.have ?? 0);
  if (have >= count) return;
  const constraints = await admin.query<{ name: string; definition: string }>(
    `select quote_ident(conname) as name, pg_get_constraintdef(oid) as definition from pg_constraint
     where conrelid = 'deposit_address'::regclass and contype in ('p', 'u')`,
  );
  await admin.query(`set session_replication_role = replica; set maintenance_work_mem = '512MB'`);
  for (const { name } of constraints.rows)
    await admin.query(`alter table deposit_address drop constraint ${name}`);
  await INSERTS[family](admin, have + 1, count);
  for (const { name, definition } of constraints.rows)
    await admin.query(`alter table deposit_address add constraint ${name} ${definition}`);
  await admin.query('reset session_replication_role');
  await admin.query('vacuum analyze deposit_address');
}

async function insertEvmAddresses(admin: pg.Client, from: number, to: number): Promise<void> {
  await admin.query(
    `insert into deposit_address (family, address, derivation_index, order_pk)
     select 'EVM', '0x' || md5('a' || i) || substr(md5('b' || i), 1, 8), i, md5('o' || i)::uuid
     from generate_series($1::int, $2::int) i`,
    [from, to],
  );
}

const ROWS_AT_ONCE = 20_000;

/** As cannedSuiDeposit makes them. */
async function insertSuiAddresses(admin: pg.Client, from: number, to: number): Promise<void> {
  await admin.query(
    `insert into deposit_address (family, address, derivation_index, order_pk)
     select 'SUI', '0x' || md5('a' || i) || md5('b' || i), i, md5('s' || i)::uuid
     from generate_series($1::int, $2::int) i`,
    [from, to],
  );
}

/** Checksums are not made by SQL. */
async function insertTronAddresses(admin: pg.Client, from: number, to: number): Promise<void> {
  for (let first = from; first <= to; first += ROWS_AT_ONCE) {
    const last = Math.min(to, first + ROWS_AT_ONCE - 1);
    const addresses = Array.from({ length: last - first + 1 }, (_, place) =>
      addressOfShortHex(cannedTronDepositHex(first + place)),
    );
    await admin.query(
      `insert into deposit_address (family, address, derivation_index, order_pk)
       select 'TRON', address, $1::int + place - 1, md5('t' || ($1::int + place - 1))::uuid
       from unnest($2::text[]) with ordinality as a (address, place)`,
      [first, addresses],
    );
  }
}

const INSERTS: Readonly<
  Record<ScannedFamily, (admin: pg.Client, from: number, to: number) => Promise<void>>
> = {
  EVM: insertEvmAddresses,
  TRON: insertTronAddresses,
  SUI: insertSuiAddresses,
};
