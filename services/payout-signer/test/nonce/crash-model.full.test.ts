import { expect, test } from 'vitest';
import { enumerate } from './enumerate.ts';

test('lands three payouts exactly once after any pair of faults', async () => {
  const sum = await enumerate();
  expect(sum.first).toBeUndefined();
  expect(sum).toMatchObject({ doubles: 0, stuck: 0 });
  expect(sum.scenarios).toBeGreaterThan(4_000);
}, 600_000);
