import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { Database } from '@opentill/db/database';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  mine,
  payNative,
  payToken,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { aCollection } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import { parseMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { FAMILIES } from '@opentill/domain/chains';
import { publicKeysFor, publicKeysOf } from '@opentill/wallet/public-keys';
import { sql } from 'kysely';
import { FAMILY_CODECS } from '../src/families.ts';
import { runCli } from '../src/run-cli.ts';

const PASSPHRASE = 'a passphrase of the tests';
/** BIP-39's second test vector of 12 words: a valid checksum, and no real money. */
const WORDS = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const WALLET = publicKeysOf(seedOf(parseMnemonic(WORDS)), FAMILY_CODECS);
const DERIVER = createDepositDeriver(publicKeysFor(WALLET, 'main'), [evmAddressCodec]);
const TEST_WALLET = publicKeysFor(WALLET, 'test');
const TEST_DERIVER = createDepositDeriver(TEST_WALLET, [evmAddressCodec]);
const TEST_HOT_WALLET = TEST_WALLET.families.EVM.hotWallets[0]!;
const HOT_WALLET = WALLET.main.EVM.hotWallets[0]!;
const TRON_HOT_WALLET = WALLET.main.TRON.hotWallets[0]!;
const SUI_HOT_WALLET = WALLET.main.SUI.hotWallets[0]!;

let folder: string;
let keystore: string;
let publicKeys: string;
let passphraseFile: string;
let wordsFile: string;

interface Run {
  readonly code: number;
  readonly out: readonly string[];
  readonly errors: readonly string[];
}

async function opentill(
  args: readonly string[],
  options: { env?: Readonly<Record<string, string>>; answers?: readonly string[] } = {},
): Promise<Run> {
  const out: string[] = [];
  const errors: string[] = [];
  const answers = [...(options.answers ?? [])];
  const code = await runCli(args, {
    env: options.env ?? {},
    clock: { now: () => new Date('2026-11-21T12:00:00Z') },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => answers.shift() ?? '',
    keystoreCost: 2,
  });
  return { code, out, errors };
}

/** One line without a stack and without secrets. */
function expectRefusal(run: Run, code: 1 | 75, message: RegExp): void {
  expect(run.errors).toHaveLength(1);
  expect(run.errors[0]).toMatch(message);
  expect(run.errors[0]).not.toMatch(/\n|\.ts:|at async/);
  expect(run.errors[0]).not.toContain(PASSPHRASE);
  for (const word of ['winner', 'sausage']) expect(run.errors[0]).not.toContain(word);
  expect(run.code).toBe(code);
}

const words = (line: string): readonly string[] => line.split(' ');

const secretFile = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  chmodSync(file, 0o600);
  return file;
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-keys-'));
  [keystore, publicKeys] = [join(folder, 'keystore.json'), join(folder, 'public-keys.json')];
  passphraseFile = secretFile('passphrase', `${PASSPHRASE}\n`);
  wordsFile = secretFile('words', `${WORDS.replaceAll(' ', '\n').toUpperCase()}\n`);
  const files = `--keystore ${keystore} --public-keys ${publicKeys} --words-file ${wordsFile}`;
  const run = await opentill(words(`keys import ${files} --passphrase-file ${passphraseFile}`));
  expect(run).toMatchObject({ code: 0, errors: [] });
  expect(run.out).toEqual([
    `Wallet ${WALLET.fingerprint}.`,
    `Keystore ${keystore} (only for payout-signer), public keys ${publicKeys}.`,
    `Hot wallet EVM: ${HOT_WALLET}`,
    `Hot wallet TRON: ${TRON_HOT_WALLET}`,
    `Hot wallet SUI: ${SUI_HOT_WALLET}`,
    ...FAMILIES.map((family) => `Hot wallet ${family}, test networks: ${WALLET.test![family].hotWallets[0]}`),
  ]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('opentill keys import', () => {
  const fresh = (name: string) => ({
    keystore: join(folder, `${name}.k`),
    publicKeys: join(folder, `${name}.p`),
  });
  const args = (files: { keystore: string; publicKeys: string }) =>
    words(`keys import --keystore ${files.keystore} --public-keys ${files.publicKeys}`);

  it('creates the wallet of typed words', async () => {
    const files = fresh('typed');
    const run = await opentill(args(files), { answers: [`  ${WORDS} `, PASSPHRASE, PASSPHRASE] });
    expect(run).toMatchObject({ code: 0, errors: [] });
    expect(run.out.join()).not.toContain('sausage');
    expect(readFileSync(files.publicKeys, 'utf8')).toBe(readFileSync(publicKeys, 'utf8'));
    expect(JSON.parse(readFileSync(files.keystore, 'utf8'))).toMatchObject({ keyId: WALLET.fingerprint });
  });

  it.each([
    [WORDS.replace('sausage', 'sossage'), /word 6 is not in the list/],
    [WORDS.replace('yellow', 'winner'), /checksum is wrong/],
    [WORDS.slice(6), /12, 15, 18, 21 or 24 words, not 11/],
  ])('rejects wrong words by position before it asks for a passphrase', async (typed, message) => {
    const files = fresh('wrong');
    expectRefusal(await opentill(args(files), { answers: [typed] }), 1, message);
    expect([existsSync(files.keystore), existsSync(files.publicKeys)]).toEqual([false, false]);
  });

  it('overwrites no file and rejects a words file that others may read', async () => {
    expectRefusal(
      await opentill(args({ keystore, publicKeys: fresh('x').publicKeys })),
      1,
      /is not overwritten/,
    );
    const open = secretFile('open-words', WORDS);
    chmodSync(open, 0o644);
    expectRefusal(
      await opentill([...args(fresh('x')), '--words-file', open]),
      1,
      /must not be open to others/,
    );
  });
});

describe('opentill keys show-xpub', () => {
  it('prints the same keys from the public file, the keystore and both', async () => {
    const fromFile = await opentill(['keys', 'show-xpub', '--public-keys', publicKeys]);
    expect(fromFile).toMatchObject({ code: 0, errors: [] });
    const text = fromFile.out.join('\n');
    expect(text).toContain(`Wallet ${WALLET.fingerprint}.`);
    for (const family of FAMILIES) {
      expect(text).toContain(WALLET.main[family].depositXpub);
      expect(text).toContain(WALLET.test![family].depositXpub);
    }
    for (const address of [HOT_WALLET, TRON_HOT_WALLET, SUI_HOT_WALLET])
      expect(text).toContain(`${address} (hot wallet)`);
    const both = ['keys', 'show-xpub', '--public-keys', publicKeys, '--keystore', keystore];
    expect((await opentill(both, { answers: [PASSPHRASE] })).out).toEqual(fromFile.out);
  });

  it('rejects a wrong passphrase, a damaged keystore and missing options', async () => {
    const fromKeystore = ['keys', 'show-xpub', '--keystore', keystore];
    expectRefusal(
      await opentill(fromKeystore, { answers: ['not the passphrase'] }),
      1,
      /passphrase does not open/,
    );
    const damaged = secretFile(
      'damaged.json',
      readFileSync(keystore, 'utf8').replace('"purpose"', '"porpoise"'),
    );
    expectRefusal(await opentill(['keys', 'show-xpub', '--keystore', damaged]), 1, /is damaged.*checksum/);
    expectRefusal(await opentill(['keys', 'show-xpub']), 1, /Give --keystore/);
  });
});

describe('opentill keys renew-public', () => {
  const args = (file: string) =>
    words(
      `keys renew-public --keystore ${keystore} --public-keys ${file} --passphrase-file ${passphraseFile}`,
    );

  it('adds hot wallets of new families to an old file, or writes a missing one', async () => {
    const before = JSON.parse(readFileSync(publicKeys, 'utf8')) as {
      readonly families: typeof WALLET.main;
      readonly testFamilies?: unknown;
    };
    const { testFamilies, ...rest } = before;
    expect(testFamilies).toBeDefined();
    const { families } = rest;
    const old = {
      ...rest,
      version: 1,
      families: { ...families, TRON: { ...families.TRON, hotWallets: [] } },
    };
    for (const file of [secretFile('old-public.json', JSON.stringify(old)), join(folder, 'none-yet.json')]) {
      const run = await opentill(args(file));
      expect(run).toMatchObject({ code: 0, errors: [] });
      expect(run.out).toContain(`Hot wallet TRON: ${TRON_HOT_WALLET}`);
      expect(readFileSync(file, 'utf8')).toBe(readFileSync(publicKeys, 'utf8'));
    }
  });

  it('keeps the file of another wallet', async () => {
    const text = readFileSync(publicKeys, 'utf8').replace(WALLET.fingerprint, '00000000');
    const file = secretFile('other-public.json', text);
    expectRefusal(await opentill(args(file)), 1, /belongs to the wallet 00000000, .*Nothing was written/);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });
});

describe('opentill policy', () => {
  const limits = {
    maxPerPayout: '5000',
    maxPerHour: '20000',
    maxPerDay: '100000',
    maxPerMerchantPerDay: '50000',
  };
  const cold = devAccount(9).address;
  const policy = (changes: object = {}) => ({
    version: 1,
    chains: {
      ETH_SEPOLIA: {
        enabled: true,
        coldAddress: cold,
        assets: { USDT: { ...limits, approvalAbove: '1000', float: '50000' }, USDC: limits },
      },
    },
    allow: [{ family: 'EVM', address: devAccount(8).address, since: '2026-11-21T00:00:00Z' }],
    approvers: [
      { name: 'alice', publicKey: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a' },
    ],
    ...changes,
  });
  const env = {
    NETWORKS_FILE: join(import.meta.dirname, '..', '..', '..', 'deploy', 'networks', 'local.json'),
  };
  const sealed = () => join(folder, 'policy.sealed');
  const written = (content: object) => secretFile('policy.json', JSON.stringify(content));
  const withKeys = () => ['--keystore', keystore, '--passphrase-file', passphraseFile];
  const WHAT_IT_COMES_TO = [
    `ETH_SEPOLIA: pays; cold ${cold}`,
    '  sweeps nothing',
    '  USDT: at most 5000.00 a payout, 20000.00 an hour, 100000.00 a day, 50000.00 a day for one merchant, ' +
      `approval above 1000.00, float 50000.00, contract ${DEV_TOKEN_ADDRESSES.USDT.toLowerCase()} with 6 decimals`,
    '  USDC: at most 5000.00 a payout, 20000.00 an hour, 100000.00 a day, 50000.00 a day for one merchant, ' +
      `no approval needed, contract ${DEV_TOKEN_ADDRESSES.USDC.toLowerCase()} with 6 decimals`,
    'EVM receivers: only these, from 24 hours after they were added',
    `  ${devAccount(8).address} from 2026-11-22T00:00:00.000Z on`,
    'Approvers: 1 needed of 1, waited for 24 hours',
    '  alice  d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    'Everything not named here is refused.',
  ];

  it('describes a policy in words, or lists all its errors', async () => {
    expect(await opentill(['policy', 'check', written(policy())], { env })).toEqual({
      code: 0,
      errors: [],
      out: WHAT_IT_COMES_TO,
    });
    const wrong = written(policy({ version: 2, approvers: [], surprise: 1, coolingHours: 'x' }));
    const run = await opentill(['policy', 'check', wrong], { env });
    expectRefusal(
      run,
      1,
      /must not have surprise.*version must be.*|version must be.*must not have surprise/,
    );
    expect(run.errors[0]).toMatch(/coolingHours must be number/);
    expectRefusal(await opentill(['policy', 'check', join(folder, 'none')], { env }), 1, /cannot be read/);
  });

  it('prints one digest in seal and show; change-passphrase requires the policy', async () => {
    const seal = await opentill(['policy', 'seal', written(policy()), '--out', sealed(), ...withKeys()], {
      env,
    });
    expect(seal).toMatchObject({ code: 0, errors: [] });
    const digestLine = seal.out.find((line) => line.startsWith('Policy '))!;
    expect(digestLine).toMatch(new RegExp(`for the wallet ${WALLET.fingerprint}, digest [0-9a-f]{64}\\.$`));

    const newPassphraseFile = secretFile('new-passphrase', 'quite another passphrase');
    const passphrases = `--passphrase-file ${passphraseFile} --new-passphrase-file ${newPassphraseFile}`;
    const forgotten = words(`keys change-passphrase --keystore ${keystore} ${passphrases}`);
    const before = readFileSync(keystore, 'utf8');
    expectRefusal(await opentill(forgotten), 1, /--policy <file>\), or --no-policy/);
    expect(readFileSync(keystore, 'utf8')).toBe(before);

    const shown = await opentill(['policy', 'show', sealed(), ...withKeys()], { env });
    expect(shown).toEqual({
      code: 0,
      errors: [],
      out: [...WHAT_IT_COMES_TO, digestLine, 'Sealed at 2026-11-21T12:00:00.000Z.'],
    });
  });

  it('refuses to overwrite other files or to use a hot wallet as cold address', async () => {
    const overKeystore = ['policy', 'seal', written(policy()), '--out', keystore, ...withKeys()];
    expectRefusal(await opentill(overKeystore, { env }), 1, /holds a seed, not a policy/);
    const chains = { ETH_SEPOLIA: { enabled: true, coldAddress: HOT_WALLET, assets: {} } };
    const hot = ['policy', 'seal', written({ version: 1, chains }), '--out', sealed(), ...withKeys()];
    expectRefusal(await opentill(hot, { env }), 1, /cold address of ETH_SEPOLIA is the hot wallet/);
  });

  it('rejects a policy of another seed', async () => {
    const other = { keystore: join(folder, 'other.k'), publicKeys: join(folder, 'other.p') };
    const files = ['--keystore', other.keystore, '--public-keys', other.publicKeys];
    await opentill(['keys', 'init', ...files, '--passphrase-file', passphraseFile]);
    const show = [
      'policy',
      'show',
      sealed(),
      '--keystore',
      other.keystore,
      '--passphrase-file',
      passphraseFile,
    ];
    expectRefusal(
      await opentill(show, { env }),
      1,
      new RegExp(`was sealed for the wallet ${WALLET.fingerprint}`),
    );
  });

  it('accepts approver keys that approver init creates', async () => {
    const out = join(folder, 'alice.key');
    const run = await opentill(['approver', 'init', '--out', out], { answers: [PASSPHRASE, PASSPHRASE] });
    expect(run).toMatchObject({ code: 0, errors: [] });
    const { publicKey } = JSON.parse(run.out.at(-1)!) as { publicKey: string };
    expect(publicKey).toMatch(/^[0-9a-f]{64}$/);
    const check = await opentill(
      ['policy', 'check', written(policy({ approvers: [{ name: 'alice', publicKey }] }))],
      { env },
    );
    expect(check.out).toContain(`  alice  ${publicKey}`);
    expectRefusal(await opentill(['approver', 'init', '--out', out]), 1, /is not overwritten/);
  });
});

describe('opentill keys recover', () => {
  const CHAIN_ID = 11_155_111;
  const GAP = 40;
  let anvil: Anvil;
  let database: TestDatabase;
  let admin: Database;

  beforeAll(async () => {
    database = await createTestDatabase();
    admin = database.open('admin');
    anvil = await startAnvil({ dir: join(folder, 'anvil'), port: await findFreePort(), chainId: CHAIN_ID });
    await deployDevTokens({ rpcUrl: anvil.rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  });
  afterAll(async () => {
    await anvil.stop('kill');
    await admin.close();
    await database.drop();
  });

  /** The devnet's network, and one whose endpoint serves another chain. */
  function networksFile(): string {
    const local = readFileSync(join(import.meta.dirname, '../../../deploy/networks/local.json'), 'utf8');
    const { networks } = JSON.parse(local) as { networks: { chain: string; [field: string]: unknown }[] };
    const main = networks.slice(0, 1).map((network) => ({ ...network, chain: 'ETH', chainId: 1 }));
    const mended = [...networks, ...main].map((network) => ({
      ...network,
      wsUrl: undefined,
      rpcUrls: [anvil.rpcUrl],
      enabled: network.chain === 'ETH_SEPOLIA',
    }));
    return secretFile('networks.json', JSON.stringify({ networks: mended }));
  }

  it('finds the address of every order and all money from words and marks', async () => {
    const { rpcUrl } = anvil;
    const fromKey = devAccount(1).privateKey;
    const orderOf = (index: number) =>
      aCollection(admin.kysely, { address: TEST_DERIVER.address('EVM', index) });
    // Orders 0 to 4, and one far above: the database's mark is 301.
    for (const index of [0, 1, 2, 3, 4]) await orderOf(index);
    await sql`select setval('deposit_index_evm', 299)`.execute(admin.kysely);
    await orderOf(300);
    const paid: readonly [number | 'hot', 'USDT' | 'USDC' | 'ETH', bigint][] = [
      [0, 'USDT', 250_000_000n],
      [3, 'USDC', 1n],
      [3, 'ETH', 7n],
      [300, 'USDT', 5_500_000n],
      // Assigned after the backup: the last of the gap, and one above it, in the gap that starts again there.
      [301 + GAP - 1, 'USDC', 2_000_000n],
      [301 + 2 * GAP - 1, 'USDT', 3_000_000n],
      ['hot', 'ETH', 10n ** 18n],
      ['hot', 'USDT', 9_000_000n],
    ];
    for (const [where, symbol, amount] of paid) {
      const to = where === 'hot' ? TEST_HOT_WALLET : TEST_DERIVER.address('EVM', where);
      if (symbol === 'ETH') await payNative({ rpcUrl, fromKey, to, amountWei: amount });
      else
        await payToken({ rpcUrl, fromKey, to, token: DEV_TOKEN_ADDRESSES[symbol], amountBaseUnits: amount });
    }
    await mine({ rpcUrl, blocks: 4 });

    const files = { keystore: join(folder, 'recovered.k'), publicKeys: join(folder, 'recovered.p') };
    const env = { NETWORKS_FILE: networksFile(), OPS_DATABASE_URL: database.url('ops') };
    const where = `--keystore ${files.keystore} --public-keys ${files.publicKeys}`;
    const args = words(`keys recover ${where} --passphrase-file ${passphraseFile} --gap ${GAP}`);
    const report = join(folder, 'report.csv');
    const run = await opentill(
      [...args, '--words-file', wordsFile, '--marks-from-database', '--report', report],
      { env },
    );
    expect(run).toMatchObject({ code: 0, errors: [] });
    const at = (index: number) => evmAddressCodec.format(TEST_DERIVER.address('EVM', index));
    const keys = 'EVM (test networks)';
    const last = 301 + 2 * GAP - 1;
    expect(run.out.slice(8)).toEqual([
      `${keys} hot wallet ${evmAddressCodec.format(TEST_HOT_WALLET)}: 1.00 ETH on ETH_SEPOLIA, 9.00 USDT on ETH_SEPOLIA`,
      `${keys} 0 ${at(0)}: 250.00 USDT on ETH_SEPOLIA`,
      `${keys} 3 ${at(3)}: 0.000000000000000007 ETH on ETH_SEPOLIA, 0.000001 USDC on ETH_SEPOLIA`,
      `${keys} 300 ${at(300)}: 5.50 USDT on ETH_SEPOLIA`,
      `${keys} 340 ${at(340)}: 2.00 USDC on ETH_SEPOLIA`,
      `${keys} ${last} ${at(last)}: 3.00 USDT on ETH_SEPOLIA`,
      `EVM, keys of test networks: ${last + 1 + GAP} deposit addresses searched, next index 301.`,
      'ETH_SEPOLIA ETH: 0.000000000000000007 on 1 deposit address, 1.00 in the hot wallet',
      'ETH_SEPOLIA USDT: 258.50 on 3 deposit addresses, 9.00 in the hot wallet',
      'ETH_SEPOLIA USDC: 2.000001 on 2 deposit addresses, 0.00 in the hot wallet',
    ]);
    const rows = readFileSync(report, 'utf8').trimEnd().split('\n');
    expect(rows).toHaveLength(1 + 2 + last + 1 + GAP + 1);
    const { rows: orders } = await sql<{ address: string; derivation_index: number }>`
      select address, derivation_index from deposit_address`.execute(admin.kysely);
    expect(orders).toHaveLength(6);
    for (const { address, derivation_index: index } of orders)
      expect(rows.filter((row) => row.startsWith(`EVM,${index},`))[0]?.toLowerCase()).toContain(address);
    expect(readFileSync(files.publicKeys, 'utf8')).toBe(readFileSync(publicKeys, 'utf8'));

    const chains = ['ETH', 'ETH_SEPOLIA', 'BSC_TEST'];
    const again = await opentill([...args, '--mark', 'EVM=2', '--chain', ...chains], { env });
    expectRefusal(again, 75, /incomplete: ETH was not read completely, BSC_TEST was not read completely\./);
    expect(again.out).toContain(`EVM 1 ${evmAddressCodec.format(DERIVER.address('EVM', 1))}: -`);
    expect(again.out).toContain(`Wallet ${WALLET.fingerprint} already exists.`);
    expect(again.out).toContain(`${keys} 1 ${at(1)}: -`);
    expect(again.out).toContain('ETH_SEPOLIA USDT: 250.00 on 1 deposit address, 9.00 in the hot wallet');
  });

  it.each([
    [['--gap', 'x', '--mark', 'EVM=1'], /--gap must be a number/],
    [[], /Give --mark EVM=<next index>/],
    [['--mark', 'EVM'], /like EVM=1200, not EVM/],
    [['--mark', 'EVM=9999999999'], /like EVM=1200/],
    [['--mark', 'EVM=1', '--chain', 'TRON'], /TRON is not configured/],
  ])('rejects %j', async (options, message) => {
    const files = ['--keystore', join(folder, 'no.k'), '--public-keys', join(folder, 'no.p')];
    const env = { NETWORKS_FILE: networksFile() };
    expectRefusal(await opentill(['keys', 'recover', ...files, ...options], { env }), 1, message);
    expect(existsSync(join(folder, 'no.k'))).toBe(false);
  });
});
