import { spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hexlify, randomBytes } from 'ethers';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { entryPoint } from '@opentill/local/checkout';
import { SERVICE_NAMES } from '@opentill/local/gateway-options';
import { waitUntil } from '@opentill/testkit/wait-until';
import { dropDatabase } from '../src/drop-database.ts';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { commandLines, openGuideBook } from '../src/guide-book.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { prepareAnotherMachine, type AnotherMachine } from '../src/restored-gateway.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';

// Runs the guides' commands unchanged on a gateway in the state that the guide describes. Words in capitals are replaced
// by values from the output of earlier commands.

const FIRST_PAYMENT = 'deploy/guides/first-payment.md';
const MAINNET = 'deploy/guides/going-to-mainnet.md';
const MIGRATING = 'deploy/guides/migrating.md';
const OPERATIONS = 'deploy/guides/operations.md';
const PAYOUTS = 'services/payout-signer/docs/payouts.md';
const SDK = 'libs/sdk/README.md';
const CONFIRMATIONS = 3;

const book = openGuideBook('guides');
let under: GatewayUnderTest;
let folder: string;
let machine: AnotherMachine | undefined;
let shop: ChildProcess | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-guides-'));
  mkdirSync(join(folder, 'bin'));
  const shim = `#!/bin/sh\nexec '${process.execPath}' '${entryPoint('cli')}' "$@"\n`;
  writeFileSync(join(folder, 'bin', 'opentill'), shim, { mode: 0o755 });
  under = await startGatewayUnderTest();
  const { approverKeyFile, approverPassphraseFile } = under.gateway.policy;
  copyFileSync(approverKeyFile, join(folder, 'approver.json'));
  copyFileSync(approverPassphraseFile, join(folder, 'approver-passphrase'));
  copyFileSync(under.gateway.wallet.publicKeysFile, join(folder, 'public-keys.json'));
});
afterAll(async () => {
  if (shop !== undefined && shop.exitCode === null) {
    const closed = new Promise((resolve) => shop?.once('close', resolve));
    process.kill(-(shop.pid ?? 0), 'SIGKILL');
    await closed;
  }
  await under.stop();
  await machine?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** In the checkout, commands find the gateway by its state directory; elsewhere by the operator's environment. */
function environment(cwd: string): NodeJS.ProcessEnv {
  const PATH = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`;
  const operator = machine?.operatorEnvironment ?? under.gateway.operatorEnvironment;
  return {
    ...process.env,
    ...(cwd === CHECKOUT ? { OPENTILL_STATE_DIR: under.gateway.directory.root } : operator),
    PATH,
  };
}

function start(commands: string, cwd: string): ChildProcess {
  const args = ['-euo', 'pipefail', '-c', commands];
  const stdio = ['ignore', 'pipe', 'pipe'] as const;
  return spawn('bash', args, { cwd, env: environment(cwd), stdio: [...stdio], detached: true });
}

async function attempt(commands: string, cwd = folder): Promise<Ran> {
  const shell = start(commands, cwd);
  let [out, errors] = ['', ''];
  shell.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  shell.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const code = await new Promise<number>((resolve) => void shell.once('close', (one) => resolve(one ?? -1)));
  return { code, out, errors };
}

async function run(commands: string, cwd = folder): Promise<string> {
  const { code, out, errors } = await attempt(commands, cwd);
  expect({ commands, code, errors: code === 0 ? '' : errors + out }).toEqual({
    commands,
    code: 0,
    errors: '',
  });
  return out;
}

function openTerminal(cwd: string) {
  return {
    cwd: () => cwd,
    async run(commands: string): Promise<string> {
      const place = join(folder, 'place');
      const printed = await run(`trap 'pwd >"${place}"' EXIT\n${commands}`, cwd);
      cwd = readFileSync(place, 'utf8').trim();
      return printed;
    },
  };
}

/** Opens a terminal for a block: in the checkout if the sentence before the block requires it, otherwise in `folder`. */
function openTerminalFor(document: string, mark: string) {
  const [before = ''] = readFileSync(join(CHECKOUT, document), 'utf8').split(`<!-- test:${mark} -->`);
  const sentence = before.trimEnd().split('\n\n').at(-1) ?? '';
  return openTerminal(/\bin the\s+checkout\b/.test(sentence) ? CHECKOUT : folder);
}

/** Returns a function that runs the next line of a block. It throws if that line does not start with `begins`. */
function linesOf(document: string, mark: string) {
  const lines = book.take(document, mark).flatMap(commandLines);
  return async (begins: string, words: Readonly<Record<string, string>> = {}, more = ''): Promise<string> => {
    const place = lines.findIndex((line) => line.startsWith(begins));
    const [line] = place === -1 ? [] : lines.splice(0, place + 1).slice(-1);
    if (line === undefined || place > 0) throw new Error(`${mark}: the next line is not ${begins}`);
    return run(fill(line, words) + more);
  };
}

function fill(text: string, words: Readonly<Record<string, string>>): string {
  return Object.entries(words).reduce((filled, [name, value]) => {
    const pattern = new RegExp(`\\b${name}\\b`);
    if (!pattern.test(filled)) throw new Error(`there is no ${name} in ${filled}`);
    return filled.replace(pattern, value);
  }, text);
}

function idIn(table: string, ...having: readonly string[]): string {
  const line = table.split('\n').find((one) => having.every((word) => one.includes(word)));
  if (line === undefined) throw new Error(`no line has ${having.join(', ')}:\n${table}`);
  return line.split(/\s/)[0] ?? '';
}

const receiver = () => hexlify(randomBytes(20));

async function order(chain: ChainUnderTest, fields: object = {}): Promise<OrderAnswer> {
  const asked = { orderId: under.newOrderId(), amount: '100', symbol: 'USDT', chain: chain.chain, ...fields };
  const answer = await under.merchant.createCollection(asked);
  expect(answer).toMatchObject({ code: 200 });
  return answer.data!;
}

async function payOut(chain: ChainUnderTest, amount: string, to = receiver()): Promise<OrderAnswer> {
  const asked = { orderId: under.newOrderId(), amount, symbol: 'USDT', chain: chain.chain };
  const answer = await under.merchant.createPayout({ ...asked, receiveAddress: to });
  expect(answer).toMatchObject({ code: 200 });
  return answer.data!;
}

async function untilStatus({ orderId }: { orderId: string }, status: string): Promise<void> {
  const statusOf = async () => (await under.merchant.status(orderId)).data?.status;
  await waitUntil(`${orderId} is ${status}`, async () => (await statusOf()) === status).catch(
    () => undefined,
  );
  expect([orderId, await statusOf()]).toEqual([orderId, status]);
}

describe('first-payment.md', () => {
  let port: number;
  let words: Record<string, string>;
  const terminal = openTerminal(CHECKOUT);
  const here = (text: string): string =>
    text
      .replaceAll('~/', `${folder}/`)
      .replaceAll('http://localhost:3010', under.gateway.apiUrl)
      .replaceAll('http://localhost:3011', under.gateway.shopUrl)
      .replaceAll('localhost:4000', `localhost:${port}`)
      .replaceAll('listen(4000)', `listen(${port})`);
  const block = (mark: string): string => here(book.take(FIRST_PAYMENT, mark)[0]);

  it('creates a merchant and shows its secrets', async () => {
    port = await findFreePort();
    const shown = await terminal.run(block('shop-merchant'));
    const value = (name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(shown)?.[1] ?? '';
    words = { TOKEN: value('token'), SECRET: value('webhook secret') };
    expect(Object.values(words)).not.toContain('');
  });

  it('packs and installs the SDK from the checkout', async () => {
    await terminal.run(block('shop-install'));
  });

  it('runs a shop that is paid on TRON, verifies callbacks and sees its sweep', async () => {
    writeFileSync(join(folder, 'my-shop', 'shop.mjs'), block('shop-code'));
    const command = block('shop-start')
      .replace('=TOKEN', `=${words['TOKEN']}`)
      .replace('=SECRET', `=${words['SECRET']}`);
    shop = start(command, terminal.cwd());
    let output = '';
    for (const stream of [shop.stdout, shop.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
    const address = () => /to (T\w{33})$/m.exec(output)?.[1];
    await waitUntil('the shop has an order', () => address() !== undefined || shop?.exitCode !== null);
    const another = openTerminalFor(FIRST_PAYMENT, 'shop-pay');
    const paid = await another.run(fill(block('shop-pay'), { ADDRESS: address() ?? output }));
    expect(JSON.parse(paid)).toEqual({ txid: expect.stringMatching(/^[0-9a-f]{64}$/) });
    await waitUntil('the shop sends the book', () => output.includes('Send the book')).catch(() => undefined);
    const lines = output.split('\n').filter((line) => /^(ORDER_|Send|refused)/.test(line));
    expect(lines).toEqual([
      'ORDER_PENDING book-1',
      'ORDER_PENDING_CONFIRMATION book-1',
      'ORDER_SUCCESS book-1',
      'Send the book: 19.90 USDT came.',
    ]);
    const explained = await another.run(block('shop-explain'));
    expect(explained).toContain('COLLECTION book-1 of merchant my-shop: SUCCESS');
    expect(explained).toMatch(/DELIVERED|200/);

    expect(await another.run(block('shop-sweep'))).toContain('TRON_TEST');
    await waitUntil(
      'the shop receives COLLECT_SUCCESS',
      () => output.includes('COLLECT_SUCCESS 19.90'),
      120_000,
    );
    expect(output).toContain('COLLECT_PENDING 19.90');
    await waitUntil('the sweep is done', async () =>
      /TRON_TEST.*DONE/.test((await attempt('opentill sweep list --all')).out),
    );
  });

  it('offers a price in each coin, and sells by a link', async () => {
    const TOKEN = words['TOKEN'] ?? '';
    writeFileSync(join(folder, 'my-shop', 'price.mjs'), block('shop-price'));
    const offered = await terminal.run(fill(block('shop-price-start'), { TOKEN }));
    expect(offered).toMatch(/^54\.24 USDT on TRON/m);
    expect(offered).toMatch(/^send the customer to http.*orderId=mug-1/m);
    const [create, list] = book.take(FIRST_PAYMENT, 'shop-link').map(here);
    const another = openTerminalFor(FIRST_PAYMENT, 'shop-link');
    const made = await another.run(fill(create ?? '', { TOKEN }));
    expect(made).toMatch(/\/checkout\/link\/[\w-]{22}$/m);
    expect(await another.run(list ?? '')).toMatch(/^mugs\tOPEN\t/m);
  });
});

it("the shop of the SDK's README receives callbacks after its URL is set", async () => {
  const port = await findFreePort();
  const block = (mark: string): string =>
    book
      .take(SDK, mark)[0]
      .replaceAll('http://localhost:3011', under.gateway.shopUrl)
      .replaceAll('localhost:4001', `localhost:${port}`);
  const env = {
    ...process.env,
    OPENTILL_URL: under.gateway.apiUrl,
    MERCHANT_TOKEN: under.merchantToken,
    WEBHOOK_SECRET: under.webhookSecret,
    PORT: `${port}`,
  };
  const inShop = (mark: string): ChildProcess =>
    spawn(process.execPath, ['--input-type=module', '-e', block(mark)], {
      cwd: join(CHECKOUT, dirname(SDK)),
      env,
    });
  const [listener, buyer] = [inShop('callbacks'), inShop('order')];
  let output = '';
  for (const stream of [listener, buyer].flatMap(({ stdout, stderr }) => [stdout, stderr]))
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const prints = async (text: string) =>
    waitUntil(text, () => output.includes(text)).catch(() => expect(output).toContain(text));
  try {
    await prints('now it is INIT');
    await openTerminalFor(SDK, 'callback-url').run(block('callback-url'));
    await prints('book-1 is paid: 12.50');
  } finally {
    await run(`opentill merchant set default --callback-url '${under.receiver.url}'`);
    const closed = new Promise((resolve) => listener.once('close', resolve));
    listener.kill('SIGKILL');
    await closed;
  }
});

describe('going-to-mainnet.md and migrating.md', () => {
  it('create merchants', async () => {
    const made = await run(book.take(MAINNET, 'merchant')[0]);
    expect(made).toContain('https://shop.example.com/callbacks');
    const migrant = await run(book.take(MIGRATING, 'migrant')[0]);
    expect(migrant).toMatch(/^token +\S{16,}$/m);
  });

  it('check the first payment', async () => {
    const paid = await order(under.chains.ETH_SEPOLIA);
    await under.chains.ETH_SEPOLIA.pay({ to: paid.address, amount: '100' });
    await untilStatus(paid, 'SUCCESS');
    const next = linesOf(MAINNET, 'first-money');
    expect((await next('opentill keys show-xpub')).toLowerCase()).toContain(
      under.gateway.wallet.evmHotWallet.toLowerCase(),
    );
    expect(await next('opentill explain', { ORDER_ID: paid.orderId })).toContain('SUCCESS');
    await waitUntil('reconcile succeeds', async () => (await attempt('opentill reconcile')).code === 0);
    expect(await next('opentill reconcile')).not.toContain('DIFF');
  });

  it('limit the cost of sweeps by a policy, and show planned sweeps', async () => {
    const shown = book.take(MAINNET, 'sweep-policy')[0].replace('0x…', receiver());
    writeFileSync(join(folder, 'sweep-policy.json'), shown);
    copyFileSync(join(CHECKOUT, 'deploy/networks/mainnet.json'), join(folder, 'networks.json'));
    const next = linesOf(MAINNET, 'sweep-plan');
    expect(await next('opentill policy check')).toMatch(/ETH[^]*swe(?:e|p)/);
    const isPlanned = async () => (await attempt('opentill sweep plan')).out.includes('ETH_SEPOLIA');
    await waitUntil('there is a plan', isPlanned);
    expect(await next('opentill sweep plan')).toContain('ETH_SEPOLIA: 0 to begin');
  });

  it("check the policy example of the payout-signer's payouts.md", async () => {
    const shown = book.take(PAYOUTS, 'policy-example')[0];
    const { keyId } = JSON.parse(readFileSync(join(folder, 'approver.json'), 'utf8')) as { keyId: string };
    writeFileSync(join(folder, 'shown.json'), shown.replace('"…"', JSON.stringify(keyId)));
    const file = join(CHECKOUT, 'deploy/networks/mainnet.json');
    expect(await run(`opentill policy check shown.json --networks-file '${file}'`)).toContain('ETH');
  });
});

describe('operations.md', () => {
  it('exports files for the accountant', async () => {
    await run(book.take(OPERATIONS, 'export')[0]);
    expect(readFileSync(join(folder, 'orders.csv'), 'utf8')).toContain('order_id');
    expect(readFileSync(join(folder, 'ledger.csv'), 'utf8')).not.toBe('');
  });

  it('pauses, resumes and rescans a chain', async () => {
    const next = linesOf(OPERATIONS, 'chain');
    expect(await next('opentill doctor')).toContain('ETH_SEPOLIA');
    await next('opentill chain pause');
    expect(await run('opentill chain list')).toMatch(/^ETH_SEPOLIA\t.*paused/m);
    await next('opentill chain resume');
    expect(await run('opentill chain list')).not.toContain('paused');
    expect(await next('opentill rescan')).toContain('Blocks 1 to 20 of ETH_SEPOLIA read again');
  });

  it('replays callbacks', async () => {
    const { orderId, address } = await order(under.chains.BSC_TEST);
    await under.chains.BSC_TEST.pay({ to: address, amount: '100' });
    await untilStatus({ orderId }, 'SUCCESS');
    const received = () => under.receiver.received.filter(({ data }) => data.orderId === orderId).length;
    await waitUntil('three callbacks arrive', () => received() === 3);
    const next = linesOf(OPERATIONS, 'callbacks');
    expect(await next('opentill webhook status')).toContain('default');
    expect(await next('opentill webhook attempts', { ORDER_ID: orderId })).toMatch(/200/);
    await next('opentill webhook enable');
    expect(await next('opentill webhook replay', { ORDER_ID: orderId })).toContain('3 callbacks match');
    await next('opentill webhook replay', { ORDER_ID: orderId });
    await waitUntil('they arrive again', () => received() === 6);
    expect(under.receiver.of(orderId)).toHaveLength(3); // the same nonces
  });

  it('approves and vetoes payouts', async () => {
    const [good, bad] = [
      await payOut(under.chains.BSC_TEST, '5000.01'),
      await payOut(under.chains.BSC_TEST, '5000.02'),
    ];
    const waiting = async () => (await attempt('opentill payout list --waiting')).out;
    await waitUntil('both wait', async () => (await waiting()).split(/5000\.0\d/).length === 3);
    const next = linesOf(OPERATIONS, 'approval');
    const list = await next('opentill payout list');
    const words = { ORDER_PK: idIn(list, good.orderId) };
    expect(await next('opentill payout show', words)).toContain('5000.01');
    await next('opentill payout approve', words, ' --yes');
    await next('opentill payout veto', { OTHER_ORDER_PK: idIn(list, bad.orderId) });
    await untilStatus(good, 'SUCCESS');
    await untilStatus(bad, 'FAILED');
  });

  it('accepts and refuses expired orders', async () => {
    const { BSC_TEST: bsc } = under.chains;
    const expiresIn = (await bsc.secondsAhead()) + 60;
    const [late, never] = [await order(bsc, { expiresIn }), await order(bsc, { expiresIn })];
    await bsc.jump(61);
    await untilStatus(late, 'EXPIRED');
    await untilStatus(never, 'EXPIRED');
    await bsc.pay({ to: late.address, amount: '100' });
    const reason = async () => (await under.merchant.status(late.orderId)).data?.reason;
    await waitUntil('the late payment is booked', async () => (await reason()) === 'Paid after expiry');
    const next = linesOf(OPERATIONS, 'late');
    const list = await next('opentill orders list');
    await next('opentill orders accept', { ORDER_PK: idIn(list, late.orderId) });
    await next('opentill orders refuse', { OTHER_ORDER_PK: idIn(list, never.orderId) });
    await untilStatus(late, 'SUCCESS');
    await untilStatus(never, 'FAILED');
  });

  it('sweeps deposits, and accepts and refunds unmatched ones', async () => {
    const { ETH_SEPOLIA: eth } = under.chains;
    const paid = await order(eth);
    await eth.pay({ to: paid.address, amount: '100' });
    await untilStatus(paid, 'SUCCESS');
    await eth.pay({ to: paid.address, amount: '7.25' });
    const listed = async () => (await attempt('opentill unmatched list')).out;
    await waitUntil('the second payment is found', async () => (await listed()).includes(paid.orderId));
    const next = linesOf(OPERATIONS, 'sweeps');
    expect(await next('opentill sweep plan')).toMatch(/^ETH_SEPOLIA: /m);
    await next('opentill sweep run');
    const isSwept = async () => (await eth.balance('USDT', paid.address)) === 0n;
    await waitUntil('the address is empty', isSwept, 90_000);
    const sweepOf = (list: string) =>
      list.split('\n').find((line) => line.toLowerCase().includes(paid.address.toLowerCase())) ?? '';
    const isDone = async () => sweepOf((await attempt('opentill sweep list --all')).out).includes('DONE');
    await waitUntil('the sweep is done', isDone);
    expect(sweepOf(await next('opentill sweep list'))).toContain('107.25 USDT');
    await next('opentill sweep pause');
    expect((await attempt('opentill sweep plan')).out).toMatch(/ETH_SEPOLIA: .*PAUSED/);
    await next('opentill sweep resume');
    expect((await attempt('opentill sweep plan')).out).not.toContain('PAUSED by');

    const { BSC_TEST: bsc } = under.chains;
    const wrong = await order(bsc, { expiresIn: (await bsc.secondsAhead()) + 60 });
    await bsc.pay({ to: wrong.address, symbol: 'USDC', amount: '100' });
    await bsc.jump(61);
    await untilStatus(wrong, 'EXPIRED');
    await waitUntil('its token is found', async () => (await listed()).includes(wrong.orderId));

    const give = linesOf(OPERATIONS, 'unmatched');
    const list = await give('opentill unmatched list');
    await give('opentill unmatched accept', { TRANSFER_ID: idIn(list, wrong.orderId, 'USDC') });
    await untilStatus(wrong, 'SUCCESS');
    const customer = receiver();
    const words = { OTHER_TRANSFER_ID: idIn(list, paid.orderId, '7.25'), RECEIVER: customer };
    await give('opentill unmatched refund', words);
    const waiting = async () => (await attempt('opentill payout list --waiting')).out;
    await waitUntil('the refund waits for approval', async () => (await waiting()).includes('refund:'));
    const orderPk = idIn(await give('opentill payout list'), 'refund:');
    await give('opentill payout approve', { ORDER_PK: orderPk }, ' --yes');
    const has = async () => (await eth.balance('USDT', customer)) === eth.baseUnits('USDT', '7.25');
    await waitUntil('the customer has the refund', has);
  }, 300_000);

  it('handles the incident of a credited payment that a reorganisation removed', async () => {
    const { ETH_SEPOLIA: eth } = under.chains;
    await eth.mineByHand();
    await eth.mine(8);
    const taken = await order(eth);
    const txid = await eth.pay({ to: taken.address, amount: '100', account: 3 });
    await eth.mine(CONFIRMATIONS);
    await untilStatus(taken, 'SUCCESS');
    await eth.reorg(CONFIRMATIONS + 1);
    await eth.mine(CONFIRMATIONS + 1);
    await eth.mineByTime();
    const incidents = async () => (await attempt('opentill incident list')).out;
    await waitUntil('there is an incident', async () => (await incidents()).includes('CREDITED_'));
    const next = linesOf(OPERATIONS, 'incident');
    const incidentId = idIn(await next('opentill incident list'), 'CREDITED_TRANSFER_ORPHANED');
    expect(await next('opentill explain', { TXID: txid })).toContain(taken.orderId);
    const holdId = idIn(await next('opentill hold list'), 'ETH_SEPOLIA', 'USDT');
    await next('opentill hold release', { HOLD_ID: holdId });
    await next('opentill incident close', { INCIDENT_ID: incidentId });
    expect(await run('opentill hold list')).not.toContain(holdId);
    expect(await incidents()).not.toContain(incidentId);
  });

  it('pays again after another program used the nonce', async () => {
    const { BSC_TEST: bsc } = under.chains;
    const wallet = under.gateway.wallet.evmHotWallet;
    const rpc = async (method: string, params: readonly unknown[]) => callRpc(bsc.rpcUrl, method, params);
    await bsc.mineByHand();
    const payout = await payOut(bsc, '12.34');
    await untilStatus(payout, 'PENDING'); // signed and in the node's pool
    const nonce = await rpc('eth_getTransactionCount', [wallet, 'latest']);
    await rpc('anvil_impersonateAccount', [wallet]);
    const fee = `0x${900_000_000_000n.toString(16)}`; // above the signer's fee, so that it replaces the payout
    const foreign = {
      from: wallet,
      to: receiver(),
      value: '0x1',
      nonce,
      maxFeePerGas: fee,
      maxPriorityFeePerGas: fee,
    };
    await rpc('eth_sendTransaction', [{ ...foreign, gas: '0x5208' }]);
    await bsc.mine(CONFIRMATIONS + 2);
    await rpc('anvil_stopImpersonatingAccount', [wallet]);
    await bsc.mineByTime();
    const stuck = async () => (await attempt('opentill payout list --stuck')).out;
    await waitUntil('the payout needs a decision', async () => (await stuck()).includes('NEEDS_DECISION'));
    const next = linesOf(OPERATIONS, 'foreign-nonce');
    const orderPk = idIn(await next('opentill payout list'), payout.orderId);
    await next('opentill payout decide', { ORDER_PK: orderPk });
    const haltId = idIn(await next('opentill halt list'), 'FOREIGN_NONCE');
    await next('opentill halt release', { HALT_ID: haltId });
    expect(await run('opentill incident list')).not.toContain('FOREIGN_NONCE');
    await untilStatus(payout, 'SUCCESS');
  });
});

it('backs up a gateway and restores it on another machine', async () => {
  const { gateway } = under;
  const { ETH_SEPOLIA: eth } = under.chains;
  const doubtful = await payOut(eth, '6000');
  const waiting = async () => (await attempt('opentill payout list --waiting')).out;
  await waitUntil('the payout waits', async () => (await waiting()).includes(doubtful.orderId));
  expect(await run(book.take(OPERATIONS, 'backup')[0])).toContain('backup as of');
  const forgotten = await payOut(eth, '12.34');
  await untilStatus(forgotten, 'SUCCESS');
  const lost = await order(eth);
  await eth.pay({ to: lost.address, amount: '100' });
  await untilStatus(lost, 'SUCCESS');

  await Promise.all(SERVICE_NAMES.map(async (service) => gateway.stopService(service, 'SIGKILL')));
  await dropDatabase(gateway.database.url);
  machine = await prepareAnotherMachine(gateway);
  const { directory } = machine;
  cpSync(join(folder, 'backups'), join(directory, 'backups'), { recursive: true });
  const there = async (line: string): Promise<Ran> => attempt(line, directory);
  await run(book.take(OPERATIONS, 'restore')[0], directory);
  copyFileSync(join(directory, 'policy.sealed.json'), join(directory, 'policy.json'));
  await machine.startServices();

  const [recover = '', reconcile = '', ...none] = commandLines(book.take(OPERATIONS, 'restored')[0]);
  expect(none).toEqual([]);
  await run(recover, directory);
  const withToken = (line: string): string => `OPS_TOKEN_FILE=token ${line}`;
  let report: Ran = { code: -1, out: '', errors: '' };
  const isKnown = async () => /decide payment[^]*decide payout/.test((report = await there(reconcile)).out);
  await waitUntil('both decisions are requested', isKnown, 90_000).catch(() => undefined);
  const txid = /decide payment (0x\S+)/.exec(report.out)?.[1] ?? report.out + report.errors;
  const orderPk = /decide payout (\S+)/.exec(report.out)?.[1] ?? report.out + report.errors;
  const [payment = '', payout = '', again = ''] = commandLines(book.take(OPERATIONS, 'restore-decide')[0]);
  await run(withToken(fill(payment, { TXID: txid })), directory);
  await run(withToken(fill(payout, { ORDER_PK: orderPk })), directory);
  const isDone = async () => (await there(withToken(again))).code === 0;
  await waitUntil('no decision is open', isDone).catch(async () => run(withToken(again), directory));
  const [release = ''] = commandLines(book.take(OPERATIONS, 'restore-release')[0]);
  expect(await run(withToken(release), directory)).toMatch(/sign again, released by local\./);
  await untilStatus(doubtful, 'FAILED');
  await untilStatus(await payOut(eth, '1.00'), 'SUCCESS');
  const money = await run(book.take(OPERATIONS, 'restore-money')[0], directory);
  expect(money.toLowerCase()).toContain(lost.address.toLowerCase());
}, 1_200_000); // deriving 40,000 addresses per chain takes a minute of processor time

it('runs all blocks of the guides', () => {
  expect(book.left()).toEqual([]);
});
