import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { newId } from '@opentill/runtime/ids';
import {
  aChainCursor,
  aCollection,
  aHash,
  aHotWallet,
  aMerchant,
  aPayout,
  type OrderRow,
} from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { approvalText, verifyApproval } from '@opentill/wallet/policy/approval';
import { createApproverKey } from '@opentill/wallet/policy/approver-key';
import { startTestOps, TEST_NETWORKS, type TestOps } from '../../ops/test/support/test-ops.ts';
import { runCli } from '../src/run-cli.ts';

const PASSPHRASE = 'a passphrase of the tests';
const COST = 2;
const USDT = '0x5fbdb2315678afecb367f032d93f642f64180aa3';

let testDatabase: TestDatabase;
let admin: Database;
let ops: TestOps;
let directory: string;
const path = (name: string) => join(directory, name);

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  admin = testDatabase.open('admin');
  directory = mkdtempSync(join(tmpdir(), 'opentill-ops-cli-'));
  writeFileSync(path('networks.json'), JSON.stringify({ networks: TEST_NETWORKS }));
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await ops.stop();
  await admin.close();
  await testDatabase.drop();
});

async function opentill(
  args: string,
  more: { env?: Record<string, string>; answers?: readonly string[]; rest?: readonly string[] } = {},
) {
  const [out, errors, answers]: [string[], string[], string[]] = [[], [], [...(more.answers ?? [])]];
  const code = await runCli([...args.split(' '), ...(more.rest ?? [])], {
    env: more.env ?? {
      OPS_URL: ops.url,
      OPS_TOKEN_FILE: path('token'),
      NETWORKS_FILE: path('networks.json'),
    },
    clock: { now: () => new Date() },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => answers.shift() ?? '',
    keystoreCost: COST,
  });
  return { code, out, errors };
}

describe('opentill operator', () => {
  it('writes the first operator to the database, once, with a private token file', async () => {
    const env = { OPS_DATABASE_URL: testDatabase.url('ops') };
    const asViewer = await opentill('operator create --id root --role viewer', { env });
    expect(asViewer.errors).toEqual([expect.stringMatching(/first operator must be an administrator/)]);
    const first = await opentill(`operator create --id root --role admin --token-file ${path('token')}`, {
      env,
    });
    expect(first).toMatchObject({ code: 0, errors: [], out: [`The token is in ${path('token')}.`] });
    expect(statSync(path('token')).mode & 0o777).toBe(0o600);
    const second = await opentill(`operator create --id other --role admin --token-file ${path('none')}`, {
      env,
    });
    expect(second).toMatchObject({ code: 1, errors: [expect.stringMatching(/Operators already exist/)] });
    expect(() => statSync(path('none'))).toThrow(/ENOENT/);
    const over = await opentill(`operator create --id more --role viewer --token-file ${path('token')}`, {
      env,
    });
    expect(over).toMatchObject({ code: 1, errors: [expect.stringMatching(/EEXIST/)] });
    expect(await admin.kysely.selectFrom('audit_entry').select(['operator', 'action']).execute()).toEqual([
      { operator: 'root', action: 'createOperator' },
    ]);
    ops = await startTestOps(testDatabase);
  });

  it('creates, changes and lists other operators through the ops service', async () => {
    const made = await opentill('operator create --id zoe --role support', { rest: ['--name', 'Zoe B.'] });
    expect(made.out[0]).toMatch(/^token {2}zoe\.[\w-]{43}$/);
    expect((await opentill('operator set zoe --role finance --disabled')).out).toEqual([
      'zoe is FINANCE, disabled; in force at once.',
    ]);
    expect((await opentill('operator list')).out).toContainEqual(
      expect.stringMatching(/^zoe\tFINANCE\tdisabled since .*\tZoe B\.$/),
    );
    expect((await opentill('operator set root --role viewer')).errors[0]).toMatch(
      /Another administrator must/,
    );
    expect((await opentill('audit --operator root --refused')).out[0]).toMatch(
      /\troot\tsetOperator\tREFUSED\troot\t/,
    );
    expect((await opentill(`operator rotate --token-file ${path('next')}`)).code).toBe(0);
    expect((await opentill('operator list')).errors).toEqual([
      'opentill: The token is unknown or was replaced.',
    ]);
    writeFileSync(path('token'), readFileSync(path('next')));
    expect((await opentill('operator list')).code).toBe(0);
  });

  it('recovers an administrator through the database and audits it', async () => {
    const env = { OPS_DATABASE_URL: testDatabase.url('ops') };
    const nobody = await opentill('operator recover nobody', { env });
    expect(nobody).toMatchObject({ code: 1, out: [], errors: ['opentill: There is no operator nobody.'] });
    const recovered = await opentill(`operator recover zoe --token-file ${path('zoe')}`, { env });
    expect(recovered).toMatchObject({ code: 0, errors: [] });
    const asZoe = { OPS_URL: ops.url, OPS_TOKEN_FILE: path('zoe') };
    const entries = (await opentill('audit --action recoverOperator', { env: asZoe })).out;
    expect(entries).toEqual([
      expect.stringMatching(
        /\tdatabase:opentill_ops\trecoverOperator\tDONE\tzoe\t.*"roleBefore":"FINANCE".*"wasDisabled":true|"wasDisabled":true.*"roleBefore":"FINANCE"/,
      ),
    ]);
    expect((await opentill('operator set zoe --role finance --disabled')).code).toBe(0);
  });
});

