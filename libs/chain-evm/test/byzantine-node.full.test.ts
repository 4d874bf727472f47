import { it } from 'vitest';
import { readDespiteAllFaults, useByzantineChain } from './byzantine-chain.ts';

const shared = useByzantineChain();

it.each([1, 2, 3, 4, 5])(
  'a reader never accepts a wrong answer with all faults at once, seed %i',
  (seed) => readDespiteAllFaults(shared, seed),
  240_000,
);
