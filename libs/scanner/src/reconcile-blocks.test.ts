import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { buildChain, forkAt } from '../test/build-chain.ts';
import { reconcileBlocks } from './reconcile-blocks.ts';

const stored = buildChain({ from: 90, to: 100 });
const longer = buildChain({ to: 110 });

describe('reconcileBlocks', () => {
  it('extends the chain when the next blocks follow the last stored one', () => {
    expect(reconcileBlocks(stored, longer.slice(101))).toEqual({ kind: 'extends' });
    expect(reconcileBlocks(stored, longer.slice(101, 102))).toEqual({ kind: 'extends' });
  });

  it('extends the chain when stored blocks are read again, also with new ones', () => {
    expect(reconcileBlocks(stored, longer.slice(97, 105))).toEqual({ kind: 'extends' });
    expect(reconcileBlocks(stored, longer.slice(95, 98))).toEqual({ kind: 'extends' });
    expect(reconcileBlocks(stored, longer)).toEqual({ kind: 'extends' });
  });

  it('does not treat a lower head with a known hash as a reorganisation', () => {
    expect(reconcileBlocks(stored, [longer[96]!])).toEqual({ kind: 'extends' });
  });

  it('finds the last common block, also by the parent of the first header', () => {
    const fork = forkAt(longer, 98, { branch: 'b', to: 104 });
    const ancestor = { kind: 'reorganised', ancestorHeight: 98, contradicting: fork[99] };
    expect(reconcileBlocks(stored, fork.slice(95))).toEqual(ancestor);
    expect(reconcileBlocks(stored, fork.slice(99))).toEqual(ancestor);
  });

  it('finds a fork that is shorter than the stored blocks', () => {
    const fork = forkAt(longer, 95, { branch: 'b', to: 97 });
    const expected = { kind: 'reorganised', ancestorHeight: 95, contradicting: fork[96] };
    expect(reconcileBlocks(stored, fork.slice(96))).toEqual(expected);
  });

  it('needs older headers while every header contradicts', () => {
    const fork = forkAt(longer, 95, { branch: 'b', to: 104 });
    expect(reconcileBlocks(stored, fork.slice(101))).toEqual({ kind: 'undecided' });
    expect(reconcileBlocks(stored, fork.slice(97))).toEqual({ kind: 'undecided' });
    expect(reconcileBlocks(stored, [fork[100]!])).toEqual({ kind: 'undecided' });
  });

  it('gives up when the fork is below the oldest stored block', () => {
    const fork = forkAt(longer, 85, { branch: 'b', to: 104 });
    expect(reconcileBlocks(stored, fork.slice(90))).toEqual({ kind: 'below-window' });
    // A parent hash is no header that a second source could confirm.
    expect(reconcileBlocks(stored, fork.slice(91))).toEqual({ kind: 'undecided' });
  });

  it('gives up when all headers are below the oldest stored block', () => {
    expect(reconcileBlocks(stored, longer.slice(50, 60))).toEqual({ kind: 'below-window' });
  });

  it('compares only blocks that are stored', () => {
    const sparse = stored.filter(({ height }) => height % 5 === 0);
    const fork = forkAt(longer, 97, { branch: 'b', to: 104 });
    expect(reconcileBlocks(sparse, fork.slice(99))).toEqual({ kind: 'undecided' });
    expect(reconcileBlocks(sparse, fork.slice(97))).toEqual({ kind: 'undecided' });
    const expected = { kind: 'reorganised', ancestorHeight: 95, contradicting: fork[100] };
    expect(reconcileBlocks(sparse, fork.slice(95))).toEqual(expected);
    expect(reconcileBlocks(sparse, longer.slice(102))).toEqual({ kind: 'undecided' });
    expect(reconcileBlocks(sparse, longer.slice(100))).toEqual({ kind: 'extends' });
  });

  it('ignores a stored block of another branch below the ancestor', () => {
    const other = forkAt(longer, 95, { branch: 'b', to: 97 });
    const mixed = [longer[90]!, other[97]!, longer[99]!, longer[100]!];
    expect(reconcileBlocks(mixed, longer.slice(95, 101))).toEqual({ kind: 'extends' });
    const fork = forkAt(longer, 99, { branch: 'c', to: 104 });
    const expected = { kind: 'reorganised', ancestorHeight: 99, contradicting: fork[100] };
    expect(reconcileBlocks(mixed, fork.slice(95))).toEqual(expected);
  });

  it('throws RangeError for an empty list', () => {
    expect(() => reconcileBlocks(stored, [])).toThrow(RangeError);
    expect(() => reconcileBlocks([], longer)).toThrow(RangeError);
  });

  it('finds the common ancestor of any two branches', () => {
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
        // Derived from the complete branches.
        const isContradicted = ancestor < tip && end > ancestor;
        const isAncestorVisible = ancestor >= base && ancestor >= from - 1;
        if (end < base) expect(verdict.kind).toBe('below-window');
        else if (!isContradicted) expect(verdict.kind).toBe('extends');
        else if (isAncestorVisible)
          expect(verdict).toEqual({
            kind: 'reorganised',
            ancestorHeight: ancestor,
            contradicting: branch[ancestor + 1],
          });
        else expect(verdict.kind).toBe(from <= base ? 'below-window' : 'undecided');
      }),
      { numRuns: 1_000 },
    );
    expect([...seen].sort()).toEqual(['below-window', 'extends', 'reorganised', 'undecided']);
  });
});
