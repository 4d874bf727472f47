import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { prepareCompose, type ComposeUnderTest } from '../src/compose-under-test.ts';
import {
  reachGateway,
  untilFunded,
  untilHealthy,
  type GatewayInContainers,
} from '../src/gateway-in-containers.ts';
import { commandLines, openGuideBook } from '../src/guide-book.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import type { SuiUnderTest } from '../src/sui-under-test.ts';
import { BUILD_LIMIT_MS, TEST_LIMIT_MS, WAIT_MS } from '../src/time-limits.ts';
import type { TronUnderTest } from '../src/tron-under-test.ts';

// Builds the images of docker-compose.yml and runs the gateway with its local chains: payments, moved scanners, restarts,
// backup and restore. Needs a Docker engine.

const SERVICES = [
  'api',
  'scanner-evm',
  'scanner-tron',
  'scanner-sui',
  'confirmation-tracker',
  'webhook-sender',
  'rates',
  'payout-signer',
  'ops',
] as const;
const PER_CHAIN = ['scanner-eth-sepolia', 'scanner-bsc-test'] as const;
const SCANNERS_FILE = 'scanners.devnet.yml';
/** First account of the mnemonic `abandon … about`. */
const TRON_RECEIVER = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH';
/** An address without a known key. */
const SUI_RECEIVER = `0x${'5e'.repeat(32)}`;
const PAYMENT_PAUSE_MS = 400;
const PAYMENTS_MIN = 20;

const book = openGuideBook('docker');
let docker: ComposeUnderTest;
let gateway: GatewayInContainers;
let chains: readonly ChainUnderTest[];
let tron: TronUnderTest;
let sui: SuiUnderTest;

beforeAll(async () => {
  docker = await prepareCompose();
  await docker.compose(['build'], [], BUILD_LIMIT_MS);
  await docker.compose(['up', '-d']);
  await untilHealthy(docker, SERVICES);
  await untilFunded(docker);
  gateway = await reachGateway(docker);
  ({ evm: chains, tron, sui } = gateway);
}, BUILD_LIMIT_MS + TEST_LIMIT_MS);

afterAll(async () => {
  await gateway?.close();
  await docker?.remove();
});

test('completes a collection and a payout on each chain, with their callbacks', async () => {
  const receivers = new Map<unknown, string>([
    [tron, TRON_RECEIVER],
    [sui, SUI_RECEIVER],
  ]);
  for (const chain of [...chains, tron, sui]) {
    const orderId = `in-${chain.chain}`;
    await chain.pay({ to: await gateway.order(orderId, chain), amount: '10' });
    await gateway.untilStatus(orderId, 'SUCCESS');
    const payoutId = `out-${chain.chain}`;
    const receiveAddress = receivers.get(chain) ?? devAccount(8).address;
    const before = await chain.balance('USDT', receiveAddress);
    await gateway.payOut(payoutId, chain, { receiveAddress, amount: '3' });
    await gateway.untilStatus(payoutId, 'SUCCESS');
    expect((await chain.balance('USDT', receiveAddress)) - before).toBe(chain.baseUnits('USDT', '3'));
    for (const paid of [orderId, payoutId]) {
      const last = async () => (await gateway.callbacksOf(paid)).at(-1)?.notifyType;
      await waitUntil(
        `the shop received the callback of ${paid}`,
        async () => (await last()) === 'ORDER_SUCCESS',
      );
    }
  }
  expect(await gateway.findProblems()).toEqual([]);
});

