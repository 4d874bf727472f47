import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { buildChain, forkAt } from '../test/build-chain.ts';
import { reconcileBlocks } from './reconcile-blocks.ts';

const stored = buildChain({ from: 90, to: 100 });
const longer = buildChain({ to: 110 });

describe('reconcileBlocks', () => {
  it('extends when the next blocks follow the last stored one', () => {
    expect(reconcileBlocks(stored, longer.slice(101))).toEqual({ kind: 'extends' });
    expect(reconcileBlocks(stored, longer.slice(101, 102))).toEqual({ kind: 'extends' });
  });

  it('extends when stored blocks are read once more, with or without new ones', () => {
    expect(reconcileBlocks(stored, longer.slice(97, 105))).toEqual({ kind: 'extends' });
    expect(reconcileBlocks(stored, longer.slice(95, 98))).toEqual({ kind: 'extends' });
    expect(reconcileBlocks(stored, longer)).toEqual({ kind: 'extends' });
  });

  it('does not take a lower head of a known hash for a reorganisation', () => {
    expect(reconcileBlocks(stored, [longer[96]!])).toEqual({ kind: 'extends' });
  });

  it('finds the last common block, also by the parent of the first read one', () => {
    const fork = forkAt(longer, 98, { branch: 'b', to: 104 });
    const ancestor = { kind: 'reorganised', ancestorHeight: 98 };
    expect(reconcileBlocks(stored, fork.slice(95))).toEqual(ancestor);
    expect(reconcileBlocks(stored, fork.slice(99))).toEqual(ancestor);
  });

  it('sees a fork that is shorter than what is stored', () => {
    const fork = forkAt(longer, 95, { branch: 'b', to: 97 });
    expect(reconcileBlocks(stored, fork.slice(96))).toEqual({ kind: 'reorganised', ancestorHeight: 95 });
  });

  it('needs older headers while everything read contradicts', () => {
    const fork = forkAt(longer, 95, { branch: 'b', to: 104 });
    expect(reconcileBlocks(stored, fork.slice(101))).toEqual({ kind: 'undecided' });
    expect(reconcileBlocks(stored, fork.slice(97))).toEqual({ kind: 'undecided' });
    expect(reconcileBlocks(stored, [fork[100]!])).toEqual({ kind: 'undecided' });
  });

  it('gives up when the fork is below the oldest stored block', () => {
    const fork = forkAt(longer, 85, { branch: 'b', to: 104 });
    expect(reconcileBlocks(stored, fork.slice(90))).toEqual({ kind: 'below-window' });
    expect(reconcileBlocks(stored, fork.slice(91))).toEqual({ kind: 'below-window' });
    expect(reconcileBlocks(stored, fork.slice(92))).toEqual({ kind: 'undecided' });
  });

  it('gives up when the read blocks end below the oldest stored one', () => {
    expect(reconcileBlocks(stored, longer.slice(50, 60))).toEqual({ kind: 'below-window' });
  });

  it('refuses to compare across a gap, or nothing', () => {
    expect(() => reconcileBlocks(stored, longer.slice(102))).toThrow(RangeError);
    expect(() => reconcileBlocks(stored, [])).toThrow(RangeError);
    expect(() => reconcileBlocks([], longer)).toThrow(RangeError);
  });

  it('names the one ancestor of any two branches, whatever part of them is known and read', () => {
    const cases = fc.record({
      base: fc.integer({ min: 0, max: 40 }),
      length: fc.integer({ min: 1, max: 40 }),
      ancestor: fc.integer({ min: 0, max: 90 }),
      ahead: fc.integer({ min: 1, max: 20 }),
      readFrom: fc.integer({ min: 0, max: 90 }),
      readCount: fc.integer({ min: 1, max: 60 }),
    });
    const seen = new Set<string>();
    fc.assert(
      fc.property(cases, ({ base, length, ancestor, ahead, readFrom, readCount }) => {
        const tip = base + length - 1;
        const old = buildChain({ from: base, to: tip });
        const branch = forkAt(buildChain({ to: 100 }), ancestor, {
          branch: 'b',
          to: Math.max(ancestor, tip) + ahead,
        });
        const from = Math.min(readFrom, tip + 1, branch.length - 1);
        const read = branch.slice(from, from + readCount);
        const end = from + read.length - 1;
        const verdict = reconcileBlocks(old, read);
        seen.add(verdict.kind);
        // What anybody can see from the whole branches.
        const isContradicted = ancestor < tip && end > ancestor;
        const isAncestorVisible = ancestor >= base && ancestor >= from - 1;
        if (end < base) expect(verdict.kind).toBe('below-window');
        else if (!isContradicted) expect(verdict.kind).toBe('extends');
        else if (isAncestorVisible)
          expect(verdict).toEqual({ kind: 'reorganised', ancestorHeight: ancestor });
        else expect(verdict.kind).toBe(from - 1 <= base ? 'below-window' : 'undecided');
      }),
      { numRuns: 1_000 },
    );
    expect([...seen].sort()).toEqual(['below-window', 'extends', 'reorganised', 'undecided']);
  });
});
