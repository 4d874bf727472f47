import { expect, test } from 'vitest';
import { openDatabase } from '@opentill/db/database';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createObserve, observeBacklog } from './observe.ts';

test('serves the other metrics while the database does not answer', async () => {
  const metrics = createMetrics('webhook-sender', { ofProcess: false });
  const database = openDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'test' });
  createObserve({ logger: createLogger({ service: 'test', level: 'silent' }), metrics });
  observeBacklog(metrics, database.kysely, 8);
  const text = await metrics.render();
  expect(text).toContain('opentill_webhook_oldest_due_seconds{service="webhook-sender"} Nan\n');
  expect(text).toContain('opentill_webhook_own_faults_total{fault="RESOLVER_DOWN",');
  await database.close();
});
