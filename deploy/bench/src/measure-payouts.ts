import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { DepositSigner } from '@opentill/chain/signer-backend';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { openDatabase } from '@opentill/db/database';
import { migrate } from '@opentill/db/migrate';
import { roleUrl, setRolePasswords } from '@opentill/db/roles';
import { startAnvil } from '@opentill/devnet/anvil';
import { CUSTOMER_INDEX, devAccount } from '@opentill/devnet/evm-accounts';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  mine,
  payNative,
  payToken,
  setBlockTime,
} from '@opentill/devnet/evm-devnet';
import { findFreePort } from '@opentill/devnet/free-port';
import { callRpc } from '@opentill/devnet/json-rpc';
import { findOrBringServers } from '@opentill/devnet/servers';
import { connectBroker } from '@opentill/messaging/connection';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { startSigner } from '@opentill/payout-signer/app';
import { judgeByPolicy } from '@opentill/payout-signer/judge-by-policy';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { startScanner } from '@opentill/scanner-evm/app';
import { seedFingerprint } from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { openKeystoreSigner } from '@opentill/wallet/keystore-signer';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { round2 } from './median.ts';

/** Payouts of one hot wallet, all asked for at once. */
export interface PayoutFigures {
  readonly payouts: number;
  /** Most transactions on their way at once. */
  readonly maxOpenNonces: number;
  /** From the first authorisation to the last first send. */
  readonly broadcastPerSecond: number;
  /** Until the last of them was final in the database. */
  readonly secondsToFinal: number;
  /** Nonces of the chain, of the database, and receivers that have their amount: all the number of payouts. */
  readonly chainNonces: number;
  readonly finalNonces: number;
  readonly receiversPaid: number;
}

const CHAIN = 'ETH_SEPOLIA';
const CHAIN_ID = 11_155_111;
const PAYOUTS = 1_000;
const AMOUNT = 1_000_000n;
const USDT = DEV_TOKEN_ADDRESSES.USDT.toLowerCase();
const BLOCK_TIME_SECONDS = 1;
const DEADLINE_MS = 300_000;
/** The cap of BSC and of the local chains (ETH, POLYGON and AVAX_C_CHAIN ship with 16), and none to speak of. */
const CAPS = [64, PAYOUTS];

/**
 * Pays 1,000 people from one hot wallet on anvil with a block a second, with the signer and the scanner in this process and a
 * durable database and broker of their own; throws when a nonce is left out or a receiver has not exactly its amount.
 */
