import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { DatabaseOptions } from '@opentill/db/database';
import { keepLease, type LeaseKeeper } from '@opentill/db/lease';
import type { Family } from '@opentill/domain/chains';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createMetrics } from '@opentill/runtime/metrics';
import type { ChainScan } from '@opentill/scanner/scan-chain';
import { aPayout, type OrderRow } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startExpiringDriver } from '../../src/expiring/drive-wallet.ts';
import { openSendMark, type SendMark } from '../../src/expiring/send-mark.ts';
import type { AttemptStore } from '../../src/expiring/store/attempt-store.ts';
import { createAttemptStore } from '../../src/expiring/store/create-store.ts';
import { startDriver } from '../../src/nonce/drive-wallet.ts';
import { openNonceMark, type NonceMark } from '../../src/nonce/nonce-mark.ts';
import { createPayoutStore } from '../../src/nonce/store/create-store.ts';
import type { PayoutStore } from '../../src/nonce/store/payout-store.ts';
import { createObserve } from '../../src/observe/create-observe.ts';
import type { Observe } from '../../src/observe/observe.ts';
import type { ExpiringPaying, NoncePaying, PayingNetwork } from '../../src/payouts/paying-network.ts';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import type { Driver, WalletParts } from '../../src/wallet/drive-wallet.ts';
import { byFastClock, fastClockMs, LEASE_TTL_MS, QUICK } from './quick-timing.ts';
import {
  openSignerPool,
  startService,
  testLogger,
  type RunningService,
  type ServiceOptions,
} from './start-service.ts';
import { startScan } from './start-scan.ts';
import { createTestKeys, type TestKeys } from './test-keys.ts';
import { policyCheckOf, type TestPolicy } from './test-policy.ts';

export interface ChainOfWorld<P extends PayingNetwork = PayingNetwork> {
  readonly network: NetworkConfig;
  readonly held: Readonly<Record<string, bigint>>;
  readonly token: Pick<OrderRow, 'symbol' | 'contract_address' | 'decimals'>;
  newAddress(): string;
  /** @param isGasless allows sweeps without a fee, if the family has them */
  openPaying(isGasless?: boolean): P;
  readonly reader?: ChainReader;
  /** @default the codec's */
  readonly canonicalContract?: (contract: string) => string | undefined;
  close(): Promise<unknown>;
}

export interface DriverOptions<P extends PayingNetwork> {
  readonly policy?: PolicyJudge;
  readonly timing?: Partial<typeof QUICK>;
  readonly sender?: (sender: P['sender']) => P['sender'];
  readonly store?: P extends NoncePaying
    ? (store: PayoutStore) => PayoutStore
    : (store: AttemptStore) => AttemptStore;
  readonly mark?: P extends NoncePaying ? (mark: NonceMark) => NonceMark : (mark: SendMark) => SendMark;
  readonly maxOpenNonces?: number;
  readonly wrapPool?: DatabaseOptions['wrapPool'];
  readonly observe?: Partial<Observe>;
  readonly leaseTtlMs?: number;
  readonly name?: string;
  /** Replaces the state directory that all signers of this world share. */
  readonly stateDirectory?: string;
}

export interface RunningDriver {
  readonly driver: Driver;
  readonly lease: LeaseKeeper;
  readonly failures: unknown[];
  stop(): Promise<void>;
}

export interface PayoutRow {
  readonly state: string;
  readonly obstacle: string | null;
  readonly reason: string | null;
  readonly sent: boolean;
}

