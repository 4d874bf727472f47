import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { DEV_TOKEN_ADDRESSES, deployDevTokens } from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { systemClock } from '@opentill/runtime/clock';
import { runCli } from '../src/run-cli.ts';

const SHIPPED = new URL('../../../deploy/networks/testnet.json', import.meta.url);

let folder: string;
let file: string;
let anvil: Anvil;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-add-chain-'));
  file = join(folder, 'networks.json');
  anvil = await startAnvil({
    dir: join(folder, 'anvil'),
    port: await findFreePort(),
    chainId: 31_337,
    slotsInAnEpoch: 1,
  });
  await deployDevTokens({ rpcUrl: anvil.rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  await callRpc(anvil.rpcUrl, 'anvil_mine', ['0x20', '0x0']);
});
beforeEach(() => writeFileSync(file, readFileSync(SHIPPED)));
afterAll(async () => {
  await anvil.stop('kill');
  rmSync(folder, { recursive: true, force: true });
});

async function add(words: string) {
  const [out, errors]: [string[], string[]] = [[], []];
  const common = `chain add ${file} --rpc-url ${anvil.rpcUrl} --block-time-ms 60000 ${words}`;
  const code = await runCli(common.split(' '), {
    env: {},
    clock: systemClock,
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => '',
  });
  return { code, out: out.join('\n'), errors: errors.join('\n') };
}
const USDC = `--token USDC:6:${DEV_TOKEN_ADDRESSES.USDC}`;
const ACME = `--chain ACME_L2 --chain-id 31337 --kind test --native ETH ${USDC}`;

it('adds a chain whose checks pass, and refuses to add it again', async () => {
  const before = JSON.parse(readFileSync(file, 'utf8')) as { networks: unknown[] };
  expect(await add(ACME)).toMatchObject({ code: 0, errors: '' });
  const { networks } = JSON.parse(readFileSync(file, 'utf8')) as { networks: object[] };
  expect(networks.slice(0, -1)).toEqual(before.networks);
  expect(networks.at(-1)).toMatchObject({ chain: 'ACME_L2', chainId: 31_337, kind: 'test', enabled: true });
  expect(await add(ACME)).toMatchObject({ code: 1, errors: expect.stringContaining('already') });
});

it('gives a chain with safe blocks a window of 30 minutes', async () => {
  await callRpc(anvil.rpcUrl, 'anvil_mine', ['0x2']);
  expect(await add(`${ACME} --confirmations safe --block-time-ms 3000`)).toMatchObject({ code: 0 });
  const { networks } = JSON.parse(readFileSync(file, 'utf8')) as { networks: object[] };
  expect(networks.at(-1)).toMatchObject({ finality: { tag: 'safe' }, reorgWindow: 600 });
});

it.each([
  ['another chain id', ACME.replace('31337', '31338'), /chain id|Chain/],
  ['other decimals', ACME.replace('USDC:6', 'USDC:18'), /decimals/],
  ['a data fee that it does not charge', `${ACME} --data-fee op-stack`, /Remove dataFee/],
])('leaves the file as it is for %s', async (_, words, shown) => {
  const before = readFileSync(file, 'utf8');
  const { code, out, errors } = await add(words);
  expect(code).toBe(1);
  expect(`${out}\n${errors}`).toMatch(shown);
  expect(errors).toContain('ACME_L2 was not added');
  expect(readFileSync(file, 'utf8')).toBe(before);
});

it.each([
  ['a name of another form', ACME.replace('ACME_L2', 'acme'), /--chain acme must be a capital letter/],
  ['a chain of another family', ACME.replace('ACME_L2', 'TRON_TEST'), /family TRON/],
  ['another name for a preset', ACME.replace('31337', '8453'), /8453 is the chain id of BASE/],
  [
    'a main chain among test networks',
    ACME.replace('--kind test', '--kind main'),
    /main.*ACME_L2|ACME_L2.*main/,
  ],
  ['no kind', ACME.replace('--kind test', ''), /--kind must be main/],
  ['a malformed token', `${ACME} --token USDT`, /--token USDT must be symbol, decimals and contract/],
])('refuses %s before it asks a node', async (_, words, shown) => {
  const { code, errors } = await add(words.replaceAll(/ +/g, ' ').trim());
  expect(code).toBe(1);
  expect(errors).toMatch(shown);
});
