import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface MetricOptions<Label extends string> {
  /** snake_case and ending in a unit: `_total` (counters), `_seconds`, `_bytes`, `_blocks`, … */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
}
export interface GaugeOptions<Label extends string> extends MetricOptions<Label> {
  /** Called at each scrape to set the value. */
  readonly collect?: (gauge: Gauge<Label>) => void | Promise<void>;
}
export interface HistogramOptions<Label extends string> extends MetricOptions<Label> {
  readonly buckets?: readonly number[];
}

/** A service's own registry. Asking for a name a second time gives the same metric. */
export interface Metrics {
  counter<Label extends string = never>(options: MetricOptions<Label>): Counter<Label>;
  gauge<Label extends string = never>(options: GaugeOptions<Label>): Gauge<Label>;
  histogram<Label extends string = never>(options: HistogramOptions<Label>): Histogram<Label>;
  /** The text that Prometheus scrapes. */
  render(): Promise<string>;
  readonly contentType: string;
}

/** Seconds; from a database look-up to a merchant's slow answer. */
const DURATION_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Creates a registry labelled with the service's name, filled with Node's default metrics. */
export function createMetrics(service: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });

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
