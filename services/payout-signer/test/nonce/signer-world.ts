import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import { openDatabase, type Database, type DatabaseOptions, type Db } from '@opentill/db/database';
import { keepLease, type LeaseKeeper } from '@opentill/db/lease';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  mine,
  payNative,
  payToken,
  setBlockTime,
  tokenBalance,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createObserve as createScanObserve } from '@opentill/scanner/observe';
import { createChainGates, startChainScan, type ChainScan } from '@opentill/scanner/scan-chain';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import { createScanStore } from '@opentill/scanner/store/scan-store';
import { anEvmAddress, aPayout, type OrderRow } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { hotWalletPrivateKey, seedFingerprint } from '@opentill/wallet/derivation';
import { createKeystore } from '@opentill/wallet/keystore';
import { openKeystoreSigner, type KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { startDriver } from '../../src/nonce/drive-wallet.ts';
import type { Driver } from '../../src/wallet/drive-wallet.ts';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import { openNonceMark, type NonceMark } from '../../src/nonce/nonce-mark.ts';
import { createObserve } from '../../src/observe/create-observe.ts';
import type { Observe } from '../../src/observe/observe.ts';
import type { PayoutStore } from '../../src/nonce/store/payout-store.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { createPayoutStore } from '../../src/nonce/store/create-store.ts';
import { LEASE_TTL_MS, PATIENCE_MS, QUICK } from '../quick-timing.ts';

export const CHAIN = 'ETH_SEPOLIA';
const CHAIN_ID = 11_155_111;
export const ONE_ETH = 10n ** 18n;
export const PASSPHRASE = 'a passphrase of the tests';
export const USDT = DEV_TOKEN_ADDRESSES.USDT.toLowerCase();

/** Blocks that are mined before the scanner has seen them. */
const UNSEEN_BLOCKS_MAX = 3;

export { QUICK };

export interface DriverOptions {
  readonly policy?: PolicyJudge;
  readonly timing?: Partial<typeof QUICK>;
  readonly maxOpenNonces?: number;
  readonly sender?: (sender: WalletSender) => WalletSender;
  readonly store?: (store: PayoutStore) => PayoutStore;
  readonly mark?: (mark: NonceMark) => NonceMark;
  readonly wrapPool?: DatabaseOptions['wrapPool'];
  readonly observe?: Partial<Observe>;
  readonly leaseTtlMs?: number;
  readonly name?: string;
  /** Instead of the directory that all of this world share. */
  readonly stateDirectory?: string;
}

export interface RunningDriver {
  readonly driver: Driver;
  readonly lease: LeaseKeeper;
  /** What it said must not go on. */
  readonly failures: unknown[];
  stop(): Promise<void>;
}

export interface SignerWorld {
  readonly anvil: Anvil;
  readonly rpcUrl: string;
  readonly database: TestDatabase;
  readonly admin: Db;
  readonly wallet: Address;
  /** Hex with 0x: for what a stranger with the key does. */
  readonly walletKey: string;
  readonly keys: KeystoreSigner;
  readonly keystoreFile: string;
  /** Of its keys. */
  readonly seed: Uint8Array;
  /** Where the drivers keep their marks. */
  readonly stateDirectory: string;
  readonly network: NetworkConfig;
  readonly newSender: () => WalletSender;
  mine(blocks?: number): Promise<void>;
  /** Mines a block at a time until the condition holds, no faster than the scanner reads them. */
  mineUntil(what: string, condition: () => Promise<boolean>): Promise<void>;
  /** A payout of 5 USDT to nobody in particular, reserved, for half an hour. */
  payout(overrides?: Parameters<typeof aPayout>[1]): Promise<OrderRow>;
  nativePayout(amount: bigint): Promise<OrderRow>;
  start(options?: DriverOptions): Promise<RunningDriver>;
  payoutOf(
    order: OrderRow,
  ): Promise<{ state: string; obstacle: string | null; reason: string | null; sent: boolean }>;
  noncesOf(order: OrderRow): Promise<{ nonce: number; state: string }[]>;
  transactionsOf(
    order: OrderRow,
  ): Promise<{ tx_hash: string; nonce: number; send_outcome: string | null; fate: string | null }[]>;
  /** As an operator decides. */
  decide(
    order: OrderRow,
    decision:
      | { readonly decision: 'PAY_AGAIN'; readonly nonce: number }
      | { readonly decision: 'PAID_BY'; readonly txHash: string },
  ): Promise<void>;
  decisionsOf(order: OrderRow): Promise<{ outcome: string | null; detail: string | null }[]>;
  nonces(): Promise<{ nonce: number; state: string; order_pk: string | null; purpose: string }[]>;
  /**
   * Mines a block at a time until every one of the payouts is verified on the chain: no faster than the scanner reads them, and none
   * that a payout does not need, or a slow signer finds its payouts deeper than any reorganisation goes.
   */
  land(orders: readonly OrderRow[], timeoutMs?: number): Promise<void>;
  received(order: OrderRow): Promise<bigint>;
  reaches(order: OrderRow, state: string, timeoutMs?: number): Promise<void>;
  scannerAtHead(): Promise<void>;
  close(): Promise<void>;
}

/** `given`: what is otherwise in the network's configuration; a function where that needs the node's URL. */
export async function createSignerWorld(
  given: Partial<NetworkConfig> | ((rpcUrl: string) => Promise<Partial<NetworkConfig>>) = {},
): Promise<SignerWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'payout-signer-'));
  const anvil = await startAnvil({ dir, port: await findFreePort(), chainId: CHAIN_ID });
  const { rpcUrl } = anvil;
  await setBlockTime(rpcUrl, 0);
  await deployDevTokens({ rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  const { keys, walletKey, keystoreFile, seed } = await createKeys(dir);
  const wallet = keys.addresses[0]!;
  const fromKey = devAccount(1).privateKey;
  await payNative({ rpcUrl, fromKey, to: wallet, amountWei: 100n * ONE_ETH });
  await payToken({ rpcUrl, token: USDT, fromKey, to: wallet, amountBaseUnits: 1_000_000_000_000n });
  await mine({ rpcUrl, blocks: 5 });
  const network = networkOf(anvil, typeof given === 'function' ? await given(rpcUrl) : given);
  const database = await createTestDatabase();
  const adminDatabase = database.open('admin');
  const admin = adminDatabase.kysely;
  await sql`insert into hot_wallet (family, address) values ('EVM', ${wallet})`.execute(admin);
  for (const [symbol, amount] of [
    ['USDT', 1_000_000_000_000n],
    ['ETH', 90n * ONE_ETH],
  ] as const)
    await sql`select book_top_up(${`${CHAIN}:0x1:${symbol}`}, ${CHAIN}, ${symbol}, ${amount})`.execute(admin);
  const scanDatabase = database.open('scanner_evm');
  const scan = startScan(network, scanDatabase.kysely);
  const running = new Set<RunningDriver>();
  const key = { chain: CHAIN, wallet } as const;
  let started = 0;
  const unseenBlocks = async (): Promise<number> => {
    const head = Number(await callRpc<string>(rpcUrl, 'eth_blockNumber', []));
    const { rows } = await sql<{ seen: number }>`
      select seen_height as seen from chain_cursor where chain = ${CHAIN}`.execute(admin);
    return head - (rows[0]?.seen ?? 0);
  };

  const world: SignerWorld = {
    anvil,
    rpcUrl,
    database,
    admin,
    wallet,
    walletKey,
    keys,
    keystoreFile,
    seed,
    stateDirectory: dir,
    network,
    newSender: () => createEvmSender(network, { backend: keys }),
    mine: (blocks = 1) => mine({ rpcUrl, blocks }),
    mineUntil: (what, condition) =>
      waitUntil(
        what,
        async () => {
          if (await condition()) return true;
          if ((await unseenBlocks()) < UNSEEN_BLOCKS_MAX) await world.mine();
          await new Promise((resolve) => setTimeout(resolve, 40));
          return false;
        },
        PATIENCE_MS,
      ),
    async payout(given = {}) {
      const order = await aPayout(admin, {
        chain: CHAIN,
        symbol: 'USDT',
        contract_address: USDT,
        decimals: 6,
        amount: 5_000_000n,
        accepted_amount: given.amount ?? 5_000_000n,
        address: anEvmAddress(),
        source_address: wallet,
        ...given,
      });
      const { rows } = await sql<{ done: boolean }>`select reserve(${order.order_pk}) as done`.execute(admin);
      if (rows[0]?.done !== true) throw new Error('not reserved');
      return order;
    },
    nativePayout: (amount) =>
      world.payout({ symbol: 'ETH', contract_address: null, decimals: 18, amount, accepted_amount: amount }),
    async start(options = {}) {
      started += 1;
      const db = openDatabase({
        url: database.url('signer'),
        applicationName: `signer ${started}`,
        poolMax: 6,
        ...(options.wrapPool === undefined ? {} : { wrapPool: options.wrapPool }),
      });
      const runner = runDriver(world, db, options, `${options.name ?? 'signer'}-${started}`, running);
      await waitUntil('the driver leads or stands by', () => Promise.resolve(true));
      return runner;
    },
    async payoutOf(order) {
      const { rows } = await sql<{
        state: string;
        obstacle: string | null;
        reason: string | null;
        sent: boolean;
      }>`
        select state, obstacle, reason, first_sent_at is not null as sent from payout where order_pk = ${order.order_pk}`.execute(
        admin,
      );
      return rows[0]!;
    },
    async noncesOf(order) {
      const { rows } = await sql<{ nonce: number; state: string }>`
        select nonce, state from wallet_nonce where order_pk = ${order.order_pk} order by nonce`.execute(
        admin,
      );
      return rows;
    },
    async transactionsOf(order) {
      const { rows } = await sql<{
        tx_hash: string;
        nonce: number;
        send_outcome: string | null;
        fate: string | null;
      }>`
        select t.tx_hash, t.nonce, t.send_outcome, f.state as fate
        from own_transaction t left join own_transaction_fate f using (chain, tx_hash)
        where t.order_pk = ${order.order_pk} order by t.signed_at`.execute(admin);
      return rows;
    },
    async decide(order, decision) {
      const [nonce, txHash] = 'nonce' in decision ? [decision.nonce, null] : [null, decision.txHash];
      await sql`insert into payout_decision (decision_id, order_pk, nonce, decision, tx_hash, operator, reason)
        values (gen_random_uuid(), ${order.order_pk}, ${nonce}, ${decision.decision}, ${txHash}, 'test', 'looked')`.execute(
        admin,
      );
    },
    async decisionsOf(order) {
      const { rows } = await sql<{ outcome: string | null; detail: string | null }>`
        select outcome, detail from payout_decision where order_pk = ${order.order_pk} order by decided_at`.execute(
        admin,
      );
      return rows;
    },
    async nonces() {
      const { rows } = await sql<{ nonce: number; state: string; order_pk: string | null; purpose: string }>`
        select nonce, state, order_pk, purpose from wallet_nonce where wallet = ${wallet} order by nonce`.execute(
        admin,
      );
      return rows;
    },
    async land(orders, timeoutMs = PATIENCE_MS) {
      await waitUntil(
        'every payout is final',
        async () => {
          // What is mined before the signer has noted that it was sent is never noted as sent.
          const { rows } = await sql<{ open: number; unproven: number; unsent: number }>`
            select count(*) filter (where not is_final)::int as open, count(*) filter (where not is_proven)::int as unproven,
              count(*) filter (where is_unsent)::int as unsent
            from (select
                p.state = 'SIGNED' and p.first_sent_at is null and not exists (select from own_transaction t
                  join own_transaction_fate f using (chain, tx_hash) where t.order_pk = p.order_pk) as is_unsent,
                exists (select from wallet_nonce w where w.order_pk = p.order_pk and w.state = 'FINAL') as is_final,
                exists (select from own_transaction t join own_transaction_fate f using (chain, tx_hash)
                  where t.order_pk = p.order_pk and f.state = 'VERIFIED') as is_proven
              from payout p where p.order_pk = any(${orders.map((o) => o.order_pk)}::uuid[])) as o`.execute(
            admin,
          );
          const { open, unproven, unsent } = rows[0]!;
          if (open === 0) return true;
          if (unsent === 0 && unproven > 0 && (await unseenBlocks()) < UNSEEN_BLOCKS_MAX) await world.mine();
          await new Promise((resolve) => setTimeout(resolve, 40));
          return false;
        },
        timeoutMs,
      );
    },
    received: (order) =>
      order.contract_address === null
        ? callRpc<string>(rpcUrl, 'eth_getBalance', [order.address, 'latest']).then(BigInt)
        : tokenBalance(rpcUrl, order.contract_address, order.address),
    reaches: (order, state, timeoutMs = PATIENCE_MS) =>
      waitUntil(`payout ${state}`, async () => (await world.payoutOf(order)).state === state, timeoutMs),
    scannerAtHead: () =>
      waitUntil('the scanner is at the head', async () => (await unseenBlocks()) === 0, PATIENCE_MS),
    async close() {
      for (const driver of running) await driver.stop();
      await scan.stop();
      await scanDatabase.close();
      await adminDatabase.close();
      keys.close();
      await database.drop();
      await anvil.stop('kill');
      await rm(dir, { recursive: true });
    },
  };
  await world.scannerAtHead();
  void key;
  return world;
}

function runDriver(
  world: SignerWorld,
  db: Database,
  options: DriverOptions,
  name: string,
  running: Set<RunningDriver>,
): RunningDriver {
  const logger = createLogger({
    service: 'payout-signer',
    level: process.env['TEST_LOG'] === undefined ? 'silent' : 'debug',
  });
  const key = { chain: CHAIN, wallet: world.wallet } as const;
  const terms = payoutTermsOf(world.network)!;
  const timing = { ...QUICK, ...options.timing };
  const ttlMs = options.leaseTtlMs ?? LEASE_TTL_MS;
  const plainSender = world.newSender();
  const plainMark = openNonceMark(options.stateDirectory ?? world.stateDirectory, key);
  const plainStore = createPayoutStore(db.kysely, key, { newId, clock: systemClock });
  const lease = keepLease({
    db: db.kysely,
    schema: 'signer',
    name: `wallet/${CHAIN}/${world.wallet}`,
    holder: name,
    ttlMs,
  });
  const failures: unknown[] = [];
  const driver = startDriver({
    key,
    terms: { ...terms, maxOpenNonces: options.maxOpenNonces ?? terms.maxOpenNonces },
    rules: {
      network: world.network,
      codec: evmFamily.addressCodec,
      ownWallets: world.keys.addresses,
      isDepositAddress: () => false,
      policy: options.policy ?? judgeByPolicy(undefined, { isLocal: true }),
    },
    store: options.store?.(plainStore) ?? plainStore,
    sender: options.sender?.(plainSender) ?? plainSender,
    reader: evmFamily.createReader(world.network, {}),
    mark: options.mark?.(plainMark) ?? plainMark,
    readClocks: () => Promise.resolve(undefined),
    monotonicMs: () => performance.now(),
    observe: { ...createObserve({ logger, metrics: createMetrics('payout-signer') }), ...options.observe },
    clock: systemClock,
    timing,
    onCommitted: () => undefined,
    leaseKeeper: lease,
    leaseIntervalMs: Math.min(ttlMs / 3, 500),
    sweepMs: timing.sweepMs,
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

async function createKeys(dir: string) {
  const seed = seedOf(generateMnemonic());
  const keystoreFile = join(dir, 'keystore.json');
  await createKeystore(
    keystoreFile,
    { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed },
    PASSPHRASE,
  );
  const keys = await openKeystoreSigner({
    keystoreFile,
    passphrase: PASSPHRASE,
    codecs: [evmFamily.addressCodec],
    kind: 'test',
  });
  return {
    keys,
    keystoreFile,
    seed,
    walletKey: `0x${hotWalletPrivateKey(seed, 'EVM', 'test').toString('hex')}`,
  };
}

function startScan(config: NetworkConfig, db: Db): ChainScan {
  const network = scanNetworkOf(config, evmFamily.addressCodec.parse);
  const logger = createLogger({ service: 'scanner-evm', level: 'silent' });
  const deps = { db, schema: 'scanner_evm', clock: systemClock, newId } as const;
  return startChainScan({
    network,
    reader: evmFamily.createReader(config, {}),
    store: createScanStore(deps),
    observe: createScanObserve({ logger, metrics: createMetrics('scanner-evm'), clock: systemClock }),
    clock: systemClock,
    lease: keepLease({
      db,
      schema: 'scanner_evm',
      name: `chain:${CHAIN}`,
      holder: randomUUID(),
      ttlMs: 5_000,
    }),
    leaseIntervalMs: 1_000,
    onCommitted: () => undefined,
    gates: createChainGates(systemClock, (error) => {
      throw error;
    }),
  });
}

function networkOf(anvil: Anvil, overrides: Partial<NetworkConfig>): NetworkConfig {
  const token = { displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: CHAIN,
    family: 'EVM',
    enabled: true,
    chainId: CHAIN_ID,
    name: 'devnet',
    rpcUrls: [anvil.rpcUrl],
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations: 2,
    blockTimeMs: 1_000,
    pollIntervalMs: 30,
    reorgWindow: 30,
    maxBlockRange: 50,
    bloom: true,
    tokens: [
      { symbol: 'USDT', contract: DEV_TOKEN_ADDRESSES.USDT, decimals: 6, ...token },
      { symbol: 'ETH', contract: null, decimals: 18, ...token },
    ],
    payouts: {
      maxOpenNonces: 16,
      minPriorityFeePerGas: '1000000',
      maxPriorityFeePerGas: '10000000000',
      maxFeePerGas: '500000000000',
      bumpAfterSeconds: 60,
    },
    ...overrides,
  };
}
