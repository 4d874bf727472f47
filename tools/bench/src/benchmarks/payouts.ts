import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type pg from 'pg';
import type { AddressCodec } from '@opentill/chain/address-codec';
import { connectBroker } from '@opentill/messaging/connection';
import { createApp } from '@opentill/payout-signer/app';
import { judgeByPolicy } from '@opentill/payout-signer/policy/judge-by-policy';
import type { PayingNetwork } from '@opentill/payout-signer/payouts/paying-network';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { seedFingerprint } from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { openKeystoreSigner, type KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { PAYOUT_BASE_UNITS, type BenchFamily, type PayoutChain } from '../families/family.ts';
import type { Benchmark } from '../report.ts';
import { startScannerProcess } from '../scanner.ts';
import { numberOf, withServers, type BenchServers } from '../servers.ts';
import { round } from '../statistics.ts';
import { until } from '../wait.ts';

const ATTEMPTS = {
  NONCES: {
    made: 'select count(distinct nonce) n from own_transaction',
    final: `select count(*) n from wallet_nonce where state = 'FINAL'`,
  },
  EXPIRING: {
    made: 'select count(*) n from payout_attempt',
    final: `select count(*) n from payout_attempt where state = 'SETTLED'`,
  },
} as const;

/** Fails if a payout took two attempts, a nonce is missing, or a receiver does not have exactly its amount. */
export const payouts =
  (family: BenchFamily): Benchmark =>
  async ({ say, quick }) => {
    const count = quick ? 50 : 1_000;
    const rows = [];
    for (const maxOpen of family.family === 'SUI' || quick ? [undefined] : [undefined, count]) {
      rows.push(await withServers(say, (servers) => payAll(servers, family, count, maxOpen)));
      say(JSON.stringify(rows.at(-1)));
    }
    return [
      {
        title: `${count} payouts of one hot wallet`,
        columns: ['most on their way at once', 'broadcast/s', 'all final after s'],
        rows,
      },
    ];
  };

async function payAll(
  servers: BenchServers,
  family: BenchFamily,
  count: number,
  maxOpen: number | undefined,
): Promise<readonly number[]> {
  const { admin, dir } = servers;
  const chain = await family.startPayoutChain({ dir, maxOpen });
  const services: { stop(): Promise<unknown> }[] = [chain];
  const keys = await makeKeys(dir, family.codec);
  const wallet = keys.addresses[0] ?? '';
  const paying = chain.paying(keys);
  const { made, final } = ATTEMPTS[paying.kind];
  try {
    await chain.fund(wallet, PAYOUT_BASE_UNITS * BigInt(count));
    const scanner = startScannerProcess(family.family, servers);
    services.unshift({ stop: () => scanner.end() });
    await scanner.start([chain.network]);
    services.unshift(startOwnSigner(servers, paying, keys));
    // The signer spends only the wallet's final balance.
    const verified = `select count(*) n from chain_cursor where verified_height > 3`;
    await until('the scanner follows the chain', async () => (await numberOf(admin, verified)) === 1);
    const receivers = Array.from({ length: count }, chain.newReceiver);
    await requestPayouts(admin, chain, wallet, receivers);
    const requestedAt = performance.now();
    await until('every payout is final', async () => (await numberOf(admin, final)) === count);
    const secondsToFinal = (performance.now() - requestedAt) / 1_000;
    let paid = 0;
    for (const receiver of receivers) if ((await chain.balanceOf(receiver)) === PAYOUT_BASE_UNITS) paid += 1;
    const attempts = await numberOf(admin, made);
    const sent = (await chain.countSent?.(wallet)) ?? attempts;
    if (attempts !== count || sent !== count || paid !== count)
      throw new Error(
        `${count} payouts: ${attempts} attempts, ${sent} on the chain, ${paid} receivers are paid`,
      );
    const broadcasting = 'select extract(epoch from max(first_sent_at) - min(authorised_at)) n from payout';
    const cap = 'maxOpenNonces' in paying.terms ? paying.terms.maxOpenNonces : paying.terms.maxOpenPayouts;
    return [cap, round(count / (await numberOf(admin, broadcasting)), 0), round(secondsToFinal, 1)];
  } finally {
    for (const service of services) await service.stop();
    keys.close();
  }
}

async function makeKeys(dir: string, codec: AddressCodec): Promise<KeystoreSigner> {
  const seed = seedOf(generateMnemonic());
  const [keystoreFile, passphrase] = [join(dir, 'keystore.json'), randomBytes(16).toString('hex')];
  const sealed = { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed } as const;
  await createKeystore(keystoreFile, sealed, passphrase);
  return openKeystoreSigner({ keystoreFile, passphrase, codecs: [codec], kind: 'test' });
}

function startOwnSigner(
  { dir, amqpUrl, open }: BenchServers,
  paying: PayingNetwork,
  keys: KeystoreSigner,
): { stop(): Promise<void> } {
  const logger = createLogger({ service: 'bench', level: 'warn' });
  const pool = open('signer');
  const broker = connectBroker({ url: amqpUrl, logger, name: 'bench' });
  const signer = createApp({
    db: pool.kysely,
    broker,
    logger,
    metrics: createMetrics('payout-signer'),
    clock: systemClock,
    newId,
    networks: [paying],
    wallets: keys.addresses,
    keys,
    policy: judgeByPolicy(undefined, 'test', { isLocal: true }),
    instanceId: 'bench',
    stateDirectory: dir,
    fail: (error) => logger.error('bench', { error }),
  });
  signer.start();
  return {
    async stop() {
      await signer.stop();
      await broker.close();
      await pool.close();
    },
  };
}

/** Inserts the same rows as createPayout, in one transaction, each order with its own receiver. */
async function requestPayouts(
  admin: pg.Client,
  { network: { chain, family }, contract }: PayoutChain,
  wallet: string,
  receivers: readonly string[],
): Promise<void> {
  const all = `${PAYOUT_BASE_UNITS * BigInt(receivers.length)}`;
  await admin.query('begin');
  await admin.query('insert into hot_wallet (family, address) values ($1, $2)', [family, wallet]);
  const topUp = [`${chain}:${randomUUID()}:USDT`, chain, 'USDT', all];
  await admin.query('select book_top_up($1, $2, $3, $4)', topUp);
  await admin.query(`insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed)
    values ('bench', 'bench', 'V3', '', '')`);
  await admin.query(
    `insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals,
       display_decimals, amount, accepted_amount, address, source_address, created_at, expires_at)
     select gen_random_uuid(), 'bench', 'p' || place, 'PAYOUT', $1, $6, 'USDT', $2, 6, 2, $3, $3, receiver, $4, now(),
       now() + interval '1 hour'
     from unnest($5::text[]) with ordinality as r (receiver, place)`,
    [chain, contract, `${PAYOUT_BASE_UNITS}`, wallet, receivers, family],
  );
  await admin.query(`select reserve(order_pk) from orders where order_type = 'PAYOUT'`);
  await admin.query('commit');
}
