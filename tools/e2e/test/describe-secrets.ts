import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as streamText } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { entryPoint } from '@opentill/local/checkout';
import { SERVICE_NAMES, type ServiceName } from '@opentill/local/gateway-options';
import { wordsFileOf } from '@opentill/local/prepare-keys';
import { readOrMakeSecrets } from '@opentill/local/state-directory';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import { hotWalletPrivateKey } from '@opentill/wallet/derivation';
import { openKeystore } from '@opentill/wallet/keystore';
import { findSecrets, rowsOfWords, type Place, type Secret } from '../src/find-secrets.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';

/** Kills a service that starts despite a wrong file. */
const STARTS_WITHIN_MS = 120_000;

const text = (name: string, value: string): Secret => ({ name, bytes: Buffer.from(value, 'utf8') });

interface Secrets {
  readonly keys: readonly Secret[];
  readonly passphrases: readonly Secret[];
  readonly ofMerchants: readonly Secret[];
  readonly sealing: readonly Secret[];
  readonly passwords: readonly Secret[];
}

const read = (file: string): string => readFileSync(file, 'utf8').trim();
const allOf = (secrets: Secrets): readonly Secret[] => Object.values(secrets).flat();

async function readSecrets({ gateway, merchantToken }: GatewayUnderTest<RunningGateway>): Promise<Secrets> {
  const own = readOrMakeSecrets(gateway.directory);
  const { keystoreFile, passphraseFile } = gateway.wallet;
  const { secret: seed } = await openKeystore(keystoreFile, 'seed', read(passphraseFile));
  const { secret: approver } = await openKeystore(
    gateway.policy.approverKeyFile,
    'approver-key',
    read(gateway.policy.approverPassphraseFile),
  );
  const words = read(wordsFileOf(gateway.directory)).split(' ');
  expect(words).toHaveLength(24);
  const { WEBHOOK_SECRET = '' } = gateway.environmentOf('demo-shop');
  return {
    keys: [
      { name: 'the seed', bytes: seed },
      { name: "the hot wallet's private key", bytes: hotWalletPrivateKey(seed, 'EVM', 'test') },
      { name: "the approver's private key", bytes: approver },
      ...rowsOfWords(words),
    ],
    passphrases: [
      text("the keystore's passphrase", read(passphraseFile)),
      text("the approver's passphrase", read(gateway.policy.approverPassphraseFile)),
      text("the operator's token", read(gateway.directory.operatorTokenFile)),
    ],
    ofMerchants: [text("the merchant's token", merchantToken), text('the webhook secret', WEBHOOK_SECRET)],
    sealing: [
      text('the sealing key', own.secretsKey),
      { name: 'the sealing key', bytes: Buffer.from(own.secretsKey, 'base64') },
    ],
    passwords: [
      ...Object.entries(own.rolePasswords).map(([role, password]) =>
        text(`the password of the role ${role}`, password),
      ),
      ...Object.entries(own.brokerPasswords).map(([user, password]) =>
        text(`the password of the broker user ${user}`, password),
      ),
    ],
  };
}

type Swap = readonly [service: ServiceName, variable: string, value: string];

/** A key file without JSON, a secret as a path, a secret as a URL, and JSON of another form. */
function swapsByReason({ directory, wallet: { passphraseFile } }: RunningGateway): readonly Swap[] {
  return [
    ['payout-signer', 'KEYSTORE_FILE', passphraseFile],
    ['payout-signer', 'PASSPHRASE_FILE', read(passphraseFile)],
    ['payout-signer', 'DATABASE_URL_FILE', passphraseFile],
    ['api', 'NETWORKS_FILE', join(directory.keys, 'secrets.json')],
  ];
}