describe('containers', () => {
  test.each(SERVICES)(
    '%s has no privileges, no writable disk and no secret in its environment',
    async (service) => {
      const { Config, HostConfig } = await docker.inspect(service);
      expect(Config.User).toBe('1000:1000');
      expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'] });
      expect(HostConfig.Memory).toBeGreaterThan(0);
      const secrets = [
        'merchant_token',
        'webhook_secret',
        'secrets_key',
        'keystore_passphrase',
        'database_admin_password',
      ];
      for (const secret of secrets) expect(Config.Env.join('\n')).not.toContain(docker.secret(secret));
      const write = 'require("fs").writeFileSync("/app/dist/main.js", "")';
      expect(await docker.exec(service, ['node', '-e', write])).toMatchObject({
        code: 1,
        output: expect.stringMatching(/EROFS|EACCES/),
      });
    },
  );

  test('connects the signer only to database, broker and chains, without a port', async () => {
    const { NetworkSettings } = await docker.inspect('payout-signer');
    expect(Object.keys(NetworkSettings.Networks).sort()).toEqual([
      `${docker.project}_signer`,
      `${docker.project}_signer-rpc`,
    ]);
    expect(NetworkSettings.Ports).toEqual({});
    const connect = (host: string, port: number) =>
      `require("net").connect({host:"${host}",port:${port},timeout:2000}).on("connect",()=>{console.log("connected");process.exit()})` +
      `.on("timeout",()=>{console.log("silence");process.exit()}).on("error",(e)=>{console.log(e.code);process.exit()})`;
    expect((await docker.exec('payout-signer', ['node', '-e', connect('postgres', 5432)])).output).toContain(
      'connected',
    );
    for (const service of ['api', 'ops', 'webhook-sender', 'rates', 'demo-shop']) {
      const byName = await docker.exec(service, ['node', '-e', connect('payout-signer', 3020)]);
      expect([service, byName.output]).toEqual([service, expect.stringMatching(/ENOTFOUND|EAI_AGAIN/)]);
      for (const { IPAddress } of Object.values(NetworkSettings.Networks)) {
        const byAddress = await docker.exec(service, ['node', '-e', connect(IPAddress, 3020)]);
        expect([service, byAddress.output]).toEqual([service, expect.not.stringContaining('connected')]);
      }
    }
  });

  test('gives the keystore to no service except the signer', async () => {
    const look = ['ls', '/var/lib/opentill/keys', '/run/secrets'];
    expect((await docker.exec('payout-signer', look)).output).toMatch(
      /keystore_passphrase[^]*keystore\.json/,
    );
    for (const service of [
      'api',
      'ops',
      'webhook-sender',
      'rates',
      'scanner-evm',
      'scanner-tron',
      'scanner-sui',
      'confirmation-tracker',
    ])
      expect([service, (await docker.exec(service, look)).output]).toEqual([
        service,
        expect.not.stringContaining('keystore'),
      ]);
  });

  test('disables debugger signals and core dumps of the signer', async () => {
    const proc = async (file: string) =>
      (await docker.exec('payout-signer', ['cat', `/proc/1/${file}`])).output;
    expect((await proc('cmdline')).split('\0')).toEqual(
      expect.arrayContaining(['--disable-sigusr1', '--disable-proto=throw', '/app/dist/main.js']),
    );
    expect(await proc('limits')).toMatch(/^Max core file size +0 +0 /m);
  });

  test('publishes no port of database and broker, and ops only to this machine', async () => {
    for (const server of ['postgres', 'rabbitmq']) {
      const { NetworkSettings } = await docker.inspect(server);
      expect(Object.values(NetworkSettings.Ports).filter((bound) => bound !== null)).toEqual([]);
    }
    const ops = (await docker.inspect('ops')).NetworkSettings.Ports['3012/tcp'];
    expect(ops?.map(({ HostIp }) => HostIp)).toEqual(['127.0.0.1']);
  });
});

test(
  'moves a scanner to one container per chain and back without missing payments',
  async () => {
    const paid: string[] = [];
    let stopped = false;
    const pay = async () => {
      for (let place = 0; !stopped || paid.length < PAYMENTS_MIN; place += 1) {
        const chain = chains[place % chains.length]!;
        const orderId = `moving-${place}`;
        await chain.pay({ to: await gateway.order(orderId, chain), amount: '10' });
        paid.push(orderId);
        await new Promise((resolve) => setTimeout(resolve, PAYMENT_PAUSE_MS));
      }
    };
    const move = async () => {
      await waitUntil('payments run', () => paid.length >= 5);
      await docker.compose(['up', '-d', '--no-build'], [SCANNERS_FILE]);
      await untilHealthy(docker, PER_CHAIN);
      expect(await docker.running([SCANNERS_FILE])).toEqual(expect.arrayContaining([...PER_CHAIN]));
      expect(await docker.running([SCANNERS_FILE])).not.toContain('scanner-evm');
      const between = paid.length;
      await waitUntil('payments go by the new scanners', () => paid.length >= between + 5);
      await gateway.untilStatus(paid[between] ?? '', 'SUCCESS');
      await docker.compose(['up', '-d', '--no-build', '--remove-orphans']);
      await untilHealthy(docker, ['scanner-evm']);
      expect(await docker.running()).not.toContain(PER_CHAIN[0]);
    };
    const paying = pay();
    try {
      await move();
    } finally {
      stopped = true;
      await paying;
    }
    for (const orderId of paid) await gateway.untilStatus(orderId, 'SUCCESS');
    for (const orderId of paid) {
      const successes = (await gateway.callbacksOf(orderId)).filter(
        ({ notifyType }) => notifyType === 'ORDER_SUCCESS',
      );
      expect([orderId, successes.length]).toEqual([orderId, 1]);
    }
    expect(await gateway.findProblems()).toEqual([]);
    const { kysely: db } = gateway.database();
    const blocks = await db
      .selectFrom('block')
      .select(['chain', 'height'])
      .orderBy('chain')
      .orderBy('height')
      .execute();
    const gaps = blocks.filter(({ chain, height }, i) => {
      const before = blocks[i - 1];
      return before?.chain === chain && Number(height) !== Number(before.height) + 1;
    });
    expect(gaps).toEqual([]);
  },
  TEST_LIMIT_MS,
);

