import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { findOrUnpackPrometheus } from '@opentill/test-servers/prometheus';
import { readRules, RULE_FILES } from '../src/rule-files.ts';
import { ALERT_CASES, PRESENT, type AlertCase } from './alert-cases.ts';

const run = promisify(execFile);
const dir = mkdtempSync(join(tmpdir(), 'opentill-rules-'));
const { alerts } = readRules();
let promtool: string;
beforeAll(async () => {
  ({ promtool } = await findOrUnpackPrometheus(console.error));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const inputs = (series: Readonly<Record<string, string>>) =>
  Object.entries({ ...PRESENT, ...series }).map(([name, values]) => ({ series: name, values }));

/** Samples of promtool's notation: `a`, `_`, `stale`, `axn` and `a+bxn` (n + 1 samples). */
function minutesOf(values: string): number {
  return values.split(' ').reduce((sum, part) => sum + 1 + Number(/x(\d+)$/.exec(part)?.[1] ?? 0), 0);
}

function labelsOf({ alert, labels = {} }: AlertCase): string {
  const severity = alerts.find((rule) => rule.alert === alert)?.labels['severity'] ?? '';
  const all = { alertname: alert, alertstate: 'firing', severity, ...labels };
  return `ALERTS{${Object.entries(all)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ')}}`;
}

/** No other alert fires with it, and none in the first minute. */
function fires(one: AlertCase) {
  const firing = 'ALERTS{alertstate="firing"}';
  return {
    interval: '1m',
    input_series: inputs(one.series),
    promql_expr_test: [
      { expr: firing, eval_time: '0m', exp_samples: [] },
      { expr: firing, eval_time: one.at, exp_samples: [{ labels: labelsOf(one), value: 1 }] },
    ],
  };
}

function isSilent(one: AlertCase) {
  const minutes = Math.max(...Object.values(one.silent).map(minutesOf));
  return {
    interval: '1m',
    input_series: inputs(one.silent),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[3h]))',
        eval_time: `${minutes - 1}m`,
        exp_samples: [],
      },
    ],
  };
}

async function runPromtool(cases: readonly object[]): Promise<string> {
  const file = join(dir, 'test.yml');
  writeFileSync(file, stringify({ rule_files: RULE_FILES, evaluation_interval: '1m', tests: cases }));
  const { stdout } = await run(promtool, ['test', 'rules', file]).catch((error: unknown) => {
    const { stdout: out, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${out}${stderr}`);
  });
  return stdout;
}

test('promtool accepts all rules', async () => {
  const { stdout } = await run(promtool, ['check', 'rules', ...RULE_FILES]);
  expect(stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
});

test('has cases for every alert', () => {
  const covered = new Set(ALERT_CASES.map((one) => one.alert));
  expect(covered).toEqual(new Set(alerts.map((rule) => rule.alert)));
});

test.each(ALERT_CASES.map((one, i) => [`${one.alert} (case ${i + 1})`, one] as const))(
  '%s fires on its fault and on no near miss',
  async (_name, one) => {
    expect(await runPromtool([fires(one), isSilent(one)])).toContain('SUCCESS');
  },
);

test('fails when an alert does not fire or fires without its fault', async () => {
  const one = ALERT_CASES[0]!;
  await expect(runPromtool([fires({ ...one, series: one.silent })])).rejects.toThrow('FAILED');
  await expect(runPromtool([isSilent({ ...one, silent: one.series })])).rejects.toThrow('FAILED');
});

test('names only labels of the alert in its summary', () => {
  for (const { alert, annotations } of alerts) {
    const used = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, name]) => name);
    const given = ALERT_CASES.filter((one) => one.alert === alert).flatMap(({ labels = {} }) =>
      Object.keys(labels),
    );
    expect(given, alert).toEqual(expect.arrayContaining(used));
  }
});
