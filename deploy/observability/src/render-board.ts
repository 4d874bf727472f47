import type { Board, Panel } from './board.ts';

const COLUMNS = 24;
const LINES = { w: 8, h: 8 };
const NUMBER = { w: 4, h: 4 };
const SCHEMA_VERSION = 39;
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** Grafana's JSON. Import it, or provision it from a folder. */
export function renderBoard(board: Board): object {
  return {
    uid: board.id,
    title: board.title,
    description: board.description,
    tags: ['opentill'],
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    schemaVersion: SCHEMA_VERSION,
    templating: { list: variables(board) },
    links: [{ type: 'dashboards', title: 'Opentill', tags: ['opentill'], asDropdown: true, keepTime: true }],
    annotations: { list: [firingAlerts] },
    panels: layOut(board),
  };
}

const firingAlerts = {
  name: 'Critical alerts',
  datasource: DATASOURCE,
  enable: true,
  expr: 'ALERTS{namespace=~"$namespace", alertname=~"Opentill.*", alertstate="firing", severity="critical"}',
  iconColor: 'red',
  titleFormat: '{{alertname}}',
};

/** Selects the installation. `.*` also matches series without the label. */
const NAMESPACE = 'namespace=~"$namespace"';

/** Adds NAMESPACE to each selector of a metric. */
export function inNamespace(expr: string): string {
  return expr.replaceAll(
    /\b(opentill[_:][a-z0-9_:]+|(?:process|nodejs)_[a-z0-9_]+|(?:up|ALERTS)(?=\{))(\{)?/g,
    (_, metric: string, brace: string | undefined) =>
      brace === undefined ? `${metric}{${NAMESPACE}}` : `${metric}{${NAMESPACE}, `,
  );
}

function variables({ hasChains }: Board): readonly object[] {
  const datasource = { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' };
  const all = {
    type: 'query',
    datasource: DATASOURCE,
    refresh: 2,
    includeAll: true,
    allValue: '.*',
    current: { selected: true, text: ['All'], value: ['$__all'] },
    sort: 1,
  };
  const namespace = {
    ...all,
    name: 'namespace',
    label: 'Namespace',
    query: { query: 'label_values(opentill_outbox_lag_seconds, namespace)', refId: 'namespaces' },
  };
  if (hasChains !== true) return [datasource, namespace];
  const chain = {
    ...all,
    name: 'chain',
    label: 'Chain',
    query: {
      query: `label_values(${inNamespace('opentill_scanner_chain_state_bool')}, chain)`,
      refId: 'chains',
    },
    multi: true,
  };
  return [datasource, namespace, chain];
}

function layOut({ rows }: Board): readonly object[] {
  const placed: object[] = [];
  let y = 0;
  const add = (json: object) => placed.push({ id: placed.length + 1, ...json });
  for (const { title, panels } of rows) {
    add({ type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: COLUMNS, h: 1 }, panels: [] });
    y += 1;
    let x = 0;
    let height = 0;
    for (const one of panels) {
      const { w, h } = one.kind === 'number' ? NUMBER : LINES;
      if (x + w > COLUMNS) {
        x = 0;
        y += height;
        height = 0;
      }
      add(renderPanel(one, { x, y, w, h }));
      x += w;
      height = Math.max(height, h);
    }
    y += height;
  }
  return placed;
}

function renderPanel(
  { title, description = '', kind, unit = 'short', queries }: Panel,
  gridPos: Place,
): object {
  const isNumber = kind === 'number';
  return {
    type: isNumber ? 'stat' : 'timeseries',
    title,
    description,
    gridPos,
    datasource: DATASOURCE,
    fieldConfig: {
      defaults: { unit, min: 0, ...(isNumber ? {} : { custom: { fillOpacity: 8 } }) },
      overrides: [],
    },
    options: isNumber
      ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area' }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend }, i) => ({
      refId: String.fromCodePoint('A'.charCodeAt(0) + i),
      datasource: DATASOURCE,
      expr: inNamespace(expr),
      legendFormat: legend,
      range: true,
    })),
  };
}