test("runs operators' commands and a backup in one-off containers", async () => {
  const run = async (...args: readonly string[]) => docker.compose(['run', '--rm', '-T', ...args]);
  const tokenFile = '/var/lib/opentill/operator/token';
  const create = ['operator', 'create', '--id', 'me', '--role', 'admin', '--token-file', tokenFile];
  await run('-e', 'OPS_TOKEN_FILE=', 'cli', ...create);
  const listed = await run('cli', 'chain', 'list');
  for (const { chain } of chains) expect(listed).toMatch(new RegExp(`^${chain}\\t.*\\tby `, 'm'));
  expect(await run('cli', 'payout', 'list')).toContain(`out-${chains[0]?.chain}`);
  expect(await run('owner', 'restore', 'reconcile')).toContain('No wallet is held.');
  await runGuide();
  await run('archive', 'backup', '--out', '/var/lib/opentill/backups/one');
  const kept = await run('--entrypoint', 'ls', 'archive', '/var/lib/opentill/backups/one');
  expect(kept.split(/\s+/)).toEqual(
    expect.arrayContaining(['keystore.json', 'manifest.json', 'policy.json', 'public-keys.json', 'tables']),
  );
});

/** Runs the container commands of going-to-mainnet.md, with another policy file so that the signer's stays unchanged. */
async function runGuide(): Promise<void> {
  const lines = book.take('deploy/guides/going-to-mainnet.md', 'in-containers').flatMap(commandLines);
  expect(book.left()).toEqual([]);
  const orderId = `in-${chains[0]?.chain}`;
  const folder = mkdtempSync(join(tmpdir(), 'opentill-guide-'));
  try {
    chmodSync(folder, 0o755);
    copyFileSync(join(CHECKOUT, 'deploy/compose/devnet-policy.json'), join(folder, 'policy.json'));
    chmodSync(join(folder, 'policy.json'), 0o644);
    let output = '';
    for (const line of lines) {
      const here = line
        .replace('ORDER_ID', orderId)
        .replace('/policy.sealed.json', '/of-the-guide.sealed.json');
      output += await docker.type(here, folder);
    }
    for (const { chain } of chains) expect(output).toContain(chain);
    expect(output).toContain('https://shop.example.com/callbacks');
    expect(output).toContain(`COLLECTION ${orderId} of merchant default: SUCCESS`);
    expect(output).not.toContain('DIFF');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("keeps the signer's record of sent transactions when its container is replaced", async () => {
  const marks = async () =>
    (await docker.exec('payout-signer', ['sh', '-c', 'cat /var/lib/opentill/signer/*'])).output;
  const container = async () => (await docker.inspect('payout-signer')).Id;
  const [before, old] = [await marks(), await container()];
  for (const { chain } of chains) expect(before).toMatch(new RegExp(`"chain":"${chain}".*"nonce":\\d`));
  await docker.compose(['up', '-d', '--no-build', '--no-deps', '--force-recreate', 'payout-signer']);
  await untilHealthy(docker, ['payout-signer']);
  expect(await container()).not.toBe(old);
  expect(await marks()).toBe(before);
});

test('measures size, start time and memory of the containers within their limits', async () => {
  const script = join(CHECKOUT, 'deploy/compose/src/measure-containers.ts');
  const table = execFileSync('node', ['--conditions=source', script, docker.project], { encoding: 'utf8' });
  console.info(table);
  const cells = new Map(
    table
      .split('\n')
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .map((row) => [row[1], row]),
  );
  for (const service of SERVICES) {
    const [, , , overBaseMib = '', startSeconds = '', memory = '', limitMib = ''] = cells.get(service) ?? [];
    expect(Number(overBaseMib)).toBeLessThan(60);
    expect(Number(startSeconds)).toBeGreaterThan(0);
    expect(Number(startSeconds)).toBeLessThan(60);
    expect(Number.parseFloat(memory)).toBeLessThan(Number(limitMib));
  }
});

test(
  'stops cleanly, and after a start credits a payment made in between',
  async () => {
    const [chain] = chains;
    if (chain === undefined) throw new Error('no chain');
    const to = await gateway.order('over-the-stop', chain);
    await docker.compose(['stop', ...SERVICES]);
    // Code 137 would be a service that was killed after its grace period.
    for (const service of SERVICES)
      expect([service, (await docker.inspect(service)).State]).toEqual([
        service,
        expect.objectContaining({ Status: 'exited', ExitCode: 0 }),
      ]);
    await chain.pay({ to, amount: '10' });
    await docker.compose(['start', ...SERVICES]);
    await untilHealthy(docker, SERVICES);
    await gateway.untilStatus('over-the-stop', 'SUCCESS');
    expect(await gateway.findProblems()).toEqual([]);
  },
  TEST_LIMIT_MS,
);

const OF_THE_MACHINE = [
  'postgres',
  'rabbitmq',
  'wallet',
  'setup',
  'devnet-keys',
  'devnet-funds',
  ...SERVICES,
];
const VOLUMES_OF_THE_MACHINE = [
  'postgres',
  'rabbitmq',
  'keys',
  'signer-state',
  'public-keys',
  'operator',
  'backups',
];

test(
  'restores a backup on an empty machine without reusing addresses or paying twice',
  async () => {
    const [chain, other] = chains;
    if (chain === undefined || other === undefined) throw new Error('no chains');
    const run = async (...args: readonly string[]) => docker.compose(['run', '--rm', '-T', ...args]);
    const receiver = devAccount(7).address;
    const payOut = async (orderId: string, of: ChainUnderTest = chain) =>
      gateway.payOut(orderId, of, { receiveAddress: receiver, amount: '4' });
    const before = await chain.balance('USDT', receiver);

    const keptAddress = await gateway.order('kept', chain);
    await run('archive', 'backup', '--out', '/var/lib/opentill/backups/monday');
    const tar = ['run', '--rm', '-T', '--entrypoint', 'tar', 'archive', '-C', '/var/lib/opentill/backups'];
    const backup = await docker.pipe([...tar, '-c', 'monday']);
    // Not in the backup: a payment to its order, an order with a payment, and a payout.
    await chain.pay({ to: keptAddress, amount: '10' });
    const forgottenAddress = await gateway.order('forgotten', chain);
    await chain.pay({ to: forgottenAddress, amount: '10' });
    await payOut('out-forgotten');
    for (const orderId of ['kept', 'forgotten', 'out-forgotten'])
      await gateway.untilStatus(orderId, 'SUCCESS');

    await docker.lose(OF_THE_MACHINE, VOLUMES_OF_THE_MACHINE);

    await docker.pipe([...tar, '-x'], backup);
    const [kept, keys] = ['/var/lib/opentill/backups/monday', '/var/lib/opentill/keys'];
    const files = ['--keystore', `${keys}/keystore.json`, '--policy', `${keys}/policy.sealed.json`];
    const publicKeys = ['--public-keys', '/var/lib/opentill/public/public-keys.json'];
    await run('archive', 'restore', '--from', kept, ...files, ...publicKeys);
    await docker.compose(['up', '-d', '--no-build']);
    await untilHealthy(docker, SERVICES);
    await gateway.reopenDatabase();
    await run('cli', 'operator', 'recover', 'me', '--token-file', '/var/lib/opentill/operator/token');

    await gateway.untilStatus('kept', 'SUCCESS');
    expect((await gateway.merchant.status('forgotten')).data?.status).toBeUndefined();
    const freshAddress = await gateway.order('fresh', chain);
    expect([keptAddress, forgottenAddress]).not.toContain(freshAddress);
    await chain.pay({ to: freshAddress, amount: '10' });
    await gateway.untilStatus('fresh', 'SUCCESS');

    // The merchant requests the payout again. It waits until the operator links it to the earlier transaction.
    await payOut('out-forgotten');
    let report = '';
    const reconcile = async () => {
      const failed = (error: { readonly stdout?: string }) => error.stdout ?? '';
      report = await run('owner', 'restore', 'reconcile', '--chain', chain.chain).catch(failed);
      return report.includes('decide payment') && !report.includes('waits for');
    };
    await waitUntil('only decisions are left', reconcile, WAIT_MS).catch(() => undefined);
    expect(report).toMatch(/decide payment 0x\S+ \(nonce /);
    const [, txid = ''] = /decide payment (0x\S+)/.exec(report) ?? [];
    const reason = ['--reason', 'asked for again'];
    await run('owner', 'restore', 'decide-payment', txid, '--order', 'out-forgotten', ...reason);
    const release = async () => run('owner', 'restore', 'release', '--reason', 'restored').catch(() => '');
    await waitUntil('the wallets sign again', async () => (await release()).includes('sign again'), WAIT_MS);
    await gateway.untilStatus('out-forgotten', 'SUCCESS');
    expect((await chain.balance('USDT', receiver)) - before).toBe(chain.baseUnits('USDT', '4'));
    for (const on of [chain, other]) {
      await payOut(`out-fresh-${on.chain}`, on);
      await gateway.untilStatus(`out-fresh-${on.chain}`, 'SUCCESS');
    }
    expect((await chain.balance('USDT', receiver)) - before).toBe(chain.baseUnits('USDT', '8'));
  },
  TEST_LIMIT_MS,
);
