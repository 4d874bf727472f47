import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashOperatorToken } from '@opentill/db/operators';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { startTestOps, type TestOps } from './support/test-ops.ts';

const { testDatabase, admin } = await openTestDatabase();
let ops: TestOps;

beforeAll(async () => {
  ops = await startTestOps(testDatabase);
});
afterAll(() => ops.stop());

async function makeOperator(operatorId: string, role: string): Promise<{ token: string }> {
  const { status, body } = await ops.call('createOperator', {
    operatorId,
    name: `Name of ${operatorId}`,
    role,
  });
  expect(status).toBe(200);
  return { token: body.data.token };
}

const code = (answer: { readonly body: { readonly error: { readonly code: string } } }) =>
  answer.body.error.code;

describe('an operator token', () => {
  it('a token is shown once, has 256 random bits and is stored only as a hash', async () => {
    const { token } = await makeOperator('once', 'VIEWER');
    expect(token).toMatch(/^once\.[A-Za-z0-9_-]{43}$/);
    const row = await admin.kysely
      .selectFrom('operator')
      .selectAll()
      .where('operator_id', '=', 'once')
      .executeTakeFirstOrThrow();
    expect(row.token_hash).toEqual(hashOperatorToken(token));
    const me = await ops.call('getMe', {}, { token });
    expect(me.body.data).toMatchObject({ operatorId: 'once', role: 'VIEWER', disabledAt: null });
    for (const operation of ['listOperators', 'listAudit'] as const) {
      expect((await ops.call(operation)).text).not.toContain(token.split('.')[1]);
    }
  });

  it('a token is invalid at once after a rotation or when its operator is disabled', async () => {
    const first = await makeOperator('renewed', 'SUPPORT');
    const own = await ops.call('rotateMyToken', {}, first);
    const second = { token: own.body.data.token as string };
    expect(code(await ops.call('getMe', {}, first))).toBe('UNAUTHENTICATED');
    expect((await ops.call('getMe', {}, second)).status).toBe(200);
    const given = await ops.call('rotateOperatorToken', { operatorId: 'renewed' });
    const third = { token: given.body.data.token as string };
    expect(code(await ops.call('getMe', {}, second))).toBe('UNAUTHENTICATED');
    expect((await ops.call('getMe', {}, third)).status).toBe(200);
    await ops.call('setOperator', { operatorId: 'renewed', disabled: true });
    expect(code(await ops.call('getMe', {}, third))).toBe('UNAUTHENTICATED');
    const act = await ops.call('requestRescan', { chain: 'ETH_SEPOLIA', fromHeight: 1, toHeight: 2 }, third);
    expect(act.status).toBe(401);
    const { body } = await ops.call('listAudit', { operator: 'renewed', outcome: 'REFUSED' });
    expect(body.data[0]).toMatchObject({ action: 'requestRescan', details: { refused: 'UNAUTHENTICATED' } });
    await ops.call('setOperator', { operatorId: 'renewed', disabled: false });
    expect((await ops.call('getMe', {}, third)).status).toBe(200);
  });

  it('a token has a changed role from the next request on', async () => {
    const token = await makeOperator('moved', 'SUPPORT');
    const rescan = { chain: 'ETH_SEPOLIA', fromHeight: 1, toHeight: 2 };
    expect((await ops.call('requestRescan', rescan, token)).status).toBe(200);
    await ops.call('setOperator', { operatorId: 'moved', role: 'VIEWER' });
    expect(code(await ops.call('requestRescan', rescan, token))).toBe('FORBIDDEN');
  });
});

describe('roles of operators', () => {
  it("rejects a change of the operator's own role", async () => {
    const token = await makeOperator('climber', 'FINANCE');
    expect(code(await ops.call('setOperator', { operatorId: 'climber', role: 'ADMIN' }, token))).toBe(
      'FORBIDDEN',
    );
    expect(
      code(await ops.call('createOperator', { operatorId: 'other', name: 'x', role: 'ADMIN' }, token)),
    ).toBe('FORBIDDEN');
    expect(code(await ops.call('rotateOperatorToken', { operatorId: 'ada' }, token))).toBe('FORBIDDEN');
    expect(code(await ops.call('setOperator', { operatorId: 'ada', role: 'VIEWER' }))).toBe('OWN_ROLE');
    expect(code(await ops.call('setOperator', { operatorId: 'ada', disabled: true }))).toBe('OWN_ROLE');
    expect((await ops.call('setOperator', { operatorId: 'ada', name: 'Ada L.' })).body.data.name).toBe(
      'Ada L.',
    );
  });

  it('keeps one administrator when two remove each other at the same time', async () => {
    const second = await makeOperator('ada2', 'ADMIN');
    const [a, b] = await Promise.all([
      ops.call('setOperator', { operatorId: 'ada2', role: 'VIEWER' }),
      ops.call('setOperator', { operatorId: 'ada', disabled: true }, second),
    ]);
    const admins = await admin.kysely
      .selectFrom('operator')
      .select('operator_id')
      .where('role', '=', 'ADMIN')
      .where('disabled_at', 'is', null)
      .execute();
    expect(admins).toHaveLength(1);
    expect([a.status, b.status].filter((status) => status === 200)).toHaveLength(1);
    await admin.kysely
      .updateTable('operator')
      .set({ role: 'ADMIN', disabled_at: null })
      .where('operator_id', 'in', ['ada', 'ada2'])
      .execute();
    await ops.call('setOperator', { operatorId: 'ada2', disabled: true });
    // The later operator is no administrator any longer when their transaction starts.
    await admin.kysely
      .updateTable('operator')
      .set({ role: 'ADMIN' })
      .where('operator_id', '=', 'ada2')
      .execute();
    expect((await ops.call('getMe')).status).toBe(200);
  });

  it('returns 404, 409 and 400 with the correction', async () => {
    expect(code(await ops.call('setOperator', { operatorId: 'ghost', role: 'VIEWER' }))).toBe('NOT_FOUND');
    expect(code(await ops.call('createOperator', { operatorId: 'ada', name: 'x', role: 'ADMIN' }))).toBe(
      'EXISTS',
    );
    const empty = await ops.call('setOperator', { operatorId: 'ada' });
    expect(empty.body.error).toMatchObject({
      code: 'INPUT_INVALID',
      message: 'Give at least one of name, role and disabled.',
    });
    const wrong = await ops.call('createOperator', {
      operatorId: 'Ada Lovelace',
      name: '',
      role: 'KING',
      extra: 1,
    });
    expect(wrong.body.error.message).toMatch(
      /body\.operatorId must match.*body\.role must be one of VIEWER/s,
    );
    expect(wrong.body.error.message).toContain('extra');
  });
});

describe('failed authentications', () => {
  it('rate limits an address but not an operator with a valid token', async () => {
    const guess = `ada.${'A'.repeat(43)}`;
    let last = await ops.request('GET', '/v1/me', { token: guess });
    for (let tries = 0; last.status !== 429 && tries < 50; tries += 1) {
      last = await ops.request('GET', '/v1/me', { token: `ada.${String(tries).padStart(43, 'B')}` });
    }
    expect(last.status).toBe(429);
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await ops.call('getMe')).status).toBe(200);
    expect(ops.log()).not.toContain(guess);
    expect(ops.log()).toContain('"claimedOperator":"ada"');
  });
});
