import { describe, expect, it } from 'vitest';
import { buildChain, forkAt } from '../test/build-chain.ts';
import {
  applyStep,
  blockAt,
  firstBlockFrom,
  isLinked,
  lastBlockUpTo,
  unchangedStep,
  type ChainState,
} from './chain-state.ts';

const chain = buildChain({ to: 130 });
const blocks = chain.filter(({ height }) => height % 10 === 0);
const STATE: ChainState = { head: chain[130]!, finalizedHeight: null, verifiedHeight: 110, blocks };
const heights = (state: ChainState): readonly number[] => state.blocks.map(({ height }) => height);

describe('a state with gaps between its blocks', () => {
  it('finds stored blocks, and the next ones of a gap', () => {
    expect(blockAt(STATE, 110)).toBe(chain[110]);
    expect(blockAt(STATE, 111)).toBeUndefined();
    expect(lastBlockUpTo(STATE, 119)).toBe(chain[110]);
    expect(firstBlockFrom(STATE, 111)).toBe(chain[120]);
    expect(firstBlockFrom(STATE, 131)).toBeUndefined();
  });

  it('keeps the highest block at or below the end of the window, and none below it', () => {
    expect(heights(applyStep(STATE, unchangedStep(STATE), 25))).toEqual([80, 90, 100, 110, 120, 130]);
    expect(heights(applyStep(STATE, unchangedStep(STATE), 30))).toEqual([80, 90, 100, 110, 120, 130]);
  });

  it('adds blocks of a gap, and removes those above an ancestor', () => {
    const added = { ...unchangedStep(STATE), newBlocks: [chain[115]!] };
    expect(heights(applyStep(STATE, added, 0))).toEqual([110, 115, 120, 130]);
    const fork = forkAt(chain, 114, { branch: 'b', to: 128 });
    const step = { ...unchangedStep(STATE), head: fork[128]!, ancestorHeight: 110, newBlocks: [fork[128]!] };
    expect(heights(applyStep(STATE, step, 0))).toEqual([110, 128]);
  });

  it('drops replaced blocks below an ancestor', () => {
    const step = { ...unchangedStep(STATE), dropped: [90, 100] };
    expect(heights(applyStep(STATE, step, 30))).toEqual([80, 110, 120, 130]);
    const replacing = { ...step, newBlocks: [chain[100]!] };
    expect(heights(applyStep(STATE, replacing, 30))).toEqual([80, 100, 110, 120, 130]);
  });

  it('accepts only blocks that its neighbours permit', () => {
    const fork = forkAt(chain, 114, { branch: 'b', to: 128 });
    expect(isLinked(STATE, chain[121]!)).toBe(true);
    expect(isLinked(STATE, fork[121]!)).toBe(false);
    expect(isLinked(STATE, fork[119]!)).toBe(false);
    expect(isLinked(STATE, fork[120]!)).toBe(false);
    expect(isLinked(STATE, fork[125]!)).toBe(true); // no neighbour is stored
    const added = { ...unchangedStep(STATE), newBlocks: [fork[121]!] };
    expect(() => applyStep(STATE, added, 0)).toThrow('not linked');
  });
});
