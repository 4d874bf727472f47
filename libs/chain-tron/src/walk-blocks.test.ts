import { expect, test } from 'vitest';
import { blockAt, chainOf, keyOf, sourceOf, type ChainBlocks, type Produced } from '../test/witness-chain.ts';
import { confirmByWitnesses, readTrail, walkSolidBlocks } from './walk-blocks.ts';

const ROUND = Array.from({ length: 5 }, (_, place): Produced => ({ witness: keyOf(`witness ${place}`) }));
const attacker = keyOf('attacker');
const honest = chainOf([...ROUND, ...ROUND, ...ROUND]);
const inconsistent = { code: 'INCONSISTENT_ANSWER' };
const KNOWN = 5;

async function prove(blocks: ChainBlocks, to = 8): Promise<number> {
  const source = sourceOf(blocks, to);
  const known = blockAt(honest, KNOWN);
  const trail = await readTrail(source, known, (witness, signer) => witness === signer, {});
  let walked = 0;
  for await (const { seal } of walkSolidBlocks(source, known, {}, to)) {
    trail.add(seal!);
    walked += 1;
  }
  await confirmByWitnesses(source, trail, { last: blockAt(blocks, to), height: to }, {});
  return walked;
}
/** The honest chain up to the known block, then other blocks. */
const forked = (behind: readonly Produced[]): ChainBlocks => chainOf([...ROUND, ...behind]);

test('proves blocks that its witnesses have built on', async () => {
  expect(await prove(honest)).toBe(3);
});

test('rejects blocks that name the witnesses but have other signers', async () => {
  const forged = [...ROUND, ...ROUND].map((produced) => ({ ...produced, signer: attacker }));
  await expect(prove(forked(forged))).rejects.toMatchObject({
    ...inconsistent,
    context: { signed: 0, needed: 4 },
  });
  const own = forged.map(() => ({ witness: attacker }));
  await expect(prove(forked(own))).rejects.toMatchObject({ ...inconsistent, context: { signed: 0 } });
});

test('waits while too few witnesses have signed yet', async () => {
  await expect(prove(honest.slice(0, 10))).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
});

test('rejects blocks that are not linked, or not linked to the known block', async () => {
  const other = chainOf([{ ...ROUND[1]! }, ...ROUND, ...ROUND, ...ROUND]);
  for (const place of [3, 6, 9]) {
    const broken = honest.with(place, other[place]!);
    await expect(prove(broken)).rejects.toMatchObject(inconsistent);
  }
  await expect(prove(other)).rejects.toMatchObject({
    ...inconsistent,
    message: /instead of the known one/,
  });
});

test('rejects a block whose header has the root of other transactions', async () => {
  const header = { txTrieRoot: 'ab'.repeat(32) };
  const behind = [...ROUND, ...ROUND].map((one, place) => (place === 1 ? { ...one, header } : one));
  await expect(prove(forked(behind))).rejects.toMatchObject({ ...inconsistent, message: /txTrieRoot/ });
});