export async function measurePayouts(
  say: (line: string) => void,
): Promise<{ runs: readonly PayoutFigures[] }> {
  const dir = mkdtempSync(join(tmpdir(), 'opentill-bench-payouts-'));
  chmodSync(dir, 0o711); // Postgres runs as a user of its own when we are root
  const servers = await findOrBringServers({ dir, given: {}, keepData: false, say });
  try {
    await declareTopology(servers.broker.url);
    const passwords = {
      signer: randomBytes(16).toString('hex'),
      scanner_evm: randomBytes(16).toString('hex'),
    };
    const runs: PayoutFigures[] = [];
    for (const [place, maxOpenNonces] of CAPS.entries()) {
      const anvil = await startAnvil({
        dir: join(dir, `anvil-${place}`),
        port: await findFreePort(),
        chainId: CHAIN_ID,
      });
      try {
        const world: World = {
          dir: join(dir, `anvil-${place}`),
          adminUrl: await createDatabase(servers.database.url, `payouts_${place}`, passwords),
          amqpUrl: servers.broker.url,
          passwords,
          rpcUrl: anvil.rpcUrl,
          network: networkOf(anvil.rpcUrl, maxOpenNonces),
        };
        runs.push(await measure(world));
        say(JSON.stringify(runs.at(-1)));
      } finally {
        await anvil.stop('kill');
      }
    }
    return { runs };
  } finally {
    await servers.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** A migrated database of one run's own, beside the one that the URL names. */
async function createDatabase(
  serverUrl: string,
  name: string,
  passwords: World['passwords'],
): Promise<string> {
  const server = new pg.Client({ connectionString: serverUrl });
  await server.connect();
  try {
    await server.query(`create database ${name}`);
  } finally {
    await server.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrate(url.toString());
  await setRolePasswords(url.toString(), passwords);
  return url.toString();
}

interface World {
  readonly dir: string;
  readonly adminUrl: string;
  readonly amqpUrl: string;
  readonly passwords: { readonly signer: string; readonly scanner_evm: string };
  readonly rpcUrl: string;
  readonly network: NetworkConfig;
}

async function measure(world: World): Promise<PayoutFigures> {
  const { rpcUrl, adminUrl, network } = world;
  const admin = new pg.Client({ connectionString: adminUrl, application_name: 'bench' });
  await admin.connect();
  await setBlockTime(rpcUrl, 0);
  await deployDevTokens({ rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  const keys = await makeKeys(world.dir);
  const wallet = keys.addresses[0] ?? '';
  const fromKey = devAccount(CUSTOMER_INDEX).privateKey;
  await payNative({ rpcUrl, fromKey, to: wallet, amountWei: 1_000n * 10n ** 18n });
  await payToken({ rpcUrl, token: USDT, fromKey, to: wallet, amountBaseUnits: AMOUNT * BigInt(PAYOUTS) });
  await mine({ rpcUrl, blocks: 5 });
  await setBlockTime(rpcUrl, BLOCK_TIME_SECONDS);
  const services = startServices(world, keys);
  try {
    const cursor = async () =>
      (await admin.query('select from chain_cursor where chain = $1', [CHAIN])).rowCount === 1;
    await until('the scanner begins', cursor);
    const receivers = await askForPayouts(admin, wallet);
    const askedAtMs = performance.now();
    const count = async (sql: string): Promise<number> =>
      Number((await admin.query<{ n: string }>(sql)).rows[0]?.n ?? 0);
    await until(
      'every payout is final',
      async () => (await count(`select count(*) n from wallet_nonce where state = 'FINAL'`)) === PAYOUTS,
    );
    const secondsToFinal = (performance.now() - askedAtMs) / 1_000;
    const sendingSeconds = await count(
      'select extract(epoch from max(first_sent_at) - min(authorised_at)) n from payout',
    );
    const figures: PayoutFigures = {
      payouts: PAYOUTS,
      maxOpenNonces: payoutTermsOf(network)?.maxOpenNonces ?? 0,
      broadcastPerSecond: round2(PAYOUTS / sendingSeconds),
      secondsToFinal: round2(secondsToFinal),
      chainNonces: Number(await callRpc<string>(rpcUrl, 'eth_getTransactionCount', [wallet, 'latest'])),
      finalNonces: await count('select count(distinct nonce) n from own_transaction'),
      receiversPaid: await countPaid(rpcUrl, receivers),
    };
    const { chainNonces, finalNonces, receiversPaid } = figures;
    if (![chainNonces, finalNonces, receiversPaid].every((n) => n === PAYOUTS))
      throw new Error(`payouts are missing or too many: ${JSON.stringify(figures)}`);
    return figures;
  } finally {
    await services.stop();
    keys.close();
    await admin.end();
  }
}

async function makeKeys(dir: string) {
  const seed = seedOf(generateMnemonic());
  const [keystoreFile, passphrase] = [join(dir, 'keystore.json'), randomBytes(16).toString('hex')];
  await createKeystore(
    keystoreFile,
    { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed },
    passphrase,
  );
  return openKeystoreSigner({ keystoreFile, passphrase, codecs: [evmFamily.addressCodec] });
}

/** The signer and the scanner as their processes start them. */
function startServices(world: World, keys: DepositSigner): { stop(): Promise<void> } {
  const { adminUrl, amqpUrl, passwords, network } = world;
  const logger = createLogger({ service: 'bench', level: 'warn' });
  const open = (role: 'signer' | 'scanner_evm') =>
    openDatabase({
      url: roleUrl(adminUrl, role, passwords[role]),
      applicationName: `bench ${role}`,
      poolMax: 8,
      prepareStatements: role === 'signer',
    });
  const [signerPool, scannerPool] = [open('signer'), open('scanner_evm')];
  const broker = connectBroker({ url: amqpUrl, logger, name: 'bench' });
  const fail = (error: unknown) => logger.error('bench', { error });
  const shared = { broker, logger, clock: systemClock, newId, instanceId: 'bench', fail };
  const scanner = startScanner({
    ...shared,
    db: scannerPool.kysely,
    metrics: createMetrics('scanner-evm'),
    networks: [network],
  });
  const codec = evmFamily.addressCodec;
  const sender = createEvmSender(network, { backend: keys });
  const terms = payoutTermsOf(network);
  if (terms === undefined) throw new TypeError(`the network ${network.chain} has no terms of payouts`);
  const signer = startSigner({
    ...shared,
    db: signerPool.kysely,
    metrics: createMetrics('payout-signer'),
    networks: [
      { kind: 'NONCES', network, terms, codec, sender, reader: evmFamily.createReader(network, {}) },
    ],
    wallets: keys.addresses,
    keys,
    policy: judgeByPolicy(undefined),
    stateDirectory: world.dir,
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

/** The orders as createPayout makes them, in one transaction. @returns the receivers */
async function askForPayouts(admin: pg.Client, wallet: string): Promise<readonly string[]> {
  const receivers = Array.from({ length: PAYOUTS }, () => `0x${randomBytes(20).toString('hex')}`);
  await admin.query('begin');
  await admin.query(`insert into hot_wallet (family, address) values ('EVM', $1)`, [wallet]);
  await admin.query('select book_top_up($1, $2, $3, $4)', [
    `${CHAIN}:${randomUUID()}:USDT`,
    CHAIN,
    'USDT',
    (AMOUNT * BigInt(PAYOUTS)).toString(),
  ]);
  await admin.query(`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed)
    values ('bench', 'bench', 'V3', '', '')`);
  await admin.query(
    `insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals,
       display_decimals, amount, accepted_amount, address, source_address, created_at, expires_at)
     select gen_random_uuid(), 'bench', 'p' || place, 'PAYOUT', $1, 'EVM', 'USDT', $2, 6, 2, $3, $3, receiver, $4, now(),
       now() + interval '1 hour'
     from unnest($5::text[]) with ordinality as r (receiver, place)`,
    [CHAIN, USDT, AMOUNT.toString(), wallet, receivers],
  );
  await admin.query(`select reserve(order_pk) from orders where order_type = 'PAYOUT'`);
  await admin.query('commit');
  return receivers;
}

/** Receivers that hold exactly their amount. */
async function countPaid(rpcUrl: string, receivers: readonly string[]): Promise<number> {
  let paid = 0;
  for (const receiver of receivers) {
    const data = `0x70a08231${receiver.slice(2).padStart(64, '0')}`;
    if (BigInt(await callRpc<string>(rpcUrl, 'eth_call', [{ to: USDT, data }, 'latest'])) === AMOUNT)
      paid += 1;
  }
  return paid;
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`bench: not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function networkOf(rpcUrl: string, maxOpenNonces: number): NetworkConfig {
  const token = { displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: CHAIN,
    family: 'EVM',
    enabled: true,
    chainId: CHAIN_ID,
    name: 'bench',
    rpcUrls: [rpcUrl],
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations: 3,
    blockTimeMs: BLOCK_TIME_SECONDS * 1_000,
    pollIntervalMs: 200,
    reorgWindow: 64,
    maxBlockRange: 100,
    bloom: true,
    tokens: [{ symbol: 'USDT', contract: USDT, decimals: 6, ...token }],
    payouts: {
      maxOpenNonces,
      minPriorityFeePerGas: '1000000',
      maxPriorityFeePerGas: '10000000000',
      maxFeePerGas: '500000000000',
      bumpAfterSeconds: 30,
    },
  };
}

/** The lines that are printed. */
export function describePayouts({ runs }: { readonly runs: readonly PayoutFigures[] }): string[] {
  return runs.map(
    ({ payouts, maxOpenNonces, broadcastPerSecond, secondsToFinal }) =>
      `${payouts} payouts of one hot wallet, at most ${maxOpenNonces} on their way: ${broadcastPerSecond} broadcast/s, ` +
      `all final after ${secondsToFinal} s, no gap, every receiver paid once`,
  );
}
