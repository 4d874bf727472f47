import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import { addressOfShortHex, shortHexOf } from '@opentill/chain-tron/address-codec';
import { tronFamily } from '@opentill/chain-tron/family';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import type { NetworkConfig, TronPayoutsConfig } from '@opentill/contracts/network-config';
import { tronPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { openDatabase, type Database, type DatabaseOptions, type Db } from '@opentill/db/database';
import { keepLease, type LeaseKeeper } from '@opentill/db/lease';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { TRON_DEVNET_PAYOUTS, tronDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { aPayout, type OrderRow } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { depositXpub, hotWalletPrivateKey, seedFingerprint } from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { openKeystoreSigner, type KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { startExpiringDriver } from '../../src/expiring/drive-wallet.ts';
import type { Driver } from '../../src/wallet/drive-wallet.ts';
import type { AttemptStore } from '../../src/expiring/store/attempt-store.ts';
import type { ExpiringTiming } from '../../src/expiring/pass-deps.ts';
import { openSendMark } from '../../src/expiring/send-mark.ts';
import { createAttemptStore } from '../../src/expiring/store/create-store.ts';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import { createObserve } from '../../src/observe/create-observe.ts';
import type { Observe } from '../../src/observe/observe.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { LEASE_TTL_MS, PATIENCE_MS } from '../quick-timing.ts';
import { startScan } from '../start-scan.ts';
import { readAttempts, type AttemptReading, type AttemptRow } from './read-attempts.ts';

export const CHAIN = 'TRON_TEST';
export const ONE_TRX = 1_000_000n;
export const ONE_USDT = 1_000_000n;
export const PASSPHRASE = 'a passphrase of the tests';
const SOLID_LAG_BLOCKS = 3;

/** Impatient, so that tests need not wait. */
const QUICK: ExpiringTiming & { readonly sweepMs: number } = {
  sweepMs: 30,
  resendMs: 60,
  resendMaxMs: 120,
  balancesEveryMs: 200,
};

export interface DriverOptions {
  readonly policy?: PolicyJudge;
  readonly sender?: (sender: ExpiringSender) => ExpiringSender;
  readonly store?: (store: AttemptStore) => AttemptStore;
  readonly wrapPool?: DatabaseOptions['wrapPool'];
  readonly observe?: Partial<Observe>;
  readonly leaseTtlMs?: number;
  readonly name?: string;
}

export interface RunningDriver {
  readonly driver: Driver;
  readonly lease: LeaseKeeper;
  /** What it said must not go on. */
  readonly failures: unknown[];
  stop(): Promise<void>;
}

/** The signer on Postgres before a TRON node, with the scanner beside it. Blocks come when told, 3 s of chain time apart. */
export interface TronWorld extends Pick<AttemptReading, 'payoutOf' | 'attemptsOf'> {
  readonly devnet: TronDevnet;
  readonly admin: Db;
  readonly wallet: Address;
  readonly network: NetworkConfig;
  readonly database: TestDatabase;
  readonly keystoreFile: string;
  /** The private key of the wallet, in hex. */
  readonly walletKey: string;
  readonly keys: KeystoreSigner;
  /** What deposit addresses are derived from. */
  readonly depositXpub: string;
  /** Where marks of what was sent are kept. */
  readonly stateDirectory: string;
  readonly usdt: string;
  /** A payout of 5 USDT to nobody in particular, reserved, for half an hour. */
  payout(overrides?: Parameters<typeof aPayout>[1]): Promise<OrderRow>;
  nativePayout(amount: bigint): Promise<OrderRow>;
  start(options?: DriverOptions): Promise<RunningDriver>;
  /** Makes blocks and waits until the scanner has seen them. */
  mine(blocks?: number): Promise<void>;
  /**
   * Mines a block at a time until every one of the payouts is settled in a solid block: one for each pass of the signer, or the
   * chain's time goes by while a slow one signs, and what it signed is over before it is sent.
   */
  land(orders: readonly OrderRow[], timeoutMs?: number): Promise<void>;
  /** Lets the chain's time go on past whatever is signed now, in empty blocks or full ones as it comes. */
  passExpiry(): Promise<void>;
  received(order: OrderRow): Promise<bigint>;
  scannerAtHead(): Promise<void>;
  until(what: string, order: OrderRow, is: (attempts: readonly AttemptRow[]) => boolean): Promise<void>;
  close(): Promise<void>;
}

export async function createTronWorld(
  payouts: Partial<TronPayoutsConfig> = {},
  wallet: { readonly trxSun?: bigint; readonly usdt?: bigint } = {},
  sources: (url: string) => Promise<readonly string[]> = (url) => Promise.resolve([url]),
): Promise<TronWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'payout-signer-tron-'));
  const [devnet, database, { keys, keystoreFile, walletKey, depositXpub }] = await Promise.all([
    startTronDevnet({ blockTimeMs: 0, solidLagBlocks: SOLID_LAG_BLOCKS, seed: `signer ${randomUUID()}` }),
    createTestDatabase(),
    createKeys(dir),
  ]);
  const address = keys.addresses[0]!;
  const { trxSun = 10_000n * ONE_TRX, usdt = 1_000_000n * ONE_USDT } = wallet;
  await devnet.control.fund(address, { trxSun, symbol: 'USDT', amountBaseUnits: usdt });
  await devnet.control.mine(SOLID_LAG_BLOCKS + 1);
  const network = tronDevnetNetwork(devnet, {
    rpcUrls: await sources(devnet.url),
    payouts: { ...TRON_DEVNET_PAYOUTS, ...payouts },
  });
  const adminDatabase = database.open('admin');
  const admin = adminDatabase.kysely;
  await sql`insert into hot_wallet (family, address) values ('TRON', ${address})`.execute(admin);
  for (const [symbol, amount] of [
    ['USDT', usdt],
    ['TRX', trxSun],
  ] as const)
    if (amount > 0n)
      await sql`select book_top_up(${`${CHAIN}:0x1:${symbol}`}, ${CHAIN}, ${symbol}, ${amount})`.execute(
        admin,
      );
  const scanDatabase = database.open('scanner_tron');
  const scan = startScan(network, scanDatabase.kysely, {
    schema: 'scanner_tron',
    reader: tronFamily.createReader(network, {}),
    canonicalContract: tronFamily.addressCodec.parse,
  });
  const running = new Set<RunningDriver>();
  const passes = { count: 0 };
  const parts: Parts = { database, network, keys, wallet: address, dir, running, passes };
  const attempts = readAttempts(admin);
  const world: TronWorld = {
    ...reading(admin, devnet),
    devnet,
    admin,
    wallet: address,
    network,
    database,
    keystoreFile,
    walletKey,
    keys,
    depositXpub,
    stateDirectory: dir,
    usdt: devnet.tokens.USDT,
    async payout(given = {}) {
      const amount = given.amount ?? 5n * ONE_USDT;
      const order = await aPayout(admin, {
        chain: CHAIN,
        family: 'TRON',
        symbol: 'USDT',
        contract_address: devnet.tokens.USDT,
        decimals: 6,
        accepted_amount: amount,
        address: aTronAddress(),
        source_address: address,
        ...given,
        amount,
      });
      const { rows } = await sql<{ done: boolean }>`select reserve(${order.order_pk}) as done`.execute(admin);
      if (rows[0]?.done !== true) throw new Error('not reserved');
      return order;
    },
    nativePayout: (amount) => world.payout({ symbol: 'TRX', contract_address: null, decimals: 6, amount }),
    start: (options = {}) => Promise.resolve(runDriver(parts, options)),
    async mine(blocks = 1) {
      await devnet.control.mine(blocks);
      await world.scannerAtHead();
    },
    async land(orders, timeoutMs = PATIENCE_MS) {
      let minedAfter = -1;
      await waitUntil(
        'every payout is settled',
        async () => {
          if ((await attempts.countUnsettled(orders)) === 0) return true;
          if (running.size > 0 && passes.count === minedAfter) return false;
          minedAfter = passes.count;
          await world.mine();
          return false;
        },
        timeoutMs,
      );
    },
    async passExpiry() {
      const seconds = (network.payouts as TronPayoutsConfig).expirationSeconds;
      await world.mine(Math.ceil(seconds / 3) + SOLID_LAG_BLOCKS + 2);
    },
    scannerAtHead: () =>
      waitUntil(
        'the scanner is at the head',
        async () => {
          const { head, solid } = devnet.control.summary();
          const { rows } = await sql<{ seen: number; verified: number }>`
          select seen_height as seen, verified_height as verified from chain_cursor where chain = ${CHAIN}`.execute(
            admin,
          );
          return rows[0]?.seen === head && rows[0].verified === solid;
        },
        PATIENCE_MS,
      ),
    until: (what, order, is) => waitUntil(what, async () => is(await world.attemptsOf(order)), PATIENCE_MS),
    async close() {
      for (const driver of running) await driver.stop();
      await scan.stop();
      await scanDatabase.close();
      await adminDatabase.close();
      keys.close();
      await database.drop();
      await devnet.close();
      await rm(dir, { recursive: true });
    },
  };
  await world.scannerAtHead();
  return world;
}

