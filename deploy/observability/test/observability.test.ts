import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHAIN_STATES } from '@opentill/domain/chain-status';
import { WALLET_ALARM_KINDS } from '@opentill/payout-signer/observe/alarm-edges';
import { SWEEP_ALARM_KINDS } from '@opentill/payout-signer/sweeps/watch-sweeps';
import { ALARM_KINDS } from '@opentill/scanner/observe/alarms';
import { BOARDS } from '../src/all-boards.ts';
import { generatedFiles } from '../src/generated-files.ts';
import { inNamespace } from '../src/render-board.ts';
import { metricsOf, OBSERVABILITY, readRules } from '../src/rule-files.ts';
import { NO_ALERT } from './no-alert.ts';

const ROOT = join(OBSERVABILITY, '../..');
const GUIDE = 'deploy/guides/operations.md';
const guide = readFileSync(join(ROOT, GUIDE), 'utf8');
const { alerts, records } = readRules();
const queries = BOARDS.flatMap(({ rows }) =>
  rows.flatMap(({ panels }) => panels.flatMap((panel) => panel.queries.map(({ expr }) => expr))),
);
const defined = new Set(
  globSync('{libs,services}/*/src/**/*.ts', { cwd: ROOT })
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(join(ROOT, file), 'utf8').matchAll(/'(opentill_[a-z0-9_]+)'/g)])
    .map(([, name]) => name ?? ''),
);
const recorded = new Map(records.map(({ record, expr }) => [record, expr]));
const metricOf = (name: string): string =>
  defined.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '');
const recordsOf = (expr: string): readonly string[] => expr.match(/\bopentill:[a-z0-9_:]+/g) ?? [];
/** Also through recording rules. */
function sourcesOf(expr: string): readonly string[] {
  const own = metricsOf(expr).map(metricOf);
  return [...own, ...recordsOf(expr).flatMap((record) => sourcesOf(recorded.get(record) ?? ''))];
}
const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(' ', '-');

test('golden: dashboards and PrometheusRule match their sources', () => {
  for (const [file, content] of generatedFiles()) {
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, content);
    expect(readFileSync(file, 'utf8'), file).toBe(content);
  }
  expect(globSync('dashboards/*', { cwd: OBSERVABILITY })).toHaveLength(BOARDS.length);
});

test('rules and dashboards name only metrics of the code and recorded series', () => {
  expect(defined.size).toBeGreaterThan(90);
  for (const expr of [...queries, ...alerts.map((rule) => rule.expr), ...records.map((rule) => rule.expr)]) {
    for (const name of metricsOf(expr)) expect(defined, `${name} in ${expr}`).toContain(metricOf(name));
    for (const name of recordsOf(expr)) expect([...recorded.keys()], expr).toContain(name);
  }
});

test('every query of a board selects the namespace in each of its selectors', () => {
  for (const expr of queries) {
    const rest = inNamespace(expr).replaceAll(
      /[A-Za-z_:][\w:]*\{namespace=~"\$namespace"[^}]*\}/g,
      'SELECTED',
    );
    expect(rest, expr).toContain('SELECTED');
    expect(rest, expr).not.toMatch(/\{|opentill/);
  }
});

test('every metric and recorded series is in a rule or on a dashboard', () => {
  const shown = new Set([...queries, ...alerts.map((rule) => rule.expr)].flatMap(sourcesOf));
  expect([...defined].filter((name) => !shown.has(name))).toEqual([]);
  const used = new Set([...queries, ...alerts.map((rule) => rule.expr)].flatMap(recordsOf));
  expect([...recorded.keys()].filter((name) => !used.has(name))).toEqual([]);
});

test('every metric raises an alert or has a reason for none', () => {
  const alerting = new Set(alerts.flatMap((rule) => sourcesOf(rule.expr)));
  const silent = Object.values(NO_ALERT).flat();
  expect(new Set(silent).size).toBe(silent.length);
  expect(silent.filter((name) => alerting.has(name) || !defined.has(name))).toEqual([]);
  expect([...defined].filter((name) => !alerting.has(name) && !silent.includes(name))).toEqual([]);
});

test('every kind of alarm raises exactly one alert', () => {
  const kindsOf = (metric: string, label: string) =>
    alerts
      .filter((rule) => rule.expr.includes(`${metric}{${label}=~`))
      .flatMap((rule) =>
        (new RegExp(`${metric}\\{${label}=~"([^"]+)"`).exec(rule.expr)?.[1] ?? '').split('|'),
      )
      .toSorted();
  expect(kindsOf('opentill_scanner_alarm_bool', 'kind')).toEqual([...ALARM_KINDS].toSorted());
  expect(kindsOf('opentill_signer_payout_alarm_bool', 'kind')).toEqual([...WALLET_ALARM_KINDS].toSorted());
  const stopped = CHAIN_STATES.filter((state) => !['STARTING', 'RUNNING', 'PAUSED'].includes(state));
  expect(kindsOf('opentill_scanner_chain_state_bool', 'state')).toEqual(stopped.toSorted());
  expect(SWEEP_ALARM_KINDS.length).toBeGreaterThan(0);
  const ofSweeps = alerts.filter((rule) => rule.expr.includes('opentill_signer_sweep_alarm_bool)'));
  expect(ofSweeps, 'one alert for sweeps of any kind').toHaveLength(1);
});

