import { expect, test } from 'vitest';
import type { TxHash } from '@opentill/chain/transfer';
import {
  blockAt,
  chainOf,
  keyOf,
  sourceOf,
  type ChainBlocks,
  type Produced,
} from '../../test/witness-chain.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';
import { createMemoryStore, createWitnessKeys, type NewWitnessKey } from '../witness-keys.ts';
import { findInBlocks } from './find-in-blocks.ts';
import { learnWitnessKeys } from './learn-witness-keys.ts';

const DAY_MS = 86_400_000;
const [SOLID, SLOT_MS] = [12, 3_000];
const delegating = Array.from({ length: 5 }, (_, place): Produced => {
  return { witness: keyOf(`witness ${place}`), signer: keyOf(`delegate ${place}`) };
});
const blocks = chainOf([...delegating, ...delegating, ...delegating]);

function searching(chains: readonly ChainBlocks[]) {
  const all = chains.map((chain, place): Partial<TronSource> => {
    const { call } = sourceOf(chain, SOLID);
    return {
      label: `node-${place}`,
      call: (asked) =>
        call(
          asked.method === 'getblock' && asked.body?.['id_or_num'] === undefined
            ? { ...asked, body: { num: SOLID } }
            : asked,
        ),
    };
  });
  const sources = { all: () => all, quorumSources: () => all, noteFault: () => undefined };
  const clock = { nowMs: 0 };
  const alarms: NewWitnessKey[] = [];
  const keys = createWitnessKeys({
    store: createMemoryStore(),
    epochMs: () => clock.nowMs,
    onNewKey: (key) => void alarms.push(key),
  });
  const given = { sources: sources as unknown as TronSources, keys, onSingleSource: () => undefined };
  const stretch = { after: blockAt(blocks, 5), untilMs: 8 * SLOT_MS };
  return {
    clock,
    alarms,
    learn: () => learnWitnessKeys(given.sources, keys, {}),
    search: () => findInBlocks(given, ['ab'.repeat(32) as TxHash], stretch, {}),
  };
}
const unproven = { code: 'INCONSISTENT_ANSWER', context: { signed: 0 } };

test('accepts delegated witness keys after two sources have shown them for a day', async () => {
  const { clock, alarms, search } = searching([blocks, blocks]);
  await expect(search()).rejects.toMatchObject(unproven);
  expect(alarms).toHaveLength(5);
  clock.nowMs = DAY_MS;
  await expect(search()).rejects.toMatchObject(unproven);
  expect(await search()).toMatchObject({ found: new Set(), end: [{ height: 8 }, { height: 9 }] });
});

test('accepts delegated keys at once if they were learned a day before', async () => {
  const { clock, learn, search } = searching([blocks, blocks]);
  await learn();
  clock.nowMs = DAY_MS;
  await learn();
  expect((await search()).end[1].height).toBe(9);
});

const other = chainOf([...delegating, ...delegating, ...delegating].map((one) => ({ witness: one.witness })));

test('does not accept keys that two sources show and a third one does not', async () => {
  const { clock, learn, search } = searching([blocks, blocks, other]);
  await expect(search()).rejects.toMatchObject(unproven);
  await learn();
  clock.nowMs = DAY_MS;
  await expect(search()).rejects.toMatchObject(unproven);
  await learn();
  await expect(search()).rejects.toMatchObject(unproven);
});

test('does not learn a witness key that only one of two sources shows', async () => {
  const { clock, alarms, learn, search } = searching([blocks, other]);
  await learn();
  await expect(search()).rejects.toMatchObject(unproven);
  clock.nowMs = DAY_MS;
  await expect(search()).rejects.toMatchObject(unproven);
  expect(alarms).toEqual([]);
});