export async function createWorld<C extends ChainOfWorld>(
  family: Family,
  openChain: (keys: TestKeys, dir: string) => Promise<C>,
) {
  type P = ReturnType<C['openPaying']>;
  const dir = await mkdtemp(join(tmpdir(), 'payout-signer-'));
  const keys = await createTestKeys(family, dir);
  const { wallet } = keys;
  const [chain, database] = await Promise.all([openChain(keys, dir), createTestDatabase()]);
  const { network, reader, token } = chain;
  const opened = database.open('admin');
  const admin = opened.kysely;
  await sql`insert into hot_wallet (family, address) values (${family}, ${wallet})`.execute(admin);
  for (const [symbol, amount] of Object.entries(chain.held))
    if (amount > 0n)
      await sql`select book_top_up(${`${network.chain}:0x1:${symbol}`}, ${network.chain}, ${symbol}, ${amount})`.execute(
        admin,
      );
  const closing: (() => Promise<unknown>)[] = [];
  const running = new Set<{ readonly driver?: Driver; stop(): Promise<void> }>();
  const wakeDrivers = (): void => running.forEach(({ driver }) => driver?.wake());
  let scan: ChainScan | undefined;
  if (reader !== undefined) {
    const scanner = database.open(`scanner_${family.toLowerCase() as Lowercase<Family>}`);
    const started = startScan(network, scanner.kysely, { ...chain, reader, onCommitted: wakeDrivers });
    scan = started;
    closing.push(
      () => started.stop(),
      () => scanner.close(),
    );
  }
  function keep<T extends { readonly driver?: Driver; stop(): Promise<void> }>(started: T): T {
    const kept: T = {
      ...started,
      async stop() {
        if (running.delete(kept)) await started.stop();
      },
    };
    running.add(kept);
    return kept;
  }
  let broker: Promise<TestBroker> | undefined;
  let amqpUrl: Promise<string> | undefined;
  let drivers = 0;

  const world = {
    ...keys,
    dir,
    stateDirectory: dir,
    network,
    database,
    admin,
    keep,
    newSender: () => chain.openPaying().sender as P['sender'],
    broker: (): Promise<TestBroker> => (broker ??= createTestBroker()),
    amqpUrl: () => (amqpUrl ??= world.broker().then((opened) => opened.urlFor('payout-signer'))),
    async payout(given: Parameters<typeof aPayout>[1] = {}): Promise<OrderRow> {
      const amount = given.amount ?? 5_000_000n;
      const order = await aPayout(admin, {
        chain: network.chain,
        family,
        ...token,
        accepted_amount: amount,
        address: chain.newAddress(),
        source_address: wallet,
        ...given,
        amount,
      });
      const { rows } = await sql<{ done: boolean }>`select reserve(${order.order_pk}) as done`.execute(admin);
      if (rows[0]?.done !== true) throw new Error('not reserved');
      wakeDrivers();
      return order;
    },
    nativePayout: (amount: bigint): Promise<OrderRow> =>
      world.payout({
        symbol: network.nativeSymbol,
        contract_address: null,
        decimals: network.nativeDecimals,
        amount,
      }),
    async payoutOf(order: OrderRow): Promise<PayoutRow> {
      const { rows } = await sql<PayoutRow>`
        select state, obstacle, reason, first_sent_at is not null as sent from payout
        where order_pk = ${order.order_pk}`.execute(admin);
      return rows[0]!;
    },
    reaches: (order: OrderRow, state: string) =>
      waitUntil(`payout ${state}`, async () => (await world.payoutOf(order)).state === state),
    awaitObstacle: (order: OrderRow, obstacle: string) =>
      waitUntil(obstacle, async () => (await world.payoutOf(order)).obstacle === obstacle),
    isSent: (order: OrderRow) => waitUntil('sent', async () => (await world.payoutOf(order)).sent),
    untilCursor: (
      what: string,
      is: (cursor: { seen: number; verified: number; epoch: number | null }) => boolean,
    ) =>
      waitUntil(what, async () => {
        const { rows } = await sql<{ seen: number; verified: number; epoch: number | null }>`
          select seen_height as seen, verified_height as verified, verified_epoch as epoch
          from chain_cursor where chain = ${network.chain}`.execute(admin);
        if (rows[0] !== undefined && is(rows[0])) return true;
        scan?.wake();
        return false;
      }),
    drive(options: DriverOptions<P> = {}): RunningDriver {
      drivers += 1;
      const name = `${options.name ?? 'signer'}-${drivers}`;
      const db = openSignerPool(database.url('signer'), name, options.wrapPool);
      const ttlMs = options.leaseTtlMs ?? LEASE_TTL_MS;
      const paying = chain.openPaying() as P;
      const key = { chain: network.chain, wallet };
      const lease = keepLease({
        db: db.kysely,
        schema: 'signer',
        name: `wallet/${network.chain}/${wallet}`,
        holder: name,
        ttlMs,
      });
      const failures: unknown[] = [];
      const parts: WalletParts = {
        db: db.kysely,
        key,
        isHotWallet: true,
        rules: {
          network,
          codec: paying.codec,
          ownWallets: [wallet],
          isDepositAddress: () => false,
          policy: options.policy ?? judgeByPolicy(undefined, 'test', { isLocal: true }),
        },
        readClocks: () => Promise.resolve(undefined),
        monotonicMs: fastClockMs,
        observe: {
          ...createObserve({
            logger: testLogger(),
            metrics: createMetrics('payout-signer', { ofProcess: false }),
          }),
          ...options.observe,
        },
        clock: systemClock,
        newId,
        stateDirectory: options.stateDirectory ?? dir,
        onCommitted: () => undefined,
        leaseKeeper: lease,
        leaseIntervalMs: Math.min(ttlMs / 3, 500),
        sweepMs: options.timing?.sweepMs ?? QUICK.sweepMs,
        fail: (error) => failures.push(error),
      };
      const driver = openDriver(parts, paying, options);
      const stop = async () => {
        await driver.stop();
        await db.close();
      };
      return keep({ driver, lease, failures, stop });
    },
    async serve(options: ServiceOptions<P> & { readonly policy?: TestPolicy } = {}): Promise<RunningService> {
      const { policy = {}, ...more } = options;
      return keep(
        startService<P>(
          {
            databaseUrl: database.url('signer'),
            amqpUrl: await world.amqpUrl(),
            keys: keys.keys,
            wallets: [wallet],
            stateDirectory: dir,
            policy: policyCheckOf(network, policy),
            paying: chain.openPaying(policy.sweep?.['gasless'] !== false) as P,
          },
          more,
        ),
      );
    },
    isRunning: () => running.size > 0,
    /** After a new block: the scanner polls rarely. */
    wakeScanner: () => scan?.wake(),
    async stopAll() {
      for (const one of running) await one.stop();
    },
    async close() {
      await world.stopAll();
      for (const close of closing) await close();
      await opened.close();
      await (await broker)?.drop();
      await database.drop();
      await chain.close();
      await rm(dir, { recursive: true });
    },
  };
  return { ...world, chain };
}