describe('opentill payout', () => {
  let payout: OrderRow;

  beforeAll(async () => {
    await aMerchant(admin.kysely, { merchantId: 'shop' });
    await aHotWallet(admin.kysely);
    const contract = { order_pk: newId(), merchant_id: 'shop', contract_address: USDT };
    payout = await aPayout(admin.kysely, contract);
    await sql`select reserve(${payout.order_pk}::uuid)`.execute(admin.kysely);
    await admin.kysely.updateTable('payout').set({ waiting_since: new Date() }).execute();
    writeFileSync(path('passphrase'), PASSPHRASE, { mode: 0o600 });
  });

  it('lists a payout, shows it in words and approves it with an approver’s key', async () => {
    const publicKey = await createApproverKey(path('approver.json'), PASSPHRASE, COST);
    expect((await opentill('payout list --waiting')).out).toEqual([
      expect.stringContaining(`250.00 USDT\t${payout.address}\tshop`),
    ]);
    const approve = `payout approve ${payout.order_pk} --key-file ${path('approver.json')}`;
    const no = await opentill(approve, { answers: ['no'] });
    expect(no.errors).toEqual(['opentill: Not approved; nothing was signed.']);
    expect(no.out).toEqual([
      'Pay    250.00 USDT on ETH_SEPOLIA (ETH_SEPOLIA)',
      `to     ${payout.address}`,
      `from   ${payout.source_address}`,
      `for    merchant shop, payout ${payout.order_pk}`,
      `token  ${USDT}`,
    ]);
    expect((await opentill(approve, { answers: ['yes', 'a wrong passphrase'] })).code).toBe(1);
    expect(await admin.kysely.selectFrom('payout_approval').selectAll().execute()).toEqual([]);
    const yes = await opentill(approve, { answers: ['yes', PASSPHRASE] });
    expect(yes).toMatchObject({ code: 0, errors: [] });
    expect(yes.out.at(-1)).toMatch(/^Approved: 1 approval received; the payout is REQUESTED/);
    const row = await admin.kysely.selectFrom('payout_approval').selectAll().executeTakeFirstOrThrow();
    const text = approvalText({
      chain: payout.chain,
      wallet: payout.source_address as never,
      contract: USDT,
      symbol: 'USDT',
      amountBaseUnits: payout.amount,
      receiver: payout.address as never,
      merchantId: 'shop',
      orderPk: payout.order_pk,
    });
    expect(verifyApproval(publicKey, text, row.signature)).toBe(true);
  });

  it('signs no approval when the approver’s network file has another token', async () => {
    const other = TEST_NETWORKS.map((network) => ({
      ...network,
      tokens: network.tokens.map((token) => ({ ...token, contract: payout.address })),
    }));
    writeFileSync(path('other.json'), JSON.stringify({ networks: other }));
    const env = { OPS_URL: ops.url, OPS_TOKEN_FILE: path('token'), NETWORKS_FILE: path('other.json') };
    const run = await opentill(
      `payout approve ${payout.order_pk} --yes --passphrase-file ${path('passphrase')} --key-file ${path('approver.json')}`,
      { env },
    );
    expect(run).toMatchObject({
      code: 1,
      out: [],
      errors: [expect.stringMatching(/differs from .*other\.json/)],
    });
  });

  it('vetoes a payout', async () => {
    const { out } = await opentill(`payout veto ${payout.order_pk} --reason fraud`);
    expect(out[0]).toMatch(/^Vetoed\. The payout is REQUESTED/);
    expect((await opentill(`payout show ${payout.order_pk}`)).out).toContainEqual(
      expect.stringMatching(/^veto\t\{"operator":"root","reason":"fraud"/),
    );
  });
});

describe('opentill halt, hold, incident, chain, orders and export', () => {
  it('sets, lists and releases halts, holds and pauses', async () => {
    const set = await opentill('halt set --chain ETH_SEPOLIA --reason drill');
    expect(set.out[0]).toMatch(/^No new transaction is signed on ETH_SEPOLIA/);
    const [line] = (await opentill('halt list')).out;
    const haltId = line!.split('\t')[0]!;
    expect((await opentill(`halt release ${haltId} --reason over`)).out[0]).toMatch(/^Released/);
    expect((await opentill('halt list')).out).toEqual([]);
    expect((await opentill('halt list --all')).out).toHaveLength(1);
    await opentill('hold set --chain ETH_SEPOLIA --symbol USDT --reason depeg');
    const holdId = (await opentill('hold list')).out[0]!.split('\t')[0]!;
    expect((await opentill(`hold release ${holdId} --reason over`)).code).toBe(0);
    expect((await opentill('halt set --chain DOGE --reason x')).errors[0]).toMatch(
      /DOGE is not in the network file/,
    );
    await aChainCursor(admin.kysely, { head_height: 110 });
    await opentill('chain pause ETH_SEPOLIA --reason upgrade');
    expect((await opentill('chain list')).out[0]).toMatch(
      /^ETH_SEPOLIA\tenabled\tpaused: upgrade\tread to 100 \(10 behind\).*paused by root: upgrade/,
    );
    expect((await opentill('chain resume ETH_SEPOLIA --reason done')).code).toBe(0);
    await sql`insert into chain_status (chain, service, state, reason)
      values ('ETH_SEPOLIA', 'SCANNER', 'HALTED', 'REORG_TOO_DEEP')`.execute(admin.kysely);
    expect((await opentill('chain list')).out[0]).toMatch(
      /^ETH_SEPOLIA\tenabled\thalted: REORG_TOO_DEEP\tread to 100/,
    );
    await sql`delete from chain_status`.execute(admin.kysely);
  });

  it('lists top-ups that were booked by hand and reverses one once', async () => {
    const ref = `ETH_SEPOLIA:${aHash()}:USDT`;
    await sql`select book_top_up(${ref}, 'ETH_SEPOLIA', 'USDT', 5000000)`.execute(admin.kysely);
    const listed = async (options: string) => {
      const { out } = await opentill(`wallet list-top-ups ${options}`);
      return out.filter((line) => line.startsWith(`${ref}\t`));
    };
    expect(await listed('--chain ETH_SEPOLIA')).toEqual([expect.stringMatching(/\tUSDT\t.*\tOPEN$/)]);
    const reverse = () => opentill(`wallet reverse-top-up --ref ${ref} --reason mistyped`);
    expect((await reverse()).out).toEqual(['Reversed 5000000 base units of USDT on ETH_SEPOLIA.']);
    expect((await reverse()).out).toEqual(['Already reversed; nothing changed.']);
    expect(await listed('--chain ETH_SEPOLIA')).toEqual([]);
    expect(await listed('--all')).toEqual([expect.stringMatching(/\tREVERSED$/)]);
  });

  it('finds and accepts an order', async () => {
    const order = await aCollection(admin.kysely, {
      order_pk: newId(),
      merchant_id: 'shop',
      status: 'EXPIRED',
    });
    const found = await opentill(`orders list --address ${order.address} --status expired`);
    expect(found.out).toEqual([expect.stringContaining(order.order_pk)]);
    expect((await opentill(`orders accept ${order.order_pk} --reason late`)).out[0]).toMatch(/^Decided/);
    expect((await opentill(`explain ${order.order_id}`)).out).toContainEqual(
      expect.stringMatching(/ACCEPT by root .*waits for the tracker \(late\)/),
    );
    expect((await opentill('orders list --limit 0')).errors[0]).toMatch(/--limit must be/);
  });

  it('writes an export completely or not at all', async () => {
    const time = '--from 1h --until 2100-01-01';
    const run = await opentill(`export orders ${time} --out ${path('orders.csv')}`);
    expect(run).toMatchObject({ code: 0, errors: [] });
    expect(readFileSync(path('orders.csv'), 'utf8')).toMatch(/^order_pk,.*\r\n[0-9a-f-]{36},shop,/);
    const again = await opentill(`export ledger ${time} --out ${path('orders.csv')}`);
    expect(again).toMatchObject({ code: 1, errors: [expect.stringMatching(/EEXIST/)] });
    expect(readFileSync(path('orders.csv'), 'utf8')).toMatch(/^order_pk,/);
  });
});
