import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createLogger } from '@opentill/runtime/logger';
import { composeRatesOrNone } from './compose-rates.ts';

test('leaves out only rates when its variables are wrong, and logs it', async () => {
  const stream = new PassThrough();
  const compose = composeRatesOrNone(createLogger({ service: 'rates', level: 'error', stream }));
  const service = await compose(
    { DATABASE_URL: 'postgres://127.0.0.1:1/x', PRICE_CURRENCIES: 'EURO' },
    { fail: () => undefined, sharesProcess: true },
  );
  expect(String(stream.read())).toContain("PRICE_CURRENCIES has 'EURO'");
  // For the alert about old rates.
  const metrics = await service.metrics.render();
  expect(metrics).toMatch(/^opentill_rates_saved_age_seconds\{.*\} \d/m);
  expect(metrics).toMatch(/^opentill_rates_interval_seconds\{.*\} 30$/m);
  await service.stop();
});
