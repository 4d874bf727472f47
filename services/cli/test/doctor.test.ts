import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  payToken,
  setBlockTime,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { createByzantineRpcProxy, type ByzantineRpcOptions } from '@opentill/testkit/byzantine-rpc-proxy';
import { createTestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase } from '@opentill/testkit/test-database';
import type { Finding } from '../src/doctor/finding.ts';
import { runCli } from '../src/run-cli.ts';

const CHAIN_ID = 97;
const OTHER = { chain: 'POLYGON_AMOY', chainId: 80_002 };
const BLOCKS = 300;

let folder: string;
/** Has the tokens. Mines only on demand, so that two reads see the same head at any interval. */
let anvil: Anvil;
let other: Anvil;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-doctor-'));
  const start = async (name: string, chainId: number) =>
    startAnvil({ dir: join(folder, name), port: await findFreePort(), chainId, blockTimeSeconds: 1 });
  [anvil, other] = await Promise.all([start('anvil', CHAIN_ID), start('other', OTHER.chainId)]);
  await deployDevTokens({ rpcUrl: anvil.rpcUrl, usdtDecimals: 18, usdcDecimals: 6 });
  await Promise.all([anvil, other].map(({ rpcUrl }) => setBlockTime(rpcUrl, 0)));
  await callRpc(anvil.rpcUrl, 'anvil_mine', [`0x${BLOCKS.toString(16)}`, '0x1']);
  await payAndMine();
});
afterAll(async () => {
  await Promise.all([anvil.stop('kill'), other.stop('kill')]);
  rmSync(folder, { recursive: true, force: true });
});

async function payAndMine(): Promise<void> {
  const { rpcUrl } = anvil;
  const to = devAccount(7).address;
  const fromKey = devAccount(1).privateKey;
  await payToken({ rpcUrl, token: DEV_TOKEN_ADDRESSES.USDT, to, amountBaseUnits: 5n, fromKey });
  await callRpc(rpcUrl, 'anvil_mine', ['0x5', '0x1']);
}

/** `changes` override the values of the first chain. */
function networksFile(changes: object = {}): string {
  const limits = { displayDecimals: 2, minAmount: null, maxAmount: null };
  const network = {
    chain: 'BSC_TEST',
    family: 'EVM',
    enabled: true,
    chainId: CHAIN_ID,
    name: 'devnet',
    rpcUrls: [anvil.rpcUrl],
    nativeSymbol: 'tBNB',
    nativeDecimals: 18,
    confirmations: 'finalized',
    blockTimeMs: 1_000,
    pollIntervalMs: 250,
    reorgWindow: 64,
    maxBlockRange: 200,
    bloom: true,
    tokens: [
      { symbol: 'USDT', contract: DEV_TOKEN_ADDRESSES.USDT, decimals: 18, ...limits },
      { symbol: 'USDC', contract: DEV_TOKEN_ADDRESSES.USDC, decimals: 6, ...limits },
    ],
    ...changes,
  };
  const file = join(folder, 'networks.json');
  writeFileSync(file, JSON.stringify({ networks: [network] }));
  return file;
}

interface Examined {
  readonly code: number;
  readonly out: readonly string[];
  readonly errors: readonly string[];
  of(check: string, subject?: string): Finding | undefined;
}

