import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { queues } from '@opentill/contracts/topology';
import { PRESET_CHAINS } from '@opentill/domain/chains';

// The chart says the same as docker-compose.yml. Its lists are plain YAML, so neither Helm nor a cluster is needed here;
// deploy/helm/test/check-chart renders and validates it.

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const CHART = 'deploy/helm/opentill';
const read = (path: string): string => readFileSync(join(CHECKOUT, path), 'utf8');

interface ComposeService {
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly secrets?: readonly string[];
  readonly networks?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly mem_limit?: string;
}
interface Login {
  readonly user: string;
  readonly password: string;
}
interface ChartService {
  readonly networks: readonly string[];
  readonly database?: Login;
  readonly broker?: Login;
  readonly secrets?: readonly string[];
  readonly mounts?: readonly string[];
  readonly endpoints?: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly settings: readonly string[];
}
interface Scanner {
  readonly name: string;
  readonly family: string;
  readonly chains: readonly string[];
}
interface Values {
  readonly settings: Readonly<Record<string, string>>;
  readonly scanners?: readonly Scanner[];
  readonly endpoints?: { readonly keys?: readonly string[] };
  readonly [service: string]: unknown;
}

const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  readonly services: Readonly<Record<string, ComposeService>>;
};
const services = parse(read(`${CHART}/files/services.yaml`)) as Readonly<Record<string, ChartService>>;
const values = parse(read(`${CHART}/values.yaml`)) as Values;
const template = (name: string): string => read(`${CHART}/templates/${name}`);

/** Variables of tools and set-up that templates write, since their values name hosts of the cluster. */
const BY_TEMPLATE: Readonly<Record<string, readonly [file: string, ...variables: string[]]>> = {
  setup: [
    'setup.yaml',
    'DATABASE_ADMIN_URL',
    'DATABASE_ADMIN_PASSWORD_FILE',
    'AMQP_URL',
    'AMQP_PASSWORD_FILE',
    'AMQP_MANAGEMENT_URL',
    'AMQP_MANAGEMENT_PASSWORD_FILE',
  ],
  archive: ['tools.yaml', 'DATABASE_ADMIN_URL', 'DATABASE_ADMIN_PASSWORD_FILE'],
  cli: ['tools.yaml', 'OPS_URL', 'OPS_DATABASE_URL'],
  owner: ['tools.yaml', 'DATABASE_ADMIN_URL', 'DATABASE_ADMIN_PASSWORD_FILE', 'OPS_DATABASE_URL'],
};
const ENDPOINT = new RegExp(`^(${PRESET_CHAINS.join('|')})_(RPC_URLS|SOLIDITY_URLS|WS_URL)$`);
/** Passwords of owners, and the keystore's, come from Secrets of their own. */
const OWN_SECRETS = ['broker_admin_password', 'database_admin_password', 'keystore_passphrase'];

function variablesOf(name: string, service: ChartService): readonly string[] {
  const [, ...written] = BY_TEMPLATE[name] ?? [''];
  return [
    ...Object.keys(service.environment),
    ...service.settings,
    ...written,
    ...(service.database === undefined ? [] : ['DATABASE_URL', 'DATABASE_PASSWORD_FILE']),
    ...(service.broker === undefined ? [] : ['AMQP_URL', 'AMQP_PASSWORD_FILE']),
    ...(service.mounts?.includes('networks') === true ? ['NETWORKS_FILE'] : []),
    ...(service.mounts?.includes('publicKeys') === true ? ['PUBLIC_KEYS_FILE'] : []),
    // Scanners get their chains from the list in the values, the signer from PAYOUT_CHAINS.
    ...(/^scanner-|^payout-signer$/.test(name) ? ['CHAINS'] : []),
  ];
}

