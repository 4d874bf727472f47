import type { BlockHash } from './block.ts';

/** A validator as its committee names it. */
export interface CommitteeMember {
  /** Base64. */
  readonly publicKey: string;
  readonly weight: number;
}

/** The validators that certify the blocks of an epoch, in the order of their keys. */
export interface EpochCommittee {
  readonly epoch: number;
  readonly members: readonly CommitteeMember[];
}

/** The last block of an epoch, certified by its committee. */
export interface CertifiedEnd {
  readonly height: number;
  readonly hash: BlockHash;
  /** Of the next epoch, as the certified block names it. */
  readonly next: EpochCommittee;
}

/** The last block of an epoch, as a range read it. */
export interface EpochEnd {
  readonly epoch: number;
  readonly height: number;
  readonly hash: BlockHash;
}

/**
 * Every block of a range was checked: its contents against the digest in its summary, its summary against the hash that names it.
 * So the hash of a later block is proof of all of them. Who signed that hash, EpochCommittees says.
 */
export interface RangeProof {
  readonly epochEnds: readonly EpochEnd[];
}

/** What certifies the blocks of a chain by its validators. */
export interface EpochCommittees {
  /** The committee of an epoch by the word of two sources, or of the only one that is configured: later ones are proven from it. */
  trusted(epoch: number, signal: AbortSignal | undefined): Promise<EpochCommittee>;
  /**
   * The end of the committee's epoch, from any source: the committee's signatures are the proof.
   * @throws INCONSISTENT_ANSWER where no quorum of the committee has signed it, BLOCK_NOT_FOUND where the source has forgotten it
   */
  certifiedEnd(committee: EpochCommittee, signal: AbortSignal | undefined): Promise<CertifiedEnd>;
}