async function doctor(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Examined> {
  const out: string[] = [];
  const errors: string[] = [];
  // Blocks that are mined together are a second apart, so the chain is ahead of the clock.
  const head = (await callRpc(anvil.rpcUrl, 'eth_getBlockByNumber', ['latest', false])) as {
    timestamp: string;
  };
  const code = await runCli(['doctor', ...args], {
    env,
    clock: { now: () => new Date(Number(head.timestamp) * 1_000) },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => '',
  });
  const findings = args.includes('--json')
    ? (JSON.parse(out.join('\n')) as { sections: { findings: Finding[] }[] }).sections.flatMap(
        (s) => s.findings,
      )
    : [];
  return {
    code,
    out,
    errors,
    of: (check, subject) =>
      findings.find((each) => each.check === check && (subject === undefined || each.subject === subject)),
  };
}
const examine = (changes: object, env: Readonly<Record<string, string>> = {}): Promise<Examined> =>
  doctor([networksFile(changes), '--json'], env);

async function throughProxy<T>(
  options: Omit<ByzantineRpcOptions, 'upstreamUrl' | 'seed'>,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const proxy = await createByzantineRpcProxy({ upstreamUrl: anvil.rpcUrl, seed: 1, ...options });
  try {
    return await work(proxy.url);
  } finally {
    await proxy.close();
  }
}
const hostOf = (url: string): string => new URL(url).host;

describe('opentill doctor for a network', () => {
  it('prints its observations for a healthy network', async () => {
    const file = networksFile({
      rpcUrls: [anvil.rpcUrl, anvil.rpcUrl.replace('127.0.0.1', 'localhost')],
      finality: { staleSeconds: 600 },
    });
    const { code, out, errors } = await doctor([file]);
    const text = out.join('\n');
    expect({ code, errors }).toEqual({ code: 0, errors: [] });
    expect(text).toMatch(/^BSC_TEST: devnet$/m);
    expect(text).toMatch(/ok +BSC_TEST +sources +2 of 2 endpoints are usable\./);
    expect(text).toMatch(/ok +BSC_TEST +same chain +All 2 endpoints name the same block [23]\d\d\./);
    expect(text).toMatch(/ok +127\.0\.0\.1:\d+ +head +Chain 97, block 3\d\d, -?\d+ s old\./);
    expect(text).toMatch(
      /ok +localhost:\d+ +finalized +Block \d+ is final, 64 blocks and \d+ s behind the head\./,
    );
    expect(text).toMatch(/batches +20 requests in one call were answered\./);
    expect(text).toMatch(
      /receipts +eth_getBlockReceipts returns 1 receipts for 1 transactions of block 3\d\d\./,
    );
    expect(text).toMatch(/eth_getLogs +The logs of 200 blocks come in one call\./);
    expect(text).toMatch(/bloom +The header's bloom of block 3\d\d matches its 1 logs\./);
    expect(text).toMatch(
      /ok +USDT +token +0x5FbDB2315678afecb367f032d93F642f64180aa3 has 18 decimals and calls itself USDT\./,
    );
    expect(text).toMatch(/^\d+ ok, 0 warn, 0 fail$/m);
  });

  it('receives a new head over the configured WebSocket', async () => {
    await setBlockTime(anvil.rpcUrl, 1);
    try {
      expect((await examine({ wsUrl: anvil.wsUrl })).of('new heads')).toMatchObject({
        outcome: 'ok',
        subject: new URL(anvil.wsUrl).host,
        detail: expect.stringMatching(/^A head came after \d+ ms\.$/),
      });
    } finally {
      await setBlockTime(anvil.rpcUrl, 0);
    }
  });

  it('names an endpoint of another chain and examines the other', async () => {
    const { code, errors, of } = await examine({ rpcUrls: [other.rpcUrl, anvil.rpcUrl] });
    expect(of('reached', hostOf(other.rpcUrl))).toMatchObject({
      outcome: 'fail',
      detail: 'The node serves chain id 80002, not 97.',
      mend: 'Put an endpoint of this network into rpcUrls, or correct chainId.',
    });
    expect(of('eth_getLogs', hostOf(anvil.rpcUrl))?.outcome).toBe('ok');
    expect(of('sources')).toMatchObject({ outcome: 'warn' });
    expect({ code, errors }).toEqual({ code: 1, errors: ['opentill: One check failed.'] });
  });

  it('names missing tokens and wrong decimals', async () => {
    const there = await examine({ ...OTHER, rpcUrls: [other.rpcUrl], maxBlockRange: 1 });
    expect(there.of('token', 'USDT')).toMatchObject({
      outcome: 'fail',
      detail: expect.stringMatching(/^There is no contract at 0x5FbDB/),
      mend: expect.stringMatching(/^Correct contract and decimals/),
    });
    expect(there.code).toBe(1);
    const limits = { displayDecimals: 2, minAmount: null, maxAmount: null };
    const usdt = { symbol: 'USDT', contract: DEV_TOKEN_ADDRESSES.USDT, decimals: 6, ...limits };
    const coin = { ...usdt, symbol: 'tBNB', contract: null, decimals: 18 };
    const wrong = await examine({ tokens: [usdt, coin] });
    expect(wrong.of('token', 'USDT')).toMatchObject({
      outcome: 'fail',
      detail: expect.stringMatching(/has 18 decimals, the networks file says 6\.$/),
    });
    expect(wrong.of('token', 'tBNB')?.outcome).toBe('ok');
  });

  it('measures the log range of a provider and suggests maxBlockRange', async () => {
    await throughProxy({ rangeCapBlocks: 10 }, async (url) => {
      const { code, of } = await examine({ rpcUrls: [anvil.rpcUrl, url] });
      expect(of('eth_getLogs', hostOf(url))).toMatchObject({
        outcome: 'warn',
        detail: expect.stringMatching(
          /^The logs of 10 blocks come in one call, those of 100 do not; the provider says: .*\b10\b/,
        ),
        mend: 'Set "maxBlockRange": 10 for this URL, so that larger ranges are not requested.',
      });
      expect(code).toBe(0);
      const written = await examine({ rpcUrls: [{ url, maxBlockRange: 10 }] });
      expect(written.of('eth_getLogs')).toMatchObject({ outcome: 'ok' });
    });
  });

  it('fails an endpoint that returns no logs', async () => {
    await throughProxy({ rangeCapBlocks: 0 }, async (url) => {
      const { code, of } = await examine({ rpcUrls: [url] });
      expect(of('eth_getLogs')).toMatchObject({
        outcome: 'fail',
        detail: expect.stringMatching(/^The logs of a single block are refused; the provider says: /),
      });
      expect(code).toBe(1);
    });
  });

  it('reports a lagging endpoint and an unreachable one', async () => {
    await throughProxy({ faults: { laggingNode: 1 }, lagBlocks: 20 }, async (url) => {
      const dead = 'http://127.0.0.1:1/secret';
      const { code, out, of } = await examine({ rpcUrls: [anvil.rpcUrl, url, dead] });
      expect(of('head', hostOf(url))).toMatchObject({
        outcome: 'warn',
        detail: expect.stringMatching(/, 20 blocks behind the best\.$/),
      });
      expect(of('reached', '127.0.0.1:1')).toMatchObject({
        outcome: 'fail',
        mend: 'Check the URL, and that the node runs.',
      });
      expect(out.join('\n')).not.toContain('secret');
      expect(code).toBe(1);
    });
  });

  it('compares the endpoints by a block and by each token', async () => {
    const isBlock = (params: readonly unknown[]): boolean => String(params[0]).startsWith('0x');
    const override: ByzantineRpcOptions['override'] = async ({ method, params }, honest) => {
      if (method === 'eth_getCode') return { result: '0x' };
      if (method !== 'eth_getBlockByNumber' || !isBlock(params)) return undefined;
      const block = (await honest({ method, params })) as object;
      return { result: { ...block, hash: `0x${'ab'.repeat(32)}` } };
    };
    await throughProxy({ override }, async (url) => {
      const { code, of } = await examine({ rpcUrls: [anvil.rpcUrl, url.replace('127.0.0.1', 'localhost')] });
      expect(of('same chain')).toMatchObject({
        outcome: 'fail',
        detail: expect.stringMatching(/^Block \d+ differs between endpoints \(.*localhost:\d+: 0xabab/),
      });
      const label = hostOf(url.replace('127.0.0.1', 'localhost'));
      expect(of('token', `USDT at ${label}`)).toMatchObject({ outcome: 'fail' });
      expect(of('token', 'USDT')).toBeUndefined();
      expect(code).toBe(1);
    });
  });

  it('counts only endpoints that a scanner can use', async () => {
    await throughProxy({ rangeCapBlocks: 0 }, async (url) => {
      const { of } = await examine({ rpcUrls: [anvil.rpcUrl, url.replace('127.0.0.1', 'localhost')] });
      expect(of('sources')).toMatchObject({ outcome: 'warn', detail: '1 of 2 endpoints are usable.' });
      const single = await examine({ rpcUrls: [url] });
      expect(single.of('sources')).toMatchObject({ outcome: 'fail', detail: 'No endpoint is usable.' });
    });
  });

  it('names the consequence of stalled finality', async () => {
    const holding = await examine({ finality: { staleSeconds: 5 } });
    expect(holding.of('finalized')).toMatchObject({
      outcome: 'fail',
      mend: expect.stringMatching(/newer payments are not credited until it does\.$/),
    });
    const falling = await examine({ finality: { staleSeconds: 5, fallbackDepth: 40 } });
    expect(falling.of('finalized')).toMatchObject({
      outcome: 'warn',
      mend: expect.stringMatching(/payments are credited at a depth of 40 blocks\.$/),
    });
  });

  it.each([
    ['safe', { finality: { tag: 'safe', staleSeconds: 3_600 }, reorgWindow: 1_800 }],
    ['finalized', { dataFee: 'op-stack' }],
  ])('fails at an endpoint that answers %s with its newest block', async (tag, changes) => {
    const newest: ByzantineRpcOptions['override'] = async ({ method, params }, honest) =>
      method === 'eth_getBlockByNumber' && params[0] === tag
        ? { result: await honest({ method, params: ['latest', params[1]] }) }
        : undefined;
    await throughProxy({ override: newest }, async (url) => {
      expect((await examine({ ...changes, rpcUrls: [url] })).of(tag)).toMatchObject({
        outcome: 'fail',
        mend: `This node answers ${tag} with its newest block: use another endpoint.`,
      });
      expect((await examine(changes)).of(tag)).toMatchObject({ outcome: 'ok' });
    });
  });

  it('reads no logs when only the native coin is configured', async () => {
    const limits = { displayDecimals: 2, minAmount: null, maxAmount: null };
    const tokens = [{ symbol: 'tBNB', contract: null, decimals: 18, ...limits }];
    await throughProxy({ rangeCapBlocks: 0 }, async (url) => {
      const { of } = await examine({ rpcUrls: [url], tokens });
      expect(of('eth_getLogs')).toMatchObject({ outcome: 'ok', detail: expect.stringMatching(/^No token/) });
    });
  });

  it('fails an endpoint with incomplete receipts', async () => {
    await payAndMine();
    await throughProxy({ faults: { blockReceiptsShort: 1, falseEmpty: 1 } }, async (url) => {
      const { code, of } = await examine({ rpcUrls: [url] });
      expect(of('receipts')).toMatchObject({
        outcome: 'fail',
        detail: expect.stringMatching(
          /^eth_getBlockReceipts returns 0 receipts for 1 transactions of block \d+\.$/,
        ),
      });
      expect(of('bloom')).toMatchObject({
        outcome: 'fail',
        detail: expect.stringMatching(/does not match its 0 logs/),
      });
      expect(code).toBe(1);
    });
  });

  it('prices payouts of the network file and warns when they have to wait', async () => {
    const payouts = (maxFeePerGas: string, maxPriorityFeePerGas: string): object => ({
      payouts: {
        maxOpenNonces: 16,
        minPriorityFeePerGas: '1',
        maxPriorityFeePerGas,
        maxFeePerGas,
        bumpAfterSeconds: 10,
      },
    });
    const run = async (changes: object): Promise<Finding | undefined> => (await examine(changes)).of('fees');
    expect(await run({})).toBeUndefined();
    const priced = await run(payouts('500000000000', '10000000000'));
    expect(priced).toMatchObject({ outcome: 'ok' });
    expect(priced?.detail).toMatch(
      /^A payout costs \d+(?:\.\d+)? gwei per gas and a tip of \d+(?:\.\d+)?\.$/,
    );
    expect(await run(payouts('1', '1'))).toMatchObject({
      outcome: 'warn',
      mend: 'Payouts wait: maxFeePerGas is 0.000000001 gwei; raise it or wait.',
    });
    const liar = await createByzantineRpcProxy({
      upstreamUrl: anvil.rpcUrl,
      seed: 1,
      override: async ({ method }) =>
        method === 'eth_feeHistory'
          ? { error: { code: -32601, message: 'the method eth_feeHistory does not exist' } }
          : undefined,
    });
    try {
      const missing = await run({ ...payouts('500000000000', '10000000000'), rpcUrls: [liar.url] });
      expect(missing).toMatchObject({ outcome: 'warn', mend: 'Use an endpoint that offers it.' });
    } finally {
      await liar.close();
    }
  });

  it('reports an old head as a stuck node', async () => {
    const { of } = await examine({ rpcUrls: [other.rpcUrl], ...OTHER });
    expect(of('head')).toMatchObject({ outcome: 'fail', mend: expect.stringMatching(/older than 30 s/) });
  });

  it('needs no finalized block or bloom when the network does not use them', async () => {
    const { of } = await examine({ confirmations: 3, bloom: false, wsUrl: 'ws://127.0.0.1:1' });
    expect(of('finalized')?.outcome).toBe('ok');
    expect(of('bloom')).toMatchObject({
      outcome: 'ok',
      detail: expect.stringMatching(/this network does not use it\.$/),
    });
    expect(of('new heads')).toMatchObject({ outcome: 'warn', detail: 'The connection failed.' });
    expect(of('sources')).toMatchObject({ outcome: 'warn', detail: 'One endpoint is configured.' });
  });

  it('examines enabled networks, or the one that is named', async () => {
    const file = networksFile({ enabled: false });
    expect((await doctor([file])).out.join()).toBe('0 ok, 0 warn, 0 fail');
    expect((await doctor([file, '--chain', 'BSC_TEST', '--json'])).of('head')?.outcome).toBe('ok');
    expect(await doctor(['--chain', 'ETH'], { NETWORKS_FILE: file })).toMatchObject({
      code: 1,
      errors: [expect.stringMatching(/^opentill: ETH is not configured in .*networks\.json\.$/)],
    });
    const replaced = await doctor([file, '--chain', 'BSC_TEST', '--json'], {
      BSC_TEST_RPC_URLS: other.rpcUrl,
    });
    expect(replaced.of('reached', hostOf(other.rpcUrl))?.outcome).toBe('fail');
  });
});

describe('opentill doctor for the deployment', () => {
  it('reports missing migrations, roles and queues', async () => {
    const [database, broker, bare] = await Promise.all([
      createTestDatabase(),
      createTestBroker(),
      createTestBroker({ declare: false }),
    ]);
    const empty = new URL(database.adminUrl);
    empty.pathname = '/postgres';
    const networks = { rpcUrls: [anvil.rpcUrl] };
    try {
      const well = await examine(networks, { OPS_DATABASE_URL: database.url('ops'), AMQP_URL: broker.url });
      expect(well.of('reached', 'database')).toMatchObject({
        outcome: 'ok',
        detail: expect.stringMatching(/^Postgres \d\d, as opentill_ops\.$/),
      });
      for (const check of ['migrations', 'roles', 'queues']) expect(well.of(check)?.outcome).toBe('ok');
      expect(well.code).toBe(0);

      const ill = await examine(networks, { DATABASE_ADMIN_URL: empty.href, AMQP_URL: bare.url });
      expect(ill.of('migrations')).toMatchObject({ outcome: 'fail', mend: 'Run opentill setup.' });
      expect(ill.of('queues')).toMatchObject({
        outcome: 'fail',
        detail: expect.stringMatching(/^Missing: opentill\.events, opentill\.dead, .*\.dead\.$/),
      });
      expect(ill.code).toBe(1);

      const admin = database.open('admin');
      await admin.pool.query(`insert into schema_migration (name, checksum) values ('9999-later', 'x')`);
      const later = await examine(networks, { OPS_DATABASE_URL: database.url('ops') });
      expect(later.of('migrations')).toMatchObject({
        outcome: 'fail',
        detail: expect.stringMatching(/9999-later/),
      });

      await admin.pool.query(
        `insert into schema_migration (name, checksum) values ('0001-foundations', 'x')`,
      );
      await admin.close();
      const before = await examine(networks, { OPS_DATABASE_URL: database.url('ops') });
      expect(before.of('migrations')).toMatchObject({
        outcome: 'fail',
        detail: expect.stringMatching(/version before 0\.1\.0/),
        mend: 'Start with a new, empty database.',
      });

      const dead = {
        OPS_DATABASE_URL: 'postgres://x:secret@127.0.0.1:1/x',
        AMQP_URL: 'amqp://x:secret@127.0.0.1:1',
      };
      const nothing = await examine(networks, dead);
      expect(nothing.of('reached', 'database')?.outcome).toBe('fail');
      expect(nothing.of('reached', 'broker')?.outcome).toBe('fail');
      expect(nothing.out.join('\n')).not.toContain('secret');
    } finally {
      await Promise.all([database.drop(), broker.drop(), bare.drop()]);
    }
  });
});
