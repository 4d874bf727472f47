import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Chain } from '@opentill/domain/chains';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import type { Database } from '../src/database.ts';
import { writeChainStatus } from '../src/chain-status.ts';
import { keepLease } from '../src/lease.ts';
import { registerChains, requireRegistered, type ChainIdentity } from '../src/registered-chains.ts';
import { unregisterChain } from '../src/unregister-chain.ts';

const ACME: ChainIdentity = { chain: 'ACME_L2' as Chain, family: 'EVM', chainId: 31_337, kind: 'test' };
const ETH: ChainIdentity = { chain: 'ETH', family: 'EVM', chainId: 1 };

let database: TestDatabase;
let owner: Database;
let scanner: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  owner = database.open('admin');
  scanner = database.open('scanner_evm');
});
afterAll(async () => {
  await Promise.all([owner.close(), scanner.close()]);
  await database.drop();
});

const block = (chain: Chain) =>
  scanner.kysely
    .insertInto('block')
    .values({ chain, height: 1, hash: 'a', parent_hash: 'b', block_time: new Date() })
    .execute();

test('the EVM scanner writes a configured chain once setup has registered it', async () => {
  await expect(block(ACME.chain)).rejects.toThrow(/row-level security/);
  await expect(requireRegistered(scanner.kysely, ACME)).rejects.toMatchObject({
    code: 'CHAIN_NOT_REGISTERED',
    message: expect.stringContaining('Run opentill setup'),
  });
  expect(await registerChains(owner.kysely, [ETH, ACME])).toEqual(['ACME_L2']);
  expect(await registerChains(owner.kysely, [ETH, ACME])).toEqual([]);
  await requireRegistered(scanner.kysely, ACME);
  await block(ACME.chain);
});

test.each([
  [{ ...ACME, chainId: 31_338 }, /ACME_L2 is chain id 31337, not 31338 in this database/],
  [{ ...ACME, kind: 'main' as const }, /ACME_L2 is a test network, not main/],
  [{ ...ACME, chain: 'ACME' as Chain }, /chain id 31337 is ACME_L2 in this database/],
  [{ ...ETH, chain: 'MAINNET' as Chain, kind: 'main' as const }, /chain id 1 is ETH in this database/],
])('refuses another identity of a registered chain: %j', async (network, words) => {
  await registerChains(owner.kysely, [ACME]);
  await expect(registerChains(owner.kysely, [network])).rejects.toThrow(words);
  await expect(requireRegistered(scanner.kysely, network)).rejects.toThrow(words);
});

const MISTYPED: ChainIdentity = { chain: 'TYPO' as Chain, family: 'EVM', chainId: 4_242, kind: 'test' };
const CORRECT = { ...MISTYPED, chainId: 424_242 };

test('registers a mistyped chain anew while no scanner follows it, and audits it', async () => {
  const { chain } = MISTYPED;
  await registerChains(owner.kysely, [MISTYPED]);
  const status = { state: 'LEFT_OUT', reason: 'WRONG_CHAIN', detail: null } as const;
  await scanner.kysely.transaction().execute((tx) => writeChainStatus(tx, 'SCANNER', chain, status));
  const lease = keepLease({
    db: scanner.kysely,
    schema: 'scanner_evm',
    name: `chain:${chain}`,
    holder: 'scanner-1',
    ttlMs: 60_000,
  });
  await lease.acquire();
  expect(await unregisterChain(owner.kysely, chain, 'a slip')).toMatchObject({ kind: 'SCANNED' });
  await lease.release();
  expect(await unregisterChain(owner.kysely, chain, 'a slip')).toEqual({
    kind: 'UNREGISTERED',
    chainId: 4_242,
  });
  expect(await unregisterChain(owner.kysely, chain, 'a slip')).toEqual({ kind: 'UNKNOWN' });
  expect(await registerChains(owner.kysely, [CORRECT])).toEqual([chain]);
  await requireRegistered(scanner.kysely, CORRECT);
  const audit = await owner.kysely
    .selectFrom('audit_entry')
    .selectAll()
    .where('subject', '=', chain)
    .execute();
  expect(audit).toMatchObject([
    { action: 'unregisterChain', details: { chainId: 4_242, kind: 'test', reason: 'a slip' } },
  ]);
});

test('a chain with a block keeps its identity', async () => {
  const { chain } = CORRECT;
  await registerChains(owner.kysely, [CORRECT]);
  await block(chain);
  expect(await unregisterChain(owner.kysely, chain, 'late')).toEqual({ kind: 'USED', tables: ['block'] });
  await requireRegistered(scanner.kysely, CORRECT);
});