/** An address that nobody has the key of, and that is no account yet. */
export function aTronAddress(): string {
  return addressOfShortHex(randomBytes(20).toString('hex'))!;
}

function reading(admin: Db, devnet: TronDevnet): Pick<TronWorld, 'payoutOf' | 'attemptsOf' | 'received'> {
  return {
    ...readAttempts(admin),
    async received({ contract_address: contract, address }) {
      if (contract === null) {
        const account = await post<{ balance?: number }>(devnet.url, 'getaccount', {
          address,
          visible: true,
        });
        return BigInt(account.balance ?? 0);
      }
      const parameter = shortHexOf(address as Address).padStart(64, '0');
      const answer = await post<{ constant_result: string[] }>(devnet.url, 'triggerconstantcontract', {
        owner_address: devnet.accounts[0]!.address,
        contract_address: contract,
        function_selector: 'balanceOf(address)',
        parameter,
        visible: true,
      });
      return BigInt(`0x${answer.constant_result[0]}`);
    },
  };
}

/** Asks the node itself, without any code of the gateway. */
export async function post<T>(url: string, method: string, body: object): Promise<T> {
  const answer = await fetch(`${url}/wallet/${method}`, { method: 'POST', body: JSON.stringify(body) });
  return (await answer.json()) as T;
}

