import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}
export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly (AlertRule | RecordingRule)[] }[];
}

export const OBSERVABILITY = join(import.meta.dirname, '..');
export const RULE_FILES = ['rules/recording.yml', 'rules/alerts.yml'].map((file) =>
  join(OBSERVABILITY, file),
);

export function readRules(): {
  readonly alerts: readonly AlertRule[];
  readonly records: readonly RecordingRule[];
} {
  const rules = RULE_FILES.flatMap((file) =>
    (parse(readFileSync(file, 'utf8')) as RuleFile).groups.flatMap((group) => group.rules),
  );
  return {
    alerts: rules.filter((rule) => 'alert' in rule),
    records: rules.filter((rule) => 'record' in rule),
  };
}

/** Metrics of the gateway that a query names; the series of histograms with their suffixes. */
export function metricsOf(expr: string): readonly string[] {
  return [...new Set(expr.match(/\bopentill_[a-z0-9_]+/g))];
}