function otherSwaps({ directory, wallet: { passphraseFile } }: RunningGateway): readonly Swap[] {
  const words = wordsFileOf(directory);
  return [
    ['payout-signer', 'KEYSTORE_FILE', words],
    ['payout-signer', 'POLICY_FILE', words],
    ['payout-signer', 'NETWORKS_FILE', passphraseFile],
    ['payout-signer', 'PASSPHRASE_FILE', words],
    ['api', 'PUBLIC_KEYS_FILE', words],
  ];
}

/** Starts each service with a wrong file. It must exit with an error that shows no secret. */
async function expectNoSecretPrinted(gateway: RunningGateway, secrets: Secrets, swaps: readonly Swap[]) {
  const places = await Promise.all(
    swaps.map(async ([service, variable, value]) => {
      const output = await endOf(gateway, service, { [variable]: value });
      return { name: `${service} with another ${variable}`, text: output };
    }),
  );
  for (const { name, text: output } of places)
    expect([name, output]).toEqual([name, expect.stringMatching(/"level":"error"/)]);
  expect(findSecrets(places, allOf(secrets))).toEqual([]);
}

/** Output of a service that exits at start because of a changed environment. */
async function endOf(
  gateway: RunningGateway,
  service: ServiceName,
  changes: Readonly<Record<string, string>>,
): Promise<string> {
  const { DATABASE_URL, ...rest } = gateway.environmentOf(service);
  const url = 'DATABASE_URL_FILE' in changes ? {} : { DATABASE_URL };
  const child = spawn(process.execPath, [entryPoint(service)], {
    env: { ...NODE_ENVIRONMENT, ...rest, ...url, ...changes },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: STARTS_WITHIN_MS,
    killSignal: 'SIGKILL',
  });
  const [out, errors, [code]] = await Promise.all([
    streamText(child.stdout),
    streamText(child.stderr),
    once(child, 'close'),
  ]);
  expect([service, changes, code]).toEqual([service, changes, 1]);
  return out + errors;
}

/** The wrong files of each kind that the default run leaves out. */
export function describeWrongFiles(under: () => GatewayUnderTest): void {
  it('secrets are not printed by a process that was given another wrong file', async () => {
    const { gateway } = under();
    await expectNoSecretPrinted(gateway, await readSecrets(under()), otherSwaps(gateway));
  });
}