interface Parts {
  readonly database: TestDatabase;
  readonly network: NetworkConfig;
  readonly keys: KeystoreSigner;
  readonly wallet: Address;
  readonly dir: string;
  readonly running: Set<RunningDriver>;
  /** Of all drivers, those that failed included. */
  readonly passes: { count: number };
}

let started = 0;

function runDriver(
  { database, network, keys, wallet, dir, running, passes }: Parts,
  options: DriverOptions,
): RunningDriver {
  started += 1;
  const name = `${options.name ?? 'signer'}-${started}`;
  const db: Database = openDatabase({
    url: database.url('signer'),
    applicationName: name,
    poolMax: 6,
    ...(options.wrapPool === undefined ? {} : { wrapPool: options.wrapPool }),
  });
  const level = process.env['TEST_LOG'] === undefined ? 'silent' : 'debug';
  const logger = createLogger({ service: 'payout-signer', level });
  const key = { chain: CHAIN, wallet } as const;
  const ttlMs = options.leaseTtlMs ?? LEASE_TTL_MS;
  const sender = createTronSender(network, { backend: keys });
  const store = createAttemptStore(db.kysely, key, { newId, clock: systemClock, isSponsoring: false });
  const lease = keepLease({
    db: db.kysely,
    schema: 'signer',
    name: `wallet/${CHAIN}/${wallet}`,
    holder: name,
    ttlMs,
  });
  const failures: unknown[] = [];
  const observe = {
    ...createObserve({ logger, metrics: createMetrics('payout-signer') }),
    ...options.observe,
  };
  const driver = startExpiringDriver({
    key,
    terms: tronPayoutTermsOf(network)!,
    rules: {
      network,
      codec: tronFamily.addressCodec,
      ownWallets: keys.addresses,
      isDepositAddress: () => false,
      policy: options.policy ?? judgeByPolicy(undefined, { isLocal: true }),
    },
    store: options.store?.(store) ?? store,
    sender: options.sender?.(sender) ?? sender,
    mark: openSendMark(dir, key),
    readClocks: () => Promise.resolve(undefined),
    monotonicMs: () => performance.now(),
    observe: {
      ...observe,
      passed(...given) {
        passes.count += 1;
        observe.passed(...given);
      },
      passFailed(...given) {
        passes.count += 1;
        observe.passFailed(...given);
      },
    },
    clock: systemClock,
    timing: QUICK,
    onCommitted: () => undefined,
    leaseKeeper: lease,
    leaseIntervalMs: Math.min(ttlMs / 3, 500),
    sweepMs: QUICK.sweepMs,
    fail: (error) => failures.push(error),
  });
  const runner: RunningDriver = {
    driver,
    lease,
    failures,
    async stop() {
      if (!running.delete(runner)) return;
      await driver.stop();
      await db.close();
    },
  };
  running.add(runner);
  return runner;
}

async function createKeys(
  dir: string,
): Promise<Pick<TronWorld, 'keys' | 'keystoreFile' | 'walletKey' | 'depositXpub'>> {
  const seed = seedOf(generateMnemonic());
  const keystoreFile = join(dir, 'keystore.json');
  const sealed = { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed } as const;
  await createKeystore(keystoreFile, sealed, PASSPHRASE);
  const codecs = [tronFamily.addressCodec];
  const keys = await openKeystoreSigner({ keystoreFile, passphrase: PASSPHRASE, codecs, kind: 'test' });
  const xpub = depositXpub(seed, 'TRON', 'test');
  return {
    keys,
    keystoreFile,
    walletKey: hotWalletPrivateKey(seed, 'TRON', 'test').toString('hex'),
    depositXpub: xpub,
  };
}
