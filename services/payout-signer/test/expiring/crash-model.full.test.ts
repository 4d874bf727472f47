import { describe, expect, test } from 'vitest';
import { landOnce, restoreAfterOutage } from './enumerate.ts';

describe('three payouts, two of them equal', () => {
  test('lands three payouts exactly once after any pair of faults', async () => {
    expect(await landOnce(2, 3, 50)).toBeGreaterThan(5_000);
  }, 600_000);

  test(
    'expires payouts of a restored database only under the halt of the restore',
    () => restoreAfterOutage(1),
    600_000,
  );
});
