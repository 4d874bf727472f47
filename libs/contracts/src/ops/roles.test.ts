import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { OPS_ROUTES } from './catalog.ts';
import { OPERATOR_ROLES } from './roles.ts';
import type { OpsRoute } from './route.ts';

const SECURITY = new URL('../../../../SECURITY.md', import.meta.url);
const OTHERS = OPERATOR_ROLES.filter((role) => role !== 'ADMIN');

/** The same table is in SECURITY.md. */
function roleTable(): string {
  const routes = (Object.entries(OPS_ROUTES) as [string, OpsRoute][]).filter(
    ([, { kind }]) => kind === 'ACT' || kind === 'EXPORT',
  );
  const ids = (chosen: typeof routes) => chosen.map(([id]) => `\`${id}\``).join(', ');
  const lines = OTHERS.map(
    (role) => `| ${role} | ${ids(routes.filter(([, { roles }]) => roles.includes(role)))} |`,
  );
  const adminOnly = ids(routes.filter(([, { roles }]) => roles.length === 1 && roles[0] === 'ADMIN'));
  return ['| role | may call |', '|---|---|', ...lines, `| only ADMIN | ${adminOnly} |`, ''].join('\n');
}

test('SECURITY.md lists the acts of each role as the routes define them', async () => {
  expect(await readFile(SECURITY, 'utf8')).toContain(`\n${roleTable()}`);
});

test('an ADMIN may call every route', () => {
  const closed = (Object.entries(OPS_ROUTES) as [string, OpsRoute][]).filter(
    ([, { roles }]) => !roles.includes('ADMIN'),
  );
  expect(closed).toEqual([]);
});

test('only an ADMIN may release halts, holds and pauses', () => {
  const releases = ['releaseHalt', 'releaseHold', 'resumeChain', 'resumeSweeps'] as const;
  expect(releases.filter((id) => OPS_ROUTES[id].roles.join() !== 'ADMIN')).toEqual([]);
});
