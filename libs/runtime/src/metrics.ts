import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface MetricOptions<Label extends string> {
  /** snake_case with a unit: `_total` (counters), `_seconds`, `_bytes`, `_blocks`, … */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
}
export interface GaugeOptions<Label extends string> extends MetricOptions<Label> {
  readonly collect?: (gauge: Gauge<Label>) => void | Promise<void>;
}
export interface HistogramOptions<Label extends string> extends MetricOptions<Label> {
  readonly buckets?: readonly number[];
}

export interface RenderedMetrics {
  render(): Promise<string>;
  readonly contentType: string;
}

/** A second request for a name returns the same metric. */
export interface Metrics extends RenderedMetrics {
  counter<Label extends string = never>(options: MetricOptions<Label>): Counter<Label>;
  gauge<Label extends string = never>(options: GaugeOptions<Label>): Gauge<Label>;
  histogram<Label extends string = never>(options: HistogramOptions<Label>): Histogram<Label>;
}

/** Seconds, from a database lookup to a merchant's slow response. */
const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Includes Node's process metrics. Services that share a process turn them off, or each would report the same memory.
 */
export function createMetrics(service: string, { ofProcess = true } = {}): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  if (ofProcess) collectDefaultMetrics({ register: registry });

  const created = new Map<string, { readonly metric: object; readonly labels: string }>();
  function once<M extends object>(
    { name, labelNames = [] }: MetricOptions<string>,
    kind: new (...args: never[]) => M,
    create: () => M,
  ): M {
    const labels = labelNames.join();
    const existing = created.get(name);
    if (existing === undefined) {
      const metric = create();
      created.set(name, { metric, labels });
      return metric;
    }
    if (!(existing.metric instanceof kind)) throw new Error(`metric ${name} exists as another kind`);
    if (existing.labels !== labels) throw new Error(`metric ${name} exists with other labels`);
    return existing.metric;
  }
  const shared = <L extends string>({ name, help, labelNames }: MetricOptions<L>) => {
    if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(name)) throw new Error(`metric ${name} is not snake_case`);
    return { name, help, labelNames: labelNames ?? [], registers: [registry] };
  };

  return {
    counter: (options) => {
      if (!options.name.endsWith('_total')) throw new Error(`counter ${options.name} must end in _total`);
      return once(options, Counter, () => new Counter(shared(options)));
    },
    gauge: <L extends string>(options: GaugeOptions<L>) =>
      once(options, Gauge, () => {
        const { collect } = options;
        const gauge: Gauge<L> = new Gauge({
          ...shared(options),
          ...(collect === undefined ? {} : { collect: () => collect(gauge) }),
        });
        return gauge;
      }),
    histogram: (options) =>
      once(options, Histogram, () => {
        return new Histogram({ ...shared(options), buckets: [...(options.buckets ?? DURATION_BUCKETS)] });
      }),
    render: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** The label `service` distinguishes the series. Each metric is described once, as Prometheus' format requires. */
export function joinMetrics(all: readonly RenderedMetrics[]): RenderedMetrics {
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    async render() {
      const seriesOf = new Map<string, { readonly head: string; readonly series: string[] }>();
      for (const text of await Promise.all(all.map((metrics) => metrics.render()))) {
        for (const block of text.trim().split(/\n\n(?=# HELP )/)) {
          const [help = '', type = '', ...series] = block.split('\n');
          const name = help.split(' ')[2] ?? '';
          const known = seriesOf.get(name);
          if (known === undefined) seriesOf.set(name, { head: `${help}\n${type}`, series });
          else known.series.push(...series);
        }
      }
      const blocks = [...seriesOf.values()].map(({ head, series }) => [head, ...series].join('\n'));
      return `${blocks.join('\n\n')}\n`;
    },
  };
}
