import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { addOperator } from '@opentill/db/operators';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { startTestOps, type Answered, type TestOps } from './support/test-ops.ts';

const { testDatabase, admin } = await openTestDatabase();
let ops: TestOps;

beforeAll(async () => {
  ops = await startTestOps(testDatabase, { readStatementTimeoutMs: 10_000 });
});
afterAll(() => ops.stop());

const guesses = (count: number, tokenOf: (place: number) => string): Promise<Answered[]> =>
  Promise.all(
    Array.from({ length: count }, (_, place) => ops.request('GET', '/v1/me', { token: tokenOf(place) })),
  );
const statusesOf = (answers: readonly Answered[]) => [
  ...new Set(answers.map(({ status }) => status).toSorted((a, b) => a - b)),
];

describe('an operator behind the same address as an attacker', () => {
  it("authenticates an operator at an attacker's address, even with a new token", async () => {
    const nonsense = await guesses(30, (place) => `nonsense-${place}`);
    expect(statusesOf(nonsense)).toEqual([401, 429]);
    const wellFormed = await guesses(10, (place) => `ada.${String(place).padStart(43, 'B')}`);
    expect(statusesOf(wellFormed)).toEqual([429]);
    const token = await addOperator(ops.database.kysely, {
      operatorId: 'newcomer',
      name: 'n',
      role: 'ADMIN',
    });
    expect((await ops.request('GET', '/v1/me', { token: token! })).status).toBe(200);
  });

  it('authenticates an operator while many tokens are tried, by batched lookups', async () => {
    const many = guesses(100, (place) => `ada.${String(place).padStart(43, 'C')}`);
    expect((await ops.call('getMe')).status).toBe(200);
    expect(statusesOf(await many)).toEqual([429]);
  });
});

describe('a viewer with many slow reads', () => {
  it("slow reads of a viewer do not delay another operator's kill switch", async () => {
    const lock = await admin.kysely.startTransaction().execute();
    await sql`lock table orders in access exclusive mode`.execute(lock);
    let reads: Answered[];
    try {
      const slow: Answered[] = [];
      const asked = Promise.all(
        Array.from({ length: 40 }, async () => {
          const answer = await ops.call('listOrders', {}, 'VIEWER');
          if (answer.status === 503) slow.push(answer);
          return answer;
        }),
      );
      const input = { chain: 'ETH_SEPOLIA', reason: 'something is wrong' };
      expect((await ops.call('setHalt', input, 'FINANCE')).status).toBe(200);
      expect(slow).toEqual([]); // the halt did not wait for the reads
      reads = await asked; // the reads time out; the lock is held until they have ended
    } finally {
      await lock.rollback().execute();
    }
    // Only a few reads per operator run at a time, and these time out.
    expect(statusesOf(reads)).toEqual([429, 503]);
    expect(reads.filter(({ status }) => status === 503).length).toBeLessThanOrEqual(4);
    expect((await ops.call('listOrders', {}, 'VIEWER')).status).toBe(200);
  });
});