test('every alert links to a section of the guide, whose table lists it', () => {
  const headings = new Set([...guide.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => slugOf(heading)));
  const listed = new Map(
    [...guide.matchAll(/^\| (.*Opentill.*) \| \[[^\]]+\]\(#([^)]+)\)/gm)].flatMap(
      ([, names = '', section = '']) =>
        (names.match(/Opentill\w+/g) ?? []).map((name) => [name, section] as const),
    ),
  );
  for (const { alert, labels, annotations } of alerts) {
    const [file, section = ''] = annotations.runbook_url.split('#');
    expect(file, alert).toBe(GUIDE);
    expect(headings, alert).toContain(section);
    expect(listed.get(alert), `${alert} in the table of alerts`).toBe(section);
    expect(['critical', 'warning']).toContain(labels['severity']);
  }
  expect([...listed.keys()].toSorted()).toEqual(alerts.map((rule) => rule.alert).toSorted());
});

test('Prometheus scrapes the health port of every service', () => {
  const portOf = new Map(
    ['services/*/src/config.ts', 'services/scanner-*/src/*.ts'].flatMap((glob) =>
      globSync(glob, { cwd: ROOT }).flatMap((file) => {
        const port = /(?:healthPort: |scannerConfigSchema\()(\d{4})/.exec(
          readFileSync(join(ROOT, file), 'utf8'),
        );
        return port === null ? [] : [[file.split('/')[1] ?? '', Number(port[1])] as const];
      }),
    ),
  );
  expect(portOf.size).toBe(9);
  const text = (file: string) => readFileSync(join(OBSERVABILITY, 'prometheus', file), 'utf8');
  const npmStart = [...text('npm-start.yml').matchAll(/- 127\.0\.0\.1:(\d+) # (.+)/g)];
  expect(new Map(npmStart.map(([, port, name]) => [name, Number(port)]))).toEqual(portOf);
  const compose = [...text('compose.yml').matchAll(/names: \[([\w-]+)\], type: A, port: (\d+)/g)];
  const portInImages = Number(
    /HEALTH_PORT=(\d+)/.exec(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8'))?.[1],
  );
  expect(new Map(compose.map(([, name, port]) => [name, Number(port)]))).toEqual(
    new Map([...portOf.keys()].map((name) => [name, portInImages])),
  );
});

test('the PodMonitor selects the pods and the port of the chart', () => {
  interface PodMonitor {
    readonly spec: {
      readonly jobLabel: string;
      readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
      readonly podMetricsEndpoints: readonly { readonly port: string }[];
    };
  }
  const chart = (file: string) => readFileSync(join(ROOT, 'deploy/helm/opentill/templates', file), 'utf8');
  const file = join(OBSERVABILITY, 'kubernetes/pod-monitor.yml');
  const { jobLabel, selector, podMetricsEndpoints } = (parse(readFileSync(file, 'utf8')) as PodMonitor).spec;
  expect(selector.matchLabels[jobLabel]).toBe('opentill');
  const ofPods =
    /define "opentill\.selector" -\}\}([^]*?)\{\{- end -\}\}/.exec(chart('_names.tpl'))?.[1] ?? '';
  for (const [label, value] of Object.entries(selector.matchLabels))
    expect(ofPods).toContain(`\n${label}: ${value}\n`);
  for (const { port } of podMetricsEndpoints)
    expect(chart('_pod.tpl')).toContain(`{ name: ${port}, containerPort: 3020 }`);
});

test('the overlay adds only networks of Prometheus, and one of its own for the signer', () => {
  interface Compose {
    readonly services: Readonly<Record<string, { readonly networks: readonly string[] }>>;
    readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
  }
  const read = (file: string) => parse(readFileSync(join(ROOT, file), 'utf8'), { merge: true }) as Compose;
  const base = read('docker-compose.yml');
  const overlay = read('deploy/observability/docker-compose.yml');
  const added = Object.entries(overlay.services).filter(([name]) => name in base.services);
  expect(added.map(([name]) => name).toSorted()).toEqual(
    [...readFileSync(join(OBSERVABILITY, 'prometheus/compose.yml'), 'utf8').matchAll(/names: \[([\w-]+)\]/g)]
      .map(([, name]) => name)
      .toSorted(),
  );
  for (const [name, { networks }] of added)
    expect(networks, name).toEqual([name === 'payout-signer' ? 'signer-metrics' : 'metrics']);
  expect(overlay.networks['metrics']?.internal && overlay.networks['signer-metrics']?.internal).toBe(true);
  const withSigner = Object.entries(overlay.services).filter(([, { networks }]) =>
    networks.includes('signer-metrics'),
  );
  expect(withSigner.map(([name]) => name).toSorted()).toEqual(['payout-signer', 'prometheus']);
  expect(Object.keys(overlay.networks).filter((name) => name in base.networks)).toEqual([]);
});
