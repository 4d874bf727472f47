import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address } from '@opentill/chain/address-codec';
import type { SignedExpiring } from '@opentill/chain/expiring-sender';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import { readHeader, createTronSources } from '@opentill/chain-tron/tron-sources';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { holdAfterRestore } from '@opentill/db/backup/hold-after-restore';
import type { Database, Db } from '@opentill/db/database';
import { hashOperatorToken, newOperatorToken } from '@opentill/db/operators';
import { signHash } from '@opentill/devnet/tron/chain/signature';
import { startTronDevnet, type TronDevnet } from '@opentill/devnet/tron/start-tron-devnet';
import { baseUnits } from '@opentill/domain/money';
import { aPayout, type OrderRow } from '@opentill/testkit/scenario';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { sql } from 'kysely';
import pg from 'pg';
import { runCli } from '../src/run-cli.ts';

export const CHAIN = 'TRON_TEST';
export const USDT = 1_000_000n;
const SOLID_LAG_BLOCKS = 3;
const TOKEN = newOperatorToken('me');

/** A signed payment, and until when it may land. */
export type Signed = SignedExpiring & { readonly intent: PaymentIntent };

/** A TRON hot wallet with its books, before a node whose blocks come when told; no service runs. */
export interface TronBooks {
  readonly devnet: TronDevnet;
  readonly admin: Db;
  readonly wallet: Address;
  /** Reserved, and not signed. */
  payout(amount?: bigint): Promise<OrderRow>;
  /** As a life of the signer signs, which nothing here remembers. */
  sign(pays: Partial<PaymentIntent>): Promise<Signed>;
  signFor(order: OrderRow): Promise<Signed>;
  send(signed: Signed): Promise<void>;
  /** As the signer stores what it signed. */
  store(order: OrderRow, signed: Signed): Promise<void>;
  /** As the scanner records it. */
  recordVerified(signed: Signed): Promise<void>;
  mine(blocks?: number): Promise<void>;
  /** Past the end of all that is signed, in solid blocks. */
  passExpiry(): Promise<void>;
  /** What a restore does to a database that stands as it stands now. `hoursAgo`: when. */
  restore(hoursAgo: number): Promise<void>;
  /** Moves the restores back in time. */
  age(hours: number): Promise<void>;
  opentill(...args: readonly string[]): Promise<{ code: number; out: string; errors: string }>;
  close(): Promise<void>;
}

export const nobody = (): Address => addressOfShortHex(randomBytes(20).toString('hex'))!;

