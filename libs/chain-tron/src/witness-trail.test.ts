import { expect, test } from 'vitest';
import { chainOf, keyOf, sealsOf, type Produced } from '../test/witness-chain.ts';
import { createWitnessTrail, witnessesNeeded, type IsKeyOf } from './witness-trail.ts';

const witnesses = Array.from({ length: 10 }, (_, place) => ({ witness: keyOf(`witness ${place}`) }));
const [stranger] = [keyOf('stranger')];
const isOwn: IsKeyOf = (witness, signer) => witness === signer;
const some = (from: number, to: number): readonly Produced[] => witnesses.slice(from, to);

function confirmed(
  window: readonly Produced[],
  blocks: readonly Produced[],
  isKeyOf = isOwn,
  windowBlocks = 54,
) {
  const seals = sealsOf(chainOf([...window, ...blocks]));
  const trail = createWitnessTrail(seals.slice(0, window.length), isKeyOf, windowBlocks);
  return seals.slice(window.length).map((seal) => {
    trail.add(seal);
    return seals.filter(({ height }) => trail.hasConfirmed(height)).length - window.length;
  });
}

test('witnessesNeeded follows the rule of java-tron for solid blocks', () => {
  expect([1, 2, 3, 4, 5, 27, 28].map((active) => witnessesNeeded(active))).toEqual([1, 2, 3, 3, 4, 19, 20]);
});

test('confirms a block when enough different known witnesses have signed from it on', () => {
  expect(confirmed(some(0, 5), some(0, 5))).toEqual([0, 0, 0, 1, 2]);
  expect(confirmed(some(0, 5), [...some(0, 3), ...some(0, 3)])).toEqual([0, 0, 0, 0, 0, 0]);
});

test('counts neither an unknown witness nor a signature in the name of another', () => {
  const forged = some(0, 5).map(({ witness }) => ({ witness, signer: stranger! }));
  expect(confirmed(some(0, 5), forged)).toEqual([0, 0, 0, 0, 0]);
  expect(confirmed(some(0, 5), [...some(0, 3), ...some(5, 10)]).at(-1)).toBe(0);
  expect(confirmed([], some(0, 5)).at(-1)).toBe(0);
});

test('follows the witnesses while the chain replaces them one after the other', () => {
  const rounds = [1, 1, 2, 2, 3, 3].flatMap((first) => some(first, first + 5));
  expect(confirmed(some(0, 5), rounds, isOwn, 5).at(-1)).toBe(rounds.length - 3);
  expect(confirmed(some(0, 5), some(3, 8), isOwn, 5).at(-1)).toBe(0);
});

test('counts a witness that signs with another key when that key is known', () => {
  const delegated = some(0, 5).map(({ witness }) => ({ witness, signer: stranger! }));
  expect(confirmed(some(0, 5), delegated, (_, signer) => signer === stranger!.addressHex).at(-1)).toBe(2);
});
