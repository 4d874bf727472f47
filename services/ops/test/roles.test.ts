import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPS_OPERATIONS, OPS_ROUTES, type OpsOperation } from '@opentill/contracts/ops/catalog';
import { OPERATOR_ROLES, type OperatorRole } from '@opentill/contracts/ops/roles';
import type { OpsRoute } from '@opentill/contracts/ops/route';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { requestOf, startTestOps, type TestOps } from './support/test-ops.ts';

type Letters = 'VSFA' | 'SFA' | 'SA' | 'FA' | 'A';

/** Independent of the catalog: V(iewer), S(upport), F(inance), A(dmin). A missing operation fails the tests. */
const MAY: Readonly<Record<OpsOperation, Letters>> = {
  listMerchants: 'VSFA',
  getMerchant: 'VSFA',
  createMerchant: 'A',
  setMerchant: 'A',
  rotateToken: 'A',
  rotateWebhookSecret: 'A',
  listCallbackEndpoints: 'VSFA',
  enableCallbackEndpoint: 'SA',
  listOrders: 'VSFA',
  getOrder: 'VSFA',
  decideOrder: 'SA',
  listDeliveries: 'VSFA',
  replayDelivery: 'SA',
  countReplay: 'VSFA',
  replayDeliveries: 'SA',
  listTransfers: 'VSFA',
  listUnmatchedDeposits: 'VSFA',
  listPayouts: 'VSFA',
  getPayout: 'VSFA',
  getApprovalText: 'VSFA',
  approvePayout: 'FA',
  vetoPayout: 'FA',
  decidePayout: 'A',
  listHotWallets: 'VSFA',
  listHalts: 'VSFA',
  setHalt: 'FA',
  releaseHalt: 'A',
  listHolds: 'VSFA',
  setHold: 'FA',
  releaseHold: 'A',
  listIncidents: 'VSFA',
  closeIncident: 'SFA',
  listChains: 'VSFA',
  pauseChain: 'A',
  resumeChain: 'A',
  listSweeps: 'VSFA',
  listSweepPlans: 'VSFA',
  pauseSweeps: 'FA',
  resumeSweeps: 'A',
  runSweeps: 'FA',
  refundDeposit: 'FA',
  acceptDeposit: 'SFA',
  listServices: 'VSFA',
  listRescans: 'VSFA',
  getRescan: 'VSFA',
  requestRescan: 'SA',
  listBalances: 'VSFA',
  bookTopUp: 'FA',
  listTopUps: 'VSFA',
  reverseTopUp: 'FA',
  exportOrders: 'FA',
  exportLedger: 'FA',
  getMe: 'VSFA',
  rotateMyToken: 'VSFA',
  listOperators: 'VSFA',
  createOperator: 'A',
  setOperator: 'A',
  rotateOperatorToken: 'A',
  listAudit: 'VSFA',
};

/** Valid input about subjects that do not exist, so that permitted calls change no data. */
const INPUT: Readonly<Record<string, unknown>> = {
  merchantId: 'nobody',
  orderPk: randomUUID(),
  eventId: randomUUID(),
  haltId: randomUUID(),
  holdId: randomUUID(),
  incidentId: randomUUID(),
  operatorId: 'nobody',
  requestId: 999_999,
  transferId: 999_999,
  receiver: '0x00000000000000000000000000000000000000cc',
  chain: 'ETH_SEPOLIA',
};

const { testDatabase, admin } = await openTestDatabase();
let ops: TestOps;

beforeAll(async () => {
  ops = await startTestOps(testDatabase);
});
afterAll(() => ops.stop());

function minimalRequest(id: OpsOperation) {
  const names = [...OPS_ROUTES[id].path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
  return requestOf(id, Object.fromEntries(names.map((name) => [name, INPUT[name]])));
}

describe('every operation', () => {
  it('every operation is in the table of permissions', () => {
    expect(Object.keys(MAY).toSorted()).toEqual([...OPS_OPERATIONS].toSorted());
  });

  it.each(OPS_OPERATIONS.map((id) => [id] as const))('%s is permitted only for its roles', async (id) => {
    const { method, path, init } = minimalRequest(id);
    for (const role of OPERATOR_ROLES) {
      // It would change data. operators.test.ts tests it.
      if (id === 'rotateMyToken') continue;
      const { status, body } = await ops.request(method, path, { ...init, token: ops.tokens[role] });
      const may = MAY[id].includes(role.charAt(0));
      expect({ id, role, refusedByRole: status === 403 && body.error.code === 'FORBIDDEN' }).toEqual({
        id,
        role,
        refusedByRole: !may,
      });
      expect(status).toBeLessThan(500);
    }
    expect(OPS_ROUTES[id].roles).toEqual(OPERATOR_ROLES.filter((role) => MAY[id].includes(role.charAt(0))));
  });

  it.each(OPS_OPERATIONS.map((id) => [id] as const))('%s is rejected without a token', async (id) => {
    const { method, path, init } = minimalRequest(id);
    const { status, body } = await ops.request(method, path, init);
    expect([401, 429]).toContain(status); // the address is soon rate limited
    expect(['UNAUTHENTICATED', 'TOO_MANY_REQUESTS']).toContain(body.error.code);
  });
});

describe('the audit log', () => {
  it('the audit log has every act that was rejected for a role, and no read', async () => {
    const entries = await admin.kysely.selectFrom('audit_entry').selectAll().execute();
    const refused = new Set(
      entries
        .filter(({ outcome, details }) => outcome === 'REFUSED' && details['refused'] === 'FORBIDDEN')
        .map(({ operator, action }) => `${operator} ${action}`),
    );
    const ids: Readonly<Record<OperatorRole, string>> = {
      VIEWER: 'vera',
      SUPPORT: 'sam',
      FINANCE: 'fay',
      ADMIN: 'ada',
    };
    const expected = OPS_OPERATIONS.flatMap((id) => {
      const { kind }: OpsRoute = OPS_ROUTES[id];
      if (kind === 'READ' || kind === 'LIST') return [];
      return OPERATOR_ROLES.filter((role) => !MAY[id].includes(role.charAt(0))).map(
        (role) => `${ids[role]} ${id}`,
      );
    });
    expect([...refused].toSorted()).toEqual(expected.toSorted());
  });
});
