import { expect, test } from 'vitest';
import type { Chain } from '@opentill/domain/chains';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { registerChains, requireRegistered, type ChainIdentity } from '../src/registered-chains.ts';

const ACME: ChainIdentity = { chain: 'ACME_L2' as Chain, family: 'EVM', chainId: 31_337, kind: 'test' };
const ETH: ChainIdentity = { chain: 'ETH', family: 'EVM', chainId: 1 };

const { admin: owner, open } = await openTestDatabase();
const scanner = open('scanner_evm');

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
  [
    { ...ACME, chainId: 31_338 },
    /ACME_L2 is chain id 31337, not 31338 in this database.*Give this one another name/,
  ],
  [{ ...ACME, kind: 'main' as const }, /ACME_L2 is a test network, not main.*Use a database of its own/],
  [{ ...ACME, chain: 'ACME' as Chain }, /chain id 31337 is ACME_L2 in this database/],
  [{ ...ETH, chain: 'MAINNET' as Chain, kind: 'main' as const }, /chain id 1 is ETH in this database/],
])('refuses another identity of a registered chain: %j', async (network, words) => {
  await registerChains(owner.kysely, [ACME]);
  await expect(registerChains(owner.kysely, [network])).rejects.toThrow(words);
  await expect(requireRegistered(scanner.kysely, network)).rejects.toThrow(words);
});
