import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import type { WatchedScan } from './watched-scan.ts';

/** Payment to one of our addresses on the chain, read without the scanner's code. */
export interface Deposit {
  readonly tx: string;
  /** Position in the transaction, in the family's notation. */
  readonly position: string;
  readonly token: string | null;
  readonly to: string;
  readonly amount: string;
  readonly height: number;
  readonly block: string;
}

export interface TransferFindings {
  /** Payments that are missing or not verified. */
  readonly missed: readonly string[];
  readonly invented: readonly string[];
  /** Number of transfers that lost the state VERIFIED. */
  readonly unverified: number;
  readonly orphanings: number;
}

/** Records every change of a transfer's state in the database from now on. */
export async function auditTransfers(admin: Db): Promise<void> {
  await sql`create table truth_audit (place bigserial, transfer_id bigint, was text, became text)`.execute(
    admin,
  );
  await sql`
    create function truth_note() returns trigger language plpgsql security definer set search_path = public as $$
    begin
      insert into truth_audit (transfer_id, was, became)
      values (new.transfer_id, case when tg_op = 'UPDATE' then old.state::text end, new.state::text);
      return null;
    end $$`.execute(admin);
  await sql`create trigger truth_note after insert or update on transfer for each row execute function truth_note()`.execute(
    admin,
  );
}

/** Compares the transfers of an audited database with the chain. Ignores the case of hexadecimal digits. */
export async function compareTransfers(admin: Db, truth: readonly Deposit[]): Promise<TransferFindings> {
  const { rows } = await sql<Deposit & { readonly state: string }>`
    select tx_hash as tx, position, contract_address as token, to_address as "to", amount::text as amount,
      block_height as height, block_hash as block, state from transfer where state <> 'ORPHANED'`.execute(
    admin,
  );
  const textOf = ({ tx, position, token, to, amount, height, block }: Deposit, state: string): string =>
    [tx, position, token, to, amount, height, block, state]
      .join(' ')
      .replaceAll(/\b0x[0-9a-fA-F]+/g, (hex) => hex.toLowerCase());
  const live = new Set(rows.map((row) => textOf(row, row.state)));
  const expected = new Set(truth.map((deposit) => textOf(deposit, 'VERIFIED')));
  const count = async (condition: ReturnType<typeof sql>): Promise<number> =>
    (await sql<{ n: number }>`select count(*)::int as n from truth_audit where ${condition}`.execute(admin))
      .rows[0]!.n;
  return {
    missed: [...expected].filter((text) => !live.has(text)),
    invented: [...live].filter((text) => !expected.has(text)),
    unverified: await count(sql`was = 'VERIFIED' and became <> 'VERIFIED'`),
    orphanings: await count(sql`became = 'ORPHANED'`),
  };
}

/** Ids of verified transfers without an event, and of events without a verified transfer, after at most `limitMs`. */
export async function undetectedTransfers(
  admin: Db,
  scan: Pick<WatchedScan, 'takeEvents'>,
  limitMs: number,
): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select transfer_id::text as id from transfer where state = 'VERIFIED'`.execute(admin);
  const verified = new Set(rows.map((row) => row.id));
  const reported = new Set<string>();
  const different = (): readonly string[] => [
    ...[...verified].filter((id) => !reported.has(id)),
    ...[...reported].filter((id) => !verified.has(id)),
  ];
  const deadline = performance.now() + limitMs;
  do {
    for (const event of await scan.takeEvents('block.verified'))
      for (const id of event.data.transferIds) reported.add(id);
  } while (different().length > 0 && performance.now() < deadline);
  return different();
}
