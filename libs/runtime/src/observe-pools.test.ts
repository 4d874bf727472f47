import { expect, test } from 'vitest';
import { createMetrics } from './metrics.ts';
import { observePools } from './observe-pools.ts';

test('reports busy and idle connections and waiting callers of all pools', async () => {
  const metrics = createMetrics('test', { ofProcess: false });
  observePools(
    metrics,
    { stats: () => ({ total: 4, idle: 1, waiting: 7 }) },
    { stats: () => ({ total: 1, idle: 1, waiting: 0 }) },
  );
  const text = await metrics.render();
  expect(text).toContain('opentill_database_connections_count{state="busy",service="test"} 3\n');
  expect(text).toContain('opentill_database_connections_count{state="idle",service="test"} 2\n');
  expect(text).toContain('opentill_database_callers_waiting_count{service="test"} 7\n');
});