export async function openTronBooks(seed: string): Promise<TronBooks> {
  const [devnet, database] = await Promise.all([
    startTronDevnet({ blockTimeMs: 0, solidLagBlocks: SOLID_LAG_BLOCKS, seed }),
    createTestDatabase(),
  ]);
  const adminDatabase: Database = database.open('admin');
  const admin = adminDatabase.kysely;
  const folder = mkdtempSync(join(tmpdir(), 'opentill-restore-'));
  const { address, privateKeyHex } = devnet.accounts[1]!;
  const wallet = address as Address;
  const network = networkOf(devnet);
  writeFileSync(join(folder, 'networks.json'), JSON.stringify({ networks: [network] }));
  writeFileSync(join(folder, 'token'), TOKEN, { mode: 0o600 });
  await sql`insert into operator (operator_id, name, role, token_hash) values ('me', 'me', 'ADMIN', ${hashOperatorToken(TOKEN)})`.execute(
    admin,
  );
  await sql`insert into hot_wallet (family, address) values ('TRON', ${wallet})`.execute(admin);
  await sql`select book_top_up(${`${CHAIN}:0x1:USDT`}, ${CHAIN}, 'USDT', ${1_000_000n * USDT})`.execute(
    admin,
  );
  const sender = createTronSender(network, {
    backend: {
      addresses: [wallet],
      sign: (_, digest) => Promise.resolve(signHash(digest, Buffer.from(privateKeyHex, 'hex'))),
    },
  });
  const [source] = createTronSources(network, {}).all();
  const usdt = devnet.tokens.USDT;
  let uniqueMs = Date.now();

  /** Where the scanner stands: at the solid block, as if it had verified all. */
  async function verify(): Promise<void> {
    const { solid, head } = devnet.control.summary();
    const [before, last, top] = await Promise.all(
      [solid - 1, solid, head].map((height) => readHeader(source!, {}, height)),
    );
    for (const { height, hash, parentHash, timeSeconds } of [before!, last!, top!])
      await sql`insert into block (chain, height, hash, parent_hash, block_time)
        values (${CHAIN}, ${height}, ${hash}, ${parentHash}, to_timestamp(${timeSeconds})) on conflict do nothing`.execute(
        admin,
      );
    const { height, hash, timeSeconds } = last!;
    await sql`insert into chain_cursor (chain, family, head_height, head_hash, head_time, finalized_height, seen_height, seen_hash,
        verified_height, verified_hash, verified_time, fencing_token)
      values (${CHAIN}, 'TRON', ${top!.height}, ${top!.hash}, to_timestamp(${top!.timeSeconds}), ${height}, ${top!.height}, ${top!.hash},
        ${height}, ${hash}, to_timestamp(${timeSeconds}), 1)
      on conflict (chain) do update set head_height = excluded.head_height, head_hash = excluded.head_hash,
        head_time = excluded.head_time, finalized_height = excluded.finalized_height, seen_height = excluded.seen_height,
        seen_hash = excluded.seen_hash, verified_height = excluded.verified_height, verified_hash = excluded.verified_hash,
        verified_time = excluded.verified_time`.execute(admin);
  }

  const books: TronBooks = {
    devnet,
    admin,
    wallet,
    async payout(amount = 5n * USDT) {
      const order = await aPayout(admin, {
        chain: CHAIN,
        family: 'TRON',
        symbol: 'USDT',
        contract_address: usdt,
        decimals: 6,
        amount,
        accepted_amount: amount,
        address: nobody(),
        source_address: wallet,
      });
      await sql`select reserve(${order.order_pk})`.execute(admin);
      return order;
    },
    async sign(pays) {
      const intent = {
        from: wallet,
        contract: usdt as unknown as PaymentIntent['contract'],
        to: nobody(),
        amountBaseUnits: baseUnits(5n * USDT),
        ...pays,
      };
      const { solid, headTimeMs } = devnet.control.summary();
      const { height, hash } = await readHeader(source!, {}, solid);
      uniqueMs += 1;
      const validity = { expiresMs: headTimeMs + sender.validForMs, uniqueMs, reference: { height, hash } };
      const feeLimit = intent.contract === null ? 0n : 50_000_000n;
      return { ...(await sender.sign(intent, validity, feeLimit)), intent };
    },
    signFor: ({ address: to, amount }) =>
      books.sign({ to: to as Address, amountBaseUnits: baseUnits(amount) }),
    async send(signed) {
      const [outcome] = await sender.broadcast([signed]);
      if (outcome !== 'ACCEPTED') throw new Error(`not taken: ${outcome}`);
    },
    async store(order, { txHash, raw, validity }) {
      const terms = JSON.stringify({ feeLimit: '50000000', cost: '60000000' });
      await admin.transaction().execute(async (tx) => {
        await sql`update payout set state = 'AUTHORISED', authorised_at = now(), waiting_since = null where order_pk = ${order.order_pk}`.execute(
          tx,
        );
        await sql`update payout set state = 'SIGNED' where order_pk = ${order.order_pk}`.execute(tx);
        await sql`insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address,
            amount, raw, fee_terms, signed_at)
          values (${CHAIN}, ${txHash}, 'TRON', ${wallet}, null, 'PAYOUT', ${order.order_pk}, ${usdt}, ${order.address}, ${order.amount},
            ${Buffer.from(raw)}, ${terms}::jsonb, now())`.execute(tx);
        await sql`insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash)
          values (${CHAIN}, ${txHash}, ${wallet}, ${order.order_pk}, ${validity.uniqueMs}, ${validity.expiresMs},
            ${validity.reference.height}, ${validity.reference.hash})`.execute(tx);
      });
    },
    async recordVerified({ txHash, intent: { amountBaseUnits } }) {
      await sql`insert into own_transaction_fate (chain, tx_hash, family, state, block_height, block_hash, block_time, succeeded,
          delivered, network_fee)
        values (${CHAIN}, ${txHash}, 'TRON', 'VERIFIED', 5, 'b', now(), true, ${amountBaseUnits.toString()}::numeric, 1)`.execute(
        admin,
      );
    },
    async mine(blocks = 1) {
      await devnet.control.mine(blocks);
      await verify();
    },
    passExpiry: () => books.mine(Math.ceil(sender.validForMs / 3_000) + SOLID_LAG_BLOCKS + 2),
    async restore(hoursAgo) {
      const client = new pg.Client({ connectionString: database.adminUrl });
      await client.connect();
      await client.query('begin');
      const manifest = { backupId: 'b', takenAt: new Date().toISOString() };
      await holdAfterRestore(client, { restoreId: crypto.randomUUID(), manifest, jumps: [], wallets: [] });
      await client.query('commit');
      await client.end();
      await books.age(hoursAgo);
    },
    async age(hours) {
      await sql`update restoration set restored_at = restored_at - make_interval(hours => ${hours})`.execute(
        admin,
      );
    },
    async opentill(...args) {
      const [out, errors]: [string[], string[]] = [[], []];
      const code = await runCli(args, {
        env: {
          DATABASE_ADMIN_URL: database.adminUrl,
          NETWORKS_FILE: join(folder, 'networks.json'),
          OPS_TOKEN_FILE: join(folder, 'token'),
        },
        clock: { now: () => new Date() },
        print: (line) => out.push(line),
        printError: (line) => errors.push(line),
        askSecret: async () => '',
      });
      return { code, out: out.join('\n'), errors: errors.join('\n') };
    },
    async close() {
      await adminDatabase.close();
      await database.drop();
      await devnet.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await verify();
  return books;
}

function networkOf(devnet: TronDevnet): NetworkConfig {
  const token = { displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: CHAIN,
    family: 'TRON',
    enabled: true,
    genesisId: devnet.chainId,
    name: 'devnet',
    rpcUrls: [devnet.url],
    nativeSymbol: 'TRX',
    nativeDecimals: 6,
    confirmations: 'finalized',
    blockTimeMs: 3_000,
    pollIntervalMs: 1_000,
    reorgWindow: 60,
    maxBlockRange: 50,
    tokens: [
      { symbol: 'USDT', contract: devnet.tokens.USDT, decimals: 6, ...token },
      { symbol: 'TRX', contract: null, decimals: 6, ...token },
    ],
    payouts: {
      maxOpenPayouts: 32,
      expirationSeconds: 60,
      maxFeeLimitSun: '100000000',
      energyMarginPercent: 30,
    },
  };
}
