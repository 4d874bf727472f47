import { beforeEach, expect, test } from 'vitest';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import { createObserve, type Observe } from './observe.ts';

let nowMs: number;
let metrics: Metrics;
let observe: Observe;

beforeEach(() => {
  nowMs = 0;
  metrics = createMetrics('rates', { ofProcess: false });
  const logger = createLogger({ service: 'rates', level: 'silent' });
  const settings = { pollIntervalMs: 30_000 };
  observe = createObserve({ logger, metrics, clock: { now: () => new Date(nowMs) }, settings });
});

async function valueOf(metric: string): Promise<string | undefined> {
  return new RegExp(`^${metric}\\{.*\\} (.*)$`, 'm').exec(await metrics.render())?.[1];
}

test('a coin stays depegged until an agreed price shows its peg again', async () => {
  const outcome = { refused: 'DEPEGGED' } as const;
  const shown: (string | undefined)[] = [];
  for (const [pegDistanceBps, isDepegged] of [
    [undefined, false],
    [300, true],
    [undefined, false], // its sources do not agree
    [10, false],
  ] as const) {
    observe.decided('USDT', 'USD', { pegDistanceBps, isDepegged, outcome });
    shown.push(await valueOf('opentill_rates_depegged_bool'));
  }
  expect(shown).toEqual(['0', '1', '1', '0']);
});

test('the age of the rates counts from the start while no round stored any', async () => {
  nowMs = 301_000;
  observe.roundFailed('refresh rates', new Error('no database'), 10);
  expect(await valueOf('opentill_rates_saved_age_seconds')).toBe('301');
  expect(await valueOf('opentill_rates_interval_seconds')).toBe('30');
  observe.ratesSaved([]);
  expect(await valueOf('opentill_rates_saved_age_seconds')).toBe('0');
});
