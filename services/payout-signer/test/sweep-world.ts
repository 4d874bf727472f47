import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import { evmFamily } from '@opentill/chain-evm/family';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import { openDatabase, type DatabaseOptions, type Db } from '@opentill/db/database';
import { devAccount } from '@opentill/devnet/evm-accounts';
import { payToken, tokenBalance } from '@opentill/devnet/evm-devnet';
import { callRpc } from '@opentill/devnet/json-rpc';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { startLoop } from '@opentill/runtime/loop';
import { createMetrics } from '@opentill/runtime/metrics';
import { aCollection, type OrderRow } from '@opentill/testkit/scenario';
import { createTestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { depositBranch } from '@opentill/wallet/derivation';
import { publicKeysOf } from '@opentill/wallet/public-keys';
import { parsePolicy } from '@opentill/wallet/policy/parse-policy';
import { startSigner, type SignerApp } from '../src/app.ts';
import { judgeByPolicy } from '../src/judge-by-policy.ts';
import { CHAIN, createSignerWorld, QUICK, USDT, type SignerWorld } from './signer-world.ts';

/** Nobody has its key. */
export const COLD = '0xc01dc01dc01dc01dc01dc01dc01dc01dc01dc01d' as Address;

export interface SignerOptions {
  /** What the policy says of sweeps besides what this world says. */
  readonly sweep?: Readonly<Record<string, unknown>>;
  /** What it says of USDT besides. */
  readonly asset?: Readonly<Record<string, unknown>>;
  readonly sender?: (sender: WalletSender) => WalletSender;
  readonly wrapPool?: DatabaseOptions['wrapPool'];
  readonly leaseTtlMs?: number;
}

/** A chain with customers, a scanner, whoever keeps the books, and signers that sweep. */
export interface SweepWorld {
  readonly signer: SignerWorld;
  readonly admin: Db;
  /** An order whose address is paid `amount` of USDT on the chain, verified and booked. */
  paid(amount: bigint): Promise<OrderRow>;
  /** More of it, verified and booked. @returns all that was ever paid there */
  paidAgain(order: OrderRow, amount: bigint): Promise<bigint>;
  start(options?: SignerOptions): Promise<{ readonly app: SignerApp; stop(): Promise<void> }>;
  /** Mines a block at a time until `isSo`. */
  mineUntil(what: string, isSo: () => Promise<boolean>, timeoutMs?: number): Promise<void>;
  sweepsOf(order: OrderRow): Promise<{ state: string; method: string; reason: string | null }[]>;
  /** Kinds of an address's movements and where their amounts stand, oldest first. */
  movesOf(order: OrderRow): Promise<{ kind: string; money: string }[]>;
  balance(kind: string, symbol?: string): Promise<bigint>;
  tokensAt(address: string): Promise<bigint>;
  coinAt(address: string): Promise<bigint>;
  close(): Promise<void>;
}

/** Patient enough to be quick. */
const TIMING = { ...QUICK, planEveryMs: 50, leaseTtlMs: 1_500, depositsAtOnce: 8 };

export async function createSweepWorld(): Promise<SweepWorld> {
  const signer = await createSignerWorld();
  const rabbit = await createTestBroker();
  const amqpUrl = await rabbit.urlFor('payout-signer');
  const { admin, network, keys, rpcUrl } = signer;
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'EVM') on conflict do nothing`.execute(
    admin,
  );
  const tracker = signer.database.open('tracker');
  const books = startLoop({ name: 'books', intervalMs: 30, run: () => keepBooks(admin, tracker.kysely) });
  const { depositXpub } = publicKeysOf(signer.seed, [evmFamily.addressCodec]).families.EVM;
  const branch = depositBranch(depositXpub);
  const running = new Set<{ stop(): Promise<void> }>();
  let index = 1_000_000;

  const world: SweepWorld = {
    signer,
    admin,
    async paid(amount) {
      index += 1;
      const address = evmFamily.addressCodec.fromPublicKey(branch.derive(index).publicKey);
      const order = await aCollection(admin, {
        chain: CHAIN,
        symbol: 'USDT',
        contract_address: USDT,
        decimals: 6,
        address,
      });
      await sql`update deposit_address set derivation_index = ${index} where order_pk = ${order.order_pk}`.execute(
        admin,
      );
      await world.paidAgain(order, amount);
      return order;
    },
    async paidAgain({ address }, amount) {
      const received = async () => {
        const { rows } = await sql<{ received: bigint }>`
          select received from deposit_balance where address = ${address} and symbol = 'USDT'`.execute(admin);
        return rows[0]?.received ?? 0n;
      };
      const all = (await received()) + amount;
      await payToken({
        rpcUrl,
        token: USDT,
        fromKey: devAccount(1).privateKey,
        to: address,
        amountBaseUnits: amount,
      });
      await world.mineUntil('the payment is booked', async () => (await received()) === all);
      return all;
    },
    async start(options = {}) {
      const db = openDatabase({
        url: signer.database.url('signer'),
        applicationName: 'sweeping signer',
        poolMax: 12,
        ...(options.wrapPool === undefined ? {} : { wrapPool: options.wrapPool }),
      });
      const level = process.env['TEST_LOG'] === undefined ? 'silent' : 'debug';
      const logger = createLogger({ service: 'payout-signer', level });
      const broker = connectBroker({ url: amqpUrl, logger, name: 'sweeping signer' });
      const terms = payoutTermsOf(network);
      if (terms === undefined) throw new Error('no terms');
      const plain = signer.newSender();
      const app = startSigner({
        db: db.kysely,
        broker,
        logger,
        metrics: createMetrics('payout-signer'),
        clock: systemClock,
        newId,
        networks: [
          {
            kind: 'NONCES',
            network,
            terms,
            codec: evmFamily.addressCodec,
            sender: options.sender?.(plain) ?? plain,
            reader: evmFamily.createReader(network, {}),
          },
        ],
        wallets: keys.addresses,
        keys,
        policy: judgeByPolicy(
          parsePolicy(JSON.stringify(policyOf(options)), {
            networks: [network],
            codecs: [evmFamily.addressCodec],
          }),
        ),
        instanceId: randomUUID(),
        stateDirectory: signer.stateDirectory,
        fail: (error) => {
          throw error;
        },
        timing: { ...TIMING, leaseTtlMs: options.leaseTtlMs ?? TIMING.leaseTtlMs },
      });
      const runner = {
        app,
        async stop() {
          if (!running.delete(runner)) return;
          await app.stop();
          await broker.close();
          await db.close();
        },
      };
      running.add(runner);
      return runner;
    },
    mineUntil: (what, isSo, timeoutMs = 20_000) =>
      waitUntil(
        what,
        async () => {
          if (await isSo()) return true;
          await signer.mine();
          await signer.scannerAtHead();
          return false;
        },
        timeoutMs,
      ),
    async sweepsOf({ address }) {
      const { rows } = await sql<{ state: string; method: string; reason: string | null }>`
        select state, method, reason from sweep where address = ${address} order by planned_at`.execute(
        admin,
      );
      return rows;
    },
    async movesOf({ address }) {
      const { rows } = await sql<{ kind: string; money: string }>`
        select m.kind, p.money from sweep s join movement m using (sweep_id) join payout p using (order_pk)
        where s.address = ${address} order by m.created_at`.execute(admin);
      return rows;
    },
    async balance(kind, symbol = 'USDT') {
      const { rows } = await sql<{ balance: bigint | null }>`
        select sum(balance) as balance from ledger_account where kind = ${kind} and chain = ${CHAIN} and symbol = ${symbol}`.execute(
        admin,
      );
      return rows[0]?.balance ?? 0n;
    },
    tokensAt: (address) => tokenBalance(rpcUrl, USDT, address),
    coinAt: async (address) => BigInt(await callRpc<string>(rpcUrl, 'eth_getBalance', [address, 'latest'])),
    async close() {
      for (const one of running) await one.stop();
      await books.stop();
      await tracker.close();
      await rabbit.drop();
      await signer.close();
    },
  };
  return world;
}

function policyOf({ sweep = {}, asset = {} }: SignerOptions): unknown {
  const high = '1000000';
  const limits = { maxPerPayout: high, maxPerHour: high, maxPerDay: high, maxPerMerchantPerDay: high };
  return {
    version: 1,
    chains: {
      [CHAIN]: {
        enabled: true,
        coldAddress: COLD,
        sweep: {
          nativePrice: '1',
          maxTopUp: '0.1',
          maxNativePerDay: '10',
          maxCostShare: '0.5',
          minAgeMinutes: 0,
          ...sweep,
        },
        assets: { USDT: { ...limits, ...asset } },
      },
    },
  };
}

/** What the tracker does, as far as money goes: deposits, movements and fees stand in the ledger as the chain has them. */
async function keepBooks(admin: Db, tracker: Db): Promise<void> {
  const { rows } = await sql<{ transfer_id: number; order_pk: string; merchant_id: string; amount: bigint }>`
    select t.transfer_id, d.order_pk, o.merchant_id, t.amount from transfer t
      join deposit_address d on d.family = t.family and d.address = t.to_address join orders o using (order_pk)
    where t.state = 'VERIFIED' and not exists (select from transfer_settlement s where s.transfer_id = t.transfer_id)`.execute(
    admin,
  );
  for (const row of rows)
    await tracker.transaction().execute(async (tx) => {
      const { ledger_tx_id: id } = await tx
        .insertInto('ledger_transaction')
        .values({ ref: `deposit:${row.transfer_id}:1`, kind: 'DEPOSIT' })
        .returning('ledger_tx_id')
        .executeTakeFirstOrThrow();
      await sql`insert into ledger_posting (ledger_tx_id, account_id, amount) values
        (${id}, ledger_account_for('DEPOSIT', ${CHAIN}, 'USDT', null), ${row.amount}),
        (${id}, ledger_account_for('SUSPENSE', ${CHAIN}, 'USDT', ${row.merchant_id}), ${-row.amount})`.execute(
        tx,
      );
      await sql`insert into transfer_settlement (transfer_id, settled_version, order_pk, booked_amount, booked_symbol, bookings)
        values (${row.transfer_id}, 1, ${row.order_pk}, ${row.amount}, 'USDT', 1)`.execute(tx);
    });
  await sql`select settle_payout_money(array(select order_pk from payout))`.execute(tracker);
  await sql`select settle_network_fees(coalesce((select jsonb_agg(jsonb_build_object('chain', f.chain, 'txHash', f.tx_hash,
      'nativeSymbol', 'ETH', 'version', f.version)) from own_transaction_fate f
    where not exists (select from own_transaction_settlement s where s.chain = f.chain and s.tx_hash = f.tx_hash
      and s.settled_version = f.version)), '[]'))`.execute(tracker);
}
