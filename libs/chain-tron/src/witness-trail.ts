import { signerHexOf, type BlockSeal } from './block-seal.ts';

/** Their producers are the active witnesses: two rounds of the 27 of the main network. */
export const WINDOW_BLOCKS = 54;

/** java-tron's rule for solid blocks: 19 of 27 must have signed the block or a later one. */
export function witnessesNeeded(active: number): number {
  return active - Math.floor((3 * active) / 10);
}

/** The key of this address may sign blocks of the witness. */
export type IsKeyOf = (witnessHex: string, signerHex: string) => boolean;

/**
 * Follows the signatures of linked blocks after a trusted one. A block is confirmed when enough of the witnesses that
 * produced the last confirmed blocks have signed it or a later block.
 */
export interface WitnessTrail {
  /** The caller has checked that the block is linked to the one before. */
  add(seal: BlockSeal): void;
  hasConfirmed(height: number): boolean;
  signers(): ReadonlyMap<string, string>;
  count(height: number): { readonly signed: number; readonly needed: number };
  /** A block was added that no active witness signed. */
  hasForeign(): boolean;
}

/**
 * `window`: the blocks up to the trusted one, linked to it, so that their witnesses are certain. An empty one confirms
 * none.
 */
export function createWitnessTrail(
  window: readonly BlockSeal[],
  isKeyOf: IsKeyOf,
  windowBlocks = WINDOW_BLOCKS,
): WitnessTrail {
  let confirmed = window.slice(-windowBlocks);
  let active = witnessesOf(confirmed);
  let pending: BlockSeal[] = [];
  let isAnyForeign = false;
  const signedAt = new Map<string, number>();
  const signers = new Map<string, string>();

  const signedAtOf = (witness: string): number => signedAt.get(witness) ?? -1;
  /** Confirmed blocks redefine the active witnesses: the chain changes some of them every six hours. */
  function confirmPending(): void {
    const heights = [...active].map(signedAtOf).toSorted((one, other) => one - other);
    const height = heights[active.size - witnessesNeeded(active.size)] ?? -1;
    const count = pending.filter((seal) => seal.height <= height).length;
    if (count === 0) return;
    confirmed = [...confirmed, ...pending.slice(0, count)].slice(-windowBlocks);
    pending = pending.slice(count);
    active = witnessesOf(confirmed);
  }

  return {
    add(seal) {
      const { height, witnessHex } = seal;
      const signer = signerHexOf(seal);
      pending.push(seal);
      if (signer !== undefined) signers.set(witnessHex, signer);
      const isKnown = signer !== undefined && isKeyOf(witnessHex, signer);
      if (isKnown) signedAt.set(witnessHex, height);
      if (!isKnown || !active.has(witnessHex)) isAnyForeign = true;
      confirmPending();
    },
    hasConfirmed: (height) => (confirmed.at(-1)?.height ?? -1) >= height,
    signers: () => new Map([...signers].filter(([witness]) => active.has(witness))),
    count: (height) => ({
      signed: [...active].filter((witness) => signedAtOf(witness) >= height).length,
      needed: witnessesNeeded(active.size),
    }),
    hasForeign: () => isAnyForeign,
  };
}

function witnessesOf(seals: readonly BlockSeal[]): ReadonlySet<string> {
  return new Set(seals.map(({ witnessHex }) => witnessHex));
}
