import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { BOARDS } from './all-boards.ts';
import { renderBoard } from './render-board.ts';
import { OBSERVABILITY, RULE_FILES } from './rule-files.ts';

/** Path to content: the dashboards, and the rules as a resource of the Prometheus operator. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const files = new Map(
    BOARDS.map((board) => [
      join(OBSERVABILITY, 'dashboards', `${board.id}.json`),
      `${JSON.stringify(renderBoard(board), null, 2)}\n`,
    ]),
  );
  files.set(join(OBSERVABILITY, 'kubernetes/prometheus-rules.yml'), prometheusRule());
  return files;
}

function prometheusRule(): string {
  const groups = RULE_FILES.flatMap(
    (file) => (parse(readFileSync(file, 'utf8')) as { readonly groups: readonly object[] }).groups,
  );
  const resource = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'opentill', labels: { 'app.kubernetes.io/name': 'opentill' } },
    spec: { groups },
  };
  return `# Generated from the files in ../rules by \`pnpm golden\`.\n${stringify(resource, { lineWidth: 0 })}`;
}