function openDriver<P extends PayingNetwork>(
  parts: WalletParts,
  paying: P,
  options: DriverOptions<P>,
): Driver {
  const { db, key, newId: id, clock, stateDirectory } = parts;
  const timing = byFastClock({ ...QUICK, ...options.timing });
  if (paying.kind === 'NONCES') {
    const given = options as unknown as DriverOptions<NoncePaying>;
    const store = createPayoutStore(db, key, { newId: id, clock });
    const mark = openNonceMark(stateDirectory, key);
    return startDriver({
      ...parts,
      timing,
      terms: { ...paying.terms, maxOpenNonces: given.maxOpenNonces ?? paying.terms.maxOpenNonces },
      reader: paying.reader,
      sender: given.sender?.(paying.sender) ?? paying.sender,
      store: given.store?.(store) ?? store,
      mark: given.mark?.(mark) ?? mark,
    });
  }
  const given = options as unknown as DriverOptions<ExpiringPaying>;
  const store = createAttemptStore(db, key, { newId: id, clock, isSponsoring: false });
  const mark = openSendMark(stateDirectory, key);
  return startExpiringDriver({
    ...parts,
    timing,
    terms: paying.terms,
    sender: given.sender?.(paying.sender) ?? paying.sender,
    store: given.store?.(store) ?? store,
    mark: given.mark?.(mark) ?? mark,
  });
}
