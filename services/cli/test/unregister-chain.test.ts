import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '@opentill/db/database';
import { registerChains } from '@opentill/db/registered-chains';
import type { Chain } from '@opentill/domain/chains';
import { systemClock } from '@opentill/runtime/clock';
import { aChainCursor } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { runCli } from '../src/run-cli.ts';

const TYPO = { chain: 'TYPO' as Chain, family: 'EVM', chainId: 4_242, kind: 'test' } as const;
const USED = { ...TYPO, chain: 'USED' as Chain, chainId: 4_243 };

let database: TestDatabase;
let admin: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = database.open('admin');
  await registerChains(admin.kysely, [TYPO, USED]);
  await aChainCursor(admin.kysely, { chain: USED.chain });
});
afterAll(async () => {
  await admin.close();
  await database.drop();
});

async function unregister(chain: string) {
  const [out, errors]: [string[], string[]] = [[], []];
  const code = await runCli(['chain', 'unregister', chain, '--reason', 'a slip'], {
    env: { DATABASE_ADMIN_URL: database.adminUrl },
    clock: systemClock,
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => '',
  });
  return { code, out: out.join('\n'), errors: errors.join('\n') };
}

it('removes a mistyped chain once', async () => {
  expect(await unregister('TYPO')).toMatchObject({
    code: 0,
    out: expect.stringContaining('TYPO (chain id 4242) is no longer registered'),
  });
  expect(await unregister('TYPO')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('not registered'),
  });
});

it.each([
  ['a preset', 'BASE', /BASE is a preset/],
  [
    'a chain that was scanned',
    'USED',
    /USED keeps its identity: the database has rows of it in chain_cursor/,
  ],
  ['no name of a chain', 'typo', /not the name of a chain/],
])('refuses %s', async (_, chain, words) => {
  const { code, errors } = await unregister(chain);
  expect({ code, errors }).toEqual({ code: 1, errors: expect.stringMatching(words) });
});
