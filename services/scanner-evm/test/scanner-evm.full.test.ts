import { afterEach, beforeEach, describe, it } from 'vitest';
import { recordThroughByzantineNode } from './record-through-byzantine-node.ts';
import { describeReorganisations } from './reorganisations.ts';
import { createScannerWorld, type ScannerWorld } from './scanner-harness.ts';

let world: ScannerWorld;
beforeEach(async () => {
  world = await createScannerWorld();
});
afterEach(() => world.close());

describe('reorganisation', () => {
  beforeEach(async () => {
    await world.startReplica();
    await world.caughtUp();
  });
  describeReorganisations(() => world, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

it('records a chain correctly through a Byzantine node without skipping a block', () =>
  recordThroughByzantineNode(world, 24));
