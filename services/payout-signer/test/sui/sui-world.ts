import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GrpcWebFetchTransport, SuiGrpcClient } from '@mysten/sui/grpc';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import { parseCoinType } from '@opentill/chain-sui/coin-type';
import { suiFamily } from '@opentill/chain-sui/family';
import { createSuiSender } from '@opentill/chain-sui/sender/create-sender';
import type { NetworkConfig, SuiPayoutsConfig } from '@opentill/contracts/network-config';
import { suiPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { openDatabase, type DatabaseOptions, type Db } from '@opentill/db/database';
import {
  startSuiDevnet,
  type DevTokenSymbol,
  type SuiDevnet,
  type SuiNode,
} from '@opentill/devnets/sui/start-sui-devnet';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { startLoop } from '@opentill/runtime/loop';
import { createMetrics } from '@opentill/runtime/metrics';
import { SUI_DEVNET_PAYOUTS, suiDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { aCollection, aPayout, type OrderRow } from '@opentill/testkit/scenario';
import { createTestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { depositBranch, depositXpub, seedFingerprint } from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { openKeystoreSigner, type KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { parsePolicy } from '@opentill/wallet/policy/parse-policy';
import { sealPolicy } from '@opentill/wallet/policy/sealed-policy';
import { createApp, type SignerApp } from '../../src/app.ts';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import { readAttempts, type AttemptReading, type AttemptRow } from '../expiring/read-attempts.ts';
import { keepBooks } from '../keep-books.ts';
import { PATIENCE_MS, QUICK } from '../quick-timing.ts';
import { readSweeps, type SweepReading } from '../sweeps/read-sweeps.ts';
import { startScan } from '../start-scan.ts';

const CHAIN = 'SUI_TEST';
export const ONE_SUI = 10n ** 9n;
export const ONE_USDC = 1_000_000n;
const PASSPHRASE = 'a passphrase of the tests';
export const SUI_TYPE = `0x${'2'.padStart(64, '0')}::sui::SUI`;
/** Nobody has its key. */
export const COLD = `0x${'c01d'.repeat(16)}` as Address;

const TIMING = { ...QUICK, planEveryMs: 50, leaseTtlMs: 1_500, depositsAtOnce: 16 };

export interface SignerOptions {
  readonly sender?: (sender: ExpiringSender) => ExpiringSender;
  readonly wrapPool?: DatabaseOptions['wrapPool'];
  readonly leaseTtlMs?: number;
  /** What the policy says of sweeps besides; null: nothing is swept. */
  readonly sweep?: Readonly<Record<string, unknown>> | null;
}

export interface RunningSigner {
  readonly app: SignerApp;
  /** What it said must not go on. */
  readonly failures: unknown[];
  stop(): Promise<void>;
}

/** The signer on Postgres before a SUI node, with the scanner beside it and whoever keeps the books. */
export interface SuiWorld extends Pick<AttemptReading, 'payoutOf' | 'attemptsOf'>, SweepReading {
  readonly devnet: SuiDevnet;
  /** The second node, with faults of its own, where the world has two. */
  readonly other: SuiNode | undefined;
  readonly admin: Db;
  readonly wallet: Address;
  readonly network: NetworkConfig;
  readonly database: TestDatabase;
  readonly keystoreFile: string;
  readonly dir: string;
  readonly amqpUrl: string;
  readonly client: SuiGrpcClient;
  /** A payout of 5 USDC to nobody in particular, reserved, for half an hour. */
  payout(overrides?: Parameters<typeof aPayout>[1]): Promise<OrderRow>;
  nativePayout(amount: bigint): Promise<OrderRow>;
  /** Orders, each paid one of the amounts to its deposit address in the form, all verified and booked. */
  paidMany(
    amounts: readonly bigint[],
    symbol?: DevTokenSymbol | 'SUI',
    form?: 'coin' | 'address' | 'party',
  ): Promise<readonly OrderRow[]>;
  start(options?: SignerOptions): Promise<RunningSigner>;
  /** The policy of `start` as a file that a process of the signer opens. */
  sealPolicy(sweep: NonNullable<SignerOptions['sweep']>): Promise<string>;
  /** Until every one of the payouts is settled. */
  land(orders: readonly OrderRow[], timeoutMs?: number): Promise<void>;
  /** Ends the epoch, and waits until the scanner has verified a checkpoint of the next one. */
  passEpoch(): Promise<void>;
  heldBy(address: string, coinType?: string): Promise<bigint>;
  received(order: OrderRow): Promise<bigint>;
  until(what: string, order: OrderRow, is: (attempts: readonly AttemptRow[]) => boolean): Promise<void>;
  close(): Promise<void>;
}

export async function createSuiWorld(
  payouts: Partial<SuiPayoutsConfig> = {},
  {
    checkpointMs = 100,
    mist = 1_000n * ONE_SUI,
    nodes = 1,
  }: { checkpointMs?: number; mist?: bigint; nodes?: 1 | 2 } = {},
): Promise<SuiWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'payout-signer-sui-'));
  const [devnet, database, rabbit, { keys, keystoreFile, branch, fingerprint }] = await Promise.all([
    startSuiDevnet({ checkpointMs, seed: `signer ${randomUUID()}` }),
    createTestDatabase(),
    createTestBroker(),
    createKeys(dir),
  ]);
  const amqpUrl = await rabbit.urlFor('payout-signer');
  const wallet = keys.addresses[0]!;
  const fund = { USDC: 1_000_000n * ONE_USDC, USDT: 1_000_000n * ONE_USDC } as const;
  for (const symbol of ['USDC', 'USDT'] as const)
    await devnet.control.fund(wallet, { symbol, amountBaseUnits: fund[symbol], form: 'address' });
  await devnet.control.fund(wallet, { mist, form: 'address' });
  const other = nodes === 2 ? await devnet.control.openNode() : undefined;
  const network = suiDevnetNetwork(devnet, {
    rpcUrls: [devnet.url, ...(other === undefined ? [] : [other.url])],
    confirmations: 1,
    payouts: { ...SUI_DEVNET_PAYOUTS, maxOpenPayouts: 300, ...payouts },
  });
  const adminDatabase = database.open('admin');
  const admin = adminDatabase.kysely;
  await sql`insert into hot_wallet (family, address) values ('SUI', ${wallet})`.execute(admin);
  for (const symbol of ['USDC', 'USDT'] as const)
    await sql`select book_top_up(${`${CHAIN}:1:${symbol}`}, ${CHAIN}, ${symbol}, ${fund[symbol]})`.execute(
      admin,
    );
  await sql`select book_top_up(${`${CHAIN}:1:SUI`}, ${CHAIN}, 'SUI', ${mist})`.execute(admin);
  const scanDatabase = database.open('scanner_sui');
  const tracker = database.open('tracker');
  const scan = startScan(network, scanDatabase.kysely, {
    schema: 'scanner_sui',
    reader: suiFamily.createReader(network, {}),
    canonicalContract: parseCoinType,
  });
  const books = startLoop({
    name: 'books',
    intervalMs: 30,
    run: () => keepBooks(admin, tracker.kysely, CHAIN, 'SUI'),
  });
  const running = new Set<RunningSigner>();
  const client = new SuiGrpcClient({
    network: 'localnet',
    transport: new GrpcWebFetchTransport({ baseUrl: devnet.url, format: 'binary' }),
  });
  let index = 1_000_000;

  const world: SuiWorld = {
    ...reading(admin, client),
    devnet,
    other,
    admin,
    wallet,
    network,
    database,
    keystoreFile,
    dir,
    amqpUrl,
    client,
    async payout(given = {}) {
      const amount = given.amount ?? 5n * ONE_USDC;
      const order = await aPayout(admin, {
        chain: CHAIN,
        family: 'SUI',
        symbol: 'USDC',
        contract_address: devnet.tokens.USDC,
        decimals: 6,
        accepted_amount: amount,
        address: aSuiAddress(),
        source_address: wallet,
        ...given,
        amount,
      });
      const { rows } = await sql<{ done: boolean }>`select reserve(${order.order_pk}) as done`.execute(admin);
      if (rows[0]?.done !== true) throw new Error('not reserved');
      return order;
    },
    nativePayout: (amount) => world.payout({ symbol: 'SUI', contract_address: null, decimals: 9, amount }),
    async paidMany(amounts, symbol = 'USDC', form = 'coin') {
      const orders: OrderRow[] = [];
      for (const amount of amounts) {
        index += 1;
        const address = suiFamily.addressCodec.fromPublicKey(branch.derive(index).publicKey);
        const order = await aCollection(admin, {
          chain: CHAIN,
          family: 'SUI',
          symbol,
          contract_address: symbol === 'SUI' ? null : devnet.tokens[symbol],
          decimals: symbol === 'SUI' ? 9 : 6,
          address,
        });
        await sql`update deposit_address set derivation_index = ${index} where order_pk = ${order.order_pk}`.execute(
          admin,
        );
        const gift = symbol === 'SUI' ? { mist: amount } : { symbol, amountBaseUnits: amount };
        await devnet.control.fund(address, { ...gift, form });
        orders.push(order);
      }
      await waitUntil(
        'all payments are booked',
        async () => {
          const { rows } = await sql<{ n: number }>`
            select count(*)::int as n from deposit_balance where address = any(${orders.map(({ address }) => address)}::text[])
              and received > 0`.execute(admin);
          return rows[0]?.n === orders.length;
        },
        PATIENCE_MS,
      );
      return orders;
    },
    async sealPolicy(sweep) {
      const policyFile = join(dir, 'policy.sealed.json');
      const text = JSON.stringify(policyOf(network, sweep));
      const sealed = { policyFile, passphrase: PASSPHRASE, fingerprint, networks: [network] };
      await sealPolicy({ ...sealed, codecs: [suiFamily.addressCodec], text, now: new Date() });
      return policyFile;
    },
    start: (options = {}) => Promise.resolve(runSigner({ ...world, keys, running }, options)),
    async passEpoch() {
      const { epoch } = devnet.control.advanceEpoch();
      if (devnet.control.summary().epoch !== epoch) throw new Error('no next epoch');
      await waitUntil(
        'the epoch is over',
        async () => {
          const { rows } = await sql<{ epoch: number | null }>`
          select verified_epoch as epoch from chain_cursor where chain = ${CHAIN}`.execute(admin);
          return rows[0]?.epoch === epoch;
        },
        PATIENCE_MS,
      );
    },
    async close() {
      for (const one of running) await one.stop();
      await books.stop();
      await scan.stop();
      await Promise.all([scanDatabase, tracker, adminDatabase].map((opened) => opened.close()));
      keys.close();
      await rabbit.drop();
      await database.drop();
      await devnet.close();
      await rm(dir, { recursive: true });
    },
  };
  await waitUntil('the scanner has begun', async () => {
    const { rows } =
      await sql`select from chain_cursor where chain = ${CHAIN} and verified_epoch is not null`.execute(
        admin,
      );
    return rows.length > 0;
  });
  return world;
}

/** An address that nobody has the key of. */
export function aSuiAddress(): string {
  return `0x${randomBytes(32).toString('hex')}`;
}

type Reading = Pick<SuiWorld, 'payoutOf' | 'attemptsOf' | 'received' | 'heldBy' | 'land' | 'until'> &
  SweepReading;

function reading(admin: Db, client: SuiGrpcClient): Reading {
  const heldBy = async (owner: string, coinType = SUI_TYPE): Promise<bigint> => {
    const { balance } = await client.getBalance({ owner, coinType });
    return BigInt(balance.balance);
  };
  const attempts = readAttempts(admin);
  return {
    heldBy,
    ...attempts,
    ...readSweeps(admin, CHAIN, 'USDC'),
    received: ({ contract_address: contract, address }) => heldBy(address, contract ?? SUI_TYPE),
    land: (orders, timeoutMs = PATIENCE_MS) =>
      waitUntil(
        'every payout is settled',
        async () => (await attempts.countUnsettled(orders)) === 0,
        timeoutMs,
      ),
    until: (what, order, is) =>
      waitUntil(what, async () => is(await attempts.attemptsOf(order)), PATIENCE_MS),
  };
}

interface Parts extends Pick<SuiWorld, 'database' | 'network' | 'dir' | 'amqpUrl'> {
  readonly keys: KeystoreSigner;
  readonly running: Set<RunningSigner>;
}

/** The whole service as its process runs it. */
function runSigner(parts: Parts, options: SignerOptions): RunningSigner {
  const { database, network, keys, running, dir, amqpUrl } = parts;
  const { wrapPool, leaseTtlMs, sweep = null } = options;
  const db = openDatabase({
    url: database.url('signer'),
    applicationName: 'signer',
    poolMax: 12,
    ...(wrapPool === undefined ? {} : { wrapPool }),
  });
  const level = process.env['TEST_LOG'] === undefined ? 'silent' : 'debug';
  const logger = createLogger({ service: 'payout-signer', level });
  const broker = connectBroker({ url: amqpUrl, logger, name: 'signer' });
  const plain = createSuiSender(network, { backend: keys, gasless: sweep?.['gasless'] !== false });
  const codec = suiFamily.addressCodec;
  const failures: unknown[] = [];
  const app = createApp({
    db: db.kysely,
    broker,
    logger,
    metrics: createMetrics('payout-signer'),
    clock: systemClock,
    newId,
    networks: [
      {
        kind: 'EXPIRING',
        network,
        terms: suiPayoutTermsOf(network)!,
        codec,
        sender: options.sender?.(plain) ?? plain,
      },
    ],
    wallets: keys.addresses,
    keys,
    policy: judgeByPolicy(
      parsePolicy(JSON.stringify(policyOf(network, sweep)), { networks: [network], codecs: [codec] }),
    ),
    instanceId: randomUUID(),
    stateDirectory: dir,
    fail: (error) => failures.push(error),
    timing: { ...TIMING, ...(leaseTtlMs === undefined ? {} : { leaseTtlMs }) },
  });
  app.start();
  const runner: RunningSigner = {
    app,
    failures,
    async stop() {
      if (!running.delete(runner)) return;
      await app.stop();
      await broker.close();
      await db.close();
    },
  };
  running.add(runner);
  return runner;
}

function policyOf(network: NetworkConfig, sweep: SignerOptions['sweep']): unknown {
  const high = '10000000';
  const limits = { maxPerPayout: high, maxPerHour: high, maxPerDay: high, maxPerMerchantPerDay: high };
  return {
    version: 1,
    // Attempts die here by the dozen, and no operator decides about the third.
    maxAttemptsWithoutDecision: 100,
    chains: {
      [network.chain]: {
        enabled: true,
        coldAddress: COLD,
        ...(sweep && {
          sweep: {
            nativePrice: '1',
            maxTopUp: '0.1',
            maxNativePerDay: '100',
            maxCostShare: '0.5',
            minAgeMinutes: 0,
            ...sweep,
          },
        }),
        assets: Object.fromEntries(network.tokens.map(({ symbol }) => [symbol, limits])),
      },
    },
  };
}

async function createKeys(dir: string) {
  const seed = seedOf(generateMnemonic());
  const keystoreFile = join(dir, 'keystore.json');
  const sealed = { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed } as const;
  await createKeystore(keystoreFile, sealed, PASSPHRASE);
  const codecs = [suiFamily.addressCodec];
  const keys = await openKeystoreSigner({ keystoreFile, passphrase: PASSPHRASE, codecs, kind: 'test' });
  return {
    keys,
    keystoreFile,
    fingerprint: seedFingerprint(seed),
    branch: depositBranch(depositXpub(seed, 'SUI', 'test'), 'test'),
  };
}
