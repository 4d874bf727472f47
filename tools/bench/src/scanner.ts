import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { BlockFacts, ScannedFamily } from './canned/plan.ts';
import { depositHex } from './canned/plan.ts';
import { startChild } from './child.ts';
import type { BenchFamily } from './families/family.ts';
import type { ScannerRequest } from './scanner-process.ts';
import { numberOf, type BenchServers } from './servers.ts';

export interface ScannerProcess {
  readonly pid: number;
  start(networks: readonly NetworkConfig[]): Promise<void>;
  stop(): Promise<void>;
  readonly died: Promise<never>;
  end(): Promise<void>;
}

const ROLES = { EVM: 'scanner_evm', TRON: 'scanner_tron', SUI: 'scanner_sui' } as const;
const ROWS_AT_ONCE = 20_000;

export function startScannerProcess(
  family: ScannedFamily,
  { urlOf, amqpUrl }: BenchServers,
  flags: readonly string[] = [],
): ScannerProcess {
  const child = startChild('scanner-process', flags);
  const ask = (request: ScannerRequest): Promise<void> => child.ask(request);
  const databaseUrl = urlOf(ROLES[family]);
  const stop = (): Promise<void> => ask({ ask: 'stop' });
  return {
    pid: child.pid,
    died: child.died,
    start: (networks) => ask({ ask: 'start', family, databaseUrl, amqpUrl, networks }),
    stop,
    async end() {
      await stop().catch(() => undefined); // the process may have ended
      await child.stop();
    },
  };
}

export async function forgetChains({ admin }: BenchServers): Promise<void> {
  await admin.query(
    'truncate transfer, block, chain_cursor, scanner_evm.outbox, scanner_tron.outbox, scanner_sui.outbox cascade',
  );
}

/** Replaces all orders by one of each network that stays open, so that its scanner does not rest. */
export async function openOrders({ admin }: BenchServers, networks: readonly NetworkConfig[]): Promise<void> {
  await admin.query(`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed)
    values ('bench', 'bench', 'V3', '', '') on conflict do nothing`);
  await admin.query(`delete from orders where merchant_id = 'bench'`);
  for (const { chain, family } of networks)
    await admin.query(
      `insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, decimals, display_decimals,
         amount, accepted_amount, address, created_at, expires_at)
       values (gen_random_uuid(), 'bench', $1, 'COLLECTION', $1, $2, 'USDT', 6, 2, 1, 1, 'unpaid', now(), now() + interval '1 day')`,
      [chain, family],
    );
}

export async function placeCursor(
  { admin }: BenchServers,
  { chain, family }: NetworkConfig,
  { height, hash, parentHash, timeSeconds }: BlockFacts,
): Promise<void> {
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
}

export function verifiedHeight({ admin }: BenchServers, { chain }: NetworkConfig): Promise<number> {
  return numberOf(admin, 'select verified_height n from chain_cursor where chain = $1', [chain]);
}

/** The replica role checks no foreign keys, so orders are not needed. Recreating unique constraints is faster. */
export async function fillDepositAddresses(
  { admin }: BenchServers,
  { family, storedAddress }: BenchFamily,
  count: number,
): Promise<void> {
  const { rows: constraints } = await admin.query<{ name: string; definition: string }>(
    `select quote_ident(conname) as name, pg_get_constraintdef(oid) as definition from pg_constraint
     where conrelid = 'deposit_address'::regclass and contype in ('p', 'u')`,
  );
  await admin.query(`set session_replication_role = replica; set maintenance_work_mem = '512MB'`);
  for (const { name } of constraints)
    await admin.query(`alter table deposit_address drop constraint ${name}`);
  for (let first = 1; first <= count; first += ROWS_AT_ONCE) {
    const length = Math.min(ROWS_AT_ONCE, count - first + 1);
    await admin.query(
      `insert into deposit_address (family, address, derivation_index, order_pk)
       select $1, address, $2::int + place - 1, gen_random_uuid() from unnest($3::text[]) with ordinality as a (address, place)`,
      [family, first, Array.from({ length }, (_, place) => storedAddress(depositHex(first + place)))],
    );
  }
  for (const { name, definition } of constraints)
    await admin.query(`alter table deposit_address add constraint ${name} ${definition}`);
  await admin.query('reset session_replication_role');
  await admin.query('vacuum analyze deposit_address');
}
