import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { OrderCosts } from './costs.ts';
import { limitsOf, planStep, PRIMARY, UTILISATION } from './plan-step.ts';
import { simulate, withOneLess, type Scenario } from './simulate.ts';
import { DOCUMENT, readCosts, withTables } from './write-tables.ts';

const COSTS: OrderCosts = {
  measuredAt: '2026-01-01',
  machine: 'test',
  load: 0,
  paymentsPerSecond: 50,
  orders: 1_000,
  processorMs: {
    api: 0.5,
    'scanner-evm': 0.2,
    'confirmation-tracker': 0.6,
    'webhook-sender': 1,
    postgres: 4,
    rabbitmq: 0.3,
  },
  databaseMs: { api: 1, 'scanner-evm': 0.4, 'confirmation-tracker': 1, 'webhook-sender': 1 },
  idleMsPerSecond: {
    api: 5,
    'scanner-evm': 5,
    'confirmation-tracker': 5,
    'webhook-sender': 5,
    postgres: 10,
    rabbitmq: 5,
  },
  database: { transactions: 3, walBytes: 20_000, permanentBytes: 6_000, expiringBytes: 5_000 },
  broker: { published: 1.2, delivered: 1.2 },
  nodeCalls: { perPayment: 0.1, idlePerSecond: 2 },
};

/** One server works 1,000 ms a second: at 1,000 payments/s a stage with 1 ms needs one. */
const SCENARIO: Scenario = {
  costs: COSTS,
  paymentsPerSecond: 1_000,
  replicas: { api: 1, 'confirmation-tracker': 1, 'webhook-sender': 2 },
  chains: 1,
  postgresCores: 7,
  seconds: 10,
  seed: 1,
};

test('golden: the tables of capacity.md match the stored costs', async () => {
  const document = await readFile(DOCUMENT, 'utf8');
  const expected = withTables(document, await readCosts());
  if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(DOCUMENT, expected);
  else expect(document).toBe(expected);
});

describe('planStep', () => {
  test('keeps every installation below each limit of its database and broker', () => {
    const limits = limitsOf(COSTS);
    for (const factor of [1, 10, 100, 1_000]) {
      const step = planStep(COSTS, factor);
      expect(step.installations * step.ratePerInstallation).toBeCloseTo(400 * factor);
      expect(step.postgresCores).toBeLessThanOrEqual(PRIMARY.cores);
      expect(step.walMegabytesPerSecond * 1e6).toBeLessThanOrEqual(PRIMARY.walBytesPerSecond);
      expect(step.transactionsPerSecond).toBeLessThanOrEqual(PRIMARY.transactionsPerSecond);
      expect(step.ratePerInstallation).toBeLessThanOrEqual(limits.broker);
    }
  });

  test('plans the fewest replicas whose processors stay below the planned load', () => {
    const { replicas, ratePerInstallation } = planStep(COSTS, 10);
    const load = (servers: number) =>
      (ratePerInstallation * COSTS.processorMs['webhook-sender']) / 1_000 / servers;
    expect(load(replicas['webhook-sender'])).toBeLessThanOrEqual(UTILISATION);
    expect(load(replicas['webhook-sender'] - 1)).toBeGreaterThan(UTILISATION);
    expect(planStep(COSTS, 1).replicas['confirmation-tracker']).toBe(2); // one may fail
  });
});

describe('simulate', () => {
  test('handles each payment before the next block with enough of everything', () => {
    const { p99, backlog, busy } = simulate(SCENARIO);
    expect(p99).toBeLessThan(1_500);
    expect(backlog).toBeLessThan(1_000);
    expect(busy['postgres']).toBeCloseTo(4 / 7, 1);
    expect(busy['webhook-sender']).toBeCloseTo(0.5, 1);
  });

  test.each([
    ['a service', { costs: { ...COSTS, processorMs: { ...COSTS.processorMs, 'webhook-sender': 2.4 } } }],
    ['the database', { postgresCores: 3 }],
    [
      'the scanner of the only chain',
      { costs: { ...COSTS, processorMs: { ...COSTS.processorMs, 'scanner-evm': 1.4 } } },
    ],
  ])('shows a growing queue when %s is overloaded', (_, change) => {
    const short = simulate({ ...SCENARIO, ...change });
    const long = simulate({ ...SCENARIO, ...change, seconds: 20 });
    expect(short.backlog).toBeGreaterThan(1_000);
    expect(long.backlog).toBeGreaterThan(1.8 * short.backlog);
  });

  test('is overloaded with one replica less than a stage needs', () => {
    const tight = { ...SCENARIO, paymentsPerSecond: 1_500 };
    expect(simulate({ ...tight, postgresCores: 12 }).backlog).toBeLessThan(1_500);
    expect(simulate(withOneLess({ ...tight, postgresCores: 12 }, 'webhook-sender')).backlog).toBeGreaterThan(
      4_000,
    );
  });

  test('works off the backlog of an outage, and loses no payment', () => {
    const outage = { fromSecond: 2, seconds: 5 };
    const during = simulate({ ...SCENARIO, seconds: 7, outage });
    const after = simulate({ ...SCENARIO, seconds: 30, outage });
    expect(during.backlog).toBeGreaterThan(8_000); // orders and payments
    expect(after.backlog).toBeLessThan(1_000);
    expect(after.max).toBeGreaterThan(5_000);
  });

  test('gives the same figures for the same seed', () => {
    expect(simulate(SCENARIO)).toEqual(simulate(SCENARIO));
    expect(simulate({ ...SCENARIO, seed: 2 })).not.toEqual(simulate(SCENARIO));
  });
});