describe('chart', () => {
  test('the chart has every service and step that needs database, broker or chains', () => {
    const needed = Object.entries(compose.services).flatMap(([name, { environment = {} }]) =>
      Object.keys(environment).some((variable) => /^(OPS_)?DATABASE_(ADMIN_)?URL$/.test(variable)) &&
      name !== 'devnet-funds'
        ? [name]
        : [],
    );
    expect(Object.keys(services).sort()).toEqual(needed.sort());
  });

  test.each(Object.keys(services))('%s has the environment of docker-compose.yml', (name) => {
    const service = services[name]!;
    const { environment = {} } = compose.services[name]!;
    const ours = variablesOf(name, service);
    expect(new Set(ours).size).toBe(ours.length);
    // Compose mounts the public keys for the owner's commands, which take their path as an option.
    const theirs = [...Object.keys(environment), ...(name === 'owner' ? ['PUBLIC_KEYS_FILE'] : [])];
    expect(ours.toSorted()).toEqual(theirs.filter((variable) => !ENDPOINT.test(variable)).sort());
    expect(service.endpoints === true).toBe(theirs.some((variable) => ENDPOINT.test(variable)));
    for (const [variable, value] of Object.entries(service.environment))
      expect([variable, value]).toEqual([variable, `${environment[variable]}`]);
    const [file, ...written] = BY_TEMPLATE[name] ?? [''];
    for (const variable of written) expect(template(file)).toContain(`name: ${variable}, value:`);
  });

  test.each(Object.keys(services))('%s has the secrets and borders of docker-compose.yml', (name) => {
    const { networks, secrets = [], database, broker } = services[name]!;
    const theirs = compose.services[name]!;
    expect(networks).toEqual(theirs.networks);
    const keys = [...secrets, ...[database, broker].flatMap((login) => login?.password ?? [])];
    expect(keys.sort()).toEqual(
      (theirs.secrets ?? []).filter((secret) => !OWN_SECRETS.includes(secret)).sort(),
    );
    for (const [variable, login] of [
      ['DATABASE_URL', database],
      ['AMQP_URL', broker],
    ] as const) {
      if (login === undefined) continue;
      expect(new URL(`${theirs.environment?.[variable]}`).username).toBe(login.user);
      const file = theirs.environment?.[variable.replace('URL', 'PASSWORD_FILE')];
      expect(file).toBe(`/run/secrets/${login.password}`);
    }
  });

  test('every network of a service has a policy', () => {
    const policies = template('network-policies.yaml');
    for (const network of new Set(Object.values(services).flatMap(({ networks }) => networks)))
      expect(policies).toMatch(new RegExp(`"${network}"`));
  });

  test('only services that send traces may connect to the collector of traces', () => {
    const senders = Object.keys(services).filter((name) =>
      services[name]!.settings.includes('OTEL_EXPORTER_OTLP_ENDPOINT'),
    );
    expect(senders).toHaveLength(8);
    expect(template('_pod.tpl')).toContain(
      '(has "OTEL_EXPORTER_OTLP_ENDPOINT" .spec.settings) }}\n  {{- include "opentill.member" "traces"',
    );
    const policy =
      /\{\{- with \.Values\.settings\.OTEL_EXPORTER_OTLP_ENDPOINT \}\}([^]*?)\n---\n([^]*?)\n---/.exec(
        template('network-policies.yaml'),
      )?.[2];
    expect(policy).toContain('include "opentill.member" "traces"');
    expect(policy).toContain('policyTypes: [Egress]');
  });

  test('the health port of the signer opens with the policy that admits Prometheus', () => {
    const opened = '{{- if $isScraped }}';
    const signer = template('payout-signer.yaml');
    expect(services['payout-signer']?.environment['HEALTH_HOST']).toBe('127.0.0.1');
    expect(signer).toContain('and .Values.networkPolicy.enabled .Values.networkPolicy.monitoring }}');
    expect(signer).toContain(`${opened}\n{{- $_ := set $spec.environment "HEALTH_HOST" "0.0.0.0" }}`);
    expect(signer).toContain(
      `${opened}\n          ports:\n            - { name: health, containerPort: 3020 }`,
    );
  });

  test('the settings of the chart are those of .env.example', () => {
    const example = new Set([...read('.env.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name));
    expect(Object.keys(values.settings).filter((name) => !example.has(name))).toEqual([]);
    const used = new Set(['PAYOUT_CHAINS', ...Object.values(services).flatMap(({ settings }) => settings)]);
    expect(Object.keys(values.settings).sort()).toEqual([...used].sort());
    const { properties } = JSON.parse(read(`${CHART}/values.schema.json`)) as {
      properties: { settings: { properties: object } } & object;
    };
    expect(Object.keys(properties.settings.properties).sort()).toEqual([...used].sort());
    expect(Object.keys(values).filter((name) => !(name in properties))).toEqual([]);
  });

  test('signer and archive mount the keystore, only the signer its passphrase', () => {
    const files = readdirSync(join(CHECKOUT, CHART, 'templates')).filter((name) =>
      /\.(yaml|tpl)$/.test(name),
    );
    const using = (text: string) => files.filter((name) => template(name).includes(text));
    expect(using('include "opentill.keystoreVolume"')).toEqual(['payout-signer.yaml', 'tools.yaml']);
    expect(template('tools.yaml')).toContain(
      '{{- if eq $tool "archive" }}\n        {{- include "opentill.keystoreVolume"',
    );
    expect(using('.Values.keystore')).toEqual(['_pod.tpl', 'payout-signer.yaml']);
    expect(using('keystore_passphrase')).toEqual(['payout-signer.yaml']);
    const signer = template('payout-signer.yaml');
    expect(signer).not.toMatch(/kind: (Service|Ingress)\b/);
    expect(signer).toContain('strategy: { type: Recreate }');
    for (const flag of compose.services['payout-signer']?.entrypoint ?? []) expect(signer).toContain(flag);
  });

  test.each(readdirSync(join(CHECKOUT, CHART)).filter((file) => /^values.*\.yaml$/.test(file)))(
    '%s scans every enabled chain of its networks file once',
    (file) => {
      const { scanners = values.scanners ?? [], endpoints } = parse(read(`${CHART}/${file}`)) as Values;
      const networks = file === 'values-trial.yaml' ? 'testnet' : 'mainnet';
      const configured = JSON.parse(read(`deploy/networks/${networks}.json`)) as {
        networks: { chain: string; family: string; enabled: boolean }[];
      };
      const enabled = configured.networks.filter((network) => network.enabled);
      expect(
        scanners.flatMap(({ chains, family }) => chains.map((chain) => `${family} ${chain}`)).sort(),
      ).toEqual(enabled.map(({ chain, family }) => `${family.toLowerCase()} ${chain}`).sort());
      const keys = endpoints?.keys ?? [];
      if (keys.length > 0)
        expect(keys.toSorted()).toEqual(enabled.map(({ chain }) => `${chain}_RPC_URLS`).sort());
    },
  );

  test('KEDA reads queues of the service that it scales', () => {
    const known = queues().map(({ name }) => name);
    const named = [
      ...template('autoscaling.yaml').matchAll(/"((?:webhook-sender|confirmation-tracker)\.[a-z-]+)"/g),
    ];
    expect(named.length).toBeGreaterThan(3);
    for (const [, queue] of named) expect(known).toContain(queue);
  });
});
