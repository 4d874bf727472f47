import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { holdAfterRestore } from '@opentill/db/backup/hold-after-restore';
import type { Db } from '@opentill/db/database';
import { hashOperatorToken, newOperatorToken } from '@opentill/db/operators';
import type { OrderRow } from '@opentill/testkit/scenario';
import { runCli } from '../src/run-cli.ts';

export interface RestoredBooks {
  /** Applies the changes of a restore to the current database. */
  restore(): Promise<void>;
  age(hours: number): Promise<void>;
  opentill(...args: readonly string[]): Promise<{ code: number; out: string; errors: string }>;
  close(): void;
}

export async function createRestoredBooks(
  { adminUrl }: { readonly adminUrl: string },
  admin: Db,
  networks: string,
): Promise<RestoredBooks> {
  const folder = mkdtempSync(join(tmpdir(), 'opentill-restore-'));
  const token = newOperatorToken('me');
  writeFileSync(join(folder, 'networks.json'), networks);
  writeFileSync(join(folder, 'token'), token, { mode: 0o600 });
  await sql`insert into operator (operator_id, name, role, token_hash) values ('me', 'me', 'ADMIN', ${hashOperatorToken(token)})`.execute(
    admin,
  );
  return {
    async restore() {
      const client = new pg.Client({ connectionString: adminUrl });
      await client.connect();
      await client.query('begin');
      const manifest = { backupId: 'b', takenAt: new Date().toISOString() };
      await holdAfterRestore(client, { restoreId: randomUUID(), manifest, jumps: [], wallets: [] });
      await client.query('commit');
      await client.end();
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
          DATABASE_ADMIN_URL: adminUrl,
          OPS_DATABASE_URL: adminUrl,
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
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The signer stores this before it sends. */
export interface StoredAttempt {
  readonly chain: string;
  readonly family: string;
  readonly wallet: string;
  readonly contract: string;
  readonly txHash: string;
  readonly raw: Uint8Array;
  /** In the wallet's native coin, base units. */
  readonly cost: string;
  readonly validity: {
    readonly uniqueMs: number;
    readonly expiresMs: number;
    readonly reference: { readonly height: number; readonly hash: string };
    readonly epochs?: { readonly first: number; readonly last: number };
  };
}

export async function storeAttempt(admin: Db, order: OrderRow, attempt: StoredAttempt): Promise<void> {
  const { chain, family, wallet, contract, txHash, raw, cost, validity } = attempt;
  const { uniqueMs, expiresMs, reference, epochs } = validity;
  const terms = JSON.stringify({ feeLimit: '50000000', cost });
  await admin.transaction().execute(async (tx) => {
    await sql`update payout set state = 'AUTHORISED', authorised_at = now(), waiting_since = null where order_pk = ${order.order_pk}`.execute(
      tx,
    );
    await sql`update payout set state = 'SIGNED' where order_pk = ${order.order_pk}`.execute(tx);
    await sql`insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address,
        amount, raw, fee_terms, signed_at)
      values (${chain}, ${txHash}, ${family}, ${wallet}, null, 'PAYOUT', ${order.order_pk}, ${contract}, ${order.address}, ${order.amount},
        ${Buffer.from(raw)}, ${terms}::jsonb, now())`.execute(tx);
    await sql`insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash,
        first_epoch, last_epoch)
      values (${chain}, ${txHash}, ${wallet}, ${order.order_pk}, ${uniqueMs}, ${expiresMs}, ${reference.height}, ${reference.hash},
        ${epochs?.first ?? null}, ${epochs?.last ?? null})`.execute(tx);
  });
}
