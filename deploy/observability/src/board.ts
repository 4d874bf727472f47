/** A dashboard, independent of Grafana's format. */
export interface Board {
  /** File name and Grafana uid. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Adds a selector of chains; queries use `chain=~"$chain"`. */
  readonly hasChains?: boolean;
  readonly rows: readonly BoardRow[];
}

export interface BoardRow {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Grafana's names of units. */
type Unit = 'short' | 's' | 'bytes' | 'Bps' | 'percentunit' | 'reqps' | 'ops' | 'bool';

export interface Panel {
  readonly title: string;
  readonly description?: string;
  /** @default 'lines' */
  readonly kind?: 'lines' | 'number';
  readonly unit?: Unit;
  readonly queries: readonly Query[];
}

export interface Query {
  readonly expr: string;
  /** Labels in double braces. */
  readonly legend: string;
}

interface PanelOptions extends Pick<Panel, 'kind' | 'description'> {
  readonly unit?: Unit;
}

/** A panel with one query. */
export function panel(title: string, expr: string, legend: string, options: PanelOptions = {}): Panel {
  return { title, queries: [{ expr, legend }], ...options };
}

/** A number in a row of numbers. */
export function number(title: string, expr: string, unit: Unit = 'short', description?: string): Panel {
  return {
    title,
    kind: 'number',
    unit,
    queries: [{ expr, legend: title }],
    ...(description === undefined ? {} : { description }),
  };
}

/** Quantiles of a histogram, over all replicas. */
export function quantiles(title: string, histogram: string, by = '', filter = ''): Panel {
  const rate = `rate(${histogram}_bucket${filter === '' ? '' : `{${filter}}`}[$__rate_interval])`;
  const of = (quantile: number) =>
    `histogram_quantile(${quantile}, sum by (le${by === '' ? '' : `, ${by}`}) (${rate}))`;
  const suffix = by === '' ? '' : ` {{${by}}}`;
  return {
    title,
    unit: 's',
    queries: [0.5, 0.95, 0.99].map((quantile) => ({
      expr: of(quantile),
      legend: `p${quantile * 100}${suffix}`,
    })),
  };
}

/** Rate of a counter, summed over replicas. A counter without series counts as 0. */
export function rate(title: string, counter: string, by: string, options: PanelOptions = {}): Panel {
  const [metric = '', filter = ''] = counter.split('{');
  const selector = filter === '' ? metric : `${metric}{${filter}`;
  const sum = by === '' ? 'sum' : `sum by (${by})`;
  const legend =
    by === ''
      ? 'all'
      : by
          .split(', ')
          .map((label) => `{{${label}}}`)
          .join(' ');
  return panel(title, `${sum} (rate(${selector}[$__rate_interval])) or on () vector(0)`, legend, {
    unit: 'ops',
    ...options,
  });
}
