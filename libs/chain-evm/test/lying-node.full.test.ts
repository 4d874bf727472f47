import { it } from 'vitest';
import { readDespiteEveryLie, useLiedAboutChain } from './lied-about-chain.ts';

const lied = useLiedAboutChain();

it.each([1, 2, 3, 4, 5])(
  'a reader never accepts a wrong answer with all faults at once, seed %i',
  (seed) => readDespiteEveryLie(lied, seed),
  240_000,
);
