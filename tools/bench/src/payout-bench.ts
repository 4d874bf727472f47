import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { AddressCodec } from '@opentill/chain/address-codec';
import type { DepositSigner } from '@opentill/chain/signer-backend';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { openDatabase } from '@opentill/db/database';
import { migrate } from '@opentill/db/migrate';
import { roleUrl, setRolePasswords } from '@opentill/db/roles';
import { findOrBringServers } from '@opentill/test-servers/servers';
import { connectBroker } from '@opentill/messaging/connection';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { startSigner } from '@opentill/payout-signer/app';
import type { PayingNetwork } from '@opentill/payout-signer/signer-deps';
import { judgeByPolicy } from '@opentill/payout-signer/judge-by-policy';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { seedFingerprint } from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { openKeystoreSigner, type KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { SCANNERS, type ScannedFamily } from './scanners.ts';

/** So many people are paid from one wallet, all asked for at once, a token of six decimals each. */
export const PAYOUTS = 1_000;
export const AMOUNT_BASE_UNITS = 1_000_000n;

/** A durable database and broker of their own, and a directory; gone at the end. */
export interface PayoutBench {
  readonly dir: string;
  readonly amqpUrl: string;
  /** A migrated database of one run's own. */
  createDatabase(name: string): Promise<PayoutDatabase>;
}

export interface PayoutDatabase {
  /** As its owner. */
  readonly adminUrl: string;
  /** As one of the services. */
  readonly urlOf: (role: 'signer' | (typeof SCANNERS)[ScannedFamily]['role']) => string;
}

const DEADLINE_MS = 300_000;

export async function withPayoutBench<T>(
  say: (line: string) => void,
  work: (bench: PayoutBench) => Promise<T>,
): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'opentill-bench-payouts-'));
  chmodSync(dir, 0o711); // Postgres runs as a user of its own when we are root
  const servers = await findOrBringServers({ dir, given: {}, keepData: false, say });
  try {
    await declareTopology(servers.broker.url);
    return await work({
      dir,
      amqpUrl: servers.broker.url,
      createDatabase: (name) => createDatabase(servers.database.url, name),
    });
  } finally {
    await servers.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function createDatabase(serverUrl: string, name: string): Promise<PayoutDatabase> {
  const server = new pg.Client({ connectionString: serverUrl });
  await server.connect();
  try {
    await server.query(`create database ${name}`);
  } finally {
    await server.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const adminUrl = url.toString();
  const password = randomBytes(16).toString('hex');
  await migrate(adminUrl);
  await setRolePasswords(adminUrl, {
    signer: password,
    scanner_evm: password,
    scanner_tron: password,
    scanner_sui: password,
  });
  return { adminUrl, urlOf: (role) => roleUrl(adminUrl, role, password) };
}

/** The keys of a fresh wallet, in a keystore in `dir`. */
export async function makeKeys(dir: string, codec: AddressCodec): Promise<KeystoreSigner> {
  const seed = seedOf(generateMnemonic());
  const [keystoreFile, passphrase] = [join(dir, 'keystore.json'), randomBytes(16).toString('hex')];
  const sealed = { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed } as const;
  await createKeystore(keystoreFile, sealed, passphrase);
  return openKeystoreSigner({ keystoreFile, passphrase, codecs: [codec], kind: 'test' });
}

/** The signer and the scanner as their processes start them. */
export function startPayoutServices(options: {
  readonly database: PayoutDatabase;
  readonly amqpUrl: string;
  readonly dir: string;
  readonly network: NetworkConfig & { readonly family: ScannedFamily };
  readonly keys: DepositSigner;
  readonly paying: PayingNetwork;
}): { stop(): Promise<void> } {
  const { database, amqpUrl, dir, network, keys, paying } = options;
  const { start, service, role } = SCANNERS[network.family];
  const logger = createLogger({ service: 'bench', level: 'warn' });
  const open = (own: Parameters<PayoutDatabase['urlOf']>[0]) =>
    openDatabase({
      url: database.urlOf(own),
      applicationName: `bench ${own}`,
      poolMax: 8,
      prepareStatements: own === 'signer',
    });
  const [signerPool, scannerPool] = [open('signer'), open(role)];
  const broker = connectBroker({ url: amqpUrl, logger, name: 'bench' });
  const fail = (error: unknown) => logger.error('bench', { error });
  const shared = { broker, logger, clock: systemClock, newId, instanceId: 'bench', fail };
  const scanner = start({
    ...shared,
    db: scannerPool.kysely,
    metrics: createMetrics(service),
    networks: [network],
  });
  const signer = startSigner({
    ...shared,
    db: signerPool.kysely,
    metrics: createMetrics('payout-signer'),
    networks: [paying],
    wallets: keys.addresses,
    keys,
    policy: judgeByPolicy(undefined, { isLocal: true }),
    stateDirectory: dir,
  });
  return {
    async stop() {
      await Promise.all([signer.stop(), scanner.stop()]);
      await broker.close();
      await signerPool.close();
      await scannerPool.close();
    },
  };
}

/** The orders as createPayout makes them, in one transaction, each to a receiver of its own. */
export async function askForPayouts(
  admin: pg.Client,
  of: {
    readonly chain: string;
    readonly family: ScannedFamily;
    readonly contract: string;
    readonly wallet: string;
    readonly receivers: readonly string[];
  },
): Promise<void> {
  const { chain, family, contract, wallet, receivers } = of;
  const all = (AMOUNT_BASE_UNITS * BigInt(receivers.length)).toString();
  await admin.query('begin');
  await admin.query('insert into hot_wallet (family, address) values ($1, $2)', [family, wallet]);
  await admin.query('select book_top_up($1, $2, $3, $4)', [
    `${chain}:${randomUUID()}:USDT`,
    chain,
    'USDT',
    all,
  ]);
  await admin.query(`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed)
    values ('bench', 'bench', 'V3', '', '')`);
  await admin.query(
    `insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals,
       display_decimals, amount, accepted_amount, address, source_address, created_at, expires_at)
     select gen_random_uuid(), 'bench', 'p' || place, 'PAYOUT', $1, $6, 'USDT', $2, 6, 2, $3, $3, receiver, $4, now(),
       now() + interval '1 hour'
     from unnest($5::text[]) with ordinality as r (receiver, place)`,
    [chain, contract, AMOUNT_BASE_UNITS.toString(), wallet, receivers, family],
  );
  await admin.query(`select reserve(order_pk) from orders where order_type = 'PAYOUT'`);
  await admin.query('commit');
}

/** The number `n` of the first row. */
export async function numberOf(admin: pg.Client, sql: string): Promise<number> {
  return Number((await admin.query<{ n: string }>(sql)).rows[0]?.n ?? 0);
}

/** From the first authorisation to the last first send. */
export function sendingSeconds(admin: pg.Client): Promise<number> {
  return numberOf(admin, 'select extract(epoch from max(first_sent_at) - min(authorised_at)) n from payout');
}

export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`bench: not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
