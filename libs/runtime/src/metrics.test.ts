import { expect, test } from 'vitest';
import { createMetrics, joinMetrics } from './metrics.ts';

test('renders its own and the process metrics with the service label', async () => {
  const metrics = createMetrics('api');
  metrics
    .counter({ name: 'orders_created_total', help: 'h', labelNames: ['chain'] })
    .inc({ chain: 'ETH' }, 2);
  metrics.gauge({ name: 'lag_seconds', help: 'h', collect: (gauge) => gauge.set(7) });
  metrics.histogram({ name: 'request_seconds', help: 'h' }).observe(0.3);
  const text = await metrics.render();
  expect(text).toContain('orders_created_total{chain="ETH",service="api"} 2');
  expect(text).toContain('lag_seconds{service="api"} 7');
  expect(text).toContain('request_seconds_bucket{le="0.5",service="api"} 1');
  expect(text).toContain('process_cpu_seconds_total');
});

test('returns the same metric for the same name within a registry', async () => {
  const metrics = createMetrics('a');
  const options = { name: 'things_total', help: 'h' } as const;
  metrics.counter(options).inc();
  metrics.counter(options).inc();
  expect(await metrics.render()).toContain('things_total{service="a"} 2');
  expect(await createMetrics('b').render()).not.toContain('things_total');
});

test('rejects a name without a unit, and a name with two kinds or label sets', () => {
  const metrics = createMetrics('a');
  expect(() => metrics.counter({ name: 'orders', help: 'h' })).toThrow();
  expect(() => metrics.gauge({ name: 'Lag-Seconds', help: 'h' })).toThrow();
  metrics.gauge({ name: 'lag_seconds', help: 'h' });
  expect(() => metrics.histogram({ name: 'lag_seconds', help: 'h' })).toThrow();
  expect(() => metrics.gauge({ name: 'lag_seconds', help: 'h', labelNames: ['chain'] })).toThrow();
});

test('describes a shared metric once and reports the process once', async () => {
  const [process, api, ops] = [
    createMetrics('gateway'),
    createMetrics('api', { ofProcess: false }),
    createMetrics('ops', { ofProcess: false }),
  ];
  for (const metrics of [api, ops])
    metrics.histogram({ name: 'request_seconds', help: 'h', buckets: [1] }).observe(0.5);
  api.counter({ name: 'orders_created_total', help: 'h' }).inc();
  const joined = joinMetrics([process, api, ops]);
  expect(joined.contentType).toBe(process.contentType);
  const text = await joined.render();
  const descriptions = text.split('\n').filter((line) => line.startsWith('# TYPE '));
  expect(new Set(descriptions).size).toBe(descriptions.length);
  expect(text).toContain(
    [
      '# HELP request_seconds h',
      '# TYPE request_seconds histogram',
      'request_seconds_bucket{le="1",service="api"} 1',
      'request_seconds_bucket{le="+Inf",service="api"} 1',
      'request_seconds_sum{service="api"} 0.5',
      'request_seconds_count{service="api"} 1',
      'request_seconds_bucket{le="1",service="ops"} 1',
      'request_seconds_bucket{le="+Inf",service="ops"} 1',
      'request_seconds_sum{service="ops"} 0.5',
      'request_seconds_count{service="ops"} 1',
      '\n# HELP orders_created_total h',
    ].join('\n'),
  );
  expect(text.match(/^process_resident_memory_bytes\{/gm)).toHaveLength(1);
  expect(text).toMatch(/^process_resident_memory_bytes\{service="gateway"\}/m);
  expect(text.endsWith('\n')).toBe(true);
});