/** Runs after all other tests of the gateway: no secret may have leaked. */
export function describeSecrets(under: () => GatewayUnderTest<RunningGateway>): void {
  let secrets: Secrets;
  const all = () => allOf(secrets);
  const pidOf = (service: ServiceName): number => under().gateway.services.get(service)?.pid ?? 0;

  beforeAll(async () => {
    secrets = await readSecrets(under());
  });

  describe('secrets', () => {
    it('are in no log', () => {
      const { logs } = under().gateway.directory;
      const places = readdirSync(logs).map((name): Place => ({
        name,
        text: readFileSync(join(logs, name), 'utf8'),
      }));
      for (const service of SERVICE_NAMES)
        expect(places.find(({ name }) => name === `${service}.log`)?.text.length).toBeGreaterThan(100);
      expect(findSecrets(places, all())).toEqual([]);
    });

    it('are in the environment or command line of no process that does not need them', () => {
      const processOf = (service: ServiceName): Place => {
        const proc = (file: string) =>
          readFileSync(`/proc/${pidOf(service)}/${file}`, 'utf8').replaceAll('\0', '\n');
        return { name: service, text: `${proc('cmdline')}\n${proc('environ')}` };
      };
      const places = SERVICE_NAMES.map(processOf);
      for (const { name, text: shown } of places)
        expect([name, shown]).toEqual([name, expect.stringContaining('HEALTH_PORT')]);
      // Not even in the signer's, which reads keystore and passphrase from files.
      expect(findSecrets(places, [...secrets.keys, ...secrets.passphrases])).toEqual([]);
      const others = (...having: readonly ServiceName[]) =>
        places.filter(({ name }) => !having.includes(name as ServiceName));
      expect(findSecrets(others('api', 'webhook-sender', 'ops'), secrets.sealing)).toEqual([]);
      expect(findSecrets(others('demo-shop'), secrets.ofMerchants)).toEqual([]); // demo-shop is the merchant
      const held = findSecrets(places, secrets.passwords).toSorted();
      expect(held).toEqual(
        [
          ['api', 'api'],
          ['scanner-evm', 'scanner_evm'],
          ['scanner-tron', 'scanner_tron'],
          ['scanner-sui', 'scanner_sui'],
          ['confirmation-tracker', 'tracker'],
          ['webhook-sender', 'webhook'],
          ['payout-signer', 'signer'],
          ['ops', 'ops'],
        ]
          .flatMap(([service, role]) => [
            `${service} has the password of the role ${role}`,
            `${service} has the password of the broker user ${service}`,
          ])
          .concat('rates has the password of the role rates')
          .toSorted(),
      );
    });

    it('cannot be read from the signer by a core dump or a debugger', () => {
      const proc = (file: string) => readFileSync(`/proc/${pidOf('payout-signer')}/${file}`, 'utf8');
      expect(proc('limits')).toMatch(/^Max core file size +0 +0 /m);
      expect(proc('cmdline').split('\0')).toEqual(
        expect.arrayContaining(['--disable-sigusr1', '--disable-proto=throw']),
      );
    });

    it('are not printed by a process that was given a wrong file', async () => {
      const { gateway } = under();
      await expectNoSecretPrinted(gateway, secrets, swapsByReason(gateway));
    });

    it('are in no metric and no HTTP answer', async () => {
      const { gateway, merchant } = under();
      const token = read(gateway.directory.operatorTokenFile);
      const ask = async (name: string, url: string, init: RequestInit = {}): Promise<Place> => {
        const response = await fetch(url, init);
        return { name, text: `${JSON.stringify([...response.headers])}\n${await response.text()}` };
      };
      const bearer = (value: string) => ({ headers: { authorization: `Bearer ${value}` } });
      const places: Place[] = [];
      for (const service of SERVICE_NAMES) {
        const port = gateway.environmentOf(service)['HEALTH_PORT'];
        for (const path of ['metrics', 'readyz', 'livez'])
          places.push(await ask(`${path} of ${service}`, `http://127.0.0.1:${port}/${path}`));
      }
      expect(places[0]?.text).toContain('# HELP');
      const operations = [
        'payouts',
        'orders',
        'chains',
        'hot-wallets',
        'merchants',
        'operators',
        'audit',
        'nothing',
      ];
      for (const path of operations)
        places.push(await ask(`ops ${path}`, `${gateway.opsUrl}/v1/${path}`, bearer(token)));
      places.push(await ask('ops without a token', `${gateway.opsUrl}/v1/payouts`));
      places.push(await ask('ops with a wrong token', `${gateway.opsUrl}/v1/payouts`, bearer(`${token}x`)));
      places.push(
        await ask('nonsense', `${gateway.apiUrl}/v1/order/createPayout`, { method: 'POST', body: '{' }),
      );
      places.push({ name: 'a refusal', text: JSON.stringify(await merchant.createPayout({ orderId: '?' })) });
      places.push({ name: 'a status', text: JSON.stringify(await merchant.status('nothing')) });
      expect(findSecrets(places, all())).toEqual([]);
    });

    it('are in no table of the database', async () => {
      const db = under().database.kysely;
      const { rows: tables } = await sql<{ name: string }>`
        select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema')`.execute(db);
      const places: Place[] = [];
      for (const { name } of tables) {
        const { rows } = await sql.raw<{ line: string }>(`select t::text as line from ${name} t`).execute(db);
        places.push({ name, text: rows.map(({ line }) => line).join('\n') });
      }
      expect(places.length).toBeGreaterThan(40);
      expect(places.find(({ name }) => name === 'public.own_transaction')?.text).toMatch(/\\x02f8/); // signed bytes
      expect(findSecrets(places, all())).toEqual([]);
    });
  });
}
